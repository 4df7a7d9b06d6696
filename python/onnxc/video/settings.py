"""The checks of the arguments that a decoder and an encoder have in common."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError, counted
from onnxc.session import InferenceSession

Pair = tuple[int, int]


def opened(
    name: str,
    model: Any,
    entry: str | None,
    threads: int | None,
    device: str,
    states_of: InferenceSession | None = None,
) -> InferenceSession:
    """A session for the entry of a model, which shares the states of another; `name` is the argument's."""
    if isinstance(model, InferenceSession):
        if entry is None or entry == model.entry:
            return model
        if entry not in model.entries:
            raise ArgumentError(f"the model has the entries {model.entries}, and not {entry!r}")
        if model._source is None:
            raise ArgumentError(
                f"{name} is a session without a file, and the entry {entry!r} is another: give the file"
            )
        return InferenceSession(
            model._source,
            threads=model._threads,
            device=model._device,
            entry=entry,
            hip_graph=model._hip_graph,
            states_of=states_of,
        )
    path = arguments.path(name, model)
    return InferenceSession(path, threads=threads, device=device, entry=entry, states_of=states_of)


def sizes(name: str, value: Any, least: int) -> Pair:
    """A number for height and width, or one for each."""
    expected = f"{least} or more, a number or one for height and one for width"
    each = [value, value] if np.ndim(value) == 0 else arguments.sequence(name, value, expected)
    if len(each) != 2:
        raise arguments.refused(name, value, expected)
    return arguments.whole(name, each[0], least, expected), arguments.whole(name, each[1], least, expected)


def optional_count(name: str, value: Any) -> int | None:
    return None if value is None else arguments.whole(name, value, 1, "1 frame or more, or None")


def overlap_of(name: str, tile: int, overlap: int) -> int:
    if overlap >= tile:
        raise ArgumentError(f"{name} is {overlap}, and tiles of {tile} must overlap by less than their size")
    return overlap


def overlaps(value: Any, tile: Pair | None) -> Pair:
    """Those of tiles; a quarter if None."""
    if tile is None:
        if value is not None:
            raise ArgumentError(f"overlap is {value!r}, and there are no tiles: give tile=, or leave it out")
        return 0, 0
    if value is None:
        return tile[0] // 4, tile[1] // 4
    height, width = sizes("overlap", value, 0)
    return overlap_of("overlap", tile[0], height), overlap_of("overlap", tile[1], width)


def time_windows(tile: Any, overlap: Any) -> Pair | None:
    """Length and overlap of windows over time, in frames of the input; an overlap of a quarter if None."""
    if tile is None:
        if overlap is not None:
            raise ArgumentError(
                f"time_overlap is {overlap!r}, and there are no windows: give time_tile=, or leave it out"
            )
        return None
    length = arguments.whole("time_tile", tile, 1, "1 frame or more, or None")
    if overlap is None:
        return length, length // 4
    return length, overlap_of("time_overlap", length, arguments.whole("time_overlap", overlap, 0, "0 or more, or None"))


def per_channel(name: str, value: Any) -> NDArray[np.float32]:
    """One number, or one for each channel, that a video [channels, frames, height, width] can be multiplied by."""
    expected = "a number, or one for each channel"
    each = [value] if np.ndim(value) == 0 else arguments.sequence(name, value, expected)
    numbers = [arguments.real(name, number, expected) for number in each]
    return np.array(numbers, np.float32).reshape(-1, 1, 1, 1)


def check_channels(name: str, numbers: NDArray[np.float32], channels: int) -> None:
    if len(numbers) not in (1, channels):
        raise ArgumentError(f"{name} has {counted(len(numbers), 'number')}, and the latents {channels} channels")


def value_range(name: str, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    expected = "two numbers, the smaller first, or None"
    each = [arguments.real(name, number, expected) for number in arguments.sequence(name, value, expected)]
    if len(each) != 2 or each[0] > each[1]:
        raise arguments.refused(name, value, expected)
    return each[0], each[1]


def progress_of(value: Any) -> Any:
    if value is not None and not isinstance(value, bool) and not callable(value):
        raise arguments.refused("progress", value, "a function, or True for tqdm's bar")
    return value
