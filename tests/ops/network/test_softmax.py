"""Softmax, LogSoftmax and Hardmax; before version 13 they flatten the input at `axis`."""

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, random, type_id
from tests.ops.table import EVERYWHERE, table_test

OPERATORS = ("Softmax", "LogSoftmax", "Hardmax")
X = random(2, 3, 5, 7) * np.float32(3)


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


def build() -> list[Case]:
    cases = []
    for op in OPERATORS:
        for axis in (0, 1, 2, 3, -1, -3):
            cases.append(case(op, X, name=f"axis {axis}", axis=axis))
        cases.append(case(op, X, name="default axis"))
        for opset in (1, 11):
            cases.append(case(op, X, name="default axis", opset=opset))
            for axis in (0, 2, 3):
                cases.append(case(op, X, name=f"axis {axis}", opset=opset, axis=axis))
        cases.append(case(op, X, name="negative axis", opset=11, axis=-2))
        cases.append(case(op, X, opset=13, axis=1))
        cases.append(case(op, X[:, :1], name="axis of one", axis=1))
    # onnxruntime computes these flattened; what the definition of the version says is written out here.
    flat = X.reshape(2 * 3, 5 * 7)
    cases.append(case("Softmax", X, name="flattened", opset=11, axis=2, expected=[softmax(flat, 1).reshape(X.shape)]))
    for extent in (1, 3, 8, 15, 16, 17, 33, 100):
        cases.append(case("Softmax", random(3, extent), name=f"{extent} elements"))
        cases.append(case("Softmax", random(2, extent, 3), name=f"{extent} elements of the middle axis", axis=1))
    for dtype in (np.float64, np.float16):
        for op in OPERATORS[:2]:
            cases.append(case(op, X.astype(dtype), name=type_id(dtype), axis=1))
    infinity = np.float32(np.inf)
    special = np.array(
        [[infinity, 1, 2], [-infinity, 1, 2], [-infinity, -infinity, -infinity], [1, np.nan, 2], [1e4, -1e4, 0]],
        np.float32,
    )
    with np.errstate(invalid="ignore"):  # as PyTorch: a row with inf, or of only -inf, is NaN throughout
        cases.append(case("Softmax", special, name="special values", expected=[softmax(special, 1)]))
    cases.append(case("LogSoftmax", special[4:], name="large differences"))
    return cases


CASES = build()
test_softmax = table_test("softmax", CASES, EVERYWHERE)
