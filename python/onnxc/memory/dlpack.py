"""DLPack, by which array libraries hand each other tensors without a copy (https://dmlc.github.io/dlpack/latest/)."""

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnxc import dtypes
from onnxc.errors import OnnxcError

# DLDeviceType.
CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13
GPU_NAMES = {CUDA: "cuda", ROCM: "hip"}
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLDataTypeCode, by numpy's kinds
_BFLOAT16 = 4
_NAME = b"dltensor"
_SAME_SIZE = {size: np.dtype(f"f{size}" if size > 1 else "u1") for size in (1, 2, 4, 8)} | {16: np.dtype("c16")}


class _DataType(ctypes.Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


@dataclass(frozen=True)
class Description:
    """A tensor in memory; `strides` are in elements."""

    address: int
    dtype: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]

    def is_dense(self) -> bool:
        """Whether the elements stand one after the other in row-major order."""
        return 0 in self.shape or all(
            dim == 1 or stride == expected
            for dim, stride, expected in zip(self.shape, self.strides, dense_strides(self.shape), strict=True)
        )


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for dim in reversed(shape[1:]):
        strides.append(strides[-1] * dim)
    return tuple(reversed(strides))[: len(shape)] if shape else ()


_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def describe(capsule: Any) -> Description:
    """The content of a capsule; the memory stays its producer's and lives as long as the capsule."""
    tensor = _Managed.from_address(_pointer_of(capsule, _NAME)).tensor
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else dense_strides(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    return Description(address, _dtype_of(tensor.dtype), shape, strides, (tensor.device_type, tensor.device_id))


def view(description: Description, owner: object, dtype: np.dtype[np.generic]) -> NDArray[Any]:
    """An array over the memory of a tensor, which keeps `owner`; of one on a GPU no element can be read."""
    shape, strides = description.shape, description.strides or dense_strides(description.shape)
    if 0 in shape:
        return np.empty(shape, dtype)
    if min(strides, default=0) < 0:
        raise OnnxcError("a tensor with negative strides cannot be taken: make it contiguous first")
    last = sum((dim - 1) * stride for dim, stride in zip(shape, strides, strict=True))
    memory: Any = (ctypes.c_char * ((last + 1) * dtype.itemsize)).from_address(description.address)
    memory.owner = owner
    flat: NDArray[Any] = np.frombuffer(memory, dtype)
    return np.lib.stride_tricks.as_strided(flat, shape, [stride * dtype.itemsize for stride in strides])


def export(description: Description, owner: object) -> Any:
    """A capsule of a tensor; `owner` is kept until the consumer is done with it.

    numpy makes it, so that it is also freed without a call to Python, for which an exception or the end of the
    interpreter may leave no place. Then it is told the type and the device, which numpy may not know.
    """
    size = dtypes.NUMPY_TYPES[description.dtype].itemsize
    capsule = view(description, owner, _SAME_SIZE[size]).__dlpack__()
    tensor = _Managed.from_address(_pointer_of(capsule, _NAME)).tensor
    tensor.dtype = _data_type(description.dtype)
    tensor.device_type, tensor.device_id = description.device
    return capsule


def _data_type(number: int) -> _DataType:
    dtype = dtypes.NUMPY_TYPES[number]
    code = _BFLOAT16 if dtype == ml_dtypes.bfloat16 else _CODES.get(dtype.kind)
    if code is None:
        raise OnnxcError(f"DLPack has no code for {dtype}")
    return _DataType(code=code, bits=8 * dtype.itemsize, lanes=1)


def _dtype_of(data_type: _DataType) -> int:
    if data_type.lanes == 1 and data_type.bits % 8 == 0:
        if (data_type.code, data_type.bits) == (_BFLOAT16, 16):
            return dtypes.NUMBERS[np.dtype(ml_dtypes.bfloat16)]
        kinds = {code: kind for kind, code in _CODES.items()}
        kind, size = kinds.get(data_type.code), data_type.bits // 8
        number = next((n for n, d in dtypes.NUMPY_TYPES.items() if (d.kind, d.itemsize) == (kind, size)), None)
        if number is not None:
            return number
    raise OnnxcError(
        f"a DLPack tensor of type code {data_type.code}, {data_type.bits} bits and {data_type.lanes} lanes cannot be "
        "given to a model"
    )
