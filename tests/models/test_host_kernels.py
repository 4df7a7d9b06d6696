"""The models through `--target gpu --gpu-arch sm_80` and sm_90a: the source of their kernels runs on the host
(tools/host_blocks), launched by the stand-in for NVIDIA's driver, against PyTorch. Kernels of AMD's RDNA carry out the
plan for sm_80."""

from pathlib import Path

import pytest

from models.export import export
from models.zoo import ROWS, ModelRow
from tests import onnxc_commands
from tests.models.test_gpu import ALWAYS, LONG_SUMS, SIMULATED
from tests.models.test_models import expect_equal, pytorch_outputs
from tests.models.test_nvidia_gate import asked_bytes
from tests.models.test_precision import FAST, ROUNDING
from tools.host_blocks import asan_runtime, build_kernels

# One of each family of kernels; the others are slow.
QUICK = {"convolutions", "normalizations", "half_network"}
PARAMETERS = [
    pytest.param(*parameter.values, id=parameter.id, marks=[] if parameter.id in QUICK else [pytest.mark.slow])
    for parameter in SIMULATED
]
# Beyond float32: of the largest magnitude, as bf16x3 keeps 16 bits of mantissa and xf32 ten.
PRODUCTS = {"bf16x3": 1e-4, "xf32": 1e-2}
WITH_PRODUCTS = ["convolutions", "transposed_convolutions", "transformer_layer"]


def run_on_host(
    row: ModelRow,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
    tolerance: float,
    architecture: str = "sm_80",
    kernels_for: str = "",
    sanitize: bool = False,
    order: str = "forward",
) -> None:
    gpu = ("--target", "gpu", "--gpu-arch", architecture, "--march", "x86-64-v3", *options)
    model = export(row).model
    onnxc_commands.compile_model(model, folder / "model.cpp", *gpu, "--emit", "source")
    kernels = folder / "kernels.so"
    build_kernels(folder / "model.cpp.device.hip", kernels_for or architecture, kernels, sanitize=sanitize)
    shared_object = onnxc_commands.compile_model(model, folder / "model.so", *gpu)
    variables = {"CUDA_STAND_IN_KERNELS": str(kernels), "ONNXC_HOST_ORDER": order}
    if sanitize:
        variables |= {"LD_PRELOAD": asan_runtime(), "ASAN_OPTIONS": "detect_leaks=0"}
    for name, value in variables.items():
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, name, value)
    for index, run in enumerate(export(row).runs):
        results = onnxc_commands.run_files(
            shared_object, run.inputs, list(run.outputs), folder / f"run_{index}", "--device", "gpu"
        )
        expect_equal(results, pytorch_outputs(run), tolerance, "PyTorch")


def tolerance_of(row: ModelRow) -> float:
    return row.tolerance if row.name in ALWAYS else max(row.tolerance, LONG_SUMS)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", PARAMETERS)
def test_matches_pytorch(row: ModelRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on_host(row, tmp_path, monkeypatch, tolerance=tolerance_of(row))


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("kind", PRODUCTS)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in WITH_PRODUCTS]
)
def test_other_products(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on_host(ROWS[name], tmp_path, monkeypatch, "--fp32", kind, tolerance=PRODUCTS[kind])


# Products of four warps, in each type.
ON_HOPPER = [
    ("convolutions", ("--fp32", "xf32")),
    *(
        pytest.param(name, options, marks=pytest.mark.slow)
        for name, options in (
            ("unet3d_narrow", ("--precision", "float16")),
            ("r3d_18_narrow", ("--precision", "bfloat16")),
            ("transposed_convolutions", ("--fp32", "xf32")),
            ("unet3d_narrow", ("--fp32", "xf32")),
        )
    ),
]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("name", "options"), ON_HOPPER)
@pytest.mark.parametrize("sanitize", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_on_hopper(
    name: str, options: tuple[str, str], sanitize: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option, kind = options
    tolerance = PRODUCTS[kind] if option == "--fp32" else FAST[name] * ROUNDING[kind]
    run_on_host(
        ROWS[name],
        tmp_path,
        monkeypatch,
        *options,
        architecture="sm_90a",
        tolerance=tolerance,
        sanitize=sanitize,
        order="backward" if sanitize else "forward",
    )
    assert any(asked_bytes((tmp_path / "model.cpp").read_text()).values())


# Products by WMMA, in each type.
ON_RDNA = [
    ("convolutions", ("--fp32", "bf16x3")),
    ("half_network", ()),
    *(
        pytest.param(name, options, marks=pytest.mark.slow)
        for name, options in (
            ("bfloat16_network", ()),
            ("normalizations", ()),
            ("transposed_convolutions", ("--fp32", "bf16x3")),
            ("lower_ranks", ("--fp32", "bf16x3")),
            ("transformer_layer", ("--precision", "bfloat16")),
            ("unet3d_narrow", ("--precision", "float16")),
            ("r3d_18_narrow", ("--precision", "bfloat16")),
        )
    ),
]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("name", "options"), ON_RDNA)
@pytest.mark.parametrize("gpu", ["gfx1100", "gfx1201"])
def test_on_rdna(
    gpu: str, name: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tolerance = tolerance_of(ROWS[name])
    if options:
        option, kind = options
        tolerance = PRODUCTS[kind] if option == "--fp32" else FAST[name] * ROUNDING[kind]
    run_on_host(ROWS[name], tmp_path, monkeypatch, *options, kernels_for=gpu, tolerance=tolerance)


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", SIMULATED)
def test_under_the_address_sanitizer(row: ModelRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads run in another order too: a missing barrier shows in one of them."""
    run_on_host(row, tmp_path, monkeypatch, tolerance=tolerance_of(row), sanitize=True, order="backward")
