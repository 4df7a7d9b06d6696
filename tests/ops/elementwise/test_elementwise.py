"""Elementwise operators: every type, broadcasting, special values, and the versions whose meaning differs."""

import math
from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import FLOATS, REAL, SIGNED, Case, Constant, case, constant, random, small_integers, type_id
from tests.ops.table import EVERYWHERE, table_test

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-30, 80.0, np.inf, -np.inf, np.nan], np.float32)
X = random(2, 3, 5)
POSITIVE = np.abs(X) + np.float32(0.1)
WITHIN_ONE = np.tanh(X)

# Functions of only floats; the input that suits each.
UNARY: dict[str, Array] = {
    "Abs": X,
    "Acos": WITHIN_ONE,
    "Acosh": POSITIVE + 1,
    "Asin": WITHIN_ONE,
    "Asinh": X,
    "Atan": X,
    "Atanh": WITHIN_ONE * np.float32(0.9),
    "Ceil": X * 3,
    "Celu": X,
    "Cos": X * 3,
    "Cosh": X,
    "Elu": X,
    "Erf": X,
    "Exp": X,
    "Floor": X * 3,
    "HardSigmoid": X * 3,
    "HardSwish": X * 3,
    "Identity": X,
    "LeakyRelu": X,
    "Log": POSITIVE,
    "Mish": X,
    "Neg": X,
    "Reciprocal": POSITIVE,
    "Relu": X,
    "Round": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6], np.float32),
    "Selu": X,
    "Sigmoid": X * 4,
    "Sign": np.array([-2.5, 0, 3], np.float32),
    "Sin": X * 3,
    "Sinh": X,
    "Softplus": X * 4,
    "Softsign": X,
    "Sqrt": POSITIVE,
    "Tan": WITHIN_ONE,
    "Tanh": X * 2,
    "ThresholdedRelu": X,
}

# Operators for which onnxruntime follows ONNX at infinities and NaN; the others approximate there.
DEFINED_AT_SPECIAL_VALUES = (
    "Abs",
    "Ceil",
    "Exp",
    "Floor",
    "Identity",
    "Neg",
    "Reciprocal",
    "Round",
    "Sigmoid",
    "Sign",
    "Tanh",
)


def gelu_by_tanh(x: Array) -> Array:
    wide = x.astype(np.float64)
    return 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))


def unary_cases() -> list[Case]:
    cases = [case(op, x) for op, x in UNARY.items()]
    cases += [case(op, SPECIAL, name="special values") for op in DEFINED_AT_SPECIAL_VALUES]
    for op in ("Exp", "Neg", "Sqrt", "Tanh", "Relu"):
        for dtype in FLOATS[1:]:
            if op != "Tanh" or dtype != np.float64:
                cases.append(case(op, UNARY[op].astype(dtype), name=type_id(dtype)))
    for dtype in SIGNED:
        x = random(3, 5, dtype=dtype)
        cases.append(case("Abs", x, name=type_id(dtype)))
        cases.append(case("Neg", x, name=type_id(dtype), expected=[-x]))
        cases.append(case("Relu", x, name=type_id(dtype), expected=[np.maximum(x, 0)]))
    for dtype in (np.uint8, np.int32, np.int64):
        x = random(3, 5, dtype=dtype)
        cases.append(case("Sign", x, name=type_id(dtype), expected=[np.sign(x)]))
        cases.append(case("BitwiseNot", x, name=type_id(dtype), expected=[np.invert(x)]))
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)
    cases += [
        case("Sign", special, name="special", expected=[np.sign(special)]),
        case("Celu", X, name="alpha", alpha=0.3),
        # Divided by 0 and multiplied by it, which is a number only below zero.
        case("Celu", X, name="alpha 0", alpha=0.0),
        case("Elu", X, name="alpha", alpha=2.5),
        case("HardSigmoid", X, name="alpha beta", alpha=0.4, beta=0.3),
        case("LeakyRelu", X, name="alpha", alpha=0.3),
        case("LeakyRelu", X, name="alpha above one", alpha=1.5),
        case("Selu", X, name="alpha gamma", alpha=2.0, gamma=3.0),
        case("ThresholdedRelu", X, name="alpha", alpha=0.3),
        case("Shrink", X, name="", bias=0.2, lambd=0.7),
        case("Shrink", X, name="defaults"),
        case("Gelu", X),
        case("Gelu", X, name="tanh", approximate="tanh"),
        # ONNX's body of it rounds 0.044715 to float32.
        case("Gelu", X.astype(np.float64), name="tanh float64", approximate="tanh", expected=[gelu_by_tanh(X)]),
        case("IsNaN", SPECIAL),
        case("IsInf", SPECIAL),
        case("IsInf", SPECIAL, name="negative only", detect_positive=0),
        case("IsInf", SPECIAL, name="positive only", detect_negative=0),
        case("Not", random(3, 4, dtype=np.bool_)),
        case("Exp", np.array(1.5, np.float32), name="scalar"),
        case("Exp", np.zeros((2, 0, 3), np.float32), name="empty"),
    ]
    return cases


def old_unary_cases() -> list[Case]:
    """Versions 1 to 6, which onnxruntime no longer runs; `consumed_inputs` was a hint and has no meaning."""
    expected: dict[str, Array] = {
        "Abs": np.abs(X),
        "Ceil": np.ceil(X),
        "Exp": np.exp(X),
        "Floor": np.floor(X),
        "Neg": -X,
        "Relu": np.maximum(X, 0),
        "Sigmoid": 1 / (1 + np.exp(-X)),
        "Tanh": np.tanh(X),
    }
    cases = []
    for op, y in expected.items():
        cases.append(case(op, X, name="consumed_inputs", opset=1, expected=[y], consumed_inputs=[0]))
        cases.append(case(op, X, opset=6, expected=[y]))
    cases += [
        case("Reciprocal", POSITIVE, opset=1, expected=[1 / POSITIVE]),
        case("Sqrt", POSITIVE, opset=1, expected=[np.sqrt(POSITIVE)]),
        case("Log", POSITIVE, opset=1, expected=[np.log(POSITIVE)]),
        case("LeakyRelu", X, opset=1, expected=[np.where(X < 0, np.float32(0.01) * X, X)]),
        case("LeakyRelu", X, name="alpha", opset=6, alpha=0.2, expected=[np.where(X < 0, np.float32(0.2) * X, X)]),
        case("Elu", X, opset=1, expected=[np.where(X < 0, np.expm1(X), X)]),
        case("HardSigmoid", X, opset=1, expected=[np.clip(np.float32(0.2) * X + np.float32(0.5), 0, 1)]),
        # The default constants were rounded to four digits before version 6.
        case("Selu", X, opset=1, expected=[(1.0507 * np.where(X < 0, 1.6732 * np.expm1(X), X)).astype(np.float32)]),
        case("Clip", X, name="attributes", opset=1, min=-0.5, max=0.75, expected=[np.clip(X, -0.5, 0.75)]),
        case("Clip", X, name="attributes", opset=6, min=-0.5, max=0.75),
        case("Clip", X, name="max alone", opset=6, max=0.25),
        case("Clip", X, name="no bounds", opset=6),
        case("Identity", X, opset=1, expected=[X]),
        case("Dropout", X, opset=1, expected=[X], is_test=1, ratio=0.4),
        case("Dropout", X, opset=6, expected=[X], is_test=1),
        case("Dropout", X, opset=7, ratio=0.4),
        # Nothing is dropped; onnxruntime says so in the mask since version 12 only.
        case("Dropout", X, opset=10, outputs=2, expected=[X, np.ones(X.shape, np.bool_)]),
        case("Dropout", X, constant(0.4), opset=12),
        case("Dropout", X, constant(0.4), constant(False, np.bool_), name="mask", opset=13, outputs=2),
        case("Dropout", X, constant(0), constant(True, np.bool_), name="training, ratio 0", opset=13, outputs=2),
        case("Dropout", X, np.array(0, np.float32), np.array(True), name="the same of a run", opset=13, outputs=2),
        case("Dropout", X, np.array(0.4, np.float32), np.array(False), name="a run's mode", opset=22, outputs=2),
        case("PRelu", X, np.array([0.25], np.float32), opset=1, expected=[np.where(X < 0, np.float32(0.25) * X, X)]),
        case(
            "PRelu",
            X,
            np.array([0.1, 0.2, 0.3], np.float32),
            name="of channels",
            opset=6,
            expected=[np.where(X < 0, np.array([0.1, 0.2, 0.3], np.float32).reshape(3, 1) * X, X)],
        ),
    ]
    return cases


BINARY_SHAPES = (
    ((2, 3, 5), (2, 3, 5)),
    ((2, 3, 5), ()),
    ((), (2, 3)),
    ((2, 3, 5), (5,)),
    ((2, 3, 5), (3, 1)),
    ((2, 1, 5), (3, 1)),
    ((4, 1, 3, 1, 2), (5, 1, 7, 1)),
    ((1,), (1, 1, 1)),
    ((0, 3), (1, 3)),
    ((2, 0, 1), (1, 4)),
)


def divisor(array: Array) -> Array:
    return np.where(array == 0, np.ones_like(array), array)


def binary_cases() -> list[Case]:
    cases = []
    for op in ("Add", "Sub", "Mul", "Div"):
        for left, right in BINARY_SHAPES:
            b = divisor(random(*right, seed=1))
            cases.append(case(op, random(*left), b, name=f"{list(left)} {list(right)}", tolerance=0.0))
        for dtype in REAL:
            a, b = random(3, 4, dtype=dtype), divisor(random(4, dtype=dtype, seed=1))
            expected = None
            if np.issubdtype(dtype, np.integer):
                expected = [integer_result(op, a, b)]
            cases.append(case(op, a, b, name=type_id(dtype), expected=expected))
        cases.append(case(op, X, Constant(divisor(random(5, seed=2))), name="by a constant", tolerance=0.0))
        cases.append(case(op, Constant(random(3, 1, seed=2)), POSITIVE, name="of a constant", tolerance=0.0))
    cases.append(case("Add", SPECIAL.reshape(12, 1), SPECIAL, name="special values", tolerance=0.0))
    cases.append(case("Mul", SPECIAL.reshape(12, 1), SPECIAL, name="special values", tolerance=0.0))
    cases.append(case("Div", SPECIAL.reshape(12, 1), SPECIAL, name="special values", tolerance=0.0))
    cases += [
        case("Pow", POSITIVE, random(5, seed=1)),
        case("Pow", X, constant(2.0), name="square"),
        case("Pow", X, constant(3), name="cube of negatives"),
        case("Pow", POSITIVE, constant(0.5), name="root"),
        case("Pow", X, np.array([2, 3, 0, 1, 4], np.int64), name="float to int64"),
        case("Pow", small_integers(3, 4, dtype=np.int32), np.array([2, 3, 0, 1], np.int32), name="int32"),
        case(
            "Pow",
            small_integers(3, 4, dtype=np.int64),
            np.array([2.0, 3.0, 0.0, 1.0], np.float32),
            name="int64 to float",
        ),
        case("Mod", random(3, 4, dtype=np.int32), divisor(random(4, dtype=np.int32, seed=1)), name="int32"),
        case("Mod", random(3, 4, dtype=np.int64), divisor(random(4, dtype=np.int64, seed=1)), name="int64"),
        case("Mod", random(3, 4, dtype=np.uint8), divisor(random(4, dtype=np.uint8, seed=1)), name="uint8"),
        case(
            "Mod", random(3, 4, dtype=np.int32), divisor(random(4, dtype=np.int32, seed=1)), name="fmod int32", fmod=1
        ),
        case("Mod", X * 5, np.array([1.5, -1.5, 2, 0.7, 3], np.float32), name="fmod float", fmod=1, opset=13),
        case("PRelu", X, random(3, 1, seed=1)),
        case("PRelu", X, Constant(random(1, seed=1)), name="one slope"),
        case("PRelu", random(2, 4, 3, 5), random(4, 1, 1, seed=1), name="of channels"),
        case("And", random(3, 4, dtype=np.bool_), random(4, dtype=np.bool_, seed=1)),
        case("Or", random(3, 4, dtype=np.bool_), random(3, 1, dtype=np.bool_, seed=1)),
        case("Xor", random(3, 4, dtype=np.bool_), random(4, dtype=np.bool_, seed=1)),
    ]
    for dtype in FLOATS:
        a, b = (X * 5).astype(dtype), np.array([1.5, -1.5, 2, 0.75, 3], dtype)
        cases.append(case("Mod", a, b, name=type_id(dtype), opset=28, expected=[np.mod(a, b)]))
    for dtype in (np.uint8, np.int32, np.int64):
        a, b = random(3, 4, dtype=dtype), random(4, dtype=dtype, seed=1)
        cases.append(case("BitwiseAnd", a, b, name=type_id(dtype), expected=[a & b]))
        cases.append(case("BitwiseOr", a, b, name=type_id(dtype), expected=[a | b]))
        cases.append(case("BitwiseXor", a, b, name=type_id(dtype), expected=[a ^ b]))
    for unsigned in (np.uint8, np.uint16, np.uint32, np.uint64):
        a, b = random(3, 4, dtype=unsigned), np.array([0, 1, 3, 7], unsigned)
        cases.append(case("BitShift", a, b, name=f"left {type_id(unsigned)}", direction="LEFT", expected=[a << b]))
        cases.append(case("BitShift", a, b, name=f"right {type_id(unsigned)}", direction="RIGHT", expected=[a >> b]))
    return cases


def integer_result(op: str, a: Array, b: Array) -> Array:
    """Integers wrap; division truncates towards zero."""
    if op == "Div":
        quotient = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64))
        return (quotient * np.sign(a.astype(np.int64)) * np.sign(b.astype(np.int64))).astype(a.dtype)
    functions: dict[str, Any] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
    result: Array = functions[op](a, b)
    return result


def wrapping_cases() -> list[Case]:
    big = np.array([100, -100, 127, -128], np.int8)
    wide = np.array([2**31 - 1, -(2**31), 5], np.int32)
    return [
        case("Add", big, big, name="wraps int8", expected=[(big.astype(int) * 2).astype(np.int8)]),
        case("Add", wide, wide, name="wraps int32", expected=[(wide.astype(np.int64) * 2).astype(np.int32)]),
        case("Mul", wide, wide, name="wraps int32", expected=[(wide.astype(np.int64) ** 2).astype(np.int32)]),
        case("Neg", wide, name="wraps int32", expected=[(-wide.astype(np.int64)).astype(np.int32)]),
        case("Abs", wide, name="wraps int32", expected=[np.abs(wide.astype(np.int64)).astype(np.int32)]),
        case(
            "Div",
            np.array([7, -7, 7, -7], np.int64),
            np.array([2, 2, -2, -2], np.int64),
            name="truncates",
            expected=[np.array([3, -3, -3, 3], np.int64)],
        ),
        case(
            "Mod",
            np.array([7, -7, 7, -7], np.int64),
            np.array([3, 3, -3, -3], np.int64),
            name="sign of the divisor",
            expected=[np.array([1, 2, -2, -1], np.int64)],
        ),
        case(
            "Mod",
            np.array([7, -7, 7, -7], np.int64),
            np.array([3, 3, -3, -3], np.int64),
            name="fmod sign of the dividend",
            fmod=1,
            expected=[np.array([1, -1, 1, -1], np.int64)],
        ),
    ]


def old_binary_cases() -> list[Case]:
    """Before version 7 broadcasting was asked for, and `axis` said where the second operand's dims begin."""
    a, same, channels, last = random(2, 3, 4, 5), random(2, 3, 4, 5, seed=1), random(3, seed=2), random(4, 5, seed=3)
    functions: dict[str, Any] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    cases = []
    for op, function in functions.items():
        for opset in (1, 6):
            cases += [
                case(op, a, same, opset=opset, expected=[function(a, same)]),
                case(op, a, last, name="last axes", opset=opset, broadcast=1, expected=[function(a, last)]),
                case(
                    op,
                    a,
                    channels,
                    name="axis 1",
                    opset=opset,
                    broadcast=1,
                    axis=1,
                    expected=[function(a, channels.reshape(3, 1, 1))],
                ),
                case(
                    op,
                    a,
                    random(1, seed=4),
                    name="scalar",
                    opset=opset,
                    broadcast=1,
                    expected=[function(a, random(1, seed=4))],
                ),
            ]
        cases.append(case(op, a, random(3, 1, 1, seed=2), opset=7))
    flags = random(2, 3, 4, dtype=np.bool_)
    row = random(3, dtype=np.bool_, seed=1)
    cases += [
        case("Pow", np.abs(a), random(2, 3, 4, 5, seed=5), opset=1, expected=[np.abs(a) ** random(2, 3, 4, 5, seed=5)]),
        case("Pow", np.abs(a), constant(2.0), opset=7),
        case("And", flags, row, name="axis 1", opset=1, broadcast=1, axis=1, expected=[flags & row.reshape(3, 1)]),
        case("Or", flags, row, name="axis 1", opset=1, broadcast=1, axis=1, expected=[flags | row.reshape(3, 1)]),
        case("Xor", flags, flags[::-1].copy(), opset=1, expected=[flags ^ flags[::-1]]),
    ]
    return cases


def variadic_cases() -> list[Case]:
    cases = []
    three = (random(2, 3, 4), random(3, 1, seed=1), random(4, seed=2))
    same = tuple(random(2, 3, seed=seed) for seed in range(3))
    for op in ("Min", "Max", "Sum", "Mean"):
        cases += [
            case(op, *three, name="three"),
            case(op, three[0], name="one"),
            case(op, three[0], three[1], name="two"),
            case(op, *same, opset=8),
        ]
        total: Array = {
            "Min": np.minimum.reduce(same),
            "Max": np.maximum.reduce(same),
            "Sum": same[0] + same[1] + same[2],
            "Mean": (same[0] + same[1] + same[2]) / np.float32(3),
        }[op]
        cases += [case(op, *same, opset=opset, expected=[total]) for opset in (1, 6)]
    for op, function in (("Min", np.minimum), ("Max", np.maximum)):
        for dtype in REAL:
            a, b = random(3, 4, dtype=dtype), random(4, dtype=dtype, seed=1)
            cases.append(case(op, a, b, name=type_id(dtype), expected=[function(a, b)]))
        nans = np.array([np.nan, 1, np.nan, 2], np.float32), np.array([1, np.nan, np.nan, 3], np.float32)
        cases.append(case(op, *nans, name="NaN", expected=[function(*nans)]))
    return cases


def clip_cases() -> list[Case]:
    low, high = constant(-0.5), constant(0.75)
    cases = [
        case("Clip", X, low, high),
        case("Clip", X, low, name="min alone"),
        case("Clip", X, None, high, name="max alone"),
        case("Clip", X, name="no bounds"),
        case("Clip", X, np.array(-0.5, np.float32), np.array(0.75, np.float32), name="bounds at run time"),
        case("Clip", X, high, low, name="min above max", expected=[np.full_like(X, -0.5)]),
        case("Clip", X, low, high, opset=11),
        case("Clip", X, low, high, opset=12),
        case("Clip", SPECIAL, low, high, name="special values", expected=[np.clip(SPECIAL, -0.5, 0.75)]),
        case("Clip", X.astype(np.float16), constant(-0.5, np.float16), constant(0.75, np.float16), name="float16"),
    ]
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        x = random(4, 5, dtype=dtype)
        cases.append(case("Clip", x, constant(2, dtype), constant(5, dtype), name=type_id(dtype)))
    return cases


def test_gelu_reference() -> None:
    """The oracle's Gelu is the exact one: by the C library's erf."""
    from tests.ops.oracle import expected_outputs

    [y] = expected_outputs(case("Gelu", X))
    exact = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in X.astype(np.float64).ravel()]
    np.testing.assert_allclose(y.ravel(), exact, rtol=2e-6, atol=1e-7)


CASES = [
    *unary_cases(),
    *old_unary_cases(),
    *binary_cases(),
    *wrapping_cases(),
    *old_binary_cases(),
    *variadic_cases(),
    *clip_cases(),
]
test_elementwise = table_test("elementwise", CASES, EVERYWHERE)
