"""Frames as a caller takes them, and the arrays that they are put into."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
KINDS = ("float32", "uint8")


@dataclass(frozen=True)
class Form:
    """kind: "float32" for [channels, frames, height, width]; "uint8" for the bytes of -1 to 1, [frames, height, width,
    channels]. clamp: the range to which values are clamped, or None."""

    kind: str
    clamp: tuple[float, float] | None

    def of(self, values: Array) -> Array:
        """Values [channels, frames, height, width] in this form."""
        if self.clamp is not None:
            values = np.clip(values, *self.clamp)
        if self.kind == "float32":
            return values
        # diffusers' VideoProcessor: to 0..1, clamped, then to bytes.
        return np.rint(np.clip(values * 0.5 + 0.5, 0, 1) * 255).astype(np.uint8).transpose(1, 2, 3, 0)

    def shape(self, channels: int, frames: int, height: int, width: int) -> tuple[int, ...]:
        return (channels, frames, height, width) if self.kind == "float32" else (frames, height, width, channels)

    def place(self, *axes: slice) -> tuple[slice, ...]:
        """The place of frames, rows and columns in an array of this form."""
        return (slice(None), *axes) if self.kind == "float32" else axes


class Canvas:
    """The frames of one video, filled block by block. `made` gives the array for its shape, when that is known."""

    def __init__(self, form: Form, made: Callable[[tuple[int, ...]], Array]) -> None:
        self._form = form
        self._made = made
        self.array: Array | None = None

    def open(self, channels: int, frames: int, height: int, width: int) -> None:
        if self.array is None:
            self.array = self._made(self._form.shape(channels, frames, height, width))

    def put(self, first: int, top: int, left: int, values: Array) -> None:
        """Values [channels, frames, rows, columns] whose first element has this place."""
        if self.array is None:
            raise RuntimeError("the canvas is not open")
        frames, rows, columns = values.shape[1:]
        place = (slice(first, first + frames), slice(top, top + rows), slice(left, left + columns))
        self.array[self._form.place(*place)] = self._form.of(values)
