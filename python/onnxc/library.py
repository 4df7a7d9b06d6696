"""A model.so as a loaded library."""

import ctypes
import os
from pathlib import Path
from typing import Any

from onnxc import abi
from onnxc.errors import ArgumentError, OnnxcError

_process = ctypes.CDLL(None)
_process.dlclose.argtypes = [ctypes.c_void_p]


def is_shared_object(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError as error:
        raise OnnxcError(f"cannot read {path}: {error.strerror}") from error


def load(path: Path) -> ctypes.CDLL:
    try:
        # A path without a slash would be searched for in the system's folders.
        return ctypes.CDLL(str(path.resolve()), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise OnnxcError(f"cannot load {path}: {error}") from error


def entries_of(api: Any) -> list[Any]:
    """The table of each entry; of a library of before, which has one, its own."""
    if api.table_size <= abi.Api.entry.offset:
        return [api]
    return [api.entry(i).contents for i in range(api.entry_count)]


def names_of(entries: list[Any]) -> list[str]:
    return [
        os.fsdecode(each.entry_name) if each.table_size > abi.Api.entry_name.offset else "model" for each in entries
    ]


def table_of(library: ctypes.CDLL, entry: str | None = None) -> Any:
    """The table of an entry, or of the first."""
    api = _first_table(library)
    if entry is None:
        return api
    entries = entries_of(api)
    names = names_of(entries)
    if entry not in names:
        raise ArgumentError(f"entry is {entry!r}, and the model has the entries {', '.join(map(repr, names))}")
    return entries[names.index(entry)]


def _first_table(library: ctypes.CDLL) -> Any:
    try:
        get_api = library.onnxc_get_api
    except AttributeError:
        raise OnnxcError(f"{library._name} is not a model that onnxc made: it has no onnxc_get_api") from None
    get_api.argtypes = [ctypes.c_uint32]
    get_api.restype = ctypes.POINTER(abi.Api)
    api = get_api(abi.ABI_VERSION)
    if not api:
        raise OnnxcError(f"{library._name} was made by an older onnxc; compile the model again")
    return api.contents


def unload(handle: int) -> None:
    _process.dlclose(handle)
