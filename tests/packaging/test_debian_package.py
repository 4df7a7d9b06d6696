"""The Debian package of cpack: what is in it, what it needs, and that its commands work in the folder into which it is
unpacked."""

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.onnxc_commands import BINARIES
from tests.test_onnxc import build_model

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

CPACK = Path(os.environ.get("ONNXC_CMAKE", "cmake")).with_name("cpack")


def output(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deb")
    output(CPACK, "-G", "DEB", "--config", BINARIES.parent / "CPackConfig.cmake", "-B", folder)
    [file] = folder.glob("*.deb")
    return file


def test_its_name_and_fields(package: Path) -> None:
    assert package.name == "onnxc_0.1.0_amd64.deb"
    fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", package).splitlines() if ": " in line)
    assert fields["Package"] == "onnxc"
    assert fields["Architecture"] == "amd64"
    needs = {need.split(" ")[0] for need in fields["Depends"].split(", ")}
    assert {"libc6", "libstdc++6", "libprotobuf32", "libfmt9"} <= needs
    assert not any("clang" in need or "python" in need for need in needs)
    assert fields["Recommends"] == "clang-19, lld-19"


def test_its_files(package: Path) -> None:
    lines = [line.split() for line in output("dpkg-deb", "-c", package).splitlines()]
    files = {words[5].removeprefix("./"): words[0] for words in lines if not words[0].startswith("d")}
    assert all(name.startswith("usr/") for name in files)
    for name in (
        "usr/bin/onnxc",
        "usr/bin/onnxc-run",
        "usr/include/onnxc.h",
        "usr/include/onnxc_compiler.h",
        "usr/lib/libonnxc_compiler.so",
        "usr/lib/libonnxc_ep.so",
        "usr/lib/onnxc/libonnxc_runtime_cpu.a",
        "usr/lib/cmake/onnxc/onnxc-config.cmake",
        "usr/share/onnxc/include/base/model.h",
        "usr/share/doc/onnxc/copyright",
    ):
        assert name in files, name
    assert files["usr/bin/onnxc"] == "-rwxr-xr-x"
    # The only sources in it are those with which onnxc compiles models.
    sources = [name for name in files if name.endswith((".cpp", ".o", ".py"))]
    assert all(name.startswith("usr/share/onnxc/include/kernels/") for name in sources)


def test_it_compiles_and_runs(package: Path, tmp_path: Path) -> None:
    output("dpkg-deb", "-x", package, tmp_path / "root")
    commands = tmp_path / "root" / "usr" / "bin"
    onnx.save(build_model(), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.ones((1, 4, 3, 8, 8), np.float32))
    output(commands / "onnxc", tmp_path / "model.onnx", "-o", tmp_path / "model.so")
    words = [str(tmp_path / "model.so"), "--input", f"x={tmp_path / 'x.npy'}", "--verify", str(tmp_path / "model.onnx")]
    assert "PASSED" in output(commands / "onnxc-run", *words)
