"""Memory of a GPU of either vendor: of a device (DLPack's type, and its number)."""

import weakref
from contextlib import AbstractContextManager
from typing import Protocol

from onnxc.memory import cuda_memory, dlpack, hip_memory

Place = tuple[int, int]


class _Library(Protocol):
    def current(self, device: int) -> AbstractContextManager[None]: ...
    def allocate(self, size: int) -> int: ...
    def free(self, device: int, address: int) -> None: ...
    def read(self, destination: int, address: int, size: int) -> None: ...
    def wait(self, stream: int) -> None: ...


_LIBRARIES: dict[int, _Library] = {dlpack.ROCM: hip_memory, dlpack.CUDA: cuda_memory}


class DeviceMemory:
    """Bytes on a GPU, freed with this object."""

    def __init__(self, place: Place, size: int) -> None:
        kind, device = place
        library = _LIBRARIES[kind]
        with library.current(device):
            self.address = library.allocate(size)
        weakref.finalize(self, library.free, device, self.address)


def read(place: Place, address: int, size: int, destination: int) -> None:
    """Copies to host memory, after all work that the GPU's default stream was given."""
    kind, device = place
    with _LIBRARIES[kind].current(device):
        _LIBRARIES[kind].read(destination, address, size)


def wait_for(place: Place, stream: int) -> None:
    """Until a stream is done with all that it was given."""
    kind, device = place
    with _LIBRARIES[kind].current(device):
        _LIBRARIES[kind].wait(stream)
