"""MatMul and Gemm: ranks, broadcasting of batches, transposition, tile edges."""

import numpy as np

from tests.ops.case import FLOATS, Case, Constant, case, random, small_integers, type_id
from tests.ops.table import EVERYWHERE, table_test

MATMUL_SHAPES = (
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((7, 1, 3, 4), (1, 2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((3, 1), (1, 5)),
    ((1, 7), (7, 1)),
    ((2, 3, 0), (0, 5)),
    ((0, 4), (4, 5)),
)


def matmul_cases() -> list[Case]:
    cases = []
    for left, right in MATMUL_SHAPES:
        name = f"{list(left)} {list(right)}"
        a, b = small_integers(*left), small_integers(*right, seed=1)
        product = np.matmul(a, b)
        cases.append(case("MatMul", a, b, name=name, tolerance=0.0, expected=[np.asarray(product)]))
        cases.append(
            case(
                "MatMul",
                random(*left),
                random(*right, seed=1),
                name=f"random {name}",
                expected=[np.asarray(np.matmul(random(*left), random(*right, seed=1)))],
            )
        )
    # Around the edges of register tiles and vectors, each with small integers for equality.
    for m, k, n in (
        (1, 1, 1),
        (5, 7, 15),
        (6, 16, 16),
        (7, 17, 17),
        (13, 31, 33),
        (16, 64, 32),
        (17, 65, 31),
        (33, 3, 65),
    ):
        a, b = small_integers(m, k), small_integers(k, n, seed=1)
        cases.append(case("MatMul", a, b, name=f"{m}x{k}x{n}", tolerance=0.0))
        cases.append(case("MatMul", a, Constant(b), name=f"{m}x{k}x{n} constant", tolerance=0.0))
        cases.append(case("MatMul", Constant(a), b, name=f"constant {m}x{k}x{n}", tolerance=0.0))
    for dtype in (*FLOATS[1:], np.int32, np.int64, np.uint32, np.uint64):
        a, b = small_integers(3, 5, dtype=dtype, low=0), small_integers(5, 4, dtype=dtype, low=0, seed=1)
        cases.append(case("MatMul", a, b, name=type_id(dtype), expected=[(a @ b).astype(dtype)]))
    # Every product is 4096 and their sum passes float16's largest number before it returns to zero.
    half = np.full((1, 64), 64, np.float16), np.repeat(np.array([64, -64], np.float16), 32).reshape(64, 1)
    cases.append(case("MatMul", *half, name="float16 accumulates wider", expected=[np.zeros((1, 1), np.float16)]))
    cases += [case("MatMul", random(2, 3, 4), random(4, 5, seed=1), opset=opset) for opset in (1, 9, 13)]
    return cases


def gemm_cases() -> list[Case]:
    cases = []
    for trans_a in (0, 1):
        for trans_b in (0, 1):
            a = random(*((4, 3) if trans_a else (3, 4)))
            b = random(*((5, 4) if trans_b else (4, 5)), seed=1)
            for shape in ((3, 5), (5,), (1, 5), (3, 1), (), (1,)):
                c = random(*shape, seed=2)
                name = f"transA {trans_a} transB {trans_b} C {list(shape)}"
                cases.append(case("Gemm", a, b, c, name=name, transA=trans_a, transB=trans_b, alpha=0.5, beta=1.5))
            cases.append(
                case(
                    "Gemm",
                    a,
                    Constant(b),
                    Constant(random(5, seed=2)),
                    name=f"constants {trans_a}{trans_b}",
                    transA=trans_a,
                    transB=trans_b,
                )
            )
            cases.append(case("Gemm", a, b, name=f"no C {trans_a}{trans_b}", transA=trans_a, transB=trans_b, alpha=2.0))
    a, b = random(3, 4), random(4, 5, seed=1)
    cases.append(case("Gemm", a, b, random(5, seed=2), name="beta 0", beta=0.0))
    for dtype in FLOATS[1:]:
        cases.append(
            case("Gemm", a.astype(dtype), b.astype(dtype), random(5, seed=2).astype(dtype), name=type_id(dtype))
        )
    c, row = random(3, 5, seed=2), random(5, seed=2)
    cases += [
        case("Gemm", a, b, c, opset=1, alpha=0.5, expected=[np.float32(0.5) * (a @ b) + c]),
        case("Gemm", a, b, row, name="broadcast", opset=1, broadcast=1, expected=[a @ b + row]),
        case("Gemm", a, b, row, name="broadcast", opset=6, broadcast=1, expected=[a @ b + row]),
        case("Gemm", a, b, row, opset=7),
        case("Gemm", a, b, row, opset=9),
        case("Gemm", a, b, opset=11),
        case("Gemm", a, b, row, opset=13),
    ]
    return cases


CASES = [*matmul_cases(), *gemm_cases()]
test_matmul_gemm = table_test("matmul_gemm", CASES, EVERYWHERE)
