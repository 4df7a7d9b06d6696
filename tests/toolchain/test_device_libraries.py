"""Compiling for a GPU with the device libraries of each age of ROCm: folders that look like theirs."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")

DEBIAN = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
OLD = [
    "ocml",
    "oclc_daz_opt_off",
    "oclc_unsafe_math_off",
    "oclc_finite_only_off",
    "oclc_correctly_rounded_sqrt_on",
    "oclc_wavefrontsize64_on",
    "oclc_isa_version_90a",
]
MODEL = '<ir_version: 9, opset_import: ["" : 18]> m (float[9] x) => (float[9] y) { e = Exp (x) y = Sqrt (e) }'
# The functions that the model asks of a library that has dropped its switches.
NEW_OCML = """
float __ocml_exp_f32(float a) { return __builtin_elementwise_exp(a); }
float __ocml_sqrt_f32(float a) { return __builtin_elementwise_sqrt(a); }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(parse_model(MODEL), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def old_library(folder: Path, isa: str = "oclc_isa_version_90a") -> Path:
    """Up to ROCm 7.2: as Debian's, which knew no gfx942; `isa` is what the release calls its instructions."""
    folder.mkdir(parents=True)
    for name in OLD[:-1]:
        shutil.copy(DEBIAN / f"{name}.bc", folder)
    shutil.copy(DEBIAN / f"{OLD[-1]}.bc", folder / f"{isa}.bc")
    return folder


def new_library(folder: Path) -> Path:
    """After: without the switches for denormals and square roots."""
    folder.mkdir(parents=True)
    (folder / "ocml.c").write_text(NEW_OCML)
    options = "-target amdgcn-amd-amdhsa -nogpulib -emit-llvm -c -O1 -fno-math-errno"
    subprocess.run(["clang-19", *options.split(), "ocml.c", "-o", "ocml.bc"], cwd=folder, check=True)
    for name in ("oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_wavefrontsize64_on"):
        shutil.copy(DEBIAN / f"{name}.bc", folder)
    shutil.copy(DEBIAN / f"{OLD[-1]}.bc", folder / "oclc_isa_version_942.bc")
    return folder


def check(model: Path) -> None:
    shared_object = onnxc_commands.compile_model(model, model.with_name("model.so"), "--target", "hip")
    x = np.linspace(-3, 3, 9, dtype=np.float32)
    y = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], model.with_name("run"), "--device", "hip")["y"]
    np.testing.assert_allclose(y, np.sqrt(np.exp(x.astype(np.float64))), rtol=3e-7)


@pytest.mark.parametrize("isa", ["oclc_isa_version_90a", "oclc_isa_version_942", "oclc_isa_version_9-4-generic"])
def test_libraries_with_all_switches(model: Path, monkeypatch: pytest.MonkeyPatch, isa: str) -> None:
    folder = old_library(model.with_name("bitcode"), isa)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_DEVICE_LIBRARIES", str(folder))
    check(model)


def test_libraries_that_dropped_switches(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_library(model.with_name("bitcode"))
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_DEVICE_LIBRARIES", str(folder))
    check(model)


@pytest.mark.parametrize("place", ["llvm/bin", "lib/llvm/bin"])
def test_a_rocm_compiles_with_its_own_clang(model: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Only that clang may read its libraries."""
    rocm = model.with_name("rocm")
    new_library(rocm / "amdgcn" / "bitcode")
    clang = rocm / place / "clang++"
    clang.parent.mkdir(parents=True)
    clang.write_text(f'#!/bin/sh\necho "$@" >> {rocm}/called\nexec clang++-19 "$@" -fuse-ld=lld-19\n')
    clang.chmod(0o755)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ROCM_PATH", str(rocm))
    check(model)
    [called] = (rocm / "called").read_text().splitlines()
    assert "-fuse-ld=lld " in called
    assert f"{rocm}/amdgcn/bitcode/oclc_isa_version_942.bc" in called


def test_a_rocm_that_is_not_there(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if Debian's libraries would do."""
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ROCM_PATH", "/none")
    with pytest.raises(onnxc_commands.CommandFailure, match="ROCM_PATH is '/none', and there is no such folder"):
        onnxc_commands.compile_model(model, model.with_name("model.so"), "--target", "hip")


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ("ocml", "ONNXC_DEVICE_LIBRARIES is '{folder}', and ocml.bc is not in it"),
        (
            OLD[-1],
            "the math library for AMD's GPUs in '{folder}' knows no gfx942: oclc_isa_version_942.bc, "
            "oclc_isa_version_9-4-generic.bc, oclc_isa_version_90a.bc is not there",
        ),
    ],
)
def test_what_is_missing(model: Path, monkeypatch: pytest.MonkeyPatch, removed: str, message: str) -> None:
    folder = old_library(model.with_name("bitcode"))
    os.remove(folder / f"{removed}.bc")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_DEVICE_LIBRARIES", str(folder))
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(model, model.with_name("model.so"), "--target", "hip")
    assert failure.value.code == 1
    assert message.format(folder=folder) in failure.value.message
