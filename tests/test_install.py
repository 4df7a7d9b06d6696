"""`make install` under a prefix: both commands, the header and the CMake package work without the checkout."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.onnxc_commands import BINARIES, REPOSITORY, run_files
from tests.test_onnxc import build_model

pytestmark = pytest.mark.usefixtures("commands")

CMAKE = os.environ.get("ONNXC_CMAKE", "cmake")

# A project of somebody else's: a model compiled as part of the build, and a program in C that runs it.
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(host C)
find_package(onnxc 0.1 REQUIRED)
onnxc_add_model(network model.onnx OPTIONS --march x86-64-v3)
add_executable(host run_model.c)
target_link_libraries(host PRIVATE onnxc::runtime)
"""


def hidden(script: str) -> subprocess.CompletedProcess[str]:
    """Runs a script with an empty folder in the place of the checkout."""
    hide = f"mount -t tmpfs none '{REPOSITORY}' && cd / && set -e\n"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", hide + script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run([CMAKE, "--install", BINARIES.parent, "--prefix", folder], check=True, capture_output=True)
    return folder


def test_compiles_and_runs_without_the_checkout(prefix: Path, tmp_path: Path) -> None:
    onnx.save(build_model(), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.ones((1, 4, 3, 8, 8), np.float32))
    hidden(
        f"{prefix}/bin/onnxc {tmp_path}/model.onnx -o {tmp_path}/model.so\n"
        f"{prefix}/bin/onnxc-run {tmp_path}/model.so --input x={tmp_path}/x.npy --output {tmp_path}/out "
        f"--verify {tmp_path}/model.onnx"
    )
    assert np.load(tmp_path / "out" / "y.npy").shape == (1, 6, 3, 7, 7)


def test_compiles_for_a_gpu_without_the_checkout(prefix: Path, tmp_path: Path) -> None:
    onnx.save(build_model(), tmp_path / "model.onnx")
    hidden(
        f"{prefix}/bin/onnxc {tmp_path}/model.onnx -o {tmp_path}/model.so --target hip\n"
        f"{prefix}/bin/onnxc-run {tmp_path}/model.so --info > {tmp_path}/info"
    )
    assert "hip gfx942" in (tmp_path / "info").read_text()


@pytest.mark.parametrize("target", ["cpu", "hip"])
def test_the_source_is_built_as_its_header_says(target: str, prefix: Path, tmp_path: Path) -> None:
    onnx.save(build_model(), tmp_path / "model.onnx")
    onnxc = f"{prefix}/bin/onnxc {tmp_path}/model.onnx --target {target} --march x86-64-v3"
    hidden(f"{onnxc} -o {tmp_path}/by_onnxc.so\n{onnxc} -o {tmp_path}/model.cpp --emit source")
    commands = ["SOURCE=model.cpp", f"PREFIX={prefix}"]
    if target == "hip":
        device = tmp_path / "model.cpp.device.hip"
        commands += [f"LIBRARIES='{device_libraries(device)}'", *build_commands(device)]
    commands += build_commands(tmp_path / "model.cpp")
    hidden(f"cd {tmp_path}\n" + "\n".join(commands))
    libraries = [tmp_path / "model.so", tmp_path / "by_onnxc.so"]
    of_source, of_onnxc = map(sizes_of_symbols, libraries)
    assert len(of_source) > 100
    assert of_source == of_onnxc
    options = ["--random", "0", *(["--device", "gpu"] if target == "hip" else [])]
    runs = [run_files(each, {}, ["y", "z"], tmp_path / each.stem, *options) for each in libraries]
    for name, values in runs[0].items():
        np.testing.assert_array_equal(values, runs[1][name])


def sizes_of_symbols(library: Path) -> list[str]:
    """Functions and data have these. Their places differ: a linker does not know the bytes of the weights."""
    shown = subprocess.run(["nm", "-S", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return sorted(" ".join(words[1:]) for words in map(str.split, shown.splitlines()) if len(words) == 4)


def build_commands(source: Path) -> list[str]:
    """The command lines in the header of a source."""
    return re.findall(r"^//   (clang.*)$", source.read_text(), re.M)


def device_libraries(source: Path) -> str:
    """The options for the device libraries that the header names for its first GPU, if Debian has them."""
    names = re.findall(r"^// (ocml, .*):$", source.read_text(), re.M)[0]
    folder = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
    files = [folder / f"{name}.bc" for name in names.split(", ")]
    if not files[-1].exists():  # Debian's release is older than gfx942
        files[-1] = folder / "oclc_isa_version_90a.bc"
    return " ".join(f"-Xclang -mlink-builtin-bitcode -Xclang {file}" for file in files)


def test_a_project_that_finds_the_package(prefix: Path, tmp_path: Path) -> None:
    onnx.save(build_model(), tmp_path / "model.onnx")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "run_model.c").write_bytes((REPOSITORY / "tools" / "examples" / "run_model.c").read_bytes())
    done = hidden(
        f"{CMAKE} -G Ninja -S {tmp_path} -B {tmp_path}/build -DCMAKE_PREFIX_PATH={prefix} -DCMAKE_C_COMPILER=clang-19\n"
        f"{CMAKE} --build {tmp_path}/build\n"
        f"{tmp_path}/build/host {tmp_path}/build/network.so"
    )
    assert done.stdout.splitlines()[-2:] == [
        "output 0: 16 6 16 7 7 (301056 bytes of dtype 1)",
        "output 1: (4 bytes of dtype 1)",
    ]


COMPILER = """
#include <onnxc_compiler.h>
#include <stdio.h>
int main(int argc, char** argv) {
  char error[1024] = "";
  onnxc_compile_request request = {0};
  request.size = sizeof request;
  request.model = argv[1];
  request.output = argv[argc - 1];
  const onnxc_compile_status status = onnxc_compile(&request, error, sizeof error);
  fputs(error, stderr);
  return (int)status;
}
"""


def test_a_program_that_holds_the_compiler(prefix: Path, tmp_path: Path) -> None:
    onnx.save(build_model(), tmp_path / "model.onnx")
    (tmp_path / "compiler.c").write_text(COMPILER)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(host C)\nfind_package(onnxc 0.1 REQUIRED)\n"
        "add_executable(compiler compiler.c)\ntarget_link_libraries(compiler PRIVATE onnxc::compiler)\n"
    )
    hidden(
        f"{CMAKE} -G Ninja -S {tmp_path} -B {tmp_path}/build -DCMAKE_PREFIX_PATH={prefix} -DCMAKE_C_COMPILER=clang-19\n"
        f"{CMAKE} --build {tmp_path}/build\n"
        f"{tmp_path}/build/compiler {tmp_path}/model.onnx {tmp_path}/model.so\n"
        f"{prefix}/bin/onnxc-run {tmp_path}/model.so --random 0 --dim N=2 --dim D=3 --verify {tmp_path}/model.onnx"
    )
