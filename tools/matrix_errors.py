"""Errors of sums of products on the matrix unit of an MI300X, as GFX942SIM_MATRIX=measured computes them.

    python -m tools.matrix_errors              # the table of docs/numerics.md
    python -m tools.matrix_errors --chains     # by the simulator's default, chains of float32

Tiles of 32x32 sums by the instructions that onnxc's kernels use and in their order. An error is a part of the sum of
the absolute products; operands are float32 for f32, xf32 and bf16x3, and numbers of their own type for f16 and bf16.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.simulated_gpu.hip import Hip
from tools.simulated_gpu.matrix_unit import Bits, MatrixInstruction, MatrixUnit

Singles = NDArray[np.float32]
INSTRUCTIONS = {
    "f32": "f32_32x32x2_f32",
    "xf32": "f32_32x32x4_xf32",
    "bf16x3": "f32_32x32x8_bf16",
    "f16": "f32_32x32x8_f16",
    "bf16": "f32_32x32x8_bf16",
}
DEPTHS = 64, 4608
TILES = 4


def bits_of(values: Singles) -> NDArray[np.uint32]:
    return np.ascontiguousarray(values).view(np.uint32)


def to_bfloat16(values: Singles) -> Singles:
    bits = bits_of(values)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def to_xf32(values: Singles) -> Singles:
    return ((bits_of(values) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def given_as(kind: str, values: Singles) -> Singles:
    """The operand that the model has."""
    if kind == "f16":
        return values.astype(np.float16).astype(np.float32)
    return to_bfloat16(values) if kind == "bf16" else values


def encoded(kind: str, values: Singles) -> Bits:
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind in ("bf16", "bf16x3"):
        return (bits_of(values) >> 16).astype(np.uint16)
    return bits_of(to_xf32(values) if kind == "xf32" else values)


def factors(kind: str, a: Singles, b: Singles) -> Iterator[tuple[Singles, Singles]]:
    """The kernels' products of 16 elements of the reduction, one after the other."""
    if kind != "bf16x3":
        yield a, b
        return
    highs = [(bits_of(array) & np.uint32(0xFFFF0000)).view(np.float32) for array in (a, b)]
    lows = [to_bfloat16(array - high) for array, high in zip((a, b), highs, strict=True)]
    yield highs[0], lows[1]
    yield lows[0], highs[1]
    yield highs[0], highs[1]


def sums(unit: MatrixUnit, kind: str, a: Singles, b: Singles) -> Singles:
    """[tile, row, column] of the operands [tile, row or column, k]."""
    result: Bits = np.zeros((len(a), 1, 32, 32), np.uint32)
    depth = unit.instruction.depth
    for step in range(0, a.shape[-1], 16):
        part = slice(step, step + 16)
        for left, right in factors(kind, a[..., part], b[..., part]):
            for k in range(0, 16, depth):
                words = [encoded(kind, array[:, None, :, k : k + depth]) for array in (left, right)]
                result = unit.multiply(words[0], words[1], result)
    return np.asarray(result[:, 0].view(np.float32))


@dataclass
class Errors:
    root_mean_square: float
    mean: float


def errors(unit: MatrixUnit, kind: str, depth: int, is_positive: bool) -> Errors:
    random = np.random.default_rng(depth)
    operands = [random.standard_normal((TILES, 32, depth)).astype(np.float32) for _ in range(2)]
    a, b = (given_as(kind, np.abs(values) if is_positive else values) for values in operands)
    exact = np.einsum("tik,tjk->tij", a.astype(np.float64), b.astype(np.float64))
    whole = np.einsum("tik,tjk->tij", np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    parts = (sums(unit, kind, a, b) - exact) / whole
    return Errors(float(np.sqrt(np.mean(parts**2))), float(np.mean(parts)))


def table(kinds: list[str], depths: tuple[int, ...] = DEPTHS) -> list[str]:
    lines = [
        "| products | K | normal operands | positive operands | mean of these |",
        "| --- | --: | --: | --: | --: |",
    ]
    hip: Any = Hip()
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            unit = MatrixUnit(hip, MatrixInstruction(INSTRUCTIONS[kind]), Path(folder))
            for depth in depths:
                normal, positive = (errors(unit, kind, depth, is_positive) for is_positive in (False, True))
                lines.append(
                    f"| {kind} | {depth:,} | {normal.root_mean_square:.1e} | {positive.root_mean_square:.1e} "
                    f"| {positive.mean:.1e} |"
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", action="store_true", help="as the simulator computes without GFX942SIM_MATRIX")
    chosen = parser.parse_args()
    os.environ["GFX942SIM_MATRIX"] = "" if chosen.chains else "measured"
    print("\n".join(table(list(INSTRUCTIONS))))


if __name__ == "__main__":
    main()
