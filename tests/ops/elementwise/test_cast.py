"""Cast and CastLike between all real types: rounding, wrapping, truncation, saturation."""

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
from onnx import helper
from onnx.reference.ops.op_cast import cast_to

from models.tensor_files import Array
from tests.ops.case import FLOATS, REAL, Case, NodeText, case, graph_case, random, type_id
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


# ---------------------------------------------------------------------------------------- types of 8 bits and fewer

FLOAT8 = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)
POWERS_OF_TWO = ml_dtypes.float8_e8m0fnu
FLOAT4 = ml_dtypes.float4_e2m1fn
SMALL_INTEGERS = (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
SMALL_OPSET = 25  # the first with all of them


def every_value(dtype: Any) -> Array:
    """All bit patterns of a type of 4, 8 or 16 bits."""
    width = np.dtype(dtype).itemsize
    count = 16 if dtype is FLOAT4 else 256**width
    result: Array = np.arange(count, dtype=f"u{width}").view(dtype)
    return result


def small_case(x: Array, y: Array, name: str, **attributes: Any) -> Case:
    to = helper.np_dtype_to_tensor_dtype(y.dtype)
    return case("Cast", x, name=name, opset=SMALL_OPSET, to=to, expected=[y], tolerance=0.0, **attributes)


def from_small_floats() -> list[Case]:
    """Every value, exactly; a NaN is a NaN in each type that has one, and not 0."""
    cases = []
    for source_type in (*FLOAT8, POWERS_OF_TWO, FLOAT4):
        x = every_value(source_type)
        finite = x[np.isfinite(x.astype(np.float64))]
        cases += [small_case(x, x.astype(to), f"{type_id(source_type)} to {type_id(to)}") for to in FLOATS]
        cases += [
            small_case(x, x.astype(np.float64) != 0, f"{type_id(source_type)} to bool"),
            small_case(finite[:180], cast_to(finite[:180], 7, True), f"{type_id(source_type)} to int64"),
        ]
    return cases


def rounded_once(x: Array, dtype: Any, saturate: bool) -> Array:
    """The nearest number of a float8 or float4, ties to the even one, by a search in all of them. ONNX's reference
    evaluator rounds a float64 twice."""
    every = every_value(dtype)
    positive = every[: every.size // 2].astype(np.float64)
    grid = positive[np.isfinite(positive)]
    grid = np.append(grid, 2 * grid[-1] - grid[-2])  # the next one, which is too great
    magnitude = np.minimum(np.abs(np.nan_to_num(x, nan=0.0)), grid[-1])
    above = np.clip(np.searchsorted(grid, magnitude), 1, grid.size - 1)
    to_above, to_below = grid[above] - magnitude, magnitude - grid[above - 1]
    code = np.where((to_above < to_below) | ((to_above == to_below) & (above % 2 == 0)), above, above - 1)
    beyond = grid[-2] if saturate else np.inf
    number = np.where(code == grid.size - 1, beyond, grid[code])
    result: Array = np.where(np.isnan(x), np.nan, np.copysign(number, x)).astype(np.float32).astype(dtype)
    return result


def to_small_floats() -> list[Case]:
    """Every float16, and float32 and float64 around ties and limits, against ONNX's reference evaluator."""
    numbers = every_value(np.float16)
    finite = numbers[np.isfinite(numbers)].astype(np.float64)
    # Next to every float16 on both sides: what a second rounding would move.
    beside = np.concatenate([finite * (1 + 2.0**-30), finite * (1 - 2.0**-30), [1e300, -1e300, 1e-300, np.inf, np.nan]])
    single = np.concatenate([numbers.astype(np.float32), np.array([1e30, -1e30, 1e-30], np.float32)])
    whole = np.array([0, 1, -1, 17, 19, 447, 449, 465, -70000, 2**40, -(2**62)], np.int64)
    cases = []
    for target in (*FLOAT8, FLOAT4):
        number = helper.np_dtype_to_tensor_dtype(np.dtype(target))
        for saturate in (1, 0):
            for x in (
                numbers,
                single,
                beside,
                whole,
                every_value(FLOAT8[0]),
                every_value(FLOAT8[2]),
                every_value(FLOAT4),
            ):
                is_wide = x.dtype == np.float64
                y = rounded_once(x, target, bool(saturate)) if is_wide else cast_to(x, number, bool(saturate))
                name = f"{type_id(x.dtype)} to {type_id(target)}" + ("" if saturate else " without saturation")
                if x.dtype != y.dtype:
                    cases.append(small_case(x, y, name, saturate=saturate))
    return cases


def power_of_two(x: float, mode: str, saturate: bool) -> float:
    """The table of ONNX Cast 24, by exact arithmetic."""
    least, most = 2.0**-127, 2.0**127
    if np.isnan(x):
        return np.nan
    if x < least:
        return least if saturate else np.nan
    if x > most and saturate:
        return most
    if np.isinf(x):
        return np.nan
    below = 2.0 ** np.floor(np.log2(x))
    is_up = x > below if mode == "up" else x >= 1.5 * below if mode == "nearest" else False
    power = below * 2 if is_up else below
    return np.nan if power > most else power


def to_powers_of_two() -> list[Case]:
    x = np.array(
        [0, 2.0**-140, 2.0**-127, 2.0**-126, 0.124, 0.125, 1, 1.1, 1.49, 1.5, 1.9, 3, 2.0**127, np.nan, np.inf]
    )
    x = np.append(x, 1.75 * 2.0**127).astype(np.float32)
    return [
        small_case(
            x,
            np.array([power_of_two(float(each), mode, saturate) for each in x]).astype(POWERS_OF_TWO),
            f"to powers of two, {mode}{', saturated' if saturate else ''}",
            round_mode=mode,
            saturate=int(saturate),
        )
        for mode in ("up", "down", "nearest")
        for saturate in (True, False)
    ]


def small_integers() -> list[Case]:
    """Lengths that fill the last byte and that do not, ranks with and without axes; casts keep the lowest bits."""
    cases = []
    for kind in SMALL_INTEGERS:
        for shape in ((3, 5), (4, 4), (1,), (2, 3, 7), (), (0, 3)):
            values = np.array(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * 5 - 7)
            x = values.astype(kind)
            cases += [
                small_case(x, x.astype(np.float32), f"{type_id(kind)} {list(shape)} to float32"),
                small_case(x, x.astype(np.int8), f"{type_id(kind)} {list(shape)} to int8"),
                small_case(values, x, f"int64 {list(shape)} to {type_id(kind)}"),
            ]
        fractions = np.array([0, 0.9, 1.5, 2.99, 3, -0.5] + ([-1.9] if np.dtype(kind).name[0] == "i" else []))
        small = np.trunc(fractions).astype(np.int64).astype(kind)
        cases += [
            small_case(fractions.astype(dtype), small, f"{type_id(dtype)} with fractions to {type_id(kind)}")
            for dtype in FLOATS
        ]
        others = [other for other in SMALL_INTEGERS if other is not kind]
        x = np.arange(-8, 8).astype(kind)
        cases += [
            small_case(x, x.astype(np.int64).astype(other), f"{type_id(kind)} to {type_id(other)}") for other in others
        ]
        cases.append(small_case(x, x.astype(np.int64) != 0, f"{type_id(kind)} to bool"))
    return cases


def handed_on() -> list[Case]:
    """Operators that move elements move these: an input that is an output, two outputs of one value, parts of bytes."""
    cases = []
    for kind in (*SMALL_INTEGERS, FLOAT8[0], POWERS_OF_TWO, FLOAT4):
        x = np.arange(1, 16).astype(np.float32).astype(kind).reshape(3, 5)
        nodes: list[NodeText] = [
            ("Identity", "x", "same"),
            ("Transpose", "x", "turned"),
            ("Identity", "turned", "again"),
            ("Reshape", "x shape", "flat"),
        ]
        cases.append(
            graph_case(
                f"hands on {type_id(kind)}",
                nodes,
                {"x": x},
                {"shape": np.array([5, 3], np.int64)},
                outputs=("same", "turned", "again", "flat"),
                opset=SMALL_OPSET,
                expected=(x, x.T, x.T, x.reshape(5, 3)),
            )
        )
    return cases


def of_unknown_size() -> list[Case]:
    x = np.arange(-8, 7).astype(np.int64).astype(ml_dtypes.int4).reshape(3, 5)
    one = small_case(x, x.astype(np.float32), "int4 of unknown dims to float32")
    back = small_case(x.astype(np.float32), x, "float32 of unknown dims to int4")
    return [replace(each, unknown=frozenset(each.inputs)) for each in (one, back)]


def small_like() -> list[Case]:
    x = random(3, 4) * 5
    return [
        case(
            "CastLike",
            x,
            np.ones(3, np.float32).astype(kind),
            name=type_id(kind),
            opset=SMALL_OPSET,
            expected=[np.trunc(x).astype(np.int64).astype(kind) if kind in SMALL_INTEGERS else x.astype(kind)],
            tolerance=0.0,
        )
        for kind in (*FLOAT8, FLOAT4, *SMALL_INTEGERS)
    ]


def bits() -> list[Case]:
    pairs = [(np.int8, np.uint8), (np.uint16, np.int16), (np.int32, np.uint32), (np.uint64, np.int64)]
    wide = np.array([0, 1, 2**31, 2**63 - 1, 2**15 + 1, 200], np.uint64)
    given: list[tuple[Array, Any]] = [
        (wide.astype(a), b) for pair in pairs for a, b in (pair, pair[::-1], (pair[0], pair[0]))
    ]
    given.append((np.array([True, False]), np.uint8))
    for real, whole in (
        (np.float32, np.int32),
        (np.float64, np.uint64),
        (np.float16, np.uint16),
        (np.float16, np.int16),
        (ml_dtypes.bfloat16, np.uint16),
        (ml_dtypes.float8_e4m3fn, np.uint8),
        (FLOAT8[3], np.int8),
    ):
        numbers = np.array([0.0, -0.0, 1, -2.5, 7, 3e-7, np.inf, np.nan, 4e4]).astype(real)
        given += [(numbers, whole), (numbers.view(whole), real)]
    halves = np.array([0.0, -0.0, 1, -2.5], np.float16)
    given += [(halves, ml_dtypes.bfloat16), (halves.astype(FLOAT8[0]), FLOAT8[2])]
    return [
        case(
            "BitCast",
            x,
            name=f"{type_id(x.dtype)} to {type_id(dtype)}",
            opset=26,
            to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),
            expected=[x.view(dtype)],
            tolerance=0.0,
        )
        for x, dtype in given
    ]


CASES = [*between_all_types(), *wrapping(), *rounding(), *older(), *like(), *bits()]
SMALL_CASES = [
    *from_small_floats(),
    *to_small_floats(),
    *to_powers_of_two(),
    *small_integers(),
    *handed_on(),
    *of_unknown_size(),
    *small_like(),
]
test_cast = table_test("cast", CASES, EVERYWHERE)
test_small_types = table_test("cast_small_types", SMALL_CASES, EVERYWHERE)

# The same by the interpreter, which folds constants.
CONSTANTS = [
    replace(one, inputs={}, constants={**one.constants, **one.inputs}) for one in SMALL_CASES if not one.unknown
]
test_small_constants = table_test("cast_small_constants", CONSTANTS, ["default"])
