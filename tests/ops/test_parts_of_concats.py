"""Operators that read a tensor which lies within a Concat, and whose results become a part of one, against onnxruntime.

A tensor within a larger buffer has gaps between its rows: a kernel must be given the strides, or be given a tensor of
its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.ops.test_run_time_dims import check_runs

pytestmark = pytest.mark.usefixtures("commands")

SHAPE = (2, 5, 6, 7, 3)
Constants = dict[str, Any]


def node(op_type: str, constants: Constants | None = None, outputs: int = 1, **attributes: Any) -> Any:
    return op_type, constants or {}, outputs, attributes


WEIGHTS = np.random.default_rng(2)
CASES = {
    "topk of batches": node("TopK", {"k": np.array([2])}, 2, axis=0),
    "topk of channels": node("TopK", {"k": np.array([3])}, 2, axis=1),
    "topk of rows": node("TopK", {"k": np.array([2])}, 2, axis=-1, largest=0),
    "argmax": node("ArgMax", axis=2),
    "softmax of rows": node("Softmax", axis=-1),
    "softmax of channels": node("Softmax", axis=1),
    "max pool": node("MaxPool", kernel_shape=[2, 2, 2]),
    "average pool": node("AveragePool", kernel_shape=[2, 2, 2]),
    "convolution": node("Conv", {"w": WEIGHTS.integers(-2, 3, (4, 5, 2, 2, 2)).astype(np.float32)}),
    "depthwise convolution": node("Conv", {"w": WEIGHTS.integers(-2, 3, (5, 1, 2, 2, 2)).astype(np.float32)}, group=5),
    "transposed convolution": node(
        "ConvTranspose", {"w": WEIGHTS.integers(-2, 3, (5, 4, 2, 2, 2)).astype(np.float32)}, strides=[2, 2, 2]
    ),
    "matrix product": node("MatMul", {"w": WEIGHTS.integers(-2, 3, (3, 4)).astype(np.float32)}),
    "instance normalization": node(
        "InstanceNormalization", {"s": np.arange(1, 6, dtype=np.float32), "b": np.arange(5, dtype=np.float32)}
    ),
    "layer normalization": node("LayerNormalization", {"s": np.arange(1, 4, dtype=np.float32)}, axis=-1),
    "sum of rows": node("ReduceSum", {"axes": np.array([-1])}),
    "running sum": node("CumSum", {"axis": np.array(1)}),
    "transposition": node("Transpose", perm=[0, 2, 3, 4, 1]),
}


def model_of(case: str, axis: int, free: Sequence[int]) -> onnx.ModelProto:
    """x is negated and put into a Concat twice; the operator reads the negated, and each result stands in a Concat."""
    op_type, constants, outputs, attributes = CASES[case]
    dims = [f"D{i}" if i in free else extent for i, extent in enumerate(SHAPE)]
    results = [f"y{i}" for i in range(outputs)]
    nodes = [
        helper.make_node("Neg", ["x"], ["t"]),
        helper.make_node("Concat", ["t", "t"], ["both"], axis=axis),
        helper.make_node(op_type, ["t", *constants], results, **attributes),
        *(helper.make_node("Concat", [name, name], [f"{name}_twice"], axis=axis) for name in results),
    ]
    graph = helper.make_graph(
        nodes,
        "parts",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, dims)],
        [helper.make_empty_tensor_value_info(name) for name in ("both", *(f"{name}_twice" for name in results))],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("options", [(), ("--target", "hip")], ids=["cpu", "gpu"])
@pytest.mark.parametrize("case", CASES)
def test_parts(case: str, options: Sequence[str], tmp_path: Path) -> None:
    x = np.random.default_rng(1).integers(-9, 10, SHAPE).astype(np.float32)
    for axis, free in ((1, ()), (3, (0, 2))):
        check_runs(model_of(case, axis, free), tmp_path, [{"x": x}], options, tolerance=1e-5)
