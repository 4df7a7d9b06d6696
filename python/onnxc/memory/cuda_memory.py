"""Memory of NVIDIA's GPUs, in their primary contexts, which PyTorch and the model use as well."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Any

from onnxc.errors import OnnxcError
from onnxc.memory.loaded_library import loaded

_NO_CAPTURE_IS_SPOILT = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


@cache
def _library() -> Any:
    library = loaded("ONNXC_CUDA_LIBRARY", "libcuda.so")
    library.cuMemAlloc_v2.argtypes = [POINTER(c_void_p), c_size_t]
    library.cuMemFree_v2.argtypes = [c_void_p]
    library.cuMemcpyDtoH_v2.argtypes = [c_void_p, c_void_p, c_size_t]
    library.cuStreamSynchronize.argtypes = [c_void_p]
    library.cuGetErrorString.argtypes = [c_int, POINTER(c_char_p)]
    return library


def _call(name: str, *arguments: Any) -> None:
    library = _library()
    code = getattr(library, name)(*arguments)
    if code != 0:
        text = c_char_p()
        library.cuGetErrorString(code, byref(text))
        raise OnnxcError(f"{name}: {(text.value or b'unknown error').decode(errors='replace')} (CUDA error {code})")


@cache
def _primary_context(device: int) -> c_void_p:
    """Kept until the process ends: tensors may outlive the session that made them."""
    handle, context = c_int(), c_void_p()
    _call("cuDeviceGet", byref(handle), device)
    _call("cuDevicePrimaryCtxRetain", byref(context), handle)
    return context


@contextmanager
def current(device: int) -> Iterator[None]:
    """Makes a device's context the thread's current one for a while, whose calls spoil no capture of another's."""
    before, mode = c_void_p(), c_int(_NO_CAPTURE_IS_SPOILT)
    _call("cuCtxGetCurrent", byref(before))
    _call("cuCtxSetCurrent", _primary_context(device))
    _call("cuThreadExchangeStreamCaptureMode", byref(mode))
    try:
        yield
    finally:
        _call("cuThreadExchangeStreamCaptureMode", byref(mode))
        _call("cuCtxSetCurrent", before)


def allocate(size: int) -> int:
    pointer = c_void_p()
    _call("cuMemAlloc_v2", byref(pointer), size)
    return pointer.value or 0


def free(device: int, address: int) -> None:
    with suppress(OnnxcError), current(device):  # nobody is left to be told
        _call("cuMemFree_v2", address)


def read(destination: int, address: int, size: int) -> None:
    _call("cuMemcpyDtoH_v2", destination, address, size)


def wait(stream: int) -> None:
    _call("cuStreamSynchronize", stream or None)
