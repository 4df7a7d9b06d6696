"""Comparisons and Where."""

from typing import Any

import numpy as np

from tests.ops.case import REAL, Case, case, constant, random, small_integers, type_id
from tests.ops.table import EVERYWHERE, table_test

COMPARISONS: dict[str, Any] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "Less": np.less,
    "GreaterOrEqual": np.greater_equal,
    "LessOrEqual": np.less_equal,
}
WITH_NAN = np.array([1, np.nan, -np.inf, np.inf, 0.0, -0.0], np.float32)


def comparison_cases() -> list[Case]:
    cases = []
    for op, function in COMPARISONS.items():
        for dtype in REAL:
            a, b = small_integers(3, 5, dtype=dtype, low=0), small_integers(5, dtype=dtype, low=0, seed=1)
            cases.append(case(op, a, b, name=type_id(dtype), expected=[function(a, b)]))
        nan = WITH_NAN.reshape(6, 1)
        cases.append(case(op, nan, WITH_NAN, name="NaN and infinities", expected=[function(nan, WITH_NAN)]))
        a, b = small_integers(2, 1, 4), small_integers(3, 1, seed=1)
        cases.append(case(op, a, b, name="broadcast both", expected=[function(a, b)]))
        limits = np.array([2**63 - 1, -(2**63), 0], np.int64), np.array([2**63 - 2, -(2**63) + 1, 0], np.int64)
        cases.append(case(op, *limits, name="limits of int64", expected=[function(*limits)]))
    large = np.array([2**64 - 1, 5], np.uint64), np.array([3, 2**63], np.uint64)
    flags = random(3, 4, dtype=np.bool_), random(4, dtype=np.bool_, seed=1)
    cases += [
        case("Greater", *large, name="uint64 above int64", expected=[large[0] > large[1]]),
        case("Equal", *flags, name="bool", expected=[flags[0] == flags[1]]),
    ]
    return cases


def old_comparison_cases() -> list[Case]:
    a, row = small_integers(2, 3, 4), small_integers(3, seed=1)
    whole, whole_row = a.astype(np.int32), row.astype(np.int32)
    column = row.reshape(3, 1)
    return [
        case("Greater", a, row, name="axis 1", opset=1, broadcast=1, axis=1, expected=[a > column]),
        case("Less", a, row, name="axis 1", opset=1, broadcast=1, axis=1, expected=[a < column]),
        case("Equal", whole, whole_row, name="axis 1", opset=1, broadcast=1, axis=1, expected=[whole == column]),
        case("Greater", a, column, opset=7),
        case("Less", a, column, opset=9),
        case("Equal", whole, whole_row.reshape(3, 1), opset=7),
        case("Equal", a, column, opset=11),
        case("GreaterOrEqual", a, column, opset=12),
        case("LessOrEqual", a, column, opset=12),
    ]


def where_cases() -> list[Case]:
    cases = []
    for dtype in (*REAL, np.bool_):
        condition = random(2, 3, 1, dtype=np.bool_)
        a, b = random(3, 4, dtype=dtype), random(2, 1, 4, dtype=dtype, seed=1)
        cases.append(case("Where", condition, a, b, name=type_id(dtype), expected=[np.where(condition, a, b)]))
    condition = random(4, dtype=np.bool_, seed=3)
    cases += [
        case("Where", condition, constant(-np.inf), random(3, 4), name="scalar constant"),
        case("Where", np.array(True), random(3, 4), random(3, 1, seed=1), name="scalar condition"),
        case("Where", condition, random(3, 4), random(3, 4, seed=1), opset=9),
    ]
    return cases


CASES = [*comparison_cases(), *old_comparison_cases(), *where_cases()]
test_compare_logic = table_test("compare_logic", CASES, EVERYWHERE)
