"""Memory of a GPU, from the HIP runtime that the process has loaded already: that of the model, or of PyTorch."""

import ctypes
import os
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Any

from onnxc.errors import ArgumentError, OnnxcError

_DEVICE_TO_HOST = 2


@cache
def _library() -> Any:
    chosen = os.environ.get("ONNXC_HIP_LIBRARY")
    try:
        library = ctypes.CDLL(chosen or _loaded_path())
    except OSError as error:
        if not chosen:
            raise
        raise ArgumentError(f"the environment variable ONNXC_HIP_LIBRARY is {chosen!r}: {error}") from error
    library.hipMalloc.argtypes = [POINTER(c_void_p), c_size_t]
    library.hipFree.argtypes = [c_void_p]
    library.hipMemcpy.argtypes = [c_void_p, c_void_p, c_size_t, c_int]
    library.hipStreamSynchronize.argtypes = [c_void_p]
    library.hipGetErrorString.restype = c_char_p
    return library


def _loaded_path() -> str:
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libamdhip64"):
                return path
    raise OnnxcError("no HIP runtime is loaded: open a session with device='hip' first")


def _call(name: str, *arguments: Any) -> None:
    library = _library()
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise OnnxcError(f"{name}: {library.hipGetErrorString(code).decode(errors='replace')} (HIP error {code})")


class _Current:
    """Makes a device the thread's current one for a while."""

    def __init__(self, device: int) -> None:
        self._device, self._before = device, c_int()

    def __enter__(self) -> None:
        _call("hipGetDevice", byref(self._before))
        _call("hipSetDevice", self._device)

    def __exit__(self, *_: object) -> None:
        _call("hipSetDevice", self._before)


class DeviceMemory:
    """Bytes on a GPU, freed with this object."""

    def __init__(self, device: int, size: int) -> None:
        pointer = c_void_p()
        with _Current(device):
            _call("hipMalloc", byref(pointer), size)
        self.address = pointer.value or 0
        weakref.finalize(self, _library().hipFree, c_void_p(self.address))


def read(device: int, address: int, size: int, destination: int) -> None:
    """Copies from a GPU to host memory, after all work that its default stream was given."""
    with _Current(device):
        _call("hipMemcpy", destination, address, size, _DEVICE_TO_HOST)


def wait_for(device: int, stream: int) -> None:
    """Until a stream is done with all that it was given."""
    with _Current(device):
        _call("hipStreamSynchronize", stream or None)
