"""The parts of a video in time: chunks that follow one another, and windows that overlap.

Source of the windows: diffusers 0.42.1, _temporal_tiled_decode and _temporal_tiled_encode of AutoencoderKLHunyuanVideo.
A causal decoder makes r*(t-1) + 1 frames of t latent frames, and an encoder the reverse. Windows begin a stride apart
and have one frame more than their length. The first frame of each but the first window goes, since it had no frames
before it. The next ones run linearly from those of the window before to its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from onnxc.errors import ArgumentError, OnnxcError, counted
from onnxc.video.tiles import run_over

Array = NDArray[Any]


@dataclass(frozen=True)
class TimePlan:
    """Parts of the input's frames, as (first, end), in the order in which they run."""

    parts: Sequence[tuple[int, int]]
    window: tuple[int, int] | None = None
    """Length and overlap, if the parts are windows."""

    def total(self, made: Sequence[int]) -> int | None:
        """The frames of all parts, if those that the model made of the first parts tell; None before."""
        lengths = [end - first for first, end in self.parts]
        if self.window is not None:
            return self._of_all(made[0]) if made else None
        if len(made) < min(2, len(lengths)):
            return None
        if len(lengths) == 1:
            return made[0]
        return made[0] + sum(lengths[1:]) * made[1] // lengths[1]

    def zoom(self, made: int) -> Fraction:
        """The frames of each frame of the input if the first window made so many.

        Raises OnnxcError for a model that is not causal, and if lengths do not become whole ones.
        """
        length = self.parts[0][1]
        zoom = Fraction(made - 1, length - 1) if length > 1 else Fraction(0)
        if zoom == 0 or 1 not in (zoom.numerator, zoom.denominator):
            raise OnnxcError(
                f"time_tile: the model makes {counted(made, 'frame')} of {length}, and windows over time are for "
                "causal models, which make r*(t-1) + 1 frames of t or the reverse; for others give chunk="
            )
        frames, (tile, overlap) = self.parts[-1][1], self.window or (0, 0)
        if any((each * zoom).denominator != 1 for each in (frames - 1, tile, overlap)):
            raise OnnxcError(
                f"time_tile: {counted(zoom.denominator, 'frame')} become one, and windows of {tile} with an overlap of "
                f"{overlap} do not fit {frames}: give multiples, and in all one frame more than a multiple"
            )
        return zoom

    def _of_all(self, made: int) -> int:
        return int((self.parts[-1][1] - 1) * self.zoom(made)) + 1


def chunks_of(frames: int, chunk: int, first: int | None, what: str) -> TimePlan:
    """Chunks that follow one another. The first takes what is left over as well, unless its length is given."""
    length = min(chunk + frames % chunk, frames) if first is None else first
    if length > frames:
        raise ArgumentError(
            f"{what} have {counted(frames, 'frame')}, and the first chunk takes {length}: give a longer video, or a "
            "smaller first_chunk"
        )
    starts = range(length, frames, chunk)
    return TimePlan([(0, length), *((start, min(start + chunk, frames)) for start in starts)])


def windows_of(frames: int, tile: int, overlap: int) -> TimePlan:
    """Windows that overlap; a video of no more frames than one is whole."""
    if frames <= tile:
        return TimePlan([(0, frames)])
    return TimePlan(
        [(start, min(start + tile + 1, frames)) for start in range(0, frames, tile - overlap)], (tile, overlap)
    )


class FrameBlend:
    """Blends what a model made of the windows of a video, given one after the other."""

    def __init__(self, plan: TimePlan) -> None:
        self._plan = plan
        self._before: Array | None = None
        self._zoom = Fraction(0)

    def add(self, values: Array) -> Array:
        """For a window's values [channels, frames, rows, columns], which are overwritten: those that are final."""
        if self._plan.window is None:
            return values
        tile, overlap = self._plan.window
        if self._before is None:
            self._zoom = self._plan.zoom(values.shape[1])
            kept = int((tile - overlap) * self._zoom) + 1
        else:
            values = values[:, 1:]
            run_over(self._before, values, int(overlap * self._zoom), axis=1)
            kept = int((tile - overlap) * self._zoom)
        self._before = values[:, max(0, values.shape[1] - int(overlap * self._zoom)) :].copy()
        return values[:, :kept]
