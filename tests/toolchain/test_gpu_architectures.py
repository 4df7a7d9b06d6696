"""Models compiled for several GPUs: each has its code, and no kernel spills. The simulator runs that of gfx942; what is
compiled for the others is looked at, never run."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from models.export import export
from models.zoo import ROWS
from tests import onnxc_commands
from tests.models import code_object

pytestmark = pytest.mark.usefixtures("commands")

MODEL = '<ir_version: 9, opset_import: ["" : 18]> m (float[9] x) => (float[9] y) { e = Exp (x) y = Sqrt (e) }'
MOST_LDS = 65536
# A network for each family of kernels: products in float32 and 16 bits, rows, attention, loops.
NETWORKS = [
    "convolutions",
    "bfloat16_network",
    pytest.param("transposed_convolutions", marks=pytest.mark.slow),
    pytest.param("normalizations", marks=pytest.mark.slow),
    pytest.param("transformer_layer", marks=pytest.mark.slow),
    pytest.param("unet3d", marks=pytest.mark.slow),
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(parse_model(MODEL), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def refused(model: Path, *options: str) -> onnxc_commands.CommandFailure:
    target = () if "--target" in options else ("--target", "hip")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(model, model.with_name("model.so"), *target, *options)
    return failure.value


@pytest.mark.parametrize("names", ["gfx942,gfx90a", "gfx90a,gfx942", "gfx942,gfx1100,gfx1201", "gfx1100,mi300x"])
def test_each_gpu_loads_its_own_code(model: Path, names: str) -> None:
    options = ("--target", "hip", "--gpu-arch", names)
    shared_object = onnxc_commands.compile_model(model, model.with_name("model.so"), *options)
    information = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), "--info"])
    assert ", ".join(f"hip {name}" for name in names.replace("mi300x", "gfx942").split(",")) in information.stdout
    x = np.linspace(-3, 3, 9, dtype=np.float32)
    y = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], model.with_name("run"), "--device", "hip")["y"]
    np.testing.assert_allclose(y, np.sqrt(np.exp(x.astype(np.float64))), rtol=3e-7)


@pytest.mark.parametrize(("partition", "kernel"), [("spx", "tile 64x64 split"), ("cpx", "tile 128x64 split")])
def test_a_device_runs_the_plan_of_the_nearest_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition: str, kernel: str
) -> None:
    graph = "(float[1, 64, 14, 14, 14] x) => (y) { y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }"
    network = parse_model(f'<ir_version: 9, opset_import: ["" : 18]> m {graph}')
    filters = np.random.default_rng(0).integers(-2, 3, (64, 64, 3, 3, 3)).astype(np.float32)
    network.graph.initializer.append(onnx.numpy_helper.from_array(filters, "w"))
    onnx.save(network, tmp_path / "conv.onnx")
    cards = ("--target", "cpu,hip", "--gpu-arch", "gfx1100,mi300x-cpx,mi300a,mi300x")
    shared_object = onnxc_commands.compile_model(tmp_path / "conv.onnx", tmp_path / "conv.so", *cards)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_PARTITION", partition)
    x = np.random.default_rng(1).integers(-2, 3, (1, 64, 14, 14, 14)).astype(np.float32)
    on_gpu, on_cpu = (
        onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], tmp_path / device, "--device", device)["y"]
        for device in ("hip", "cpu")
    )
    assert np.array_equal(on_gpu, on_cpu)
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), "--random", "0", "--device", "hip"]
    assert kernel in onnxc_commands.execute([*command, "--profile"]).stdout


def test_a_gpu_without_code_is_named(model: Path) -> None:
    options = ("--target", "hip", "--gpu-arch", "gfx90a")
    shared_object = onnxc_commands.compile_model(model, model.with_name("model.so"), *options)
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.run_arrays(
            shared_object, {"x": np.zeros(9, np.float32)}, ["y"], model.with_name("run"), "--device", "hip"
        )
    assert (
        "this model was compiled for 'hip gfx90a', and GPU 0 is gfx942:sramecc+:xnack-; compile it with --gpu-arch"
        in failure.value.message
    )


def newest_clang() -> str:
    """A compiler that knows gfx950, for which Debian's own is too old; `make test-all` installs it."""
    for version in range(39, 19, -1):
        if shutil.which(f"clang++-{version}") and shutil.which(f"ld.lld-{version}"):
            return f"clang++-{version}"
    pytest.skip("gfx950 needs clang 20 or newer: apt-get install clang-22 lld-22 libclang-rt-22-dev")


def options_for(gpu: str) -> list[str]:
    """With a compiler that knows the GPU."""
    options = ["--target", "hip", "--gpu-arch", gpu]
    return [*options, "--compiler", newest_clang()] if gpu == "gfx950" else options


OTHERS = ["gfx90a", "gfx950", "gfx1100"]
# The other cards of their families, with fewer registers or other code.
OF_FAMILIES = ["gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx11-generic", "gfx12-generic"]


@pytest.mark.parametrize("gpu", [*OTHERS, *(pytest.param(gpu, marks=pytest.mark.slow) for gpu in OF_FAMILIES)])
@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_spills_on_other_gpus(network: str, gpu: str, tmp_path: Path) -> None:
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(export(ROWS[network]).model), "--report", "--json"]
    report = json.loads(onnxc_commands.execute([*command, *options_for(gpu), "-o", str(tmp_path / "model.so")]).stdout)
    assert report["gpu"]["architecture"] == gpu
    kernels = report["gpu"]["kernels"]
    assert kernels
    for kernel in kernels:
        assert (kernel["spilled_registers"], kernel["scratch_bytes"]) == (0, 0), kernel
        assert kernel["lds_bytes"] <= MOST_LDS, kernel


@pytest.mark.parametrize("network", NETWORKS)
def test_code_for_wavefronts_of_32_lanes(network: str, tmp_path: Path) -> None:
    """Reads the code object's metadata and its instructions."""
    options = ("--target", "hip", "--gpu-arch", "gfx1100")
    shared_object = onnxc_commands.compile_model(export(ROWS[network]).model, tmp_path / "model.so", *options)
    file = code_object.extract(shared_object, tmp_path / "code.co")
    notes = subprocess.run(["llvm-readelf-19", "--notes", str(file)], capture_output=True, text=True, check=True).stdout
    assert "amdgcn-amd-amdhsa--gfx1100" in notes
    assert set(re.findall(r"wavefront_size:\s+(\d+)", notes)) == {"32"}
    kernels = code_object.kernels(file)
    assert kernels
    for kernel in kernels:
        assert (kernel.spilled_registers, kernel.scratch) == (0, 0), kernel.name
        assert kernel.lds <= MOST_LDS, kernel.name
        assert kernel.vector_registers <= 256, kernel.name
        assert [argument.kind for argument in kernel.arguments] == ["by_value"], kernel.name
        # Lane masks of 64 bits, the other family's matrix instructions, memory of a thread's own.
        assert kernel.code, kernel.name
        foreign = {
            mnemonic
            for mnemonic in kernel.code
            if re.match(r"v_mfma|v_accvgpr|scratch_|flat_|s_\w+_saveexec_b64|v_permlane64", mnemonic)
        }
        assert not foreign, kernel.name


def test_libraries_for_wavefronts_of_32_lanes(model: Path) -> None:
    options = ("--target", "hip", "--gpu-arch", "gfx942,gfx1100", "--emit", "source")
    onnxc_commands.compile_model(model, model.with_name("source"), *options)
    wide, narrow = (model.with_name(f"source.device{number}.hip").read_text() for number in ("", "1"))
    assert "oclc_wavefrontsize64_on, oclc_isa_version_942:\n" in wide
    assert "oclc_wavefrontsize64_off, oclc_isa_version_1100:\n" in narrow
    assert "--offload-arch=gfx1100 " in narrow
    assert " -DONNXC_GPU=gfx1100 " in narrow


def test_code_of_a_family(model: Path) -> None:
    """It has the format that ROCm's loader takes for all cards of the family: LLVM's AMDGPUUsage, "ELF Header"."""
    shared_object = onnxc_commands.compile_model(
        model, model.with_name("family.so"), "--target", "hip", "--gpu-arch", "gfx11-generic"
    )
    file = code_object.extract(shared_object, model.with_name("code.co"))
    header = subprocess.run(["llvm-readelf-19", "-h", str(file)], capture_output=True, text=True, check=True).stdout
    assert re.search(r"ABI Version:\s+4\n", header)
    assert re.search(r"Flags:\s+0x1000054, gfx11-generic, generic_v1\n", header)
    assert {kernel.spilled_registers for kernel in code_object.kernels(file)} == {0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gpu-arch", "gfx1036"), "gfx1036"),
        (
            ("--gpu-arch", "gfx1036"),
            "gfx1102 rx7600 gfx1150 radeon890m gfx1151 radeon8060s gfx1201 rx9070xt rx9070 gfx1200 rx9060xt gfx11-",
        ),
        (("--gpu-arch", "gfx942,gfx942"), "--gpu-arch names gfx942 twice"),
        (("--gpu-arch", "gfx942,mi300x"), "--gpu-arch names mi300x twice"),
        (
            ("--gpu-arch", "gfx942,gfx90a", "--fp32", "xf32"),
            "--fp32 xf32: gfx90a has no such products; give --fp32 bf16x3, or leave it out",
        ),
        (
            ("--gpu-arch", "gfx1100", "--fp32", "xf32"),
            "--fp32 xf32: gfx1100 has no such products; give --fp32 bf16x3, or leave it out",
        ),
    ],
)
def test_names_that_cannot_be(model: Path, options: tuple[str, ...], message: str) -> None:
    failure = refused(model, *options)
    assert failure.code == 2
    assert message in failure.message


def write_compiler(file: Path, script: str) -> Path:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("options", [("--target", "hip"), ("--target", "cpu,hip", "--glibc", "2.28")], ids=str)
def test_zig_does_not_compile_hip(model: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]) -> None:
    monkeypatch.setenv("ROCM_PATH", str(model.parent))  # a ROCm without a clang
    zig = write_compiler(model.parent / "zig", "echo language not recognized: hip >&2; exit 1")
    failure = refused(model, *options, "--compiler", str(zig))
    assert failure.code == 1
    assert f"the C++ compiler '{zig}' does not compile HIP, which a GPU's code is: leave out" in failure.message
    assert "this machine has clang++-" in failure.message


@pytest.mark.parametrize("target", ["cpu", "hip"])
def test_a_compiler_that_is_not_clang_is_named(model: Path, target: str) -> None:
    compiler = write_compiler(model.parent / "g++", "echo '#define __GNUC__ 14'")
    failure = refused(model, "--target", target, "--compiler", str(compiler))
    assert failure.code == 1
    assert (
        f"'{compiler}' is not clang, and only clang 19 or newer and zig compile a model: this machine has clang++-"
        in (failure.message)
    )
    under_another_name = write_compiler(model.parent / "cxx", 'exec clang++-19 "$@"')
    options = ("--target", "cpu", "--compiler", str(under_another_name))
    onnxc_commands.compile_model(model, model.with_name("model.so"), *options)


def test_a_clang_without_amds_target_is_named(model: Path) -> None:
    lacks = "echo 'No available targets are compatible with triple amdgcn-amd-amdhsa' >&2; exit 1"
    script = f'case "$*" in *hip*) {lacks};; esac; exec clang++-19 "$@"'
    failure = refused(model, "--compiler", str(write_compiler(model.parent / "clang++", script)))
    assert failure.code == 1
    assert "does not compile HIP for AMD's GPUs; take clang 19 or newer with that target" in failure.message


def test_a_compiler_that_does_not_know_the_gpu(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCM_PATH", raising=False)
    failure = refused(model, "--gpu-arch", "gfx950", "--compiler", "clang++-19")
    assert failure.code == 1
    assert (
        "clang++-19 does not compile for gfx950: give --compiler clang++-20 or newer, or set ROCM_PATH to a ROCm that "
        "has it" in failure.message
    )
