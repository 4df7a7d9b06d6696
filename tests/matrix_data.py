"""Operands of a matrix unit as bits: values that show how it cuts, adds and rounds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[Any]
Floats = NDArray[np.float64]

KINDS = ["bits", "normal", "positive", "far apart", "small", "denormal", "specials", "cancelling"]
SPECIALS = [0.0, -0.0, 1.0, -1.0, 1.5, 3e38, -3e38, 65504.0, 1e-40, -1e-40, 2.0**-24, 2.0**-14, np.inf, -np.inf, np.nan]


def random_bits(shape: tuple[int, ...], width: int, random: np.random.Generator) -> Bits:
    """Any bits of values of `width` bits."""
    count = int(np.prod(shape)) * width // 8
    return random.integers(0, 256, count, np.uint8).view(f"u{width // 8}").reshape(shape)


def encoded(values: Floats, dtype: Any) -> Bits:
    """The bits of a type of PyTorch's that is nearest to each value."""
    import torch

    integers = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}
    with np.errstate(over="ignore"):
        single = torch.from_numpy(values if dtype == torch.float64 else values.astype(np.float32))
    bits = single.to(dtype).view(integers[dtype.itemsize]).numpy()
    return bits.view(f"u{dtype.itemsize}")


def random_values(kind: str, shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Values of each kind but "bits"."""
    if kind == "specials":
        return random.choice(SPECIALS, shape, p=[0.06] * 12 + [0.28 / 3] * 3)
    values = random.standard_normal(shape)
    match kind:
        case "positive":
            return np.abs(values)
        case "far apart":
            return values * 2.0 ** random.integers(-20, 20, shape)
        case "small":
            return values * 2.0 ** random.integers(-26, -8, shape)
        case "denormal":
            return values * 2.0 ** random.integers(-75, -60, shape)
    return values


def nearly_taken_away(products: Floats, random: np.random.Generator) -> Floats:
    """Addends that cancel nearly all of the sums of products."""
    return -products * (1 + 2.0**-20 * random.integers(-3, 4, products.shape))
