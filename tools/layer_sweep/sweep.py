"""Layers beside onnxruntime: one process, one thread each, in turns, the least times."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

import onnxc
from tools.layer_sweep.layer import Layer
from tools.operator_timing import Array, Pair, PeerRefusesError, Times

# The overhead by which a call from Python of one engine differs from the other's, in ms: not the layer's.
CALL = 0.03
LIMIT = 5.0
TURNS = 5
# Relative to the largest value of a tensor: sums are taken in other orders.
TOLERANCES = {"float64": 1e-9, "float32": 1e-3, "float16": 2e-2}


@dataclass(frozen=True)
class Row:
    """A measured layer, or what kept it from being one."""

    name: str
    times: Times | None
    fault: str = ""

    @property
    def ratio(self) -> float:
        return max(0.0, self.times.onnxc - CALL) / self.times.onnxruntime if self.times else 0.0

    def fails(self, limit: float) -> bool:
        return bool(self.fault) or self.ratio > limit

    def __str__(self) -> str:
        if self.times is None:
            return f"| {self.name} | | | {self.fault} |"
        return f"| {self.name} | {self.times.onnxc:.3f} | {self.times.onnxruntime:.3f} | {self.ratio:.2f} {self.fault}|"


def difference(got: Array, wanted: Array) -> str:
    """The fault of a tensor; "" if there is none."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.name in TOLERANCES:
        a, b = got.astype(np.float64), wanted.astype(np.float64)
        largest = np.abs(b[np.isfinite(b)]).max(initial=0)
        close = np.isclose(a, b, rtol=0, atol=TOLERANCES[wanted.dtype.name] * largest, equal_nan=True)
        return "" if close.all() else f"{np.count_nonzero(~close)} of {close.size} values differ"
    # A tie of quantised values may be rounded either way.
    steps = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
    most, share = (1, 0.01) if wanted.dtype.itemsize == 1 else (0, 0.0)
    if steps.max(initial=0) > most or np.count_nonzero(steps) > share * steps.size:
        return f"{np.count_nonzero(steps)} of {steps.size} values differ by up to {steps.max()}"
    return ""


def prepare(layer: Layer) -> tuple[Layer, Pair | str | None]:
    """The layer in both engines; why onnxc refuses it, or nothing if onnxruntime does."""
    try:
        return layer, Pair(layer.operator, layer.has_free_dims)
    except PeerRefusesError:
        return layer, None
    except onnxc.OnnxcError as error:
        return layer, str(error)


def measure(layer: Layer, pair: Pair, limit: float) -> Row:
    faults = [difference(got, wanted) for got, wanted in zip(*pair.run(), strict=True)]
    row = Row(layer.name, pair.measure(TURNS, 0.02), next(filter(None, faults), ""))
    # Other work of the machine may have been the reason, unless the difference is far above.
    for _ in range(2):
        if row.fault or not limit < row.ratio < 4 * limit:
            return row
        row = min(row, Row(layer.name, pair.measure(3 * TURNS, 0.1)), key=lambda each: each.ratio)
    return row


def sweep(layers: Iterable[Layer], limit: float = LIMIT, jobs: int | None = None) -> Iterator[Row]:
    """The rows of layers that onnxruntime has a kernel for. Nothing is compiled while one is measured."""
    jobs = jobs or os.cpu_count() or 1
    layers = iter(layers)
    with ThreadPoolExecutor(jobs) as pool:
        while some := list(itertools.islice(layers, 4 * jobs)):
            for layer, pair in list(pool.map(prepare, some)):
                if isinstance(pair, str):
                    yield Row(layer.name, None, f"refused: {pair}")
                elif pair is not None:
                    yield measure(layer, pair, limit)


def table(rows: Sequence[Row]) -> str:
    lines = ["| layer | onnxc, ms | onnxruntime | ratio |", "| --- | --- | --- | --- |"]
    return "\n".join([*lines, *map(str, sorted(rows, key=lambda row: (not row.fault, -row.ratio)))])
