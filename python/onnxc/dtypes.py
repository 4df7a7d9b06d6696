"""Element types: ONNX's number, numpy's type and onnxruntime's name of each."""

import ml_dtypes
import numpy as np

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
}

NUMBERS = {dtype: number for number, dtype in NUMPY_TYPES.items()}

# Where onnxruntime's name is not numpy's.
OWN_NAMES = {"float32": "float", "float64": "double"}


def type_name(number: int) -> str:
    """Such as "tensor(float)"."""
    dtype = NUMPY_TYPES.get(number)
    name = f"type {number}" if dtype is None else dtype.name
    return f"tensor({OWN_NAMES.get(name, name)})"


def number_of(name: str) -> int:
    """ONNX's number of what type_name() has named."""
    return next(number for number in NUMPY_TYPES if type_name(number) == name)
