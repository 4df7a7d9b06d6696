"""Code and weights go into archives of their own, and come back as one file to the byte."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from tools.gpu_check.packing import CODE, Part, halves, pack, unpack, weights_begin

WEIGHT_BYTES = bytes(range(256)) * 50


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library that onnxc did not make: it has no weights."""
    file = tmp_path / "plain.so"
    command = ["clang++-19", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(file)]
    subprocess.run(command, input="int f() { return 1; }\n", text=True, check=True)
    return file


def with_weights(library: Path) -> Path:
    """Its first segment that is loaded, moved to the end of the file, as a model's weights are."""
    content = bytearray(library.read_bytes())
    table = int.from_bytes(content[32:40], "little")
    place = next(
        table + 56 * row
        for row in range(content[56])
        if content[table + 56 * row : table + 56 * row + 4] == b"\1\0\0\0"
    )
    content[place + 8 : place + 16] = len(content).to_bytes(8, "little")
    content[place + 32 : place + 40] = len(WEIGHT_BYTES).to_bytes(8, "little")
    file = library.with_name("model.so")
    file.write_bytes(bytes(content) + WEIGHT_BYTES)
    return file


def test_a_library_without_weights_is_all_code(library: Path) -> None:
    assert weights_begin(library) == library.stat().st_size


def test_two_archives_give_the_model_again(library: Path, tmp_path: Path) -> None:
    model = with_weights(library)
    assert weights_begin(model) == model.stat().st_size - len(WEIGHT_BYTES)
    code, weights = halves("networks/some/ieee", model)
    more, nothing = halves("networks/plain/ieee", library)
    pack({**code, **more}, tmp_path / CODE)
    pack({**weights, **nothing, "networks/some/x.npy": Part(library)}, tmp_path / "some.tar.xz")
    for archive in (CODE, "some.tar.xz"):
        unpack(tmp_path / archive, tmp_path / "out")
    found = {str(file.relative_to(tmp_path / "out")): file.read_bytes() for file in (tmp_path / "out").rglob("*.*")}
    assert found == {
        "networks/some/ieee.so": model.read_bytes(),
        "networks/plain/ieee.so": library.read_bytes(),
        "networks/some/x.npy": library.read_bytes(),
    }


def test_the_same_parts_give_the_same_bytes(library: Path, tmp_path: Path) -> None:
    archives = [tmp_path / "first.tar.xz", tmp_path / "second.tar.xz"]
    for archive in archives:
        pack({"a.so": Part(library, 3, 500), "b.so": Part(library)}, archive)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with tarfile.open(archives[0]) as tar:
        assert [(entry.name, entry.size) for entry in tar] == [("a.so", 497), ("b.so", library.stat().st_size)]


@pytest.mark.parametrize("name", ["../outside.so", "../outside.weights"])
def test_nothing_is_written_outside_the_folder(name: str, library: Path, tmp_path: Path) -> None:
    pack({name: Part(library)}, tmp_path / CODE)
    with pytest.raises(tarfile.FilterError):
        unpack(tmp_path / CODE, tmp_path / "out")
    assert not list(tmp_path.glob("outside*"))
