"""Variables of the environment that the package reads: a value without a meaning is an error that names it."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxc

pytestmark = pytest.mark.usefixtures("commands")

MODEL = '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (y) { y = Neg(x) }'
FAULTY = {
    "ONNXC_BIN": ("/nowhere", "the environment variable ONNXC_BIN is '/nowhere', and this folder has no command onnxc"),
    "ONNXC_MODEL_CACHE": (
        "/proc/models",
        "the environment variable ONNXC_MODEL_CACHE: cannot make the folder '/proc/models': No such file or directory",
    ),
    "ONNXC_MODEL_CACHE_BYTES": (
        "4G",
        "the environment variable ONNXC_MODEL_CACHE_BYTES is '4G'; a number of bytes is expected",
    ),
}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    monkeypatch.setenv("ONNXC_MODEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("name", FAULTY)
def test_a_value_without_a_meaning(model: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value, message = FAULTY[name]
    monkeypatch.setenv(name, value)
    with pytest.raises(onnxc.ArgumentError) as caught:
        onnxc.InferenceSession(model)
    assert str(caught.value) == message


def test_a_home_that_cannot_be_written_keeps_nothing(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not chosen, and the model runs without."""
    monkeypatch.delenv("ONNXC_MODEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with onnxc.InferenceSession(model) as session:
        np.testing.assert_array_equal(session.run(None, {"x": np.ones(2, np.float32)})[0], [-1, -1])
