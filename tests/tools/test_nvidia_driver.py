"""onnxc-run with code for NVIDIA's GPUs, in front of the stand-in for their driver: what it says of a machine that does
not fit, and that it ends with exit code 1. (The kernels' values: their own tests.)"""

import os
import subprocess
from pathlib import Path

import onnx
import pytest

from tests.onnxc_commands import BINARIES, CUDA_STAND_IN, SIMULATOR, compile_model

pytestmark = pytest.mark.usefixtures("commands")

MODEL = """<ir_version: 10, opset_import: ["" : 20]>
g (float[N, 4, 9, 9] x) => (float[N, 8, 9, 9] y) <float[8, 4, 3, 3] w = {W}> { y = Conv <pads = [1, 1, 1, 1]> (x, w) }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model only for NVIDIA's GPUs, and one for the CPU and GPUs of both vendors."""
    folder = tmp_path_factory.mktemp("convolution")
    model = MODEL.replace("{W}", "{" + ", ".join(["1"] * 288) + "}")
    onnx.save(onnx.parser.parse_model(model), folder / "model.onnx")
    for name, target, gpus in (("nvidia", "gpu", "sm_80"), ("all", "cpu,gpu", "gfx942,sm_80,sm_90a")):
        compile_model(folder / "model.onnx", folder / f"{name}.so", "--target", target, "--gpu-arch", gpus)
    return folder


def words(folder: Path, name: str, device: str) -> list[str]:
    return [
        str(BINARIES / "onnxc-run"),
        str(folder / f"{name}.so"),
        "--random",
        "0",
        "--dim",
        "N=2",
        "--device",
        device,
    ]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ONNXC_CUDA_LIBRARY": str(CUDA_STAND_IN), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("capability", ["8.0", "8.9", "9.0", "12.0"])
@pytest.mark.parametrize("name", ["nvidia", "all"])
def test_runs_on_cards(folder: Path, name: str, capability: str) -> None:
    done = run(words(folder, name, "gpu"), CUDA_STAND_IN_CAPABILITY=capability, ONNXC_HIP_LIBRARY="/nonexistent")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_model_for_both_vendors_runs_on_amd(folder: Path) -> None:
    variables = {"ONNXC_CUDA_LIBRARY": "/nonexistent", "ONNXC_HIP_LIBRARY": str(SIMULATOR)}
    done = run(words(folder, "all", "gpu:0"), **variables)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"ONNXC_CUDA_LIBRARY": "/nonexistent/libcuda.so.1"}, "ONNXC_CUDA_LIBRARY: /nonexistent/libcuda.so.1: cannot"),
        ({"CUDA_STAND_IN_DEVICES": "0"}, "the driver finds no NVIDIA GPU, CUDA_VISIBLE_DEVICES hides it, or this"),
        ({"CUDA_STAND_IN_CAPABILITY": "7.5"}, "compiled for 'cuda sm_80', and GPU 0 is NVIDIA stand-in (sm_75)"),
        ({"CUDA_STAND_IN_DRIVER": "11.0"}, "the model's code is newer than the driver: update NVIDIA's driver"),
        ({"CUDA_STAND_IN_MEMORY": "1000"}, "cuMemAlloc_v2 for the weights: out of memory (CUDA error 2)"),
        ({"CUDA_STAND_IN_FAIL": "cuInit 1 802"}, "a machine with NVSwitch needs NVIDIA's Fabric Manager to run"),
        ({"CUDA_STAND_IN_FAIL": "cuModuleLoadDataEx 1 221"}, "install libnvidia-ptxjitcompiler.so.1"),
        ({"CUDA_STAND_IN_FAIL": "cuLaunchKernel 1 716"}, "this process cannot use the GPU any more: start it again"),
    ],
)
def test_a_machine_that_does_not_fit(folder: Path, variables: dict[str, str], expected: str) -> None:
    done = run(words(folder, "nvidia", "gpu"), **variables)
    assert done.returncode == 1
    assert expected in done.stderr


def test_a_gpu_that_is_not_there(folder: Path) -> None:
    done = run(words(folder, "all", "gpu:4"), ONNXC_HIP_LIBRARY="/nonexistent")
    assert done.returncode == 1
    assert "there is no GPU 4: CUDA sees 1; choose another number; the model also runs on the CPU" in done.stderr
