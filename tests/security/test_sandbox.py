"""The sandbox of a compile: a compiler that was taken over reaches nothing but what it compiles."""

import os
import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")
ATTEMPTS = {
    "read", "list", "write", "make", "make_folder", "truncate", "remove", "socket", "unix_socket", "trace", "namespace",
}  # fmt: skip
# This call answers -1 with "no such call", as a kernel without Landlock does.
NO_LANDLOCK = """
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <dlfcn.h>
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long);
  va_end(list);
  if (number == SYS_landlock_create_ruleset) { errno = ENOSYS; return -1; }
  long (*next)(long, ...) = (long (*)(long, ...))dlsym((void*)-1L, "syscall");
  return next(number, a, b, c, d);
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    graph = helper.make_graph(
        [helper.make_node("Tanh", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "temporary").mkdir()
    path = tmp_path / "models" / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def compile_with(model: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    folder = model.parents[1]
    command = [str(BINARIES / "onnxc"), str(model), "-o", str(folder / "out" / "model.so"), "-j", "1", *options]
    variables = {**os.environ, "TMPDIR": str(folder / "temporary"), **environment}
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120, check=False)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("compiler") / "hostile"
    source = Path(__file__).with_name("hostile_compiler.c")
    subprocess.run(["clang-19", "-O1", source, "-o", program], check=True)
    return program


def attempts(model: Path, hostile: Path, *options: str) -> dict[str, set[str]]:
    """The outcome of each attempt of the compiler."""
    other = model.parents[1] / "other"
    other.mkdir()
    for name in ("secret", "cut", "removed"):
        (other / name).write_text("of somebody else")
    done = compile_with(model, *options, ONNXC_CXX=str(hostile), HOSTILE_FOLDER=str(other))
    assert done.returncode == 0, done.stderr
    results: dict[str, set[str]] = {}
    for line in (model.parents[1] / "temporary" / "done").read_text().splitlines():
        name, _, result = line.partition(" ")
        results.setdefault(name, set()).add(result)
    assert results.keys() == ATTEMPTS
    return results


def test_a_compiler_that_was_taken_over_reaches_nothing(model: Path, hostile: Path) -> None:
    results = attempts(model, hostile)
    assert {name for name, result in results.items() if "done" in result} == set()
    other = model.parents[1] / "other"
    assert {file.name: file.read_text() for file in other.iterdir()} == dict.fromkeys(
        ("secret", "cut", "removed"), "of somebody else"
    )


def test_without_it_the_same_compiler_reaches_much(model: Path, hostile: Path) -> None:
    """The attempts are real ones."""
    results = attempts(model, hostile, "--no-sandbox")
    assert {name for name, result in results.items() if "done" in result} >= ATTEMPTS - {"trace"}


def test_what_a_compile_needs_is_in_reach(model: Path) -> None:
    """A link to a model elsewhere, as in a cache of models; an output and shapes in folders of their own."""
    folder = model.parents[1]
    (folder / "cache").mkdir()
    (folder / "shapes").mkdir()
    link = folder / "cache" / "model.onnx"
    link.symlink_to(model)
    done = compile_with(link, f"--dump-shapes={folder / 'shapes' / 's.json'}", "--sandbox", "-v")
    assert done.returncode == 0, done.stderr
    assert "sandbox" not in done.stderr
    assert (folder / "out" / "model.so").stat().st_size > 0
    assert (folder / "shapes" / "s.json").stat().st_size > 0


@pytest.mark.parametrize("options", [["--compiler", "zig"], ["--glibc", "2.28"]])
def test_the_compiler_of_a_python_environment_is_found(model: Path, options: list[str]) -> None:
    """The sandbox lets nobody search: a program that takes its place ends with words of its own."""
    zig = model.parents[1] / "venv" / "lib" / "python3.12" / "site-packages" / "ziglang" / "zig"
    zig.parent.mkdir(parents=True)
    zig.write_text("#!/bin/sh\necho this is the one of the environment >&2\nexit 1\n")
    zig.chmod(0o755)
    done = compile_with(model, *options, VIRTUAL_ENV=str(zig.parents[4]), PATH="/usr/bin:/bin")
    assert "this is the one of the environment" in done.stderr


def test_a_compiler_cache_under_the_name_of_clang_is_passed_by(model: Path) -> None:
    """As Fedora's PATH has it, and Debian's if its user asks for it. The cache's folder is out of reach."""
    folder = model.parents[1]
    (folder / "links").mkdir()
    (folder / "links" / "clang++-19").symlink_to("/usr/bin/ccache")
    kept = folder / "kept"
    done = compile_with(model, PATH=f"{folder / 'links'}:/usr/bin:/bin", CCACHE_DIR=str(kept))
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "model.so").stat().st_size > 0
    assert not list(kept.glob("[0-9a-f]"))


@pytest.fixture(scope="module")
def old_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("kernel") / "old_kernel.so"
    source = library.with_suffix(".c")
    source.write_text(NO_LANDLOCK)
    subprocess.run(["clang-19", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def test_an_old_kernel_is_said_with_v_and_no_error(model: Path, old_kernel: Path) -> None:
    done = compile_with(model, "-v", LD_PRELOAD=str(old_kernel))
    assert done.returncode == 0, done.stderr
    assert "no whole sandbox: this kernel has no Landlock, so that files are not kept from the compile" in done.stderr
    assert "sandbox" not in compile_with(model, LD_PRELOAD=str(old_kernel)).stderr


def test_who_asks_for_it_gets_an_error_there(model: Path, old_kernel: Path) -> None:
    done = compile_with(model, "--sandbox", LD_PRELOAD=str(old_kernel))
    assert done.returncode == 1
    assert done.stderr.startswith("onnxc: error: --sandbox: this kernel has no Landlock"), done.stderr
    assert not list((model.parents[1] / "out").iterdir())
