"""--gpu-code cubin: the code in model.so, the cards that run it, what ptxas is asked, and its places."""

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from tests import onnxc_commands
from tests.models import ptx
from tests.onnxc_commands import BINARIES, CommandFailure

pytestmark = pytest.mark.usefixtures("commands")

TEXT = """<ir_version: 9, opset_import: ["" : 18]> m (float[N, 16, 9, 9] x) => (y) <float[32, 16, 3, 3] w = {W}> {
c = Conv <pads = [1, 1, 1, 1]> (x, w) y = Exp (c) }"""
EM_CUDA = 190


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = np.random.default_rng(0).integers(-3, 4, 32 * 16 * 9)
    file = tmp_path_factory.mktemp("cubins") / "model.onnx"
    onnx.save(parse_model(TEXT.replace("{W}", "{" + ", ".join(map(str, weights)) + "}")), file)
    return file


@pytest.fixture(autouse=True)
def ptxas(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_PTXAS", str(ptx.ptxas()))
    return ptx.ptxas()


@pytest.fixture
def no_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither named, nor on the PATH, nor in a Python environment."""
    for name, value in (("ONNXC_PTXAS", ""), ("PATH", "/usr/bin:/bin"), ("VIRTUAL_ENV", "")):
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, name, value)


def compiled(model: Path, output: Path, architectures: str, *options: str, code: str = "cubin") -> Path:
    gpu = ("--target", "gpu", "--gpu-arch", architectures, "--gpu-code", code, "--march", "x86-64-v3")
    return onnxc_commands.compile_model(model, output, *gpu, *options)


def refused(model: Path, output: Path, architectures: str = "sm_80", *options: str) -> CommandFailure:
    with pytest.raises(CommandFailure) as failure:
        compiled(model, output, architectures, *options)
    return failure.value


def cubins(shared_object: Path) -> list[int]:
    """The architectures of the cubins in a model.so, in their order."""
    content = shared_object.read_bytes()
    found = []
    for match in re.finditer(rb"\x7fELF", content):
        machine, flags = struct.unpack_from("<H28xI", content, match.start() + 18)
        if machine == EM_CUDA:
            found.append(flags >> 8 & 0xFF if content[match.start() + 8] >= 8 else flags & 0xFF)
    return found


def test_a_model_has_a_cubin_for_each_card(model: Path, tmp_path: Path) -> None:
    """Each is for the card itself; PTX for an L4 and for a B200 is that of sm_80."""
    shared_object = compiled(model, tmp_path / "model.so", "sm_80,sm_90a,l4,b200,gfx942")
    assert sorted(cubins(shared_object)) == [80, 89, 90, 100]
    assert b".version 7.1" not in shared_object.read_bytes()
    information = onnxc_commands.execute([str(BINARIES / "onnxc-run"), str(shared_object), "--info"]).stdout
    assert (
        "cuda sm_80 cubin, cuda sm_90a cubin, cuda sm_89 cubin (l4), cuda sm_100 cubin (b200), hip gfx942"
        in information
    )


@pytest.mark.usefixtures("no_ptxas")
def test_ptx_is_the_default_and_needs_no_ptxas(model: Path, tmp_path: Path) -> None:
    shared_object = compiled(model, tmp_path / "model.so", "sm_80", code="ptx")
    assert cubins(shared_object) == []
    options = ("--target", "gpu", "--gpu-arch", "sm_80", "--march", "x86-64-v3")
    by_default = onnxc_commands.compile_model(model, tmp_path / "default.so", *options)
    assert by_default.read_bytes() == shared_object.read_bytes()


def test_equal_models_are_equal_to_the_bit(model: Path, tmp_path: Path) -> None:
    """Also with a report, for which ptxas tells more."""
    first = compiled(model, tmp_path / "first.so", "sm_80").read_bytes()
    assert compiled(model, tmp_path / "again.so", "sm_80", "--report").read_bytes() == first


def run_on(shared_object: Path, capability: str, driver: str = "13.0") -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "onnxc-run"), str(shared_object), "--random", "0", "--dim", "N=2", "--device", "gpu"]
    variables = {"CUDA_STAND_IN_CAPABILITY": capability, "CUDA_STAND_IN_DRIVER": driver}
    environment = {**onnxc_commands.ENVIRONMENT, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_cards_that_run_it(model: Path, tmp_path: Path) -> None:
    """On the stand-in for the driver, which reads the cubin: its architecture, its kernels and their arguments."""
    shared_object = compiled(model, tmp_path / "model.so", "sm_80,sm_90a")
    for capability in ("8.0", "8.6", "8.9", "9.0"):
        done = run_on(shared_object, capability)
        assert (done.returncode, done.stderr) == (0, ""), capability
    for capability, advice in (
        ("12.0", "compile it with --gpu-arch sm_80 --gpu-code ptx, which runs on every GPU of compute capability 8.0"),
        ("7.5", "it is too old: code of onnxc runs on GPUs of compute capability 8.0 and newer"),
    ):
        done = run_on(shared_object, capability)
        assert done.returncode == 1
        name = f"NVIDIA stand-in (sm_{capability.replace('.', '')})"
        assert f"compiled for 'cuda sm_80 cubin, cuda sm_90a cubin', and GPU 0 is {name}; {advice}" in done.stderr


def test_a_driver_that_is_older_than_ptxas(model: Path, tmp_path: Path) -> None:
    done = run_on(compiled(model, tmp_path / "model.so", "sm_80"), "8.0", driver="10.2")
    assert done.returncode == 1
    assert "the model's cubin is newer than the driver: update NVIDIA's driver, or compile with" in done.stderr


@pytest.mark.parametrize("code", ["ptx", "cubin"])
def test_the_report_tells_what_ptxas_made(model: Path, tmp_path: Path, code: str) -> None:
    command = [str(BINARIES / "onnxc"), str(model), "-o", str(tmp_path / "model.so"), "--target", "gpu"]
    command += ["--gpu-arch", "sm_80,gfx942", "--gpu-code", code, "--report", "--json"]
    gpu = json.loads(onnxc_commands.execute(command).stdout)["gpu"]
    assert gpu["code"] == ("cuda sm_80" if code == "ptx" else "cuda sm_80 cubin")
    compiled(model, tmp_path / "source", "sm_80", "--emit", "source", code="ptx")
    text = ptx.compile_source(tmp_path / "source.device.hip", tmp_path / "kernels.ptx")
    expected = {kernel.name: kernel for kernel in ptx.kernels(text, "sm_80")}
    assert len(expected) > 1
    assert {kernel["name"] for kernel in gpu["kernels"]} == set(expected)
    for kernel in gpu["kernels"]:
        made = expected[kernel["name"]]
        told = tuple(kernel[field] for field in ("vector_registers", "lds_bytes", "scratch_bytes", "spilled_registers"))
        assert told == (made.registers, made.shared, made.local, 0), kernel
        assert made.registers > 8
        assert kernel["waves"] is None


@pytest.mark.usefixtures("no_ptxas")
def test_without_ptxas_the_report_leaves_it_out(model: Path, tmp_path: Path) -> None:
    command = [str(BINARIES / "onnxc"), str(model), "-o", str(tmp_path / "model.so"), "--target", "gpu"]
    command += ["--gpu-arch", "sm_80", "--report", "--json"]
    kernels = json.loads(onnxc_commands.execute(command).stdout)["gpu"]["kernels"]
    assert {kernel["vector_registers"] for kernel in kernels} == {None}


def test_the_source_is_assembled_as_its_header_says(model: Path, tmp_path: Path, ptxas: Path) -> None:
    compiled(model, tmp_path / "source", "l4", "--emit", "source")
    device = tmp_path / "source.device.hip"
    assert "//   target   cuda sm_89 cubin (l4)\n" in device.read_text()
    assert "To build its cubin, SOURCE being" in device.read_text()
    ptx.compile_source(device, tmp_path / "source.l4.ptx")
    [command] = re.findall(r"^//   (ptxas .*)$", device.read_text(), re.M)
    words = command.replace("$SOURCE", str(tmp_path / "source")).split()
    subprocess.run([str(ptxas), *words[1:]], check=True, capture_output=True)
    cubin = (tmp_path / "source.l4.cubin").read_bytes()
    assert cubin in compiled(model, tmp_path / "model.so", "l4").read_bytes()


def write_program(file: Path, script: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.usefixtures("no_ptxas")
def test_without_ptxas(model: Path, tmp_path: Path) -> None:
    failure = refused(model, tmp_path / "model.so")
    assert failure.code == 1
    assert (
        "--gpu-code cubin: NVIDIA's assembler ptxas is not there: pip install nvidia-cuda-nvcc, put a CUDA toolkit's "
        "on the PATH, or set ONNXC_PTXAS to the file; --gpu-code ptx needs none" in failure.message
    )
    # Its source needs none.
    compiled(model, tmp_path / "source", "sm_80", "--emit", "source")


@pytest.mark.parametrize("place", ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"])
def test_ptxas_of_the_python_environment(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, ptxas: Path
) -> None:
    """In the sandbox too, which lets nobody search."""
    program = tmp_path / "venv" / "lib" / "python3.12" / "site-packages" / place / "ptxas"
    program.parent.mkdir(parents=True)
    os.link(ptxas, program) if ptxas.stat().st_dev == tmp_path.stat().st_dev else program.write_bytes(
        ptxas.read_bytes()
    )
    program.chmod(0o755)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_PTXAS", "")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "PATH", "/usr/bin:/bin")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "VIRTUAL_ENV", str(tmp_path / "venv"))
    assert cubins(compiled(model, tmp_path / "model.so", "sm_80")) == [80]


def test_ptxas_on_the_path(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken before a Python package's."""
    write_program(tmp_path / "toolkit" / "bin" / "ptxas", "echo the one on the PATH >&2; exit 1")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_PTXAS", "")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "PATH", f"{tmp_path}/toolkit/bin:/usr/bin:/bin")
    failure = refused(model, tmp_path / "model.so")
    assert failure.code == 3
    assert "ptxas refused generated code (exit code 1):\nthe one on the PATH" in failure.message


def test_a_ptxas_that_is_too_old(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'"
    program = write_program(tmp_path / "ptxas", f'echo "{said}" >&2; exit 1')
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_PTXAS", str(program))
    failure = refused(model, tmp_path / "model.so", "rtx5090")
    assert failure.code == 1
    advice = "it is too old for sm_120; take a newer one: pip install -U nvidia-cuda-nvcc; it says: " + said
    assert f"'{program}': {advice}" in failure.message


def test_what_cannot_be(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = refused(model, tmp_path / "model.so", "gfx942")
    assert failure.code == 2
    assert "--gpu-code cubin is for NVIDIA's GPUs, and --gpu-arch names none; give sm_80" in failure.message
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_PTXAS", "/none/ptxas")
    failure = refused(model, tmp_path / "model.so")
    assert failure.code == 2
    assert "the environment variable ONNXC_PTXAS is '/none/ptxas', and there is no such file" in failure.message
    # A CPU needs none.
    onnxc_commands.compile_model(model, tmp_path / "model.so", "--march", "x86-64-v3")
