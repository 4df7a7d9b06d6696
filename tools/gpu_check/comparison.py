"""Results against the right values. A part of a large output stands for all of it, so that a bundle stays small.

The part is every stride-th element in the order of memory. The stride is a prime that divides none of the tensor's
sizes, so that the part has elements at every place of a tile: first and last row, column and channel. It holds one of
any `stride` neighbours. The rest must be written: it is finite if all of the part is.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tools.gpu_check.manifest import Value

MOST_ELEMENTS = 1 << 15


@dataclass(frozen=True)
class Right:
    """values: every stride-th element of a tensor of this shape, float32 if the model has fewer bits."""

    values: torch.Tensor
    shape: Sequence[int]
    stride: int = 1


def is_prime(number: int) -> bool:
    return number > 1 and all(number % each for each in range(2, math.isqrt(number) + 1))


def stride_of(shape: Sequence[int]) -> int:
    """The one for an output of this shape, 1 if it is kept whole."""
    elements = math.prod(shape)
    if elements <= MOST_ELEMENTS:
        return 1
    return next(each for each in itertools.count(elements // MOST_ELEMENTS + 1) if is_prime(each) and elements % each)


def part_of(tensor: torch.Tensor, stride: int) -> torch.Tensor:
    return tensor.reshape(-1)[::stride]


def whole(tensor: torch.Tensor) -> Right:
    return Right(tensor.reshape(-1), tensor.shape)


def expected(values: Sequence[Value], folder: Path) -> dict[str, Right]:
    """The right values, on the host."""
    return {
        each.name: Right(torch.from_numpy(np.load(folder / each.file)).reshape(-1), each.shape, each.stride)
        for each in values
    }


def mismatch(result: torch.Tensor, right: Right, dtype: torch.dtype, tolerance: float) -> tuple[str, float]:
    """Why a result is wrong ("" if it is right), and its largest difference over the largest magnitude."""
    result = result.detach().cpu()
    if result.dtype != dtype:
        return f"type {result.dtype}, expected {dtype}", 0.0
    if list(result.shape) != list(right.shape):
        return f"shape {list(result.shape)}, expected {list(right.shape)}", 0.0
    actual = part_of(result, right.stride)
    if not dtype.is_floating_point:
        wrong = int((actual != right.values).sum())
        return (f"{wrong} of {actual.numel()} elements differ" if wrong else ""), 0.0
    wide, reference = actual.double(), right.values.double()
    finite = reference.isfinite()
    same_special = torch.where(finite, wide.isfinite(), (wide == reference) | (wide.isnan() & reference.isnan()))
    if not bool(same_special.all()):
        count = int((~same_special).sum())
        return f"{count} of {actual.numel()} elements are NaN or infinite on one side only", 0.0
    if right.stride > 1 and bool(finite.all()) and not bool(result.isfinite().all()):
        count = int((~result.isfinite()).sum())
        return f"{count} of {result.numel()} elements are NaN or infinite", 0.0
    if not bool(finite.any()):
        return "", 0.0
    difference = float((wide - reference)[finite].abs().max())
    magnitude = float(reference[finite].abs().max())
    error = difference / magnitude if magnitude else difference
    return (f"off by {error:.3g} of the largest magnitude, allowed {tolerance:.3g}" if error > tolerance else ""), error
