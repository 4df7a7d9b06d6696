"""Element types: ONNX's number, numpy's type and onnxruntime's name of each, and the packed form of the small ones."""

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnxc import strings

NUMPY_TYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint16),
    5: np.dtype(np.int16),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    9: np.dtype(np.bool_),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
    12: np.dtype(np.uint32),
    13: np.dtype(np.uint64),
    14: np.dtype(np.complex64),
    15: np.dtype(np.complex128),
    16: np.dtype(ml_dtypes.bfloat16),
    17: np.dtype(ml_dtypes.float8_e4m3fn),
    18: np.dtype(ml_dtypes.float8_e4m3fnuz),
    19: np.dtype(ml_dtypes.float8_e5m2),
    20: np.dtype(ml_dtypes.float8_e5m2fnuz),
    21: np.dtype(ml_dtypes.uint4),
    22: np.dtype(ml_dtypes.int4),
    23: np.dtype(ml_dtypes.float4_e2m1fn),
    24: np.dtype(ml_dtypes.float8_e8m0fnu),
    25: np.dtype(ml_dtypes.uint2),
    26: np.dtype(ml_dtypes.int2),
}

NUMBERS = {dtype: number for number, dtype in NUMPY_TYPES.items()}

# Bits of the types that a caller of the C ABI packs; in numpy's arrays each element has a byte.
PACKED_BITS: dict[np.dtype[np.generic], int] = {
    np.dtype(ml_dtypes.uint4): 4,
    np.dtype(ml_dtypes.int4): 4,
    np.dtype(ml_dtypes.float4_e2m1fn): 4,
    np.dtype(ml_dtypes.uint2): 2,
    np.dtype(ml_dtypes.int2): 2,
}

# Types whose name in onnxruntime is not numpy's.
OWN_NAMES = {
    "float32": "float",
    "float64": "double",
    "float4_e2m1fn": "float4e2m1",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0",
}


def type_name(number: int) -> str:
    """Such as "tensor(float)"."""
    if number == strings.NUMBER:
        return "tensor(string)"
    dtype = NUMPY_TYPES.get(number)
    name = f"type {number}" if dtype is None else dtype.name
    return f"tensor({OWN_NAMES.get(name, name)})"


def number_of(name: str) -> int:
    """ONNX's number of what type_name() has named."""
    return next(number for number in (*NUMPY_TYPES, strings.NUMBER) if type_name(number) == name)


def packed(array: NDArray[Any]) -> NDArray[Any]:
    """The array as the C ABI has it: several elements of a small type in a byte, the first in its lowest bits."""
    bits = PACKED_BITS.get(array.dtype)
    if bits is None:
        return array
    in_a_byte = 8 // bits
    elements = np.zeros(-(-array.size // in_a_byte) * in_a_byte, np.uint8)
    elements[: array.size] = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    shifts = np.arange(in_a_byte, dtype=np.uint8) * bits
    result: NDArray[Any] = np.bitwise_or.reduce(elements.reshape(-1, in_a_byte) << shifts, axis=1, dtype=np.uint8)
    return result


def unpacked(memory: NDArray[Any], dtype: np.dtype[np.generic], shape: Sequence[int]) -> NDArray[Any]:
    """The array whose packed form this is."""
    bits = PACKED_BITS[dtype]
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    elements = (memory.reshape(-1, 1) >> shifts & ((1 << bits) - 1)).reshape(-1)
    elements = elements[: math.prod(shape)].reshape(shape)
    is_integer = dtype != np.dtype(ml_dtypes.float4_e2m1fn)
    result: NDArray[Any] = elements.astype(np.int64).astype(dtype) if is_integer else elements.view(dtype)
    return result
