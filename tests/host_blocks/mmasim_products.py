"""Operands of a matrix unit of NVIDIA's, and their products by MMA-Sim, which was compared with real GPUs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.matrix_data import Bits, encoded, nearly_taken_away, random_bits, random_values

# The elements of a row that an instruction takes.
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8}


def torch_type(kind: str) -> Any:
    import torch

    return {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}[kind]


def operands(
    kind: str, data: str, products: int, rows: int, columns: int, random: np.random.Generator
) -> tuple[Bits, Bits, Bits]:
    """a [product, row, k], b [product, k, column] and sums [product, row, column] as bits."""
    depth, width = DEPTHS[kind], 32 if kind == "tf32" else 16
    shapes = (products, rows, depth), (products, depth, columns), (products, rows, columns)
    if data == "bits":
        a, b, c = (random_bits(shape, size, random) for shape, size in zip(shapes, (width, width, 32), strict=True))
        return a, b, c
    a, b, c = (random_values(data, shape, random) for shape in shapes)
    if data == "cancelling":
        c = nearly_taken_away(np.einsum("pik,pkj->pij", a, b), random)
    return encoded(a, torch_type(kind)), encoded(b, torch_type(kind)), c.astype(np.float32).view(np.uint32)


def mmasim_result(model: Callable[..., Any], kind: str, a: Bits, b: Bits, c: Bits) -> Bits:
    """model: an instruction of mmasim.nv_ptx.sim."""
    import torch

    signed = f"i{a.itemsize}"
    results = [
        model(
            torch.from_numpy(row.copy().view(signed)).view(torch_type(kind)),
            torch.from_numpy(column.copy().view(signed)).view(torch_type(kind)),
            torch.from_numpy(addend.copy().view(np.int32)).view(torch.float32),
        )
        for row, column, addend in zip(a, b, c, strict=True)
    ]
    return np.asarray(torch.stack(results).view(torch.int32).numpy()).view(np.uint32)


def assert_same_bits(result: Bits, expected: Bits) -> None:
    same = result == expected
    assert same.all(), f"{np.count_nonzero(~same)} of {same.size}: {result[~same][:4]} instead of {expected[~same][:4]}"
