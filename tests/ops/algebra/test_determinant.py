"""Det against numpy's determinant in float64."""

import numpy as np

from tests.models.tensor_files import Array
from tests.ops.case import Case, case, random, small_integers, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test


def det(name: str, x: Array, opset: int = 22, tolerance: float = 1e-4) -> Case:
    has_equal_rows = any(np.array_equal(x[..., i, :], x[..., j, :]) for i in range(x.shape[-1]) for j in range(i))
    exact = np.zeros(x.shape[:-2]) if has_equal_rows else np.linalg.det(x.astype(np.float64))
    expected = np.asarray(exact).astype(x.dtype)
    return case("Det", x, name=name, opset=opset, expected=[expected], tolerance=tolerance)


def cases() -> list[Case]:
    result = [det(f"{size}x{size}", random(3, size, size)) for size in (1, 2, 3, 4, 5, 9)]
    permutation = np.eye(5, dtype=np.float32)[[2, 0, 1, 4, 3]]
    singular = small_integers(4, 4)
    singular[2] = singular[0]
    result += [
        det("no batch", random(4, 4)),
        det("two batch axes", random(2, 3, 4, 4)),
        det("an odd permutation", permutation),
        det("an even permutation", permutation[[1, 0, 2, 3, 4]]),
        det("zeros", np.zeros((2, 5, 5), np.float32)),
        det("two equal rows", singular),
        det("zero pivots", np.array([[0, 2, 0, 1], [1, 0, 0, 0], [0, 0, 3, 1], [0, 1, 1, 0]], np.float32)),
        det("early", random(2, 3, 3), opset=11),
        det("float64", random(2, 6, 6, dtype=np.float64), tolerance=1e-11),
        det("float16", random(2, 2, 2, dtype=np.float16), tolerance=1e-2),
    ]
    return result


CASES = cases()
test_determinant = table_test("determinant", CASES, EVERYWHERE)
test_unknown_dims = table_test("determinant_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])
