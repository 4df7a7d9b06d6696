"""ArgMax and ArgMin."""

import numpy as np

from tests.ops.case import FLOATS, Case, case, random, type_id
from tests.ops.table import EVERYWHERE, table_test

X = random(2, 3, 5, 7)
TIES = np.array([[2, 1, 2, 1], [3, 3, 3, 3], [1, 2, 1, 2]], np.float32)


def build() -> list[Case]:
    cases = []
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1, 3, -2):
            for keepdims in (0, 1):
                cases.append(case(op, X, name=f"axis {axis} keepdims {keepdims}", axis=axis, keepdims=keepdims))
        find = np.argmax if op == "ArgMax" else np.argmin
        last = (3 - find(TIES[:, ::-1], axis=1)).reshape(3, 1)
        cases += [
            case(op, X, name="defaults"),
            case(op, TIES, name="ties", axis=1),
            case(op, TIES, name="ties, last", axis=1, select_last_index=1, expected=[last]),
            case(op, X, opset=1, axis=2),
            case(op, X, opset=11, axis=-1),
            case(op, TIES, name="ties, last", opset=12, axis=1, select_last_index=1, expected=[last]),
            case(op, X[:, :1], name="axis of one", axis=1),
            case(op, np.full((2, 4), -np.inf, np.float32), name="all -inf", axis=1),
        ]
        for dtype in (*FLOATS[1:], np.int8, np.uint8, np.int32, np.int64):
            x = random(3, 6, dtype=dtype, seed=2)
            cases.append(case(op, x, name=type_id(dtype), axis=1, expected=[find(x, axis=1).reshape(3, 1)]))
    return cases


CASES = build()
test_argminmax = table_test("argminmax", CASES, EVERYWHERE)
