"""The wheel (make wheel) as a stranger meets it: a fresh environment, no compiler on the PATH but what pip brings."""

import json
import os
import re
import resource
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.onnxc_commands import REPOSITORY

pytestmark = pytest.mark.slow

DEMO = REPOSITORY / "tests" / "demo"
NEWEST_GLIBC = (2, 28)
LIBRARIES_OF_GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


@pytest.fixture(scope="module")
def wheel() -> Path:
    subprocess.run(["make", "-s", "wheel"], cwd=REPOSITORY, check=True, capture_output=True)
    [path] = (REPOSITORY / "dist").glob("onnxc-*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> "Environment":
    """The wheel in a fresh environment; downloads are not part of the time that it took."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-q", "--disable-pip-version-check", f"{wheel}[compiler]"]
    subprocess.run(["python3", "-m", "pip", "download", "-d", folder / "downloads", *words], check=True)
    start = processor_seconds()
    subprocess.run(["python3", "-m", "venv", folder / "venv"], check=True)
    install: list[str | Path] = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--no-index"]
    subprocess.run([*install, "--find-links", folder / "downloads", *words], check=True)
    return Environment(folder, processor_seconds() - start)


def processor_seconds() -> float:
    """The processor time of the programs run so far: unlike time by the clock it does not grow on a busy machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Environment:
    """Commands find nothing but the environment's own programs."""

    def __init__(self, folder: Path, installing_seconds: float) -> None:
        self.folder = folder
        self.installing_seconds = installing_seconds

    def run(self, *words: str | Path, **variables: str) -> str:
        binaries = self.folder / "venv" / "bin"
        variables = {"PATH": str(binaries), "HOME": str(self.folder), **variables}
        done = subprocess.run(
            [binaries / words[0], *words[1:]],
            env=variables, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


def glibc_of(file: Path) -> tuple[int, ...]:
    """The newest version of a symbol that a file takes from glibc."""
    shown = subprocess.run(["readelf", "-W", "-V", file], capture_output=True, text=True, check=True).stdout
    return max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", shown))


def libraries_of(file: Path) -> set[str]:
    shown = subprocess.run(["readelf", "-W", "-d", file], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", shown))


def test_its_tag_is_true(wheel: Path, tmp_path: Path) -> None:
    assert wheel.name.endswith("-py3-none-manylinux_{}_{}_x86_64.whl".format(*NEWEST_GLIBC))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    programs = [file for file in tmp_path.rglob("*") if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]
    assert {file.name for file in programs} == {"onnxc", "onnxc-run", "libonnxc_ep.so"}
    for file in programs:
        assert glibc_of(file) <= NEWEST_GLIBC
        assert libraries_of(file) <= LIBRARIES_OF_GLIBC
        assert str(REPOSITORY).encode() not in file.read_bytes()


def test_its_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")]
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert re.search(r"^Requires-Dist: ziglang==[0-9.]+; extra == .compiler.$", metadata, re.M)
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_its_bill_of_materials(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/onnxc.spdx.json")]
        content = json.loads(archive.read(name))
    version = wheel.name.split("-")[1]
    versions = {package["name"]: package["versionInfo"] for package in content["packages"]}
    assert versions["onnxc"] == version
    assert all(version[0].isdigit() for version in versions.values())
    assert {"ONNX", "Protocol Buffers", "zlib", "libstdc++", "libclc"} <= versions.keys()


def test_another_folder_gives_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "another" / "place"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    for name in listed.strip("\0").split("\0"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name, follow_symlinks=False)
    subprocess.run(["scripts/wheel.sh"], cwd=folder, check=True, capture_output=True)
    [other] = (folder / "dist").glob("onnxc-*.whl")
    assert other.name == wheel.name
    assert other.read_bytes() == wheel.read_bytes()


def test_installed_compiled_run_and_verified_within_a_minute(environment: Environment) -> None:
    start = processor_seconds()
    environment.run("onnxc", DEMO / "model.onnx", "-o", "model.so")
    verified = environment.run("onnxc-run", "model.so", "--random", "0", "--verify", DEMO / "model.onnx")
    assert "PASSED" in verified
    expected = ("--expect", f"scores={DEMO / 'expected.npy'}", "--rtol", "1e-4", "--atol", "1e-5")
    environment.run("onnxc-run", "model.so", "--input", f"volume={DEMO / 'input.npy'}", *expected)
    assert environment.installing_seconds + processor_seconds() - start < 60
    model = environment.folder / "model.so"
    assert glibc_of(model) <= NEWEST_GLIBC
    assert libraries_of(model) <= LIBRARIES_OF_GLIBC
    assert f"needs: glibc {'.'.join(map(str, glibc_of(model)))} or newer" in environment.run(
        "onnxc-run", model, "--info"
    )


def test_says_which_compiler_it_takes(environment: Environment) -> None:
    assert "ziglang/zig c++ (clang of zig), glibc 2.28" in environment.run("onnxc", "--version")
    path = f"{environment.folder / 'venv' / 'bin'}:{os.environ['PATH']}"
    assert "compiles with clang++-19 with lld-19" in environment.run("onnxc", "--version", PATH=path)


def test_an_older_glibc_gives_the_same_bytes_each_time(environment: Environment) -> None:
    for name in ("first.so", "second.so"):
        environment.run("onnxc", DEMO / "model.onnx", "-o", name, "--glibc", "2.17")
    first, second = environment.folder / "first.so", environment.folder / "second.so"
    assert glibc_of(first) <= (2, 17)
    assert first.read_bytes() == second.read_bytes()


PROGRAM = """
import sys
import numpy as np
import onnxc
folder = sys.argv[1]
model = onnxc.compile(folder + "/model.onnx")
[y] = model.run(None, {"volume": np.load(folder + "/input.npy")})
np.testing.assert_allclose(y, np.load(folder + "/expected.npy"), rtol=1e-4, atol=1e-4)
print(onnxc.__version__)
"""


def test_from_python_without_the_command_on_the_path(environment: Environment) -> None:
    version = environment.run("python", "-c", PROGRAM, DEMO, PATH="/nowhere").strip()
    assert environment.run("onnxc", "--version").splitlines()[0] == f"onnxc {version}"


def test_compiles_for_nvidia_with_the_libclc_that_it_brings(environment: Environment) -> None:
    """The system's is not looked at: a broken one in the wheel's place would be told."""
    carried = environment.folder / "venv" / "lib" / "onnxc" / "nvptx64--nvidiacl.bc"
    options = ("--target", "gpu", "--gpu-arch", "sm_80", "--compiler", "clang++-19")
    words = ("onnxc", DEMO / "model.onnx", "-o", "gpu.so", *options)
    path = f"{environment.folder}/venv/bin:/usr/bin:/bin"
    environment.run(*words, PATH=path)
    content = carried.read_bytes()
    carried.write_bytes(content[:1000])
    with pytest.raises(AssertionError, match=r"nvptx64--nvidiacl\.bc"):
        environment.run(*words, PATH=path)
    carried.write_bytes(content)
