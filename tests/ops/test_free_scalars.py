"""A vector of a free dim may give what must be one number: a run holds its size to 1."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from onnxc import RunError
from onnxc import compile as compile_model

# The graph after its name, the inputs but for the vector v, what v holds, and the results.
X = np.array([3, 7, 9], np.float32)
CASES: dict[str, tuple[str, dict[str, Array], Array, Array]] = {
    "scale of a scalar": (
        "(float x, float[n] v) => (uint8 y) { y = QuantizeLinear <axis = 0> (x, v) }",
        {"x": np.array(7, np.float32)}, np.array([0.5], np.float32), np.array(14, np.uint8),
    ),
    "scale": (
        "(float[3] x, float[n] v) => (uint8 y) { y = QuantizeLinear <axis = 0> (x, v) }",
        {"x": X}, np.array([0.5], np.float32), np.array([6, 14, 18], np.uint8),
    ),
    "bound of Clip": (
        '(float[3] x, float[n] v) => (float[3] y) { y = Clip (x, "", v) }',
        {"x": X}, np.array([7.5], np.float32), np.array([3, 7, 7.5], np.float32),
    ),
    "position in a sequence": (
        "(float[3] x, int64[n] v) => (float[3] y) { z = Neg (x) s = SequenceConstruct (x, z) y = SequenceAt (s, v) }",
        {"x": X}, np.array([1]), -X,
    ),
    "value of a padding": (
        "(float[3] x, float[n] v) => (float[5] y) { p = Constant <value_ints = [1, 1]> () y = Pad (x, p, v) }",
        {"x": X}, np.array([2], np.float32), np.array([2, 3, 7, 9, 2], np.float32),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", CASES)
def test_a_vector_of_a_free_dim(name: str, tmp_path: Path) -> None:
    graph, given, one, expected = CASES[name]
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 13]> free {graph}')
    onnx.save(model, tmp_path / "free.onnx")
    session = compile_model(tmp_path / "free.onnx")
    assert np.array_equal(session.run(None, {**given, "v": one})[0], expected)
    with pytest.raises(RunError):
        session.run(None, {**given, "v": np.repeat(one, 2)})
