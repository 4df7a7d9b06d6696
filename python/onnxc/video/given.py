"""The videos that a caller gives, as arrays [videos, channels, frames, height, width]."""

import sys
from typing import Any

from numpy.typing import NDArray

from onnxc.errors import ArgumentError, counted
from onnxc.memory import torch_values
from onnxc.video.declared_dims import size_of
from onnxc.video.network import Network

Array = NDArray[Any]


def batch_of(name: str, values: Any, network: Network) -> Array:
    """Values of any float type, with or without a batch in front; `name` is the argument's."""
    array = torch_values.numbers(name, values)
    if array.ndim not in (4, 5):
        raise ArgumentError(
            f"{name} have the shape {array.shape}, expected [channels, frames, height, width], with or without a "
            "batch in front"
        )
    if array.dtype.kind in "biu":
        raise ArgumentError(f"{name} have elements of type {array.dtype}, expected float32, float16 or such")
    batch = array if array.ndim == 5 else array[None]
    for axis, size in zip(("videos", "channels", "frames", "rows", "columns"), batch.shape, strict=True):
        if size == 0:
            raise ArgumentError(f"{name} have the shape {array.shape}: no {axis}")
    graph = network.later
    if size_of(graph.channels, {}) not in (None, batch.shape[1]):
        raise ArgumentError(
            f"{name} have {counted(batch.shape[1], 'channel')}, and the model's input {graph.input.name!r} takes "
            f"{graph.channels}"
        )
    return batch


def only_video(name: str, videos: list[Array]) -> Array:
    if len(videos) != 1:
        raise ArgumentError(f"{name} have {counted(len(videos), 'video')}: give one, as {name}[i]")
    return videos[0]


def like(values: Any, result: Array) -> Any:
    """If the values are a tensor, the result as one on their device."""
    if not torch_values.is_tensor(values):
        return result
    return sys.modules["torch"].from_numpy(result).to(values.device)
