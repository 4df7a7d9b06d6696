"""Convolutions whose input holds NaN or infinities: they reach the outputs that read them and no others, as in
onnxruntime, and cost little.

Winograd's transforms mix the voxels of a tile, so what is not finite is computed again
(src/kernels/cpu/conv_winograd/conv_winograd_recompute.h).
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import onnxc

pytestmark = pytest.mark.usefixtures("commands")

Array = NDArray[np.float32]
CHANNELS = 48


@pytest.fixture(scope="module", params=[3, 5], ids=["3x3x3", "5x5x5"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two convolutions with a rectifier between them."""
    generator = np.random.default_rng(0)
    taps = request.param
    nodes, weights = [], []
    for name, source in (("a", "x"), ("y", "r")):
        w = generator.standard_normal((CHANNELS, CHANNELS, taps, taps, taps)) / np.sqrt(CHANNELS * taps**3)
        weights.append(numpy_helper.from_array(w.astype(np.float32), f"{name}.w"))
        nodes.append(helper.make_node("Conv", [source, f"{name}.w"], [name], pads=[taps // 2] * 6))
    nodes.insert(1, helper.make_node("Relu", ["a"], ["r"]))
    dims: list[Any] = [1, CHANNELS, "D", "H", "W"]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    onnxc.compile(path, path.with_suffix(".so")).close()
    return path


def everywhere(value: float) -> Callable[[Array], None]:
    return lambda x: x.fill(value)


def half_nan(x: Array) -> None:
    x[:, :, : x.shape[2] // 2] = np.nan


def ball_of_values(x: Array) -> None:
    """As an image whose background is masked."""
    grid = np.meshgrid(*(np.linspace(-1, 1, size) for size in x.shape[2:]), indexing="ij")
    x[:, :, sum(axis**2 for axis in grid) > 0.8] = np.nan


def scattered(x: Array) -> None:
    x[0, 3, ::7, ::5, ::6] = np.inf
    x[0, 4, 1::7, ::6, ::7] = -np.inf
    x[0, 5, 2::8, ::8, ::9] = np.nan
    x[0, 6, 3::8, ::8, ::9] = np.finfo(np.float32).max


CASES = [everywhere(np.nan), everywhere(np.inf), half_nan, ball_of_values, scattered]


@pytest.mark.parametrize("change", CASES, ids=["all NaN", "all infinite", "half NaN", "ball", "scattered"])
def test_as_onnxruntime(model: Path, change: Callable[[Array], None]) -> None:
    x = np.random.default_rng(1).standard_normal((1, CHANNELS, 6, 7, 70)).astype(np.float32)
    change(x)
    with onnxc.InferenceSession(model.with_suffix(".so")) as session:
        y = session.run(None, {"x": x})[0]
    expected = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(np.isinf(y), infinite)
    np.testing.assert_array_equal(y[infinite], expected[infinite])
    finite = np.isfinite(expected)
    if finite.any():
        largest = np.abs(expected[finite]).max()
        np.testing.assert_allclose(y[finite], expected[finite], rtol=0, atol=1e-5 * largest)


def test_an_input_of_nan_costs_no_more_than_three_times_an_ordinary_one(model: Path) -> None:
    """In processor time of one thread, the least of many runs in turns; what is measured is 1.3 times."""
    ordinary = np.random.default_rng(1).standard_normal((1, CHANNELS, 16, 16, 16)).astype(np.float32)
    masked = ordinary.copy()
    half_nan(masked)
    inputs = {"ordinary": ordinary, "half": masked, "all": np.full_like(ordinary, np.nan)}
    least = dict.fromkeys(inputs, np.inf)
    with onnxc.InferenceSession(model.with_suffix(".so"), threads=1) as session:
        for _ in range(15):
            for name, x in inputs.items():
                start = time.process_time()
                session.run(None, {"x": x})
                least[name] = min(least[name], time.process_time() - start)
    assert least["all"] < 3 * least["ordinary"]
    assert least["half"] < 3 * least["ordinary"]


def test_a_block_of_nan_in_a_window_costs_no_more_than_three_times_an_ordinary_one(model: Path) -> None:
    """16^3 voxels, across tiles' edges, in a window of 48^3; what is measured is 1.4 times (5x5x5: 1.01)."""
    ordinary = np.random.default_rng(1).standard_normal((1, CHANNELS, 48, 48, 48)).astype(np.float32)
    masked = ordinary.copy()
    masked[:, :, 15:31, 14:30, 13:29] = np.nan
    least = {"ordinary": np.inf, "masked": np.inf}
    with onnxc.InferenceSession(model.with_suffix(".so"), threads=1) as session:
        for _ in range(5):
            for name, x in (("ordinary", ordinary), ("masked", masked)):
                start = time.process_time()
                session.run(None, {"x": x})
                least[name] = min(least[name], time.process_time() - start)
    assert least["masked"] < 3 * least["ordinary"], least
