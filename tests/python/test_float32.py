"""onnxc.graphs.float32: models of half types that compute in float32, against the model itself in onnxruntime."""

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from onnxc.graphs.float32 import has_narrow_types, in_float32

HALF, FLOAT = TensorProto.FLOAT16, TensorProto.FLOAT
DOMAIN = "test"
Half = NDArray[np.float16]


def half(values: object, name: str) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(values, np.float16), name)


def value(name: str, dims: list[int | str], kind: int = HALF) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def save_model(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto],
    constants: list[onnx.TensorProto],
) -> onnx.ModelProto:  # fmt: skip
    thrice = helper.make_function(
        DOMAIN, "Thrice", ["a"], ["b"],
        [
            helper.make_node("Constant", [], ["three"], value=half(3, "three")),
            helper.make_node("Mul", ["a", "three"], ["b"]),
        ],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[thrice])


def branch(name: str, operator: str) -> onnx.GraphProto:
    """Reads values of the graph around it, an input among them."""
    nodes = [helper.make_node(operator, ["x", "k"], [f"{name}_made"])]
    return helper.make_graph(nodes, name, [], [value(f"{name}_made", ["N", 3])])


MODEL = save_model(
    [
        helper.make_node("Thrice", ["x"], ["t"], domain=DOMAIN),
        helper.make_node("Cast", ["t"], ["wide"], to=FLOAT),
        helper.make_node("Cast", ["wide"], ["narrow"], to=HALF),
        helper.make_node("If", ["c"], ["chosen"], then_branch=branch("a", "Add"), else_branch=branch("b", "Mul")),
        helper.make_node("Add", ["narrow", "chosen"], ["y"]),
        helper.make_node("Shape", ["y"], ["sizes"]),
        helper.make_node("ConstantOfShape", ["sizes"], ["filled"], value=half([0.5], "")),
        helper.make_node("Mul", ["y", "filled"], ["z"]),
        helper.make_node("Identity", ["k"], ["k_out"]),
    ],
    [value("x", ["N", 3]), value("c", [], TensorProto.BOOL)],
    [
        value("y", ["N", 3]), value("z", ["N", 3]), value("wide", ["N", 3], FLOAT), value("k_out", [3]),
        value("x", ["N", 3]),
    ],
    [half([1, -2, 0.25], "k")],
)  # fmt: skip


def results(model: onnx.ModelProto, x: Half, c: bool) -> list[NDArray[np.generic]]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return list(session.run(None, {"x": x, "c": np.array(c)}))


@pytest.mark.parametrize("condition", [True, False])
def test_subgraphs_functions_and_outputs(condition: bool) -> None:
    """Whole numbers and halves: both are exact."""
    before = MODEL.SerializeToString()
    converted = in_float32(MODEL)
    assert MODEL.SerializeToString() == before
    onnx.checker.check_model(converted, full_check=True)
    x = np.arange(6, dtype=np.float16).reshape(2, 3)
    for ours, theirs in zip(results(converted, x, condition), results(MODEL, x, condition), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_what_overflows_in_16_bits_no_longer_does() -> None:
    nodes = [helper.make_node("Mul", ["x", "k"], ["large"]), helper.make_node("Div", ["large", "k"], ["y"])]
    model = save_model(nodes, [value("x", [3])], [value("y", [3])], [half(60000, "k")])
    x = np.array([1, 2, 3], np.float16)
    [y] = onnxruntime.InferenceSession(in_float32(model).SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(y, x)


def test_only_half_types_count() -> None:
    assert has_narrow_types(MODEL)
    wide = save_model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2], FLOAT)], [value("y", [2], FLOAT)], [])
    assert has_narrow_types(wide)  # its function's constant
    del wide.functions[:]
    assert not has_narrow_types(wide)
    attribute = onnx.ModelProto()
    attribute.CopyFrom(wide)
    attribute.graph.node.append(helper.make_node("Cast", ["x"], ["h"], to=HALF))
    assert has_narrow_types(attribute)


def test_bfloat16() -> None:
    weights = np.array([1.5, -2], ml_dtypes.bfloat16)
    nodes = [
        helper.make_node("Cast", ["x"], ["narrow"], to=TensorProto.BFLOAT16),
        helper.make_node("Mul", ["narrow", "w"], ["product"]),
        helper.make_node("Cast", ["product"], ["y"], to=FLOAT),
    ]
    model = save_model(
        nodes, [value("x", [2], FLOAT)], [value("y", [2], FLOAT)], [numpy_helper.from_array(weights, "w")]
    )
    [y] = onnxruntime.InferenceSession(in_float32(model).SerializeToString()).run(
        None, {"x": np.array([3, 5], np.float32)}
    )
    np.testing.assert_array_equal(y, [4.5, -10])
