"""Cast and CastLike between all real types: rounding, wrapping, truncation."""

import ml_dtypes
import numpy as np
from onnx import helper

from tests.models.tensor_files import Array
from tests.ops.case import FLOATS, REAL, Case, case, random, type_id
from tests.ops.table import EVERYWHERE, table_test

# Within the range of every type that can hold negative numbers, with fractions for those that have them.
VALUES = np.array([[0, 1, 2.5, 3.5, 100.75], [-0.5, -1, -2.5, -3.99, -100]])


def converted(x: Array, dtype: type) -> Array:
    """As ONNX defines it: floats to integers truncate, to bool test for zero, between floats round to nearest even."""
    if dtype is np.bool_:
        return x.astype(np.float64) != 0
    if np.issubdtype(dtype, np.integer):
        return np.trunc(x.astype(np.float64)).astype(np.int64).astype(dtype)
    return x.astype(dtype)


def source(dtype: type, target: type) -> Array:
    """Values that the target can hold; a negative float to an unsigned type is undefined in ONNX."""
    values = VALUES
    unsigned = np.issubdtype(target, np.unsignedinteger) or np.issubdtype(dtype, np.unsignedinteger)
    if unsigned:
        values = np.abs(values)
    if dtype is np.bool_:
        return VALUES > 0
    return values.astype(dtype)


def cast(x: Array, dtype: type, name: str, opset: int = 20) -> Case:
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return case("Cast", x, name=name, opset=opset, to=to, expected=[converted(x, dtype)])


def between_all_types() -> list[Case]:
    types = (*REAL, np.bool_)
    return [cast(source(a, b), b, f"{type_id(a)} to {type_id(b)}") for a in types for b in types]


def wrapping() -> list[Case]:
    """Integers to narrower integers keep their low bits."""
    wide = np.array([2**31 - 1, -(2**31), 300, -300, 65537, 128, -129], np.int64)
    return [
        cast_exact(wide, wide.astype(dtype), f"wraps int64 to {type_id(dtype)}")
        for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64)
    ]


def cast_exact(x: Array, y: Array, name: str, opset: int = 20) -> Case:
    to = helper.np_dtype_to_tensor_dtype(y.dtype)
    return case("Cast", x, name=name, opset=opset, to=to, expected=[y], tolerance=0.0)


def rounding() -> list[Case]:
    halves = np.array([2049, 2051, 65504, 65519, 65520, 1e-7, 6e-8, 2.9e-8, -1e30], np.float32)
    specials = np.array([np.inf, -np.inf, np.nan, -0.0], np.float32)
    ties = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.4e38, 1e-40], np.float32)
    large = np.array([2**53 + 1, 2**24 + 1, -(2**24) - 1, 2**62 + 1], np.int64)
    double = np.array([1 + 2**-40, 1e300, 1e-50, np.nan], np.float64)
    # Rounded to float32 first, this one would become a tie and then the even neighbour below.
    twice = np.array([1 + 2**-11 + 2**-30], np.float64)
    bfloat16 = ml_dtypes.bfloat16
    above_tie = np.array([1 + 2**-8 + 2**-40, -1 - 2**-8 - 2**-40, 1e300, 1e-300, np.nan], np.float64)
    next_bfloat16 = np.array([1 + 2**-7, -1 - 2**-7, np.inf, 0, np.nan], bfloat16)
    integer_above_tie = np.array([2**40 + 2**32 + 1, -(2**40) - 2**32 - 1, 2**63 - 1, -(2**63), 3], np.int64)
    integer_to_bfloat16 = np.array([2**40 + 2**33, -(2**40) - 2**33, 2.0**63, -(2.0**63), 3], bfloat16)
    with np.errstate(over="ignore"):
        return [
            cast_exact(halves, halves.astype(np.float16), "ties and limits to float16"),
            cast_exact(twice, twice.astype(np.float16), "float64 to float16 rounds once"),
            cast_exact(above_tie, next_bfloat16, "float64 to bfloat16 rounds once"),
            cast_exact(integer_above_tie, integer_to_bfloat16, "int64 to bfloat16 rounds once"),
            cast_exact(specials, specials.astype(np.float16), "special values to float16"),
            cast_exact(ties, ties.astype(bfloat16), "ties to bfloat16"),
            cast_exact(specials, specials.astype(bfloat16), "special values to bfloat16"),
            cast_exact(large, large.astype(np.float32), "large int64 to float32"),
            cast_exact(large, large.astype(np.float64), "large int64 to float64"),
            cast_exact(double, double.astype(np.float32), "range of float64 to float32"),
            cast_exact(specials, np.array([True, True, True, False]), "special values to bool"),
        ]


def older() -> list[Case]:
    x = random(3, 4)
    return [
        case("Cast", x * 5, name="by name", opset=1, to="INT32", expected=[np.trunc(x * 5).astype(np.int32)]),
        case("Cast", x * 5, name="int64", opset=6, to=7, expected=[np.trunc(x * 5).astype(np.int64)]),
        case("Cast", x, name="float16", opset=9, to=10, expected=[x.astype(np.float16)]),
        case("Cast", x, name="float64", opset=13, to=11, expected=[x.astype(np.float64)]),
    ]


def like() -> list[Case]:
    x = random(3, 4) * 5
    return [
        case("CastLike", x, random(2, dtype=dtype), name=type_id(dtype), expected=[converted(x, dtype)])
        for dtype in (*FLOATS, np.int32, np.int64)
    ]


CASES = [*between_all_types(), *wrapping(), *rounding(), *older(), *like()]
test_cast = table_test("cast", CASES, EVERYWHERE)
