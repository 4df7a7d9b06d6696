"""Memory of AMD's GPUs."""

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Any

from onnxc.errors import OnnxcError
from onnxc.memory.loaded_library import loaded

_DEVICE_TO_HOST = 2


@cache
def _library() -> Any:
    library = loaded("ONNXC_HIP_LIBRARY", "libamdhip64")
    library.hipMalloc.argtypes = [POINTER(c_void_p), c_size_t]
    library.hipFree.argtypes = [c_void_p]
    library.hipMemcpy.argtypes = [c_void_p, c_void_p, c_size_t, c_int]
    library.hipStreamSynchronize.argtypes = [c_void_p]
    library.hipGetErrorString.restype = c_char_p
    return library


def _call(name: str, *arguments: Any) -> None:
    library = _library()
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise OnnxcError(f"{name}: {library.hipGetErrorString(code).decode(errors='replace')} (HIP error {code})")


@contextmanager
def current(device: int) -> Iterator[None]:
    """Makes a device the thread's current one for a while."""
    before = c_int()
    _call("hipGetDevice", byref(before))
    _call("hipSetDevice", device)
    try:
        yield
    finally:
        _call("hipSetDevice", before)


def allocate(size: int) -> int:
    pointer = c_void_p()
    _call("hipMalloc", byref(pointer), size)
    return pointer.value or 0


def free(device: int, address: int) -> None:
    _library().hipFree(c_void_p(address))


def read(destination: int, address: int, size: int) -> None:
    _call("hipMemcpy", destination, address, size, _DEVICE_TO_HOST)


def wait(stream: int) -> None:
    _call("hipStreamSynchronize", stream or None)
