"""Reductions as loops whose points some threads of a block share, on the simulator: how many depends on the points."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from models.tensor_files import Array
from tests import compare, onnxc_commands
from tests.codegen.hip.gpu_model import model

pytestmark = pytest.mark.usefixtures("commands")


def random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape)


def reduced(kind: str, axis: int, **attributes: int) -> onnx.NodeProto:
    return helper.make_node(kind, ["x", "axes"], ["y"], keepdims=0, name=str(axis), **attributes)


def convolved(x: Array, w: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), *[(1, 1)] * (x.ndim - 2)))
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=axes)
    letters = "defghi"[: 2 * len(axes)]
    return np.einsum(f"nc{letters},oc{letters[len(axes) :]}->no{letters[: len(axes)]}", windows, w, optimize=True)


@dataclass
class Case:
    name: str
    node: onnx.NodeProto
    x: Array
    expected: Array
    threads: str  # that share a point, and how far they are apart
    constants: dict[str, Array]
    dims: tuple[int | str, ...] | None = None


ROWS, COLUMNS = random(7001, 301), random(300, 9003)
VOLUME, FILTERS = random(1, 16, 7, 9, 11), random(17, 16, 3, 3, 3)
PLANES, TAPS = random(2, 19, 23, 29), random(5, 19, 3, 3)
TIES = np.random.default_rng(1).integers(-3, 4, (6007, 150)).astype(np.float64)
LAST, FIRST = np.array([1]), np.array([0])
CASES = [
    Case("rows", reduced("ReduceMax", 1), ROWS, ROWS.max(1), "64, 1", {"axes": LAST}),
    Case("rows of any number", reduced("ReduceMax", 1), ROWS, ROWS.max(1), "", {"axes": LAST}, ("N", 301)),
    Case("rows of any length", reduced("ReduceMax", 1), ROWS, ROWS.max(1), "", {"axes": LAST}, (7001, "L")),
    Case("columns", reduced("ReduceSum", 0), COLUMNS, COLUMNS.sum(0), "64, 4", {"axes": FIRST}),
    Case("few rows", reduced("ReduceSum", 1), ROWS[:1201], ROWS[:1201].sum(1), "256, 1", {"axes": LAST}),
    Case(
        "first of equal ones",
        helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0),
        TIES,
        TIES.argmax(1),
        "64, 1",
        {},
    ),
    Case(
        "last of equal ones",
        helper.make_node("ArgMin", ["x"], ["y"], axis=1, keepdims=0, select_last_index=1),
        TIES,
        149 - TIES[:, ::-1].argmin(1),
        "64, 1",
        {},
    ),
    Case(
        "convolution, a thread's taps",
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 6),
        VOLUME,
        convolved(VOLUME, FILTERS),
        "32, 8",
        {"w": FILTERS},
    ),
    Case(
        "convolution, odd channels",
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4),
        PLANES,
        convolved(PLANES, TAPS),
        "64, 4",
        {"w": TAPS},
    ),
    Case(
        "convolution of any batch",
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4),
        PLANES,
        convolved(PLANES, TAPS),
        "",
        {"w": TAPS},
        ("N", 19, 23, 29),
    ),
    Case("product", helper.make_node("MatMul", ["x", "w"], ["y"]), random(97, 131), np.array([]), "32, 8", {}),
]
CASES[-1].constants["w"] = random(131, 129)
CASES[-1].expected = CASES[-1].x @ CASES[-1].constants["w"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_shared(case: Case, tmp_path: Path) -> None:
    """In float64, against numpy; the last block of points is not full."""
    dims = case.dims or case.x.shape
    constants = {name: array.astype(np.int64) if name == "axes" else array for name, array in case.constants.items()}
    proto = model([case.node], {"x": (np.float64, dims)}, constants)
    kind = helper.np_dtype_to_tensor_dtype(case.expected.dtype)
    proto.graph.output[0].type.tensor_type.elem_type = kind
    onnx.save(proto, tmp_path / "model.onnx")
    file = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", "--target", "hip")
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "source", "--target", "hip", "--emit", "source")
    found = re.findall(r" fold_(?:block|extremes)<(\d+, \d+)>", (tmp_path / "source.device.hip").read_text())
    if case.threads:
        assert set(found) == {case.threads}
    results = onnxc_commands.run_arrays(file, {"x": case.x}, ["y"], tmp_path / "run", "--device", "hip")
    difference = compare.mismatch(results["y"], case.expected, 1e-13)
    assert difference is None, difference
