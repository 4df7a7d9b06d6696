"""Tiles over the height and width of frames, blended as diffusers' enable_tiling does.

Source: diffusers 0.42.1, tiled_decode, blend_v and blend_h of AutoencoderKLWan and the other autoencoders of video.
Tiles begin a stride apart, and the last ones are cut at the edge. A tile's first rows run linearly from those of the
tile above to its own: with an overlap of n rows, row y is above * (1 - y/n) + own * y/n. Its first columns then do the
same with the tile on its left. Both neighbours were blended before. So the weights are not the product of both ramps if
four tiles meet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class AxisTiles:
    """The tiles along one axis of the model's input: each begins `tile - overlap` after the one before."""

    size: int
    tile: int
    overlap: int

    @property
    def stride(self) -> int:
        return self.tile - self.overlap

    def starts(self) -> range:
        return range(0, self.size, self.stride)

    def extent(self, index: int) -> slice:
        start = index * self.stride
        return slice(start, min(start + self.tile, self.size))


@dataclass(frozen=True)
class Tiling:
    """The tiles of a frame, row by row."""

    rows: AxisTiles
    columns: AxisTiles

    def places(self) -> Iterator[tuple[int, int]]:
        return ((row, column) for row in range(len(self.rows.starts())) for column in range(len(self.columns.starts())))

    @property
    def count(self) -> int:
        return len(self.rows.starts()) * len(self.columns.starts())


def tiling_of(size: tuple[int, int], tile: tuple[int, int], overlap: tuple[int, int]) -> Tiling:
    """As diffusers has it: a frame that is larger than a tile on neither axis stays whole."""
    if size[0] <= tile[0] and size[1] <= tile[1]:
        tile, overlap = size, (0, 0)
    return Tiling(AxisTiles(size[0], tile[0], overlap[0]), AxisTiles(size[1], tile[1], overlap[1]))


class TileBlend:
    """Blends what a model made of the tiles of some frames, given row by row.

    zoom: sizes of its output over those of its input, for rows and columns.

    It keeps the last rows of each tile of the row before, and the last columns of the tile on the left.
    """

    def __init__(self, tiling: Tiling, zoom: tuple[Fraction, Fraction]) -> None:
        self._overlap = [
            int(axis.overlap * each) for axis, each in zip((tiling.rows, tiling.columns), zoom, strict=True)
        ]
        self._stride = [int(axis.stride * each) for axis, each in zip((tiling.rows, tiling.columns), zoom, strict=True)]
        self._above: dict[int, Array] = {}
        self._left: Array | None = None

    def add(self, place: tuple[int, int], values: Array) -> tuple[int, int, Array]:
        """For a tile's values [channels, frames, rows, columns], which are overwritten: the first row and column of
        what is final with it, and its values."""
        row, column = place
        if row > 0:
            run_over(self._above[column], values, self._overlap[0], axis=2)
        if column > 0 and self._left is not None:
            run_over(self._left, values, self._overlap[1], axis=3)
        rows, columns = values.shape[2:]
        self._above[column] = values[:, :, max(0, rows - self._overlap[0]) :].copy()
        self._left = values[:, :, :, max(0, columns - self._overlap[1]) :].copy()
        top, left = row * self._stride[0], column * self._stride[1]
        return top, left, values[:, :, : self._stride[0], : self._stride[1]]


def run_over(before: Array, values: Array, extent: int, axis: int) -> None:
    """The first of `values` along the axis run linearly from the last of `before` to their own."""
    extent = min(before.shape[axis], values.shape[axis], extent)
    if extent == 0:
        return
    lines = [1] * values.ndim
    lines[axis] = extent
    share = (np.arange(extent) / extent).astype(np.float32).reshape(lines)
    rest = (1 - np.arange(extent) / extent).astype(np.float32).reshape(lines)
    first = [slice(None)] * values.ndim
    first[axis] = slice(0, extent)
    last = list(first)
    last[axis] = slice(before.shape[axis] - extent, None)
    values[tuple(first)] = before[tuple(last)] * rest + values[tuple(first)] * share
