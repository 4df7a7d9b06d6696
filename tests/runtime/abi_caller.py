"""A program that runs a model through the C ABI, and memory for its values wherever the ABI allows them to lie."""

import ctypes
import mmap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models.tensor_files import Array
from onnxc import abi, dtypes, library
from tools.simulated_gpu.hip import DEVICE_TO_HOST, HOST_TO_DEVICE, Hip

CPU, HIP = 0, 1
PAGE = mmap.PAGESIZE
# The beginning of a value: far from each element type's size, at the first byte of its memory, or so that it ends with
# it.
PLACES = ("apart", "start", "end")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def alignment_of(array: Array) -> int:
    """The ABI's demands on an array's address."""
    return min(array.dtype.itemsize, 8)


class Memory(ABC):
    """The memory of one value: `size` bytes that begin at `address`."""

    address: int

    @abstractmethod
    def write(self, data: bytes) -> None: ...

    @abstractmethod
    def read(self) -> bytes: ...

    @abstractmethod
    def free(self) -> None: ...


class HostMemory(Memory):
    """Between pages that nobody may touch, all other bytes of its pages set to a pattern that must stay."""

    def __init__(self, size: int, place: str, alignment: int) -> None:
        self.size = size
        pages = -(-(size + 2 * 64) // PAGE)
        self._bytes = (pages + 2) * PAGE
        self._mapping = _libc.mmap(None, self._bytes, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        self._begin, self._end = self._mapping + PAGE, self._mapping + PAGE * (pages + 1)
        assert _libc.mprotect(self._begin, pages * PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
        ctypes.memset(self._begin, 0x5A, pages * PAGE)
        last = (self._end - size) // alignment * alignment
        # The last of all such addresses that is not a multiple of twice the alignment.
        apart = last if last // alignment % 2 else last - alignment
        self.address = {"apart": apart, "start": self._begin, "end": last}[place]

    def write(self, data: bytes) -> None:
        ctypes.memmove(self.address, data, self.size)

    def read(self) -> bytes:
        before = ctypes.string_at(self._begin, self.address - self._begin)
        after = ctypes.string_at(self.address + self.size, self._end - self.address - self.size)
        assert set(before + after) <= {0x5A}, "bytes beside the value were written"
        return ctypes.string_at(self.address, self.size)

    def free(self) -> None:
        _libc.munmap(self._mapping, self._bytes)


class DeviceMemory(Memory):
    """An allocation of the simulator's, which knows where it ends."""

    def __init__(self, hip: Hip, size: int, place: str, alignment: int) -> None:
        self.size, self._hip = size, hip
        offset = 0 if place == "start" else alignment if place == "end" else 256 + alignment
        self._allocation = hip.allocate(offset + max(size, 1))
        self.address = (self._allocation.value or 0) + offset

    def write(self, data: bytes) -> None:
        if self.size > 0:
            self._hip.hipMemcpy(ctypes.c_void_p(self.address), data, ctypes.c_size_t(self.size), HOST_TO_DEVICE)

    def read(self) -> bytes:
        result = ctypes.create_string_buffer(max(self.size, 1))
        if self.size > 0:
            self._hip.hipMemcpy(result, ctypes.c_void_p(self.address), ctypes.c_size_t(self.size), DEVICE_TO_HOST)
        return result.raw[: self.size]

    def free(self) -> None:
        self._hip.hipFree(self._allocation)


class Value:
    """A tensor in some memory. It is packed there where the ABI packs its type."""

    def __init__(self, array: Array, place: str, hip: Hip | None = None) -> None:
        self.array = array
        data = dtypes.packed(np.ascontiguousarray(array)).tobytes()
        alignment = alignment_of(array)
        self.memory: Memory = (
            HostMemory(len(data), place, alignment) if hip is None else DeviceMemory(hip, len(data), place, alignment)
        )
        self.memory.write(data)
        self._dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        self.value = abi.Value(
            dtype=dtypes.NUMBERS[array.dtype],
            device=CPU if hip is None else HIP,
            rank=array.ndim,
            dims=self._dims,
            data=self.memory.address,
            bytes=len(data),
        )

    def content(self) -> bytes:
        return self.memory.read()


class AbiError(Exception):
    """A call that returned another status than ONNXC_OK."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Model:
    """A model.so, by the table of its functions."""

    def __init__(self, file: Path) -> None:
        self.library = library.load(file)
        self.api = library.table_of(self.library)

    def create(self, device: int = CPU, flags: int = 0, threads: int = 0) -> Any:
        instance, error = ctypes.c_void_p(), ctypes.create_string_buffer(abi.ERROR_SIZE)
        options = abi.Options(struct_size=ctypes.sizeof(abi.Options), flags=flags, device=device, threads=threads)
        status = self.api.create(ctypes.byref(options), ctypes.byref(instance), error, abi.ERROR_SIZE)
        if status != abi.OK:
            raise AbiError(status, error.value.decode())
        return instance

    def destroy(self, instance: Any) -> None:
        self.api.destroy(instance)

    def run(self, instance: Any, inputs: Sequence[Value], outputs: Sequence[Value], **options: Any) -> None:
        def values(given: Sequence[Value]) -> Any:
            return (abi.Value * max(1, len(given)))(*(value.value for value in given))

        run_options = abi.RunOptions(struct_size=ctypes.sizeof(abi.RunOptions), **options)
        status = self.api.run(
            instance, values(inputs), len(inputs), values(outputs), len(outputs), ctypes.byref(run_options)
        )
        if status != abi.OK:
            raise AbiError(status, self.api.last_error(instance).decode())

    def results(
        self, instance: Any, inputs: Mapping[str, Array], outputs: Sequence[Array], place: str, hip: Hip | None = None
    ) -> list[bytes]:
        """The outputs' bytes, of a run with all values at such a place; `outputs` gives their types and shapes."""
        given = [Value(array, place, hip) for array in inputs.values()]
        taken = [Value(array, place, hip) for array in outputs]
        try:
            self.run(instance, given, taken)
            for value, array in zip(given, inputs.values(), strict=True):
                unchanged = dtypes.packed(np.ascontiguousarray(array)).tobytes()
                assert value.content() == unchanged, "an input was written"
            return [value.content() for value in taken]
        finally:
            for value in (*given, *taken):
                value.memory.free()
