"""Arrays in files as onnxc-run reads and writes them: .npy, or a serialized TensorProto for types numpy lacks."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]

LACKED_BY_NUMPY = tuple(
    np.dtype(kind)
    for kind in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float4_e2m1fn,
        ml_dtypes.int4,
        ml_dtypes.uint4,
        ml_dtypes.int2,
        ml_dtypes.uint2,
    )
)


def save(array: Array, stem: Path) -> Path:
    """Writes `array` to `stem` with the suffix that its type needs; returns the file."""
    path: Path
    if array.dtype in LACKED_BY_NUMPY:
        path = stem.with_name(stem.name + ".pb")
        path.write_bytes(numpy_helper.from_array(array).SerializeToString())
    else:
        path = stem.with_name(stem.name + ".npy")
        np.save(path, array)
    return path


def load(path: Path) -> Array:
    if path.suffix == ".pb":
        array: Array = numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
    else:
        array = np.load(path, allow_pickle=False)
    return array
