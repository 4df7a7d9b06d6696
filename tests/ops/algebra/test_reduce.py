"""Reductions: axes as attribute and as input, keepdims, empty axes, every type."""

import numpy as np

from tests.ops.case import FLOATS, Case, case, constant, ints, random, small_integers, type_id
from tests.ops.table import EVERYWHERE, table_test

OPERATORS = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)
# A mean away from zero: a sum that cancels has few digits to compare.
X = random(2, 3, 5, 7) * np.float32(0.9) + np.float32(0.5)
POSITIVE = np.abs(X) + np.float32(0.1)
AXES = ((0,), (1,), (3,), (-1,), (0, 2), (1, 3), (2, 3), (-3, -2), (0, 1, 2, 3))


def of(op: str) -> np.ndarray:
    return POSITIVE if op in ("ReduceLogSum", "ReduceProd") else X


def cases_by_axes() -> list[Case]:
    cases = []
    for op in OPERATORS:
        for axes in AXES:
            cases.append(case(op, of(op), ints(*axes), name=f"axes {list(axes)}", keepdims=len(axes) % 2))
        cases += [
            case(op, of(op), name="all axes"),
            case(op, of(op), name="all axes, dropped", keepdims=0),
            case(op, of(op), name="none", noop_with_empty_axes=1)
            if op in ("ReduceSum", "ReduceMax")
            else case(op, of(op), ints(1), name="axis 1 kept"),
            case(op, np.array(2.5, np.float32), name="scalar"),
            case(op, of(op)[:, :1], ints(1), name="axis of one"),
        ]
    return cases


def cases_by_type() -> list[Case]:
    cases = []
    for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"):
        for whole in (np.int32, np.int64):
            x = small_integers(3, 4, 2, dtype=whole)
            cases.append(case(op, x, ints(1), name=type_id(whole)))
    for op in ("ReduceSum", "ReduceMean", "ReduceMax"):
        for dtype in FLOATS[1:]:
            cases.append(case(op, X.astype(dtype), ints(1, 3), name=type_id(dtype)))
    for op, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        for kind in (np.int8, np.uint8):
            x = random(3, 4, dtype=kind)
            cases.append(case(op, x, ints(1), name=type_id(kind), expected=[function(x, axis=1, keepdims=True)]))
        flags = random(3, 4, dtype=np.bool_)
        cases.append(case(op, flags, ints(1), name="bool", expected=[function(flags, axis=1, keepdims=True)]))
    return cases


def exact_cases() -> list[Case]:
    """Extents around those of vectors and blocks; small integers, so that every order of summation gives the same."""
    cases = []
    for extent in (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100):
        x = small_integers(3, extent, 2)
        cases.append(case("ReduceSum", x, ints(1), name=f"middle of {extent}", tolerance=0.0))
        cases.append(case("ReduceSum", x.transpose(0, 2, 1).copy(), ints(2), name=f"last of {extent}", tolerance=0.0))
        cases.append(case("ReduceSum", x.transpose(1, 0, 2).copy(), ints(0), name=f"first of {extent}", tolerance=0.0))
    return cases


def special_cases() -> list[Case]:
    nan = np.array([[1, np.nan, 2], [np.inf, 1, -1], [-np.inf, np.inf, 0]], np.float32)
    infinities = np.full((2, 3), -np.inf, np.float32)
    big = np.array([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0]], np.float32)
    half = np.full((64, 64), 20, np.float16)
    return [
        case("ReduceSum", nan, ints(1), name="NaN", expected=[np.array([[np.nan], [np.inf], [np.nan]], np.float32)]),
        case("ReduceMax", nan[1:], ints(1), name="infinities"),
        case("ReduceMin", nan[1:], ints(1), name="infinities"),
        case("ReduceMax", infinities, ints(1), name="all -inf", expected=[infinities[:, :1]]),
        case("ReduceLogSumExp", big, ints(1), name="does not overflow"),
        # The sum of squares, 102400, is above float16's largest number; the mean is not.
        case("ReduceMean", half, name="float16 accumulates wider", expected=[np.full((1, 1), 20, np.float16)]),
        case(
            "ReduceSum",
            np.zeros((2, 0, 3), np.float32),
            ints(1),
            name="empty",
            expected=[np.zeros((2, 1, 3), np.float32)],
        ),
        case(
            "ReduceProd",
            np.zeros((2, 0, 3), np.float32),
            ints(1),
            name="empty",
            expected=[np.ones((2, 1, 3), np.float32)],
        ),
        case(
            "ReduceSum",
            np.zeros((0, 3), np.float32),
            ints(1),
            name="nothing to reduce",
            expected=[np.zeros((0, 1), np.float32)],
        ),
    ]


def cases_by_version() -> list[Case]:
    cases = []
    for op in OPERATORS:
        for opset in (1, 11, 13):
            if op == "ReduceSum" and opset == 13:
                cases.append(case(op, of(op), ints(1, -1), name="axes", opset=13, keepdims=0))
                cases.append(case(op, of(op), ints(), name="empty axes", opset=13))
                cases.append(case(op, of(op), ints(), name="no axes", opset=13, noop_with_empty_axes=1))
                continue
            negative = -1 if opset >= 11 else 3
            cases.append(case(op, of(op), name="axes", opset=opset, axes=[1, negative], keepdims=0))
            cases.append(case(op, of(op), name="all axes", opset=opset))
        cases.append(case(op, of(op), ints(0, 2), opset=18))
    return cases


def cumulative_cases() -> list[Case]:
    cases = []
    for axis in (0, 1, -1):
        cases.append(case("CumSum", X, constant(axis, np.int64), name=f"axis {axis}"))
    for exclusive, reverse in ((1, 0), (0, 1), (1, 1)):
        cases.append(
            case(
                "CumSum",
                small_integers(3, 4, 5, dtype=np.int64),
                constant(1, np.int32),
                name=f"exclusive {exclusive} reverse {reverse}",
                exclusive=exclusive,
                reverse=reverse,
            )
        )
    cases.append(case("CumSum", X, constant(2, np.int64), opset=11))
    return cases


CASES = [
    *cases_by_axes(),
    *cases_by_type(),
    *exact_cases(),
    *special_cases(),
    *cases_by_version(),
    *cumulative_cases(),
]
test_reduce = table_test("reduce", CASES, EVERYWHERE)
