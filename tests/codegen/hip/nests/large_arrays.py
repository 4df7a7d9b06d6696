"""Arrays of more bytes than the machine has, as tools/host_blocks/large_memory.h has them for C++."""

import ctypes
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PAGE = mmap.PAGESIZE
PERIOD = 1021 * PAGE  # a prime number of pages
# As Linux has them.
PROT_NONE, MAP_FIXED, MAP_NORESERVE = 0, 0x10, 0x4000
ANYWHERE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def addresses(size: int) -> int:
    """Pages that exist when they are written, between two that nobody may touch."""
    begin = LIBC.mmap(None, size + 2 * PAGE, PROT_NONE, ANYWHERE, -1, 0)
    assert begin != ctypes.c_void_p(-1).value
    assert LIBC.mprotect(begin + PAGE, size, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    return int(begin) + PAGE


def whole_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


class Repeated:
    """An input: element i is that of i % period, from 1 to 7."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.period = PERIOD // np.dtype(dtype).itemsize
        numbers = np.arange(self.period, dtype=np.uint64) * np.uint64(2654435761)
        self.values = ((numbers >> np.uint64(13)) % np.uint64(7) + np.uint64(1)).astype(dtype)
        size = whole_pages(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        self.address = addresses(size)
        file = os.memfd_create("repeated")
        os.write(file, self.values.tobytes())
        for at in range(0, size, PERIOD):
            length, flags = min(PERIOD, size - at), mmap.MAP_SHARED | MAP_FIXED
            found = LIBC.mmap(self.address + at, length, mmap.PROT_READ, flags, file, 0)
            assert found == self.address + at, os.strerror(ctypes.get_errno())
        os.close(file)

    def __getitem__(self, indices: tuple[Array | int, ...]) -> Array:
        """The elements at some indices of each axis."""
        flat: Array | int = 0
        for index, extent in zip(indices, self.shape, strict=True):
            flat = flat * extent + index
        result: Array = self.values[np.asarray(flat) % self.period]
        return result


class Untouched:
    """A result: zeros, until a kernel writes."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.size = whole_pages(int(np.prod(shape)) * self.dtype.itemsize)
        self.address = addresses(self.size)

    def written(self) -> tuple[Array, Array]:
        """The flat indices of what is not zero, and the elements."""
        with Path("/proc/self/pagemap").open("rb") as table:
            table.seek(self.address // PAGE * 8)
            entries = np.frombuffer(table.read(self.size // PAGE * 8), np.uint64)
        indices, values = [], []
        for page in np.nonzero(entries >> np.uint64(62))[0]:
            begin = self.address + int(page) * PAGE
            elements = np.frombuffer(ctypes.string_at(begin, PAGE), self.dtype)
            (places,) = np.nonzero(elements)
            indices.append(int(page) * (PAGE // self.dtype.itemsize) + places.astype(np.int64))
            values.append(elements[places])
        return np.concatenate(indices), np.concatenate(values)
