"""No output replaces an input, under whatever name or link."""

import mmap
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from onnxc.errors import ArgumentError

# StringStringEntryProto, as protobuf writes it: the key "location", then the value with its length of one or two bytes.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f]|[\x80-\xff][\x01-\x7f])", re.S)


def check_outputs(outputs: Iterable[tuple[str, Path]], inputs: Iterable[tuple[str, Path]]) -> None:
    """Raises ArgumentError for an output that is one of the inputs; both as (name of the argument, file).

    To be called before anything is read or made.
    """
    there = [(name, file, os.stat(file)) for name, file in outputs if file.exists()]
    for role, source in inputs if there else ():
        for name, file, status in there:
            if source.exists() and os.path.samestat(os.stat(source), status):
                raise ArgumentError(
                    f"{name} {str(file)!r} is the same file as {role} {str(source)!r}, which is an input and would be "
                    "lost; give the output another name"
                )


def external_names(content: bytes | mmap.mmap) -> list[str]:
    """For each tensor that lies in another file the name of that, as the model has it."""
    names = []
    for found in _LOCATION.finditer(content):
        length = found[1][0] if len(found[1]) == 1 else found[1][0] - 128 + 128 * found[1][1]
        names.append(os.fsdecode(content[found.end() : found.end() + length]))
    return names


def files_of_model(name: str, model: Path) -> Iterator[tuple[str, Path]]:
    """The model and its external data, as inputs of check_outputs."""
    yield name, model
    try:
        with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            names = sorted(set(external_names(content)))
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return
    for each in names:
        if "\0" not in each:
            yield f"external data of {name}", model.parent / each
