"""The parts in which a video goes through a model: tiles of its frames, and chunks or windows of its time."""

from dataclasses import dataclass
from typing import Any

from onnxc.errors import ArgumentError, counted
from onnxc.video import settings
from onnxc.video.network import Network
from onnxc.video.tiles import Tiling, tiling_of
from onnxc.video.time_plan import TimePlan, chunks_of, windows_of


@dataclass(frozen=True)
class Parts:
    """The arguments of a decoder and an encoder that say so, checked. Sizes are those of the model's input."""

    chunk: int | None
    first_chunk: int | None
    windows: settings.Pair | None
    """Length and overlap of windows over time."""
    tile: settings.Pair | None
    overlap: settings.Pair
    is_streaming: bool

    @staticmethod
    def checked(
        network: Network, chunk: Any, first_chunk: Any, tile: Any, overlap: Any, time_tile: Any, time_overlap: Any
    ) -> "Parts":
        tiles = None if tile is None else settings.sizes("tile", tile, 1)
        parts = Parts(
            settings.optional_count("chunk", chunk),
            settings.optional_count("first_chunk", first_chunk),
            settings.time_windows(time_tile, time_overlap),
            tiles,
            settings.overlaps(overlap, tiles),
            network.is_streaming,
        )
        parts._check(network)
        return parts

    def plan(self, frames: int, usual_chunk: int, what: str) -> TimePlan:
        """The parts in time of so many frames; `what` they are, for errors."""
        if self.windows is not None:
            return windows_of(frames, *self.windows)
        if self.is_streaming:
            return chunks_of(frames, self.chunk or usual_chunk, self.first_chunk, what)
        if self.chunk is not None:
            return chunks_of(frames, self.chunk, self.first_chunk or min(self.chunk, frames), what)
        return TimePlan([(0, frames)])

    def tiling(self, size: settings.Pair) -> Tiling:
        return tiling_of(size, self.tile or size, self.overlap)

    def _check(self, network: Network) -> None:
        if self.first_chunk is not None and self.chunk is None and not self.is_streaming:
            raise ArgumentError(f"first_chunk is {self.first_chunk}, and there are no chunks: give caches= or chunk=")
        if self.windows is not None and (self.is_streaming or self.chunk is not None):
            raise ArgumentError("time_tile: windows over time are for models without caches and chunks: leave it out")
        if self.chunk is not None and not self.is_streaming:
            _check_independent(network, self.chunk)


def _check_independent(network: Network, chunk: int) -> None:
    """Refuses chunks of a causal model, which are not independent: it makes 4t-3 frames of t, or such."""
    graph = network.later
    one, two = graph.frames_of(chunk), graph.frames_of(2 * chunk)
    is_static = isinstance(graph.input.shape[2], int)
    if one is None or two is None or (one % chunk == 0 if is_static else two == 2 * one):
        return
    raise ArgumentError(
        f"chunk: the model makes {counted(one, 'frame')} of {chunk} and {two} of {2 * chunk}, so that it is causal "
        "and its chunks need caches=; without caches give windows over time as time_tile=, or leave chunk out"
    )
