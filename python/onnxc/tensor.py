"""The arguments and results of a run whose values may live on a GPU."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import abi, dtypes
from onnxc.errors import OnnxcError
from onnxc.memory import dlpack, gpu_memory

Array = NDArray[Any]


class Tensor:
    """Elements in row-major order, in host memory or on a GPU.

    numpy, PyTorch, CuPy and others take it without a copy: `torch.from_dlpack(tensor)`. `tensor.numpy()` gives the
    elements on the host.
    """

    def __init__(self, description: dlpack.Description, owner: object) -> None:
        self._description, self._owner = description, owner
        self._stream: int | None = None  # in which a run still writes it; None: it is complete
        self._kept: object = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self._description.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return dtypes.NUMPY_TYPES[self._description.dtype]

    @property
    def device(self) -> str:
        """ "cpu", or "cuda:0" and "hip:1" for NVIDIA's and AMD's GPUs of these numbers."""
        kind, number = self._description.device
        return f"{dlpack.GPU_NAMES[kind]}:{number}" if self.is_on_gpu else "cpu"

    @property
    def is_on_gpu(self) -> bool:
        return self._description.device[0] in dlpack.GPU_NAMES

    @property
    def address(self) -> int:
        return self._description.address

    def __repr__(self) -> str:
        return f"onnxc.Tensor({self.dtype}, {self.shape}, {self.device!r})"

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._description.device

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> Any:
        """A capsule for a consumer that reads in `stream` (None: the default stream, -1: without any order)."""
        is_default = stream is None or (stream == 1 and self._description.device[0] == dlpack.CUDA)
        if self._stream is not None and stream != -1 and (0 if is_default else stream) != self._stream:
            self.wait()
        return dlpack.export(self._description, self)

    def wait(self) -> None:
        """Until the run that writes the tensor is done."""
        if self._stream is not None:
            gpu_memory.wait_for(self._description.device, self._stream)
            self._stream = self._kept = None

    def written_in(self, stream: int, kept: object) -> None:
        """Notes that a run writes it in `stream`, which reads `kept` until then."""
        self._stream, self._kept = stream, kept

    def numpy(self) -> Array:
        """The elements in host memory: the tensor's own if they are there, a copy from a GPU."""
        if not self.is_on_gpu:
            return dlpack.view(self._description, self, self.dtype)
        self.wait()
        result: Array = np.empty(self.shape, self.dtype)
        gpu_memory.read(self._description.device, self.address, result.nbytes, result.ctypes.data)
        return result

    def value(self) -> abi.Value:
        """The tensor as the ABI's value, whose memory it owns."""
        dims = (ctypes.c_int64 * max(1, len(self.shape)))(*self.shape)
        size = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        return abi.Value(
            dtype=self._description.dtype,
            device=int(self.is_on_gpu),
            rank=len(self.shape),
            dims=dims,
            data=self.address,
            bytes=size,
        )


def empty(dtype: int, shape: tuple[int, ...], place: tuple[int, int]) -> Tensor:
    """A tensor that was not written yet, on a device (DLPack's type, and its number)."""
    if place[0] == dlpack.CPU:
        return of_array(np.empty(shape, dtypes.NUMPY_TYPES[dtype]))
    size = int(np.prod(shape, dtype=np.int64)) * dtypes.NUMPY_TYPES[dtype].itemsize
    memory = gpu_memory.DeviceMemory(place, max(1, size))
    return Tensor(dlpack.Description(memory.address, dtype, shape, dlpack.dense_strides(shape), place), memory)


def of_array(array: Array) -> Tensor:
    """A dense array's own memory as a tensor."""
    number = dtypes.NUMBERS.get(array.dtype)
    if number is None:
        raise OnnxcError(f"arrays of numpy type {array.dtype} cannot be given to a model")
    strides = dlpack.dense_strides(array.shape)
    return Tensor(dlpack.Description(array.ctypes.data, number, array.shape, strides, (dlpack.CPU, 0)), array)


def taken(value: Any, name: str, stream: int, is_written: bool) -> Tensor:
    """A value of any library as a tensor, without a copy if it is dense.

    `stream`: the one whose work the values on a GPU are made to precede. An output (`is_written`) has to be dense, and
    so has a tensor on a GPU: OnnxcError names it by `name`.
    """
    if isinstance(value, Tensor):
        if value._stream is not None and value._stream != stream:
            value.wait()
        return value
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return _of_host_value(value, name, is_written)
    kind = int(value.__dlpack_device__()[0])
    is_on_gpu = kind in dlpack.GPU_NAMES
    if not is_on_gpu and kind not in (dlpack.CPU, dlpack.ROCM_HOST, dlpack.CUDA_HOST):
        raise OnnxcError(
            f"{name} is on a device of DLPack's type {kind}; onnxc takes tensors of the CPU, CUDA and ROCm"
        )
    # CUDA's default stream is 1 in DLPack, ROCm's is 0.
    asked = stream or 1 if kind == dlpack.CUDA else stream
    capsule = value.__dlpack__(stream=asked) if is_on_gpu else value.__dlpack__()
    description = dlpack.describe(capsule)
    if description.is_dense():
        place = description.device if is_on_gpu else (dlpack.CPU, 0)
        dense = dlpack.Description(description.address, description.dtype, description.shape, (), place)
        return Tensor(dense, (capsule, value))
    if is_on_gpu or is_written:
        raise OnnxcError(
            f"{name} has shape {description.shape} and strides {description.strides}, and must be row-major without "
            "gaps: make it contiguous first"
        )
    return of_array(np.ascontiguousarray(dlpack.view(description, capsule, dtypes.NUMPY_TYPES[description.dtype])))


def _of_host_value(value: Any, name: str, is_written: bool) -> Tensor:
    array: Array = np.asarray(value)
    dense = np.require(array, array.dtype.newbyteorder("="), ["C", "A"]).reshape(array.shape)
    if is_written and not (array is value and array.flags.writeable and np.shares_memory(array, dense)):
        raise OnnxcError(f"{name} cannot be written in place: give a writable array that is row-major without gaps")
    return of_array(dense)
