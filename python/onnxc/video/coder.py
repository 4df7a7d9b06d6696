"""A video through a decoder or an encoder, in tiles and chunks of bounded memory.

Two orders give the same values. Chunk by chunk, all tiles of a chunk run before the next: then its frames are final,
and the caches of all tiles are in memory. Tile by tile, all chunks of a tile run before the next: only its caches are
in memory, and frames are final at the end. So an iterator goes chunk by chunk, and what holds all frames tile by tile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc.errors import ArgumentError, OnnxcError
from onnxc.sliding_window import Progress
from onnxc.video.caches import Caches
from onnxc.video.declared_dims import text_of
from onnxc.video.frames import Canvas
from onnxc.video.network import Network
from onnxc.video.tiles import TileBlend, Tiling
from onnxc.video.time_plan import FrameBlend, TimePlan

Array = NDArray[Any]


@dataclass(frozen=True)
class Block:
    """Final values [channels, frames, rows, columns], and the place of their first element in the whole result."""

    first: int
    top: int
    left: int
    values: Array


class VideoRun:
    """One video [channels, frames, height, width] on its way through a network."""

    def __init__(
        self, network: Network, video: Array, plan: TimePlan, tiling: Tiling, progress: Progress | None
    ) -> None:
        self._network, self._video, self._plan, self._tiling = network, video, plan, tiling
        self._progress = progress
        self._runs = 0
        self._zoom: tuple[Fraction, Fraction] | None = None
        self._made: list[int] = []
        """The frames that the network makes of each part."""

    @property
    def is_smaller_by_tiles(self) -> bool:
        """Whether the other order would hold the caches of many tiles."""
        return self._network.is_streaming and self._tiling.count > 1

    def chunks(self) -> Iterator[Array]:
        """The frames of each part when they are final, [channels, frames, height, width]."""
        if self._network.has_states and self._tiling.count > 1:
            raise ArgumentError(
                "the model holds the caches of one tile (--state), and chunks of frames need those of all: decode or "
                "write the video, or give no tile"
            )
        caches = {place: self._network.new_caches() for place in self._tiling.places()}
        frames = FrameBlend(self._plan)
        for part in range(len(self._plan.parts)):
            values = frames.add(self._whole_frames(part, caches))
            if values.shape[1] > 0:
                yield values

    def fill(self, canvas: Canvas) -> None:
        """Puts all frames into the canvas."""
        waiting: list[Block] = []  # until their number is known
        end = 0
        for block in self._blocks_by_tile() if self.is_smaller_by_tiles else self._blocks_by_chunk():
            waiting.append(block)
            end = max(end, block.first + block.values.shape[1])
            total = self._plan.total(self._made)
            if total is None:
                continue
            self._check_end(end, total, end > total)
            canvas.open(block.values.shape[0], total, *self._frame_size())
            for each in waiting:
                canvas.put(each.first, each.top, each.left, each.values)
            waiting = []
        total = self._plan.total(self._made) or 0
        self._check_end(end, total, end != total)

    def _check_end(self, end: int, total: int, is_wrong: bool) -> None:
        if is_wrong:
            raise OnnxcError(
                f"the model made {end} frames in chunks of {self._made}, and the first ones let expect {total}"
            )

    def _blocks_by_chunk(self) -> Iterator[Block]:
        first = 0
        for values in self.chunks():
            yield Block(first, 0, 0, values)
            first += values.shape[1]

    def _blocks_by_tile(self) -> Iterator[Block]:
        blends: list[TileBlend] = []
        for place in self._tiling.places():
            caches = self._network.new_caches()
            first = 0
            for part in range(len(self._plan.parts)):
                values = self._run(part, place, caches)
                if part == len(blends):
                    blends.append(self._tile_blend())
                yield Block(first, *blends[part].add(place, values))
                first += values.shape[1]

    def _whole_frames(self, part: int, caches: Mapping[tuple[int, int], Caches]) -> Array:
        """The network's values of a part, of all tiles together."""
        whole = np.empty(0, np.float32)
        blend: TileBlend | None = None
        for place in self._tiling.places():
            # Without caches nothing lives longer than a run.
            values = self._run(part, place, caches[place] if self._network.is_streaming else Caches({}))
            if self._tiling.count == 1:
                return values
            if blend is None:
                blend = self._tile_blend()
                whole = np.empty((*values.shape[:2], *self._frame_size()), np.float32)
            top, left, final = blend.add(place, values)
            whole[:, :, top : top + final.shape[2], left : left + final.shape[3]] = final
        return whole

    def _run(self, part: int, place: tuple[int, int], caches: Caches) -> Array:
        rows, columns = self._tiling.rows.extent(place[0]), self._tiling.columns.extent(place[1])
        tile = self._video[:, slice(*self._plan.parts[part]), rows, columns]
        values = self._network.run(tile, caches)
        if self._zoom is None:
            self._zoom = self._checked_zoom(values.shape[2:], tile.shape[2:])
        if part == len(self._made):
            self._made.append(values.shape[1])
        expected = (self._made[part], *(int(n * zoom) for n, zoom in zip(tile.shape[2:], self._zoom, strict=True)))
        if values.shape[1:] != expected:
            raise OnnxcError(
                f"the tile {place} of {text_of(tile.shape[1:])} gave {text_of(values.shape[1:])}, and those before let "
                f"expect {text_of(expected)}: the model does not make each tile larger by the same factors"
            )
        self._runs += 1
        if self._progress is not None:
            self._progress(self._runs, self._tiling.count * len(self._plan.parts))
        return values

    def _checked_zoom(self, made: Sequence[int], given: Sequence[int]) -> tuple[Fraction, Fraction]:
        """Sizes of the output over those of the input, by which all tiles, overlaps and frames become whole ones."""
        zoom = Fraction(made[0], given[0]), Fraction(made[1], given[1])
        for axis, each in zip((self._tiling.rows, self._tiling.columns), zoom, strict=True):
            if any((size * each).denominator != 1 for size in (axis.size, axis.tile, axis.overlap)):
                raise OnnxcError(
                    f"tile: the model makes {text_of(made)} of {text_of(given)}, and of tiles of {axis.tile} with an "
                    f"overlap of {axis.overlap} in {axis.size} no whole sizes: give multiples of {each.denominator}"
                )
        return zoom

    def _tile_blend(self) -> TileBlend:
        return TileBlend(self._tiling, self._zoom or (Fraction(1), Fraction(1)))

    def _frame_size(self) -> tuple[int, int]:
        zoom = self._zoom or (Fraction(1), Fraction(1))
        return int(self._tiling.rows.size * zoom[0]), int(self._tiling.columns.size * zoom[1])
