"""Volumes on a GPU, which is the simulator. Its streams do what nobody waits for as late as they may, or as early:
results that are read too soon, and inputs that are overwritten too soon, show. Held against MONAI's and nnU-Net's own
windows with onnxruntime, and against the same model.so on the CPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from monai.inferers import SlidingWindowInferer
from numpy.typing import NDArray
from onnx import TensorProto, helper

import onnxc
from tests.onnxc_commands import SIMULATOR
from tests.python.volumes.networks import predictor, save_network, volume
from tests.python.volumes.nnunet_package import nnunet_predictor, sums_in_float32

pytestmark = pytest.mark.usefixtures("commands")

FOR_BOTH = ["-O1", "--target", "cpu,hip"]


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each network as ONNX and, beside it, compiled for the CPU and the GPU."""
    folder = tmp_path_factory.mktemp("networks")
    paths = {}
    for name, heads, seed in (("full", ("full",), 0), ("fold", ("full",), 1), ("two heads", ("full", "half"), 0)):
        paths[name] = save_network(folder / f"{name}.onnx", heads, seed=seed)
        onnxc.compile(paths[name], paths[name].with_suffix(".so"), options=FOR_BOTH).close()
    return paths


@pytest.fixture(params=["late", "early"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GFX942SIM_STREAMS", request.param)
    return str(request.param)


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))


def on(device: str, model: Path, **arguments: Any) -> onnxc.InferenceSession:
    return onnxc.InferenceSession(model.with_suffix(".so"), device=device, **arguments)


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def expect_close(found: NDArray[Any], expected: NDArray[Any]) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@dataclass(frozen=True)
class Setting:
    size: tuple[int, int, int]
    roi: tuple[int, int, int]
    sw_batch: int
    overlap: float = 0.5
    mode: str = "gaussian"
    padding: str = "constant"
    network: str = "full"


SETTINGS = {
    "one window in a run": Setting((8, 8, 15), (8, 8, 8), 1),
    "batches, the last of a slab partial": Setting((10, 9, 17), (8, 8, 8), 3),
    "all windows of a slab at once": Setting((8, 12, 17), (8, 8, 8), 64),
    "a single window": Setting((8, 9, 10), (8, 9, 10), 4),
    "smaller than the window": Setting((5, 6, 17), (8, 8, 8), 2, padding="reflect"),
    "two heads, one at half the resolution": Setting((8, 12, 16), (8, 8, 8), 4, network="two heads"),
    "constant importance": Setting((8, 10, 17), (8, 8, 8), 3, 0.25, "constant"),
}


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())
def test_is_monai(setting: Setting, networks: dict[str, Path]) -> None:
    model = networks[setting.network]
    x = volume((1, 2, *setting.size))
    common: dict[str, Any] = {"overlap": setting.overlap, "mode": setting.mode, "padding_mode": setting.padding}
    common["sw_batch_size"] = setting.sw_batch
    expected = as_tuple(SlidingWindowInferer(setting.roi, **common)(torch.from_numpy(x), predictor(model)))
    with on("hip", model) as gpu, on("cpu", model) as cpu:
        found = as_tuple(onnxc.SlidingWindow(gpu, setting.roi, **common)(x))
        on_cpu = as_tuple(onnxc.SlidingWindow(cpu, setting.roi, **common)(x))
    assert len(found) == len(expected)
    for y, y_cpu, reference in zip(found, on_cpu, expected, strict=True):
        expect_close(y, reference.numpy())
        expect_close(y, y_cpu)


def test_labels_of_two_volumes(networks: dict[str, Path]) -> None:
    x = volume((2, 2, 8, 9, 15))
    common: dict[str, Any] = {"overlap": 0.5, "mode": "gaussian", "sw_batch_size": 4}
    expected = SlidingWindowInferer(8, **common)(torch.from_numpy(x), predictor(networks["full"])).argmax(1)
    with on("hip", networks["full"]) as gpu, on("cpu", networks["full"]) as cpu:
        for session in (gpu, cpu):
            labels = onnxc.SlidingWindow(session, 8, output="labels", **common)(x)
            assert np.mean(labels[:, 0] == expected.numpy()) >= 0.99999


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize(("mirroring", "size"), [(None, (8, 9, 14)), ((1,), (5, 9, 8)), ((0, 1, 2), (8, 9, 8))])
def test_is_nnunet(mirroring: tuple[int, ...] | None, size: tuple[int, ...], networks: dict[str, Path]) -> None:
    """Two folds, whose runs share the windows that were sent, mirrored or not."""
    models = [networks["full"], networks["fold"]]
    x = torch.from_numpy(volume((2, *size)))
    theirs = nnunet_predictor(models, (8, 8, 8), mirroring, 0.5, True)
    with sums_in_float32():
        expected = theirs.predict_logits_from_preprocessed_data(x).numpy()
    sessions = [on("hip", model) for model in models]
    ours = onnxc.nnunet.Predictor(0.5, True, mirroring is not None)
    ours.initialize_from_models(sessions, (8, 8, 8), mirroring)
    expect_close(ours.predict_logits_from_preprocessed_data(x).numpy(), expected)
    if mirroring is None:
        assert np.mean(ours.predict_labels_from_preprocessed_data(x).numpy() == expected.argmax(0)) >= 0.99999
    for session in sessions:
        session.close()


@pytest.mark.usefixtures("order")
def test_every_slab_axis_and_graphs_give_the_same_bits(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 9, 10, 8))
    with on("hip", networks["full"]) as plain, on("hip", networks["full"], hip_graph=True) as graphs:
        for axis in range(3):
            results = [
                onnxc.SlidingWindow(session, 8, 0.5, "gaussian", sw_batch_size=3, slab_axis=axis)(x).tobytes()
                for session in (plain, graphs, plain)
            ]
            assert len(set(results)) == 1
        # One for each dims and each slot, which later volumes find again: 8 are kept.
        assert graphs.captured_graphs <= 8


def test_memory_of_its_own_for_each_value_shows_no_access_beyond_it(
    networks: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXC_POISON", "1")
    x = volume((1, 2, 9, 12, 11))
    with on("hip", networks["full"]) as gpu, on("cpu", networks["full"]) as cpu:
        found, expected = (onnxc.SlidingWindow(session, 8, sw_batch_size=3)(x) for session in (gpu, cpu))
    expect_close(found, expected)


@pytest.mark.usefixtures("order")
def test_an_input_that_is_the_same_for_every_window(tmp_path: Path) -> None:
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in
              (("x", ["N", 1, "D", "H", "W"]), ("k", [2, 1, 1, 1]), ("y", ["N", 2, "D", "H", "W"]))}  # fmt: skip
    graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["y"])], "g", [values["x"], values["k"]],
                              [values["y"]])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    onnxc.compile(tmp_path / "m.onnx", tmp_path / "m.so", options=FOR_BOTH).close()
    x = np.arange(9 * 10 * 11, dtype=np.int16).reshape(1, 1, 9, 10, 11)
    k = np.array([2, -3], np.float32).reshape(2, 1, 1, 1)
    with on("hip", tmp_path / "m.onnx") as gpu:
        y = onnxc.SlidingWindow(gpu, 8, 0.0, fixed={"k": k}, sw_batch_size=2)(x)
    np.testing.assert_array_equal(y, x * k)


@pytest.mark.usefixtures("order")
def test_progress_and_stopping(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 16, 8, 24))
    told: dict[str, list[tuple[int, int]]] = {}
    results = []
    with on("hip", networks["full"]) as gpu, on("cpu", networks["full"]) as cpu:
        for name, session in (("hip", gpu), ("cpu", cpu)):
            told[name] = []
            window = onnxc.SlidingWindow(session, 8, 0.0, sw_batch_size=2, slab_axis=0)
            window.progress = lambda done, windows, name=name: told[name].append((done, windows))
            results.append(window(x))
            assert window.summary is not None
            assert window.summary.windows == window.summary.runs == 6
            assert 0 < window.summary.network_seconds <= window.summary.seconds
        assert told["hip"] == told["cpu"] == [(2, 6), (3, 6), (5, 6), (6, 6)]

        # In the middle, while the next run is under way.
        def interrupt(done: int, windows: int) -> None:
            if done == 3:
                raise KeyboardInterrupt

        window = onnxc.SlidingWindow(gpu, 8, 0.0, sw_batch_size=2, slab_axis=0, progress=interrupt)
        with pytest.raises(KeyboardInterrupt):
            window(x)
        window.progress = None
        np.testing.assert_array_equal(window(x), results[0])


def test_models_of_one_volume_run_on_one_device(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 9, 8, 11))
    with on("hip", networks["full"]) as gpu, on("cpu", networks["fold"]) as cpu:
        # Values in host memory, which a GPU takes as well.
        onnxc.SlidingWindow([cpu, gpu], 8)(x)
        with pytest.raises(onnxc.RunError, match=r"member 0: .* this instance runs on the CPU"):
            onnxc.SlidingWindow([gpu, cpu], 8)(x)
