"""TopK with a K that is known when the model is compiled; tests/ops/test_run_time_dims.py has those that are not."""

from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import DEFAULT_OPSET, Case, case, ints, random
from tests.ops.table import EVERYWHERE, table_test

X = random(3, 5, 7)
TIES = np.array([[2, 1, 2, 1, 2], [3, 3, 3, 3, 3], [1, 2, 1, 2, 0]], np.float32)


def top(x: Array, k: int, axis: int = -1, largest: int = 1) -> list[Array]:
    """Values and indices; of equal elements the first comes first."""
    order = np.argsort(-x if largest else x, axis=axis, kind="stable")
    indices = np.take(order, range(k), axis=axis)
    return [np.take_along_axis(x, indices, axis=axis), indices]


def top_case(x: Array, k: int, name: str, opset: int = DEFAULT_OPSET, **attributes: Any) -> Case:
    return case("TopK", x, ints(k), name=name, opset=opset, outputs=2, expected=top(x, k, **attributes), **attributes)


# Longer lines are sorted by merging: lengths around the runs' ends, with many equal elements and NaN.
LONG = 8193


def repeated(*shape: int) -> Array:
    result: Array = np.random.default_rng(sum(shape)).integers(-40, 40, shape).astype(np.float32)
    return result


def with_nan(x: Array) -> Array:
    x[::7] = np.nan
    return x


CASES = [
    *(top_case(X, k, f"{k} of axis {axis}", axis=axis) for axis, k in ((0, 1), (1, 5), (-1, 3), (2, 0))),
    top_case(X, 4, "smallest", axis=1, largest=0),
    top_case(TIES, 3, "ties"),
    top_case(TIES, 3, "ties, smallest", largest=0),
    top_case(random(4, 9, dtype=np.int32), 2, "integers"),
    top_case(X, 2, "", opset=11, axis=1, largest=0),
    top_case(X, 3, "", opset=10, axis=1),
    top_case(random(2, LONG), 5, "long lines"),
    top_case(repeated(LONG), LONG, "a long line, all of it"),
    top_case(repeated(LONG + 255, 2), 300, "a long line, smallest", axis=0, largest=0),
    top_case(random(2 * LONG - 2, dtype=np.int32), 3, "a long line of two full runs"),
    case(
        "TopK",
        with_nan(repeated(LONG + 3)),
        ints(LONG),
        name="a long line with NaN, which come last",
        largest=0,
        outputs=2,
        expected=top(with_nan(repeated(LONG + 3)), LONG, largest=0),
    ),
    case("TopK", X, opset=1, k=3, axis=1, outputs=2, expected=top(X, 3, axis=1)),
]
test_topk = table_test("topk", CASES, EVERYWHERE)
