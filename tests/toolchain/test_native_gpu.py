"""--gpu-arch native, on NVIDIA's driver as the stand-in has it, on the simulated GPU, and on neither."""

from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model

from tests import onnxc_commands
from tests.models import ptx
from tools.commands import CUDA_STAND_IN, SIMULATOR

pytestmark = pytest.mark.usefixtures("commands")
NOTHING = Path("/none")


def target_of(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: Mapping[str, str],
    cuda: Path = NOTHING,
    hip: Path = NOTHING,
    code: str = "ptx",
) -> str:
    onnx.save(
        parse_model('<ir_version: 9, opset_import: ["" : 18]> m (float[9] x) => (y) { y = Exp (x) }'), folder / "m.onnx"
    )
    for name, value in {"ONNXC_CUDA_LIBRARY": str(cuda), "ONNXC_HIP_LIBRARY": str(hip), **environment}.items():
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, name, value)
    options = (
        "--target",
        "gpu",
        "--gpu-arch",
        "native",
        "--march",
        "x86-64-v3",
        "--emit",
        "source",
        "--gpu-code",
        code,
    )
    onnxc_commands.compile_model(folder / "m.onnx", folder / "m.cpp", *options)
    lines = (folder / "m.cpp.device.hip").read_text().splitlines()
    return next(line.split("target")[1].strip() for line in lines if line.startswith("//   target"))


@pytest.mark.parametrize(
    ("capability", "units", "target"),
    [("8.0", "108", "cuda sm_80"), ("8.9", "128", "cuda sm_80 (rtx4090)"), ("9.0", "132", "cuda sm_90a")],
)
def test_nvidias(capability: str, units: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"CUDA_STAND_IN_CAPABILITY": capability, "CUDA_STAND_IN_UNITS": units}
    assert target_of(tmp_path, monkeypatch, card, cuda=CUDA_STAND_IN) == target


@pytest.mark.parametrize(
    ("capability", "units", "target"),
    [
        ("8.6", "84", "cuda sm_80 cubin"),
        ("9.0", "132", "cuda sm_90a cubin"),
        ("10.3", "160", "cuda sm_100 cubin (b200)"),
        ("12.1", "48", "cuda sm_120 cubin (rtx5090)"),
    ],
)
def test_a_cubin_is_for_a_card_of_the_same_generation(
    capability: str, units: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PTX for 12.1 with few units is planned as for an L4; its cubin would not load."""
    card = {"CUDA_STAND_IN_CAPABILITY": capability, "CUDA_STAND_IN_UNITS": units, "ONNXC_PTXAS": str(ptx.ptxas())}
    assert target_of(tmp_path, monkeypatch, card, cuda=CUDA_STAND_IN, code="cubin") == target


def test_no_cubin_for_a_generation_without_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"CUDA_STAND_IN_CAPABILITY": "11.0", "CUDA_STAND_IN_UNITS": "20"}
    assert target_of(tmp_path, monkeypatch, card, cuda=CUDA_STAND_IN).startswith("cuda sm_80")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        target_of(tmp_path, monkeypatch, card, cuda=CUDA_STAND_IN, code="cubin")
    assert failure.value.code == 1
    expected = (
        "--gpu-arch native: the GPU is NVIDIA's of compute capability 11.0, and --gpu-code cubin makes code for 8.x, "
        "9.x, 10.x, 12.x only; leave --gpu-code out, so that the driver compiles PTX for it"
    )
    assert expected in failure.value.message


@pytest.mark.parametrize(("partition", "target"), [("spx", "hip gfx942"), ("cpx", "hip gfx942 (mi300x-cpx)")])
def test_amds(partition: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert target_of(tmp_path, monkeypatch, {"GFX942SIM_PARTITION": partition}, hip=SIMULATOR) == target


def test_a_gpu_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        target_of(tmp_path, monkeypatch, {"CUDA_STAND_IN_CAPABILITY": "7.5"}, cuda=CUDA_STAND_IN)
    assert failure.value.code == 1
    expected = "--gpu-arch native: the GPU is NVIDIA's of compute capability 7.5, which onnxc does not compile for"
    assert expected in failure.value.message


def test_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        target_of(tmp_path, monkeypatch, {})
    assert failure.value.code == 1
    assert (
        "--gpu-arch native: neither NVIDIA's driver (libcuda.so.1) nor AMD's library (libamdhip64) finds a GPU; name "
        "one, such as --gpu-arch sm_80" in failure.value.message
    )
