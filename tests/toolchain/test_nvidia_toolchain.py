"""NVIDIA's GPUs: the code in a model.so, what its compile needs, and what is said if that is missing."""

import os
import re
from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model

from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    text = '<ir_version: 9, opset_import: ["" : 18]> m (float[9] x) => (y) { e = Exp (x) y = Pow (e, x) }'
    onnx.save(parse_model(text), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def compiled(model: Path, architectures: str, *options: str) -> Path:
    gpu = ("--target", "gpu", "--gpu-arch", architectures, "--march", "x86-64-v3")
    return onnxc_commands.compile_model(model, model.with_name("model.so"), *gpu, *options)


def refused(model: Path, *options: str) -> onnxc_commands.CommandFailure:
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        compiled(model, "sm_80", *options)
    return failure.value


def test_a_model_has_the_code_of_each_architecture(model: Path) -> None:
    """PTX of the oldest version that its instructions have, ended by a zero byte, as the driver reads it."""
    content = compiled(model, "sm_80,sm_90a,gfx942").read_bytes()
    codes = re.findall(rb"\n(\.version [0-9.]+\n\.target \S+)\n[^\0]*?\.entry [^\0]*\}\s*(\0)", content)
    assert codes == [(b".version 7.1\n.target sm_80", b"\0"), (b".version 8.0\n.target sm_90a", b"\0")]
    information = onnxc_commands.execute(
        [str(onnxc_commands.BINARIES / "onnxc-run"), str(model.with_name("model.so")), "--info"]
    )
    assert "cuda sm_80, cuda sm_90a, hip gfx942" in information.stdout


def test_equal_models_are_equal_to_the_bit(model: Path) -> None:
    first = compiled(model, "sm_80").read_bytes()
    assert compiled(model, "sm_80").read_bytes() == first


def test_libclc_elsewhere(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model.with_name("libclc")
    folder.mkdir()
    os.symlink("/usr/lib/clc/nvptx64--nvidiacl.bc", folder / "nvptx64--nvidiacl.bc")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_LIBCLC", str(folder))
    compiled(model, "sm_80")
    (folder / "nvptx64--nvidiacl.bc").unlink()
    failure = refused(model)
    assert failure.code == 1
    assert f"ONNXC_LIBCLC is '{folder}', and nvptx64--nvidiacl.bc is not in it" in failure.message
    # AMD's need none.
    compiled(model, "gfx942")


def write_compiler(file: Path, script: str) -> Path:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_a_clang_without_nvidias_target_is_named(model: Path) -> None:
    lacks = "echo 'No available targets are compatible with triple nvptx64-nvidia-cuda' >&2; exit 1"
    script = f'case "$*" in *nvptx64-nvidia*) {lacks};; esac; exec clang++-19 "$@"'
    failure = refused(model, "--compiler", str(write_compiler(model.with_name("clang++"), script)))
    assert failure.code == 1
    assert (
        "does not compile for sm_80: give --compiler a clang 19 or newer that is built with the target NVPTX, as "
        "Debian's is" in failure.message
    )


def test_zig_does_not_compile_for_them(model: Path) -> None:
    zig = write_compiler(model.with_name("zig"), "echo language not recognized: cuda >&2; exit 1")
    failure = refused(model, "--compiler", str(zig))
    assert failure.code == 1
    assert f"the C++ compiler '{zig}' does not compile HIP, which a GPU's code is" in failure.message


def test_the_source_names_what_it_links(model: Path) -> None:
    compiled(model, "l4", "--emit", "source")
    text = Path(f"{model.with_name('model.so')}.device.hip").read_text()
    assert "//   target   cuda sm_80 (l4)" in text
    assert "for libclc's\n// nvptx64--nvidiacl:\n" in text
    assert "-DONNXC_GPU=sm_80 " in text
    assert "-o $SOURCE.l4.ptx" in text
