"""Det against numpy's determinant in float64."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import Case, case, random, small_integers, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test


def det(name: str, x: Array, opset: int = 22, tolerance: float = 1e-4) -> Case:
    has_equal_rows = any(np.array_equal(x[..., i, :], x[..., j, :]) for i in range(x.shape[-1]) for j in range(i))
    exact = np.zeros(x.shape[:-2]) if has_equal_rows else np.linalg.det(x.astype(np.float64))
    expected = np.asarray(exact).astype(x.dtype)
    return case("Det", x, name=name, opset=opset, expected=[expected], tolerance=tolerance)


def cases() -> list[Case]:
    result = [det(f"{size}x{size}", random(3, size, size)) for size in (1, 2, 3, 4, 5, 9)]
    permutation = np.eye(5, dtype=np.float32)[[2, 0, 1, 4, 3]]
    singular = small_integers(4, 4)
    singular[2] = singular[0]
    result += [
        det("no batch", random(4, 4)),
        det("two batch axes", random(2, 3, 4, 4)),
        det("an odd permutation", permutation),
        det("an even permutation", permutation[[1, 0, 2, 3, 4]]),
        det("zeros", np.zeros((2, 5, 5), np.float32)),
        det("two equal rows", singular),
        det("zero pivots", np.array([[0, 2, 0, 1], [1, 0, 0, 0], [0, 0, 3, 1], [0, 1, 1, 0]], np.float32)),
        det("early", random(2, 3, 3), opset=11),
        det("float64", random(2, 6, 6, dtype=np.float64), tolerance=1e-11),
        det("float16", random(2, 2, 2, dtype=np.float16), tolerance=1e-2),
    ]
    return result


CASES = cases()
test_determinant = table_test("determinant", CASES, EVERYWHERE)
test_unknown_dims = table_test("determinant_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])


@pytest.mark.usefixtures("commands")
def test_sizes_that_only_a_run_knows(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 22]> g (float[1, N] x, int64[2] sizes) => (float y) '
        "{ matrix = Expand(x, sizes) even = Trilu(matrix) y = Det(even) }"
    )
    onnx.save(model, tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    x = np.array([[2, 3, 5]], np.float32)
    inputs = {"x": x, "sizes": np.array([3, 3])}
    assert onnxc_commands.run_arrays(shared_object, inputs, ["y"], tmp_path / "run")["y"] == 30
    with pytest.raises(onnxc_commands.CommandFailure, match="the rows and the columns of a square matrix"):
        onnxc_commands.run_arrays(shared_object, inputs | {"sizes": np.array([2, 3])}, ["y"], tmp_path / "run")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("size", [3, 5])
def test_columns_that_only_a_run_counts(size: int, tmp_path: Path) -> None:
    """Rows by themselves are a number."""
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 22]> g (float[2, {size}, W] x) => (float[2] y) '
        "<int64[1] one = {1}, int64[1] end = {100}, int64[1] last = {-1}> { t = Slice(x, one, end, last) y = Det(t) }"
    )
    onnx.save(model, tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    x = random(2, size, size + 1)
    y = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], tmp_path / "run")["y"]
    np.testing.assert_allclose(y, np.linalg.det(x[..., 1:].astype(np.float64)), rtol=1e-4)
    with pytest.raises(onnxc_commands.CommandFailure, match="the rows and the columns of a square matrix"):
        onnxc_commands.run_arrays(shared_object, {"x": random(2, size, size)}, ["y"], tmp_path / "run")
