"""The archives of a bundle.

Problem: the kernels and the runtime of a model.so are much like those of the others, but its weights lie between, and
the packer finds only what was less than its window before.
Method: the code of all models is one archive, and each archive of weights has what was cut off.

    code.tar.xz     tests/NAME/KIND.so, networks/NAME/KIND.so    up to the weights
    tests.tar.xz    tests/NAME/KIND.weights                      from there on, and inputs and right values
    NAME.tar.xz     networks/NAME/KIND.weights                   and weights.npz

    python tools/gpu_check/packing.py ARCHIVE FOLDER     # code first: the others append to it
"""

import lzma
import shutil
import struct
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CODE = "code.tar.xz"
WEIGHTS = ".weights"
# Matches are long: the models share whole kernels, and weights repeat.
WINDOW = 1 << 26
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": WINDOW, "nice_len": 273, "mf": lzma.MF_HC4}]
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
LOADED = 1


@dataclass(frozen=True)
class Part:
    """The bytes of a file from `begin` to `end`, or to the file's end."""

    file: Path
    begin: int = 0
    end: int | None = None

    @property
    def size(self) -> int:
        return (self.file.stat().st_size if self.end is None else self.end) - self.begin


def weights_begin(model: Path) -> int:
    """The place of a model.so's weights, which are the last bytes that are loaded (src/toolchain/weights_section.h);
    the file's size if it has none."""
    size = model.stat().st_size
    with model.open("rb") as file:
        header = file.read(64)
        [table] = struct.unpack_from("<Q", header, 32)
        entry, count = struct.unpack_from("<HH", header, 54)
        file.seek(table)
        rows = [PROGRAM_HEADER.unpack(file.read(entry)[: PROGRAM_HEADER.size]) for _ in range(count)]
    last = [row[2] for row in rows if row[0] == LOADED and row[2] + row[5] == size]
    return last[0] if last else size


def halves(name: str, model: Path) -> tuple[dict[str, Part], dict[str, Part]]:
    """The code of a model.so, and its weights, by their names in the archives."""
    begin = weights_begin(model)
    return {f"{name}.so": Part(model, 0, begin)}, {f"{name}{WEIGHTS}": Part(model, begin)}


def pack(parts: Mapping[str, Part], archive: Path) -> None:
    """In the order of `parts`. The same parts give the same bytes."""
    with lzma.open(archive, "wb", filters=FILTERS) as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name, part in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = part.size
            with part.file.open("rb") as content:
                content.seek(part.begin)
                tar.addfile(entry, content)


def unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        for entry in tar:
            safe = tarfile.data_filter(entry, str(folder))
            if entry.name.endswith(WEIGHTS):
                content = tar.extractfile(entry)
                assert content is not None
                with (folder / safe.name).with_suffix(".so").open("ab") as model:
                    shutil.copyfileobj(content, model, 1 << 24)
            else:
                tar.extract(safe, folder, filter="data")


if __name__ == "__main__":
    unpack(*map(Path, sys.argv[1:]))
