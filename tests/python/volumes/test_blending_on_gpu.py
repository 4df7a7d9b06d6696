"""Windows that are cut, blended and finished on a GPU give the bits that the CPU gives: on the simulator of AMD's, and
with the very source of the kernels on the stand-in for NVIDIA's driver. The models compute alike on both devices."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import onnxc
from onnxc.volume import WindowSettings, run_volume
from tests import onnxc_commands
from tests.onnxc_commands import BINARIES, CUDA_STAND_IN, REPOSITORY, SIMULATOR
from tools.host_blocks import asan_runtime, build_kernels

pytestmark = pytest.mark.usefixtures("commands")

AXES = ["D", "H", "W"]
Array = NDArray[Any]
Shape = tuple[int, int, int]  # of a model: spatial axes, channels, classes


def save_model(path: Path, shape: Shape, dtype: int = TensorProto.FLOAT, *, outside: int | None = None) -> Path:
    """x [N, channels, axes...] to y [N, classes, axes...], whose channel c is a channel of x times a number, and to
    coarse, the maxima of y over 2 places an axis. `outside`: the type of x, y and coarse, if it is another."""
    rank, channels, classes = shape
    outside = dtype if outside is None else outside
    factors = np.linspace(-1.7, 2.3, classes).astype(np.float32).reshape(classes, *[1] * rank)
    constants = [
        numpy_helper.from_array(np.arange(classes) % channels, "order"),
        helper.make_tensor("factors", dtype, factors.shape, factors.flatten().tolist()),
    ]
    nodes = [
        helper.make_node("Cast", ["x"], ["inside"], to=dtype),
        helper.make_node("Gather", ["inside", "order"], ["taken"], axis=1),
        helper.make_node("Mul", ["taken", "factors"], ["product"]),
        helper.make_node("MaxPool", ["product"], ["maxima"], kernel_shape=[2] * rank, strides=[2] * rank),
        helper.make_node("Cast", ["product"], ["y"], to=outside),
        helper.make_node("Cast", ["maxima"], ["coarse"], to=outside),
    ]
    axes = AXES[-rank:]
    outputs = [
        helper.make_tensor_value_info("y", outside, ["N", classes, *axes]),
        helper.make_tensor_value_info("coarse", outside, ["N", classes, *(f"c{axis}" for axis in axes)]),
    ]
    inputs = [helper.make_tensor_value_info("x", outside, ["N", channels, *axes])]
    graph = helper.make_graph(nodes, "windows", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    return path


@dataclass(frozen=True)
class Model:
    on_gpu: Path
    on_cpu: Path  # the same computation, with float32 outside
    kernels: Path | None  # of a stand-in


class Models:
    """Compiled once for each vendor, shape and type."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[tuple[str, Shape, int], Model] = {}

    def get(self, vendor: str, shape: Shape, dtype: int = TensorProto.FLOAT) -> Model:
        key = (vendor, shape, dtype)
        if key not in self.known:
            self.known[key] = self.make(vendor, shape, dtype)
        return self.known[key]

    def make(self, vendor: str, shape: Shape, dtype: int) -> Model:
        stem = "_".join([vendor, *map(str, (*shape, dtype))])
        on_gpu = save_model(self.folder / f"{stem}.onnx", shape, dtype)
        on_cpu = save_model(self.folder / f"{stem}.cpu.onnx", shape, dtype, outside=TensorProto.FLOAT)
        options = ["-O1", "--target", "gpu", "--gpu-arch", vendor, "--march", "x86-64-v3"]
        onnxc_commands.compile_model(on_gpu, on_gpu.with_suffix(".so"), *options)
        onnxc_commands.compile_model(on_cpu, on_cpu.with_suffix(".so"), "-O1")
        kernels = None
        if vendor == "sm_80":
            source, kernels = on_gpu.with_suffix(".cpp"), on_gpu.with_suffix(".kernels.so")
            onnxc_commands.compile_model(on_gpu, source, *options, "--emit", "source")
            build_kernels(Path(f"{source}.device.hip"), vendor, kernels)
        return Model(on_gpu.with_suffix(".so"), on_cpu.with_suffix(".so"), kernels)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("blended"))


@pytest.fixture(params=["gfx942", "sm_80"])
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    monkeypatch.setenv("ONNXC_CUDA_LIBRARY", str(CUDA_STAND_IN))
    return str(request.param)


def image(channels: int, size: Sequence[int], dtype: Any = np.float32) -> Array:
    values = np.random.default_rng(len(size)).normal(0, 40, (channels, *size))
    return values.astype(dtype)


def on_both(
    model: Model, scan: Array, settings: WindowSettings, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Array], dict[str, Array]]:
    if model.kernels:
        monkeypatch.setenv("CUDA_STAND_IN_KERNELS", str(model.kernels))
    with onnxc.InferenceSession(model.on_gpu, device="gpu") as gpu, onnxc.InferenceSession(model.on_cpu) as cpu:
        found, gpu_summary = run_volume([gpu], scan, settings)
        expected, cpu_summary = run_volume([cpu], scan, settings)
    assert gpu_summary.windows == cpu_summary.windows
    assert gpu_summary.runs == cpu_summary.runs
    assert gpu_summary.nan_voxels == cpu_summary.nan_voxels
    return found, expected


def expect_same_bits(found: dict[str, Array], expected: dict[str, Array]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@dataclass(frozen=True)
class Setting:
    size: tuple[int, ...]
    window: tuple[int, ...]
    shape: Shape = (3, 1, 5)
    batch: int = 3
    more: dict[str, Any] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=lambda: {"y": "values"})

    def windows(self) -> WindowSettings:
        more: dict[str, Any] = {"importance": "gaussian", "overlap": [0.5] * len(self.size)} | self.more
        return WindowSettings(window=self.window, batch=self.batch, written=self.written, **more)


SETTINGS = {
    "a gaussian, a partial batch": Setting((9, 10, 13), (4, 6, 8)),
    "labels": Setting((9, 10, 13), (4, 6, 8), written={"y": "labels"}),
    "labels of one class": Setting((9, 10, 13), (4, 6, 8), (3, 2, 1), written={"y": "labels"}),
    "labels of 300 classes": Setting((5, 6, 13), (4, 6, 8), (3, 1, 300), written={"y": "labels"}),
    "more windows than a launch takes": Setting((10, 20, 26), (4, 4, 4), batch=100),
    "another slab axis": Setting((9, 10, 13), (4, 6, 8), more={"slab_axis": 1}),
    "the last slab axis": Setting((9, 10, 13), (4, 6, 8), more={"slab_axis": 2}, written={"y": "labels"}),
    "padded on all sides": Setting((3, 5, 6), (4, 8, 8), more={"padding": "reflect"}),
    "padded with a number": Setting((3, 5, 17), (4, 8, 8), more={"padding_value": -3.5}),
    "mirrored": Setting((5, 7, 9), (4, 4, 8), batch=2, more={"mirrored_axes": [0, 2]}),
    "nnU-Net's places": Setting((9, 10, 13), (4, 6, 8), more={"places": "even", "importance": "gaussian-nnunet"}),
    "another resolution beside it": Setting((8, 12, 16), (4, 8, 8), written={"y": "labels", "coarse": "values"}),
    "two axes": Setting((19, 23), (8, 6), (2, 3, 4), batch=4),
    "one axis": Setting((57,), (8,), (1, 2, 14), batch=4, written={"y": "labels"}),
    "hardly any overlap": Setting((20, 5, 7), (4, 4, 4), more={"overlap": [0.0, 0.3, 0.9], "importance": "constant"}),
}  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS.keys())
def test_gives_the_bits_of_the_cpu(
    setting: Setting, vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = models.get(vendor, setting.shape)
    expect_same_bits(*on_both(model, image(setting.shape[1], setting.size), setting.windows(), monkeypatch))


@pytest.mark.parametrize("streams", ["late", "early"])
def test_whatever_the_order_of_the_streams(
    streams: str, vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GFX942SIM_STREAMS", streams)
    monkeypatch.setenv("CUDA_STAND_IN_STREAMS", streams)
    for written in ("labels", "values"):
        setting = Setting((23, 9, 13), (4, 6, 8), batch=2, written={"y": written})
        model = models.get(vendor, setting.shape)
        expect_same_bits(*on_both(model, image(1, setting.size), setting.windows(), monkeypatch))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.float64, bool])
def test_scans_of_other_types_and_strides(
    dtype: Any, vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting((9, 6, 13), (4, 6, 8))
    scan = np.asfortranarray(np.abs(image(1, setting.size)).astype(dtype))
    model = models.get(vendor, setting.shape)
    expect_same_bits(*on_both(model, scan, setting.windows(), monkeypatch))


@pytest.mark.filterwarnings("ignore:1 voxels of the volume are NaN")
def test_what_is_not_finite(vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = image(1, (9, 10, 13))
    scan[0, 2, 3, 4], scan[0, 7, 9, 1], scan[0, 0, 0, 12] = np.nan, np.inf, -np.inf
    for written in ("labels", "values"):
        setting = Setting((9, 10, 13), (4, 6, 8), written={"y": written})
        expect_same_bits(*on_both(models.get(vendor, setting.shape), scan, setting.windows(), monkeypatch))


@pytest.mark.parametrize("written", ["softmax", "sigmoid"])
def test_exponentials_are_those_of_the_gpu(
    written: str, vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit of the last place or two, as the exponential function and sums of them differ."""
    setting = Setting((9, 10, 13), (4, 6, 8), written={"y": written})
    scan = image(1, setting.size) / 20
    found, expected = on_both(models.get(vendor, setting.shape), scan, setting.windows(), monkeypatch)
    np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-6, atol=1e-30)


def test_batches_give_the_same_bits(vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for batch in (1, 2, 5, 0, 200):
        setting = Setting((9, 10, 13), (4, 6, 8), batch=batch)
        found, _ = on_both(models.get(vendor, setting.shape), image(1, setting.size), setting.windows(), monkeypatch)
        results.append(found)
    for first, second in pairwise(results):
        expect_same_bits(first, second)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.BFLOAT16], ids=["float16", "bfloat16"])
def test_windows_of_halves(dtype: int, vendor: str, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting((9, 10, 13), (4, 6, 8), written={"y": "values", "coarse": "labels"})
    model = models.get(vendor, setting.shape, dtype)
    expect_same_bits(*on_both(model, image(1, setting.size), setting.windows(), monkeypatch))


def test_the_cpu_refuses_windows_of_halves(models: Models) -> None:
    path = save_model(models.folder / "halves.onnx", (3, 1, 5), TensorProto.FLOAT16)
    setting = Setting((9, 10, 13), (4, 6, 8))
    with (
        onnxc.compile(path, path.with_suffix(".so")) as cpu,
        pytest.raises(onnxc.RunError, match="'x' has dtype 10") as e,
    ):
        run_volume([cpu], image(1, setting.size), setting.windows())
    assert "on a GPU they may be float16 or bfloat16" in str(e.value)


@pytest.mark.slow
@pytest.mark.parametrize("written", ["labels", "values"])
def test_kernels_under_the_address_sanitizer(written: str, models: Models, tmp_path: Path) -> None:
    """In onnxc-run, which the sanitizer's library is loaded into first."""
    setting = Setting((11, 10, 13), (4, 6, 8), more={"mirrored_axes": [1]}, written={"y": written})
    model = models.get("sm_80", setting.shape)
    kernels = tmp_path / "kernels.so"
    build_kernels(model.on_gpu.with_suffix(".cpp.device.hip"), "sm_80", kernels, sanitize=True)
    scan = image(1, setting.size)
    np.save(tmp_path / "scan.npy", scan[0])
    variables = {"CUDA_STAND_IN_KERNELS": str(kernels), "LD_PRELOAD": asan_runtime(), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [str(BINARIES / "onnxc-run"), str(model.on_gpu), "--volume", str(tmp_path / "scan.npy")]
    command += ["--output", str(tmp_path / "result.npy"), "--device", "gpu", "--windows-per-run", "3"]
    command += ["--window", "4x6x8", "--overlap", "0.5", "--blend", "gaussian", "--mirror", "1"]
    done = subprocess.run(
        [*command, "--labels"] if written == "labels" else command,
        env=onnxc_commands.ENVIRONMENT | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with onnxc.InferenceSession(model.on_cpu) as cpu:
        expected, _ = run_volume([cpu], scan, setting.windows())
    found = np.load(tmp_path / "result.npy")
    np.testing.assert_array_equal(found, expected["y"].reshape(found.shape))


MEMORY = "CUDA_STAND_IN_MEMORY"


def test_too_little_memory(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer windows run at once; then the run ends, and the session goes on."""
    monkeypatch.setenv("ONNXC_CUDA_LIBRARY", str(CUDA_STAND_IN))
    setting = Setting((20, 24, 40), (16, 16, 32), batch=8)
    model = models.get("sm_80", setting.shape)
    assert model.kernels
    monkeypatch.setenv("CUDA_STAND_IN_KERNELS", str(model.kernels))
    scan = image(1, setting.size)
    taken = []
    with onnxc.InferenceSession(model.on_gpu, device="gpu") as gpu:
        expected, whole = run_volume([gpu], scan, setting.windows())
        for tenths in range(9, 0, -1):
            monkeypatch.setenv(MEMORY, str(whole.working_bytes * tenths // 10))
            try:
                found, less = run_volume([gpu], scan, setting.windows())
            except onnxc.RunError as error:
                message = str(error)
                break
            expect_same_bits(found, expected)
            taken.append(less.working_bytes)
        monkeypatch.delenv(MEMORY)
        found, _ = run_volume([gpu], scan, setting.windows())
        expect_same_bits(found, expected)
    assert min(taken) < whole.working_bytes
    assert re.search(r"out of memory.*; take smaller windows or fewer at once, or a GPU with more memory", message)


# Faults that a test must find: file, text, and what is in its place.
FAULTS = {
    "a product that is not rounded": ("add_windows.h", "sums[c] += product;", "sums[c] += weight * read[c];"),
    "windows in the opposite order": (
        "add_windows.h",
        "for (int window = 0; window < arguments.launched.count; ++window) {",
        "for (int window = arguments.launched.count; window-- > 0;) {",
    ),
    "a mirrored window added as it is": ("add_windows.h", "return mirror(", "return mirror(0 & "),
    "a window that is not mirrored": ("cut_windows.h", "mirror(arguments.launched.mirrored,", "mirror(0,"),
    "another channel": ("cut_windows.h", "channel = row - window", "channel = 0 * row - 0 * window"),
    "sums that are not zero afterwards": ("finish_places.h", "sums[channel * arguments.ring.channel_stride] = 0;", ";"),
    "a mean of too few": ("finish_places.h", "weight * arguments.times", "weight"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_faults_of_kernels_are_found(
    fault: tuple[str, str, str], models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXC_CUDA_LIBRARY", str(CUDA_STAND_IN))
    name, right, wrong = fault
    headers = tmp_path / "kernels/hip/volume"
    headers.mkdir(parents=True)
    source = (REPOSITORY / "src/kernels/hip/volume" / name).read_text()
    assert right in source
    (headers / name).write_text(source.replace(right, wrong))
    setting = Setting((9, 10, 13), (4, 6, 8), (3, 2, 4), batch=8, more={"mirrored_axes": [2]})
    model = models.get("sm_80", setting.shape)
    kernels = tmp_path / "kernels.so"
    build_kernels(model.on_gpu.with_suffix(".cpp.device.hip"), "sm_80", kernels, headers=tmp_path)
    scan = image(2, setting.size)
    found, expected = on_both(replace(model, kernels=kernels), scan, setting.windows(), monkeypatch)
    assert (found["y"] != expected["y"]).any()
    expect_same_bits(*on_both(model, scan, setting.windows(), monkeypatch))
