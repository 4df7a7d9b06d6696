"""SlidingWindow against MONAI's own SlidingWindowInferer with onnxruntime as its network."""

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from monai.data.meta_tensor import MetaTensor
from monai.inferers import SlidingWindowInferer
from onnx import TensorProto, helper, numpy_helper

import onnxc
from tests.python.volumes.networks import predictor, save_network, volume

pytestmark = pytest.mark.usefixtures("commands")


@dataclass(frozen=True)
class Setting:
    size: tuple[int, ...]
    roi: tuple[int, ...] | int
    overlap: float | tuple[float, ...] = 0.25
    mode: str = "constant"
    sigma_scale: float | tuple[float, ...] = 0.125
    padding: str = "constant"
    cval: float = 0.0
    batch: int = 1
    sw_batch: int = 1
    network: str = "full"
    slab_axis: int | None = None

    def __str__(self) -> str:
        parts = ["x".join(map(str, self.size)), f"roi{self.roi}", f"o{self.overlap}", self.mode[:5], self.padding[:5]]
        return "-".join([*parts, f"b{self.batch}.{self.sw_batch}", self.network]).replace(" ", "")


NETWORKS: dict[str, dict[str, Any]] = {
    "full": {"heads": ("full",)},
    "many": {"heads": ("full",), "channels": 1, "classes": 14},
    "two heads": {"heads": ("full", "half")},
    "three heads": {"heads": ("full", "half", "quarter")},
    "zoomed": {"heads": ("half",)},
    "twice": {"heads": ("twice",)},
    "2d": {"heads": ("full",), "rank": 2},
    "1d": {"heads": ("full",), "rank": 1},
}

MODES = ("constant", "gaussian")
PADDING = ("constant", "reflect", "replicate", "circular")
SETTINGS = [
    # overlap, from none to the step of one voxel
    *[Setting((21, 18, 26), (12, 10, 16), overlap, mode) for overlap in (0.0, 0.25, 0.5, 0.6) for mode in MODES],
    Setting((12, 11, 14), (10, 10, 10), 0.9, "gaussian"),
    Setting((11, 10, 12), (9, 9, 9), 0.9),
    Setting((21, 18, 26), (12, 10, 16), (0.0, 0.5, 0.25), "gaussian"),
    Setting((21, 18, 26), (12, 10, 16), (0.7, 0.1, 0.3), "constant"),
    # the window's sizes
    Setting((20, 21, 22), 16, 0.5, "gaussian"),
    Setting((20, 21, 22), (16, -1, 0), 0.5, "gaussian"),
    Setting((20, 21, 22), (20, 16, 16), 0.5, "gaussian"),
    Setting((17, 18, 19), (17, 18, 19), 0.5, "gaussian"),
    Setting((25, 18, 19), (16, 18, 8), 0.25, "constant"),
    # the Gaussian
    Setting((21, 18, 26), (12, 10, 16), 0.5, "gaussian", sigma_scale=0.25),
    Setting((21, 18, 26), (12, 10, 16), 0.5, "gaussian", sigma_scale=(0.05, 0.125, 0.5)),
    # volumes smaller than the window
    *[Setting((9, 13, 26), (12, 16, 16), 0.5, "gaussian", padding=padding) for padding in PADDING],
    *[Setting((9, 10, 11), (16, 16, 16), 0.25, "constant", padding=padding) for padding in PADDING],
    Setting((9, 30, 11), (16, 16, 16), 0.5, "gaussian", cval=-2.5),
    # batches of volumes and of windows
    Setting((21, 18, 26), (12, 10, 16), 0.5, "gaussian", batch=2),
    Setting((21, 18, 26), (12, 10, 16), 0.25, "gaussian", batch=2, sw_batch=4),
    Setting((9, 18, 26), (12, 10, 16), 0.25, "constant", batch=2, sw_batch=5, padding="replicate"),
    Setting((21, 18, 26), (12, 10, 16), 0.5, "gaussian", sw_batch=64, network="many"),
    # heads, and heads of other resolutions
    Setting((24, 20, 28), (16, 8, 12), 0.5, "gaussian", network="two heads"),
    Setting((24, 20, 28), (16, 8, 12), 0.5, "constant", network="two heads", sw_batch=3, batch=2),
    Setting((24, 32, 16), (16, 16, 16), 0.5, "gaussian", network="three heads"),
    Setting((24, 20, 28), (16, 8, 12), 0.5, "gaussian", network="zoomed"),
    Setting((10, 20, 28), (16, 8, 12), 0.5, "gaussian", network="zoomed", padding="reflect"),
    Setting((9, 20, 11), (16, 8, 12), 0.0, "constant", network="zoomed"),
    Setting((14, 9, 12), (8, 10, 6), 0.5, "gaussian", network="twice"),
    # other ranks, and each slab axis
    Setting((40, 31), (16, 16), 0.5, "gaussian", network="2d", batch=2, sw_batch=4),
    Setting((10, 31), (16, 8), 0.25, "constant", network="2d", padding="circular"),
    Setting((50,), (16,), 0.5, "gaussian", network="1d"),
    *[Setting((21, 18, 26), (12, 10, 16), 0.5, "gaussian", slab_axis=axis) for axis in range(3)],
    *[Setting((30, 28, 31), (12, 10, 11), 0.3, "gaussian", slab_axis=axis, network="many") for axis in range(3)],
    *[Setting((9, 8, 26), (12, 12, 12), 0.5, "gaussian", slab_axis=axis) for axis in range(3)],
]  # fmt: skip


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each network, as ONNX and, beside it, compiled."""
    folder = tmp_path_factory.mktemp("networks")
    paths = {}
    for index, (name, arguments) in enumerate(NETWORKS.items()):
        paths[name] = save_network(folder / f"{index}.onnx", **arguments)
        onnxc.compile(paths[name], paths[name].with_suffix(".so"), options=["-O1"]).close()
    return paths


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_there_are_at_least_forty_settings() -> None:
    assert len(set(SETTINGS)) >= 40


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_is_monai(setting: Setting, networks: dict[str, Path]) -> None:
    model = networks[setting.network]
    channels = NETWORKS[setting.network].get("channels", 2)
    x = volume((setting.batch, channels, *setting.size))
    common: dict[str, Any] = {"overlap": setting.overlap, "mode": setting.mode, "sigma_scale": setting.sigma_scale}
    common |= {"padding_mode": setting.padding, "cval": setting.cval, "sw_batch_size": setting.sw_batch}
    expected = as_tuple(SlidingWindowInferer(setting.roi, **common)(torch.from_numpy(x), predictor(model)))

    window = onnxc.SlidingWindow(model.with_suffix(".so"), setting.roi, slab_axis=setting.slab_axis, **common)
    found = as_tuple(window(x))
    assert len(found) == len(expected)
    for y, reference in zip(found, expected, strict=True):
        reference = reference.numpy()
        assert y.shape == reference.shape
        np.testing.assert_allclose(y, reference, rtol=0, atol=1e-5 * np.abs(reference).max())

    labels = onnxc.SlidingWindow(model.with_suffix(".so"), setting.roi, output="labels", **common)
    for y, reference in zip(as_tuple(labels(x)), expected, strict=True):
        wanted = reference.argmax(1, keepdim=True).numpy()
        assert y.dtype == np.uint8
        assert y.shape == wanted.shape
        assert np.mean(y == wanted) >= 0.99999


def test_softmax_and_sigmoid(networks: dict[str, Path]) -> None:
    x = volume((1, 1, 20, 21, 22))
    common: dict[str, Any] = {"overlap": 0.5, "mode": "gaussian"}
    values = SlidingWindowInferer(12, **common)(torch.from_numpy(x), predictor(networks["many"]))
    for output, expected in {"softmax": torch.softmax(values, 1), "sigmoid": torch.sigmoid(values)}.items():
        window = onnxc.SlidingWindow(networks["many"].with_suffix(".so"), 12, output=output, **common)
        np.testing.assert_allclose(window(x), expected.numpy(), rtol=0, atol=1e-5)


def test_a_head_of_its_own_kind(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 24, 20, 28))
    model = networks["two heads"].with_suffix(".so")
    values, half = onnxc.SlidingWindow(model, 8)(x)
    found = onnxc.SlidingWindow(model, 8, output={"half": "labels", "full": "nothing"})(x)
    np.testing.assert_array_equal(found, half.argmax(1, keepdims=True))
    labels, sigmoid = onnxc.SlidingWindow(model, 8, output={"full": "labels", "half": "sigmoid"})(x)
    np.testing.assert_array_equal(labels, values.argmax(1, keepdims=True))
    np.testing.assert_allclose(sigmoid, torch.sigmoid(torch.from_numpy(half)).numpy(), atol=1e-6)


@pytest.mark.parametrize("slab_axis", [None, 0, 1, 2])
def test_bits_do_not_depend_on_threads(networks: dict[str, Path], slab_axis: int | None) -> None:
    x = volume((1, 1, 30, 28, 33))
    results = [
        onnxc.SlidingWindow(networks["many"].with_suffix(".so"), (12, 10, 14), 0.5, "gaussian", threads=threads,
                            slab_axis=slab_axis)(x)
        for threads in (1, 2, 3, 7)
    ]  # fmt: skip
    for result in results[1:]:
        assert result.tobytes() == results[0].tobytes()


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f8", "f2", "i8"])
def test_scans_of_other_types(networks: dict[str, Path], dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 100, (1, 2, 14, 15, 16)).astype(dtype)
    window = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), 8)
    np.testing.assert_array_equal(window(x), window(x.astype(np.float32)))


def test_any_order_in_memory(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 14, 15, 16))
    for output in ("values", "labels"):
        window = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), 8, output=output)
        expected = window(x)
        for order in (
            np.asfortranarray(x),
            x[:, :, ::-1].copy()[:, :, ::-1],
            np.pad(x, 3)[3:-3, 3:-3, 3:-3, 3:-3, 3:-3],
        ):
            np.testing.assert_array_equal(window(order), expected)


def test_is_an_inferer_of_monai(networks: dict[str, Path]) -> None:
    affine = torch.diag(torch.tensor([2.0, 3.0, 4.0, 1.0]))
    x: Any = MetaTensor(torch.from_numpy(volume((1, 2, 14, 15, 16))), affine=affine)
    network = predictor(networks["full"])
    expected = SlidingWindowInferer(8)(x, network)
    found = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), 8)(x, network)
    assert isinstance(found, MetaTensor)
    assert torch.equal(found.affine, expected.affine)
    torch.testing.assert_close(found.as_tensor(), expected.as_tensor(), rtol=0, atol=1e-5)
    plain = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), 8)(x.as_tensor())
    assert type(plain) is torch.Tensor


def test_small_windows_go_several_to_a_run_where_the_model_takes_them(tmp_path: Path) -> None:
    """By default; the mean over the windows of a run is one window's only if it has one."""
    x = volume((1, 1, 16, 24, 8))
    for name, layer in {"each": ("Relu", ["x"], {}), "mean": ("ReduceMean", ["x", "first"], {"keepdims": 1})}.items():
        operator, inputs, attributes = layer
        graph = helper.make_graph(
            [helper.make_node(operator, inputs, ["y"], **attributes)],
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.array([0], np.int64), "first")],
        )
        model = tmp_path / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
        session = onnxc.compile(model)
        told: list[tuple[int, int]] = []
        window = onnxc.SlidingWindow(session, 8, 0.0, slab_axis=1)
        window.progress = lambda *count, told=told: told.append(count)
        found = window(x)
        assert [done for done, _ in told] == ([2, 4, 6] if name == "each" else [1, 2, 3, 4, 5, 6])
        np.testing.assert_array_equal(found, onnxc.SlidingWindow(session, 8, 0.0, sw_batch_size=1)(x))
        if name == "mean":
            with pytest.raises(onnxc.OnnxcError, match="2 windows give dim 0 the size 1"):
                onnxc.SlidingWindow(session, 8, 0.0, sw_batch_size=2)(x)
        session.close()


def test_tells_the_voxels_that_are_nan(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 20, 9, 24))
    x[0, 0, 3:6, 2:4, 10:20] = np.nan
    x[0, 1, 19, 8, 23] = np.nan
    window = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), (12, 12, 8), 0.5, padding_mode="reflect")
    with pytest.warns(RuntimeWarning, match="61 voxels of the volume are NaN"):
        window(x)


def test_progress_and_stopping(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 16, 8, 24))
    told = []
    window = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), 8, 0.0, sw_batch_size=4)
    window.progress = lambda done, windows: told.append((done, windows))
    expected = window(x)
    assert told == [(3, 6), (6, 6)] or told == [(4, 6), (6, 6)] or told == [(2, 6), (4, 6), (6, 6)]
    assert window.summary is not None
    assert window.summary.windows == window.summary.runs == 6
    assert 0 < window.summary.network_seconds <= window.summary.seconds

    def interrupt(done: int, windows: int) -> None:
        raise KeyboardInterrupt

    window.progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        window(x)
    window.progress = None
    np.testing.assert_array_equal(window(x), expected)


def test_takes_the_arguments_of_monai(networks: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.from_numpy(volume((1, 2, 16, 8, 24)))
    arguments: dict[str, Any] = {
        "roi_size": (8, 8, 8), "sw_batch_size": 2, "overlap": 0.0, "mode": "gaussian", "sigma_scale": 0.2,
        "padding_mode": "constant", "cval": 0.0, "sw_device": torch.device("cpu"), "device": "cpu", "progress": True,
        "cache_roi_weight_map": True, "cpu_thresh": 1000, "buffer_steps": None, "buffer_dim": -1, "with_coord": False,
    }  # fmt: skip
    assert set(arguments) == set(inspect.signature(SlidingWindowInferer.__init__).parameters) - {"self"}
    expected = SlidingWindowInferer(**arguments)(x, predictor(networks["full"]))
    capsys.readouterr()
    found = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), **arguments)(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    assert "100%" in (bar := capsys.readouterr().err)
    assert "6/6" in bar


def test_no_bar_where_none_is_asked_for_or_tqdm_is_missing(
    networks: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = volume((1, 2, 16, 8, 24))
    model = networks["full"].with_suffix(".so")
    expected = onnxc.SlidingWindow(model, 8, progress=False)(x)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    np.testing.assert_array_equal(onnxc.SlidingWindow(model, 8, progress=True)(x), expected)
    assert capsys.readouterr().err == ""


def test_models_are_averaged(networks: dict[str, Path], tmp_path: Path) -> None:
    x = volume((1, 2, 14, 15, 16))
    other = save_network(tmp_path / "other.onnx", ("full",), classes=4)
    text = other.read_bytes()
    assert text == networks["full"].read_bytes()
    folds = [networks["full"].with_suffix(".so"), networks["full"].with_suffix(".so")]
    one = onnxc.SlidingWindow(folds[:1], 8, 0.5, "gaussian")(x)
    both = onnxc.SlidingWindow(folds, 8, 0.5, "gaussian")(x)
    np.testing.assert_allclose(both, one, rtol=0, atol=1e-6)


WRONG_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"model": []}, "model is an empty list: a sliding window needs a model"),
    ({"roi_size": (8, 8)}, "roi_size has 2 numbers, and a window 3 spatial axes: give one for each"),
    ({"overlap": (0.5, 0.5)}, "overlap has 2 numbers, and a window 3 spatial axes"),
    ({"overlap": 1.0}, r"overlap is \[1.0, 1.0, 1.0\], expected 0 or more, and below 1"),
    ({"overlap": (0.5, -0.1, 0)}, r"overlap is \[0.5, -0.1, 0.0\], expected 0 or more, and below 1"),
    ({"sigma_scale": 0.0}, r"sigma_scale is \[0.0, 0.0, 0.0\], expected more than 0"),
    ({"mode": "round"}, "mode is 'round', expected one of constant, gaussian"),
    ({"padding_mode": "foo"}, "padding_mode is 'foo', expected one of constant, reflect, replicate, circular"),
    ({"output": "foo"}, "output is 'foo', expected one of values, softmax, sigmoid, labels, nothing"),
    ({"output": {"z": "labels"}}, r"output has \['z'\], and the model gives the outputs \['full'\]"),
    ({"mirror_axes": [3]}, r"mirror_axes is \[3\], expected spatial axes from -3 to 2"),
    ({"mirror_axes": [-4]}, "mirror_axes is -4, expected spatial axes from -3 to 2"),
    ({"slab_axis": 7}, "slab_axis is 7, and a window has 3 spatial axes: expected 0 to 2; or None or -1"),
    ({"slab_axis": -2}, "slab_axis is -2"),
    ({"sw_batch_size": -2}, "sw_batch_size is -2, expected 1 or more; or None, 0 or -1, which leave it to onnxc"),
    ({"fixed": {"q": np.zeros(1)}}, r"fixed has \['q'\], and the model takes the inputs \['x'\]"),
    ({"fixed": {"x": np.zeros(1)}}, r"these are not fixed: \[\]; expected one of \['x'\]"),
    ({"sw_device": "cuda:0"}, "sw_device is 'cuda:0', and the model runs on 'cpu': leave sw_device out"),
    ({"sw_device": torch.device("cuda")}, "sw_device is 'cuda', and the model runs on 'cpu'"),
    ({"device": "cuda:1"}, "device is 'cuda:1', and results come to the CPU: expected 'cpu', or None"),
    ({"with_coord": True}, "with_coord is True, and a compiled model takes no coordinates"),
]


@pytest.mark.parametrize(("changed", "text"), WRONG_ARGUMENTS)
def test_wrong_arguments_are_refused_at_construction(
    networks: dict[str, Path], changed: dict[str, Any], text: str
) -> None:
    arguments: dict[str, Any] = {"model": networks["full"].with_suffix(".so"), "roi_size": 8, **changed}
    with pytest.raises(onnxc.ArgumentError, match=text):
        onnxc.SlidingWindow(**arguments)


def test_what_means_the_volumes_own_size(networks: dict[str, Path]) -> None:
    x = volume((1, 2, 14, 15, 16))
    model = networks["full"].with_suffix(".so")
    expected = onnxc.SlidingWindow(model, (14, 15, 16))(x)
    for size in (None, 0, -1, (None, 0, -1)):
        np.testing.assert_array_equal(onnxc.SlidingWindow(model, size)(x), expected)
    for batch in (None, 0, -1):
        np.testing.assert_array_equal(onnxc.SlidingWindow(model, None, sw_batch_size=batch)(x), expected)
    for axis in (None, -1):
        np.testing.assert_array_equal(onnxc.SlidingWindow(model, None, slab_axis=axis)(x), expected)


REFUSALS: list[tuple[dict[str, Any], tuple[int, ...], str]] = [
    ({"padding_mode": "reflect"}, (1, 2, 4, 9, 9), "axis 0 of the volume has 4 voxels, too few to pad it"),
    ({}, (1, 3, 9, 9, 9), "dim 1 .* 2"),
    ({}, (1, 2, 9, 9), "shape .1, 2, 9, 9., 4 axes, and the model's input 'x' has 5: expected .batch, channels, axes"),
    ({}, (9, 9, 9), "with 3 spatial axes: add those that are missing, as array.None, None."),
    ({"roi_size": (8, 8, 8)}, (9, 9, 9), "shape .9, 9, 9., 3 axes, and the model's input 'x' has 5: expected .batch"),
    ({}, (2, 9), "a batch of volumes is .batch, channels, 1 to 3 axes., found the shape"),
    ({}, (0, 2, 9, 9, 9), "the batch has no volume"),
    ({"sw_batch_size": 5000}, (1, 2, 9, 9, 9), "5000 windows in a run are asked for"),
]


@pytest.mark.parametrize(("changed", "shape", "text"), REFUSALS)
def test_refusals(networks: dict[str, Path], changed: dict[str, Any], shape: tuple[int, ...], text: str) -> None:
    arguments: dict[str, Any] = {"roi_size": 12 if "padding_mode" in changed else 8, **changed}
    window = onnxc.SlidingWindow(networks["full"].with_suffix(".so"), **arguments)
    with pytest.raises(onnxc.OnnxcError, match=text):
        window(np.zeros(shape, np.float32))


def test_an_output_without_elements_is_refused(networks: dict[str, Path]) -> None:
    text = "output 'quarter' is .* for one window, and the windows' places do not come to whole elements"
    with pytest.raises(onnxc.RunError, match=text):
        onnxc.SlidingWindow(networks["three heads"].with_suffix(".so"), (16, 12, 2))(np.zeros((1, 2, 16, 12, 8), "f4"))
