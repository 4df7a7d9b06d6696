"""The product kinds: how a model is compiled, what PyTorch does beside it, and how far a result may be off."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """options: of the compiler. torch_type: PyTorch's type beside it. tf32: whether PyTorch may use it.
    rounding: half a unit in the last place of what is rounded, weights and stored values or operands of products."""

    options: tuple[str, ...]
    torch_type: str
    tf32: bool
    rounding: float


KINDS: Mapping[str, Kind] = {
    "ieee": Kind((), "float32", False, 2.0**-24),
    "bf16x3": Kind(("--fp32", "bf16x3"), "float32", False, 2.0**-17),
    "tf32": Kind(("--fp32", "xf32"), "float32", True, 2.0**-12),
    "float16": Kind(("--precision", "float16"), "float16", False, 2.0**-12),
    "bfloat16": Kind(("--precision", "bfloat16"), "bfloat16", False, 2.0**-9),
}
SIXTEEN_BITS = ("float16", "bfloat16")

# The largest difference over the largest magnitude, in roundings, as in the tests of --precision: 30 for dozens of
# layers, whose errors are as good as random, and 100 if a normalisation divides by the deviation of few voxels.
DEEP, NORMALIZED = 30, 100
# One chain of float32 for each sum of thousands of products.
LONG_SUMS = 5e-5


def tolerance(kind: str, own: float, is_normalized: bool) -> float:
    """`own`: what the model's row allows in its own type."""
    roundings = NORMALIZED if is_normalized else DEEP
    return max(own, LONG_SUMS, roundings * KINDS[kind].rounding)
