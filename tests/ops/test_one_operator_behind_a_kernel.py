"""A model of one kernel and one operator after it: nothing else in it brings the functions that its source needs."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxc import compile as compile_model
from tests.onnxruntime_sessions import open_session

OPERATORS: dict[str, list[tuple[str, list[str], str]]] = {
    "Neg": [("Neg", ["t"], "y")],
    "Abs": [("Abs", ["t"], "y")],
    "Sub": [("Sub", ["k", "t"], "y")],
    "Mul": [("Mul", ["t", "k"], "y")],
    "Min": [("Min", ["t", "k"], "y")],
    "Max": [("Max", ["t", "k"], "y")],
    "Where Less": [("Less", ["t", "k"], "c"), ("Where", ["c", "t", "k"], "y")],
    "Where LessOrEqual": [("LessOrEqual", ["t", "k"], "c"), ("Where", ["c", "k", "t"], "y")],
    "Where Not Equal": [("Equal", ["t", "k"], "c"), ("Not", ["c"], "d"), ("Where", ["d", "k", "t"], "y")],
    "Tanh": [("Tanh", ["t"], "y")],
    "Cast Less": [("Less", ["t", "k"], "c"), ("Cast", ["c"], "y")],
}
Kernel = tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]
KERNELS: dict[str, Kernel] = {
    "MatMul": ("MatMul", (2, 6, 8), (8, 5), {}),
    "to rows": ("Conv", (1, 16, 6, 6, 16), (2, 16, 1, 1, 1), {}),
    "three taps": ("Conv", (1, 4, 6, 6, 6), (16, 4, 3, 3, 3), {"pads": [1] * 6}),
    "one tap": ("Conv", (1, 16, 6, 6, 6), (16, 16, 1, 1, 1), {}),
    "stem": ("Conv", (1, 1, 8, 8, 8), (8, 1, 5, 5, 5), {}),
    "depthwise": ("Conv", (1, 16, 6, 6, 6), (16, 1, 3, 3, 3), {"group": 16, "pads": [1] * 6}),
    "transposed": ("ConvTranspose", (1, 16, 4, 4, 4), (16, 16, 2, 2, 2), {"strides": [2, 2, 2]}),
}
CASES = [
    (kernel, name)
    for kernel in KERNELS
    for name in (OPERATORS if kernel in ("MatMul", "to rows") else ["Neg", "Cast Less"])
]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("kernel", "name"), CASES)
def test_one_operator(tmp_path: Path, kernel: str, name: str) -> None:
    op_type, dims, weights, attributes = KERNELS[kernel]
    random = np.random.default_rng(0)
    constants = {
        "w": random.integers(-2, 3, weights).astype(np.float32), "k": np.array(0.5, np.float32)
    }  # fmt: skip
    nodes = [helper.make_node(op_type, ["x", "w"], ["t"], **attributes)]
    for operator, inputs, output in OPERATORS[name]:
        to = {"to": TensorProto.FLOAT} if operator == "Cast" else {}
        nodes.append(helper.make_node(operator, inputs, [output], **to))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(dims))],
        [numpy_helper.from_array(array, each) for each, array in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    x = random.integers(-3, 4, dims).astype(np.float32)
    with compile_model(tmp_path / "model.onnx") as session:
        [result] = session.run(None, {"x": x})
    [expected] = open_session(model, optimized=False, threads=1).run(None, {"x": x})
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-4)  # Winograd rounds
