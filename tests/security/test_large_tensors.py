"""Tensors around 2^31 and 2^32 elements: right, wherever in them an element stands. Zeros that were never written take
no memory."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxc import compile as compile_model

pytestmark = [pytest.mark.usefixtures("commands"), pytest.mark.slow]

STRIDE = 2**20


def model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Slice", ["x", "minus_five", "end"], ["tail"]),
        helper.make_node("Gather", ["x", "places"], ["picked"]),
        helper.make_node("ReduceMax", ["x"], ["largest"], keepdims=0),
        helper.make_node("ArgMax", ["x"], ["place"], axis=0, keepdims=0),
        helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["wide"], ["total"], keepdims=0),
        helper.make_node("Unsqueeze", ["x", "axes"], ["line"]),
        helper.make_node("MaxPool", ["line"], ["pooled"], kernel_shape=[3], strides=[STRIDE]),
    ]
    constants = {"minus_five": [-5], "end": [2**62], "axes": [0, 1]}
    types = {
        "size": TensorProto.INT64, "tail": TensorProto.UINT8, "picked": TensorProto.UINT8, "largest": TensorProto.UINT8,
        "place": TensorProto.INT64, "total": TensorProto.INT64, "pooled": TensorProto.UINT8,
    }  # fmt: skip
    graph = helper.make_graph(
        nodes, "large",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, ["N"]),
         helper.make_tensor_value_info("places", TensorProto.INT64, ["P"])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in types.items()],
        [numpy_helper.from_array(np.array(values, np.int64), name) for name, values in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(("count", "options"), [(2**31 - 1, ()), (2**31, ()), (2**31, ("-O0",)), (2**32 + 3, ())])
def test_elements_stand_where_they_should(tmp_path: Path, count: int, options: tuple[str, ...]) -> None:
    onnx.save(model(), tmp_path / "model.onnx")
    places = np.array([7, count // 2 // STRIDE * STRIDE + 1, count - 2, -1, -count], np.int64)
    values = np.array([3, 200, 5, 4, 6], np.uint8)
    x = np.zeros(count, np.uint8)
    x[places] = values
    with compile_model(tmp_path / "model.onnx", options=options) as session:
        results = session.run(None, {"x": x, "places": places})
        found = dict(zip([output.name for output in session.get_outputs()], results, strict=True))
    assert found["size"] == count
    assert list(found["tail"]) == [0, 0, 0, 5, 4]
    np.testing.assert_array_equal(found["picked"], values)
    assert found["largest"] == 200
    assert found["place"] == places[1]
    assert found["total"] == values.sum(dtype=np.int64)
    expected = np.zeros((count - 3) // STRIDE + 1, np.uint8)
    expected[0], expected[places[1] // STRIDE] = 6, 200
    expected[[index for index in range(len(expected)) if count - 2 in range(index * STRIDE, index * STRIDE + 3)]] = 5
    np.testing.assert_array_equal(found["pooled"], expected[None, None])
