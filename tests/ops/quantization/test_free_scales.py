"""A vector of scales of a free dim: how many there may be depends on the input's rank."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxc import RunError
from onnxc import compile as compile_model

MODEL = """
<ir_version: 10, opset_import: ["" : 13]>
free (float{dims} x, float[n] scale) => (uint8 y) {{ y = QuantizeLinear <axis = 0> (x, scale) }}
"""


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("dims", "sizes"), [("", ()), ("[k]", (3,))])
def test_a_scalar_takes_one_number(dims: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL.format(dims=dims)), tmp_path / "free.onnx")
    session = compile_model(tmp_path / "free.onnx")
    x = np.full(sizes, 7, np.float32)
    assert session.run(None, {"x": x, "scale": np.array([0.5], np.float32)})[0].tolist() == np.full(sizes, 14).tolist()
    with pytest.raises(RunError, match="scale|n = 2"):
        session.run(None, {"x": x, "scale": np.array([0.5, 0.25], np.float32)})
