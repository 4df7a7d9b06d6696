"""Runs as HIP graphs on the simulator: the same bits as without, from what the run gets."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from models.tensor_files import Array
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.case import random

HEADER = '<ir_version: 9, opset_import: ["" : 18]>'
NETWORK = """model (float[N, 5, H, W] x) => (y, m) {
  a = Conv <pads = [1, 1, 1, 1]> (x, w)
  b = InstanceNormalization (a, scale, shift)
  c = Relu (b)
  y = ConvTranspose <strides = [2, 2]> (c, v)
  m = GlobalAveragePool (y)
}"""
DATA_DEPENDENT = """model (float[N, 5, H, W] x) => (y) {
  p = NonZero (x)
  y = Identity (p)
}"""


def session_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, hip_graph: bool) -> InferenceSession:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
    shared_object = folder / "model.so"
    if not shared_object.exists():
        model = parse_model(HEADER + text)
        weights = {"w": random(20, 5, 3, 3), "v": random(20, 7, 2, 2), "scale": random(20), "shift": random(20, seed=1)}
        used = {name for node in model.graph.node for name in node.input}
        model.graph.initializer.extend(
            onnx.numpy_helper.from_array(array, name) for name, array in weights.items() if name in used
        )
        onnx.save(model, folder / "model.onnx")
        onnxc_commands.compile_model(folder / "model.onnx", shared_object, "--target", "hip")
    return InferenceSession(shared_object, device="hip", hip_graph=hip_graph)


def launches(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.usefixtures("commands")
def test_the_same_bits_as_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "launches"
    monkeypatch.setenv("GFX942SIM_LOG", str(log))
    plain = session_of(NETWORK, tmp_path, monkeypatch, hip_graph=False)
    graphs = session_of(NETWORK, tmp_path, monkeypatch, hip_graph=True)
    # New contents, new dims, and dims of before; larger ones move the working memory, and with it the pointers.
    inputs: list[tuple[Array, int]] = [
        (random(1, 5, 6, 7), 1),
        (random(1, 5, 6, 7, seed=1), 1),
        (random(2, 5, 9, 8), 2),
        (random(1, 5, 6, 7, seed=2), 3),
        (random(2, 5, 9, 8, seed=3), 3),
        (random(0, 5, 6, 7), 4),
    ]
    for x, captured in inputs:
        before = launches(log)
        expected = plain.run(None, {"x": x})
        between = launches(log)
        results = graphs.run(None, {"x": x})
        # Capturing runs nothing, and a replay all of it.
        assert launches(log) - between == between - before
        for result, reference in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, reference)
        assert graphs.captured_graphs == captured
    assert plain.captured_graphs == 0


@pytest.mark.usefixtures("commands")
def test_with_memory_that_is_poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each buffer is an allocation of its own then, made anew for each run."""
    expected = session_of(NETWORK, tmp_path, monkeypatch, hip_graph=False).run(None, {"x": random(1, 5, 6, 7)})
    monkeypatch.setenv("ONNXC_POISON", "1")
    graphs = session_of(NETWORK, tmp_path, monkeypatch, hip_graph=True)
    for runs in range(1, 11):
        for result, reference in zip(graphs.run(None, {"x": random(1, 5, 6, 7)}), expected, strict=True):
            np.testing.assert_array_equal(result, reference)
        assert graphs.captured_graphs == runs


@pytest.mark.usefixtures("commands")
def test_where_the_host_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = random(1, 5, 3, 2) * (random(1, 5, 3, 2, seed=1) > 0)
    session = session_of(DATA_DEPENDENT, tmp_path, monkeypatch, hip_graph=True)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.array(np.nonzero(x)))
    assert session.captured_graphs == 0


@pytest.mark.usefixtures("commands")
def test_onnxc_run_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session_of(NETWORK, tmp_path, monkeypatch, hip_graph=False)
    x = random(1, 5, 6, 7)
    results = [
        onnxc_commands.run_arrays(tmp_path / "model.so", {"x": x}, ["y", "m"], tmp_path / str(len(options)), *options)
        for options in (("--device", "hip"), ("--device", "hip", "--hip-graph"))
    ]
    for name in ("y", "m"):
        np.testing.assert_array_equal(results[0][name], results[1][name])
