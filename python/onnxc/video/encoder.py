"""Frames to latents, in tiles and chunks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError, counted_are
from onnxc.memory import torch_values
from onnxc.session import InferenceSession
from onnxc.sliding_window import Progress, told
from onnxc.video import settings
from onnxc.video.coder import VideoRun
from onnxc.video.frames import Canvas, Form
from onnxc.video.given import batch_of, like
from onnxc.video.network import network_of
from onnxc.video.parts import Parts

Array = NDArray[Any]
USUAL_CHUNK = 4


class Encoder:
    """Encodes frames of a video to latents, as the autoencoders of diffusers do with enable_tiling.

    model, entry, first, caches, fixed, threads, device, progress: as the Decoder takes them; the model takes frames and
        gives latents.
    chunk: frames of a run; with caches 4 if None, without them all.
    first_chunk: those of the first run, such as 1 for Wan; a chunk and what is left over if None, as for CogVideoX.
    tile, overlap: in pixels, a number or one for height and one for width: 256 and 64 are what diffusers calls
        tile_sample_min_height=256 and tile_sample_stride_height=192. No tile: whole frames. No overlap: a quarter.
    time_tile, time_overlap: windows over time in frames, for causal encoders without caches, such as 16 and 4.
    moments: the model gives means and then as many logarithms of variances as channels, and only the means are taken
        (latent_dist.mode() in diffusers).
    mean, std: (latents - mean) / std are given; a number, or one for each channel.

    Raises ArgumentError, a ValueError, for each of these that cannot be done.
    """

    def __init__(
        self,
        model: str | Path | InferenceSession,
        *,
        entry: str | None = None,
        first: str | InferenceSession | None = None,
        caches: Mapping[str, str] | None = None,
        fixed: Mapping[str, Any] | None = None,
        chunk: int | None = None,
        first_chunk: int | None = None,
        tile: int | Sequence[int] | None = None,
        overlap: int | Sequence[int] | None = None,
        time_tile: int | None = None,
        time_overlap: int | None = None,
        moments: bool = False,
        mean: float | Sequence[float] = 0.0,
        std: float | Sequence[float] = 1.0,
        progress: Progress | bool | None = None,
        threads: int | None = 0,
        device: str = "cpu",
    ) -> None:
        self._network = network_of(model, entry, first, caches, fixed, threads, device)
        self._parts = Parts.checked(self._network, chunk, first_chunk, tile, overlap, time_tile, time_overlap)
        self._moments = arguments.truth("moments", moments)
        self._mean, self._std = settings.per_channel("mean", mean), settings.per_channel("std", std)
        if np.any(self._std == 0):
            raise ArgumentError("std has a 0, and latents are divided by it")
        self._progress: Progress | bool | None = settings.progress_of(progress)

    def encode(self, frames: Any) -> Any:
        """The latents [channels, frames, height, width] of frames of the same axes, from -1 to 1; or of bytes [frames,
        height, width, channels]. A batch stands in front if the frames have one; for a torch tensor they are one.

        Raises ArgumentError for frames that do not fit, RunError if the model refuses them.
        """
        videos = list(batch_of("frames", _real(frames), self._network))
        latents = np.stack([self._latents(video) for video in videos])
        return like(frames, latents if len(np.shape(frames)) == 5 else latents[0])

    def _latents(self, video: Array) -> Array:
        self._check_left_over(video.shape[1])
        plan = self._parts.plan(video.shape[1], USUAL_CHUNK, "frames")
        tiling = self._parts.tiling(video.shape[2:])
        if tiling.count > 1:
            self._check_whole(3, tiling.rows.tile)
            self._check_whole(4, tiling.columns.tile)
        canvas = Canvas(Form("float32", None), lambda shape: np.empty(shape, np.float32))
        with told(self._progress, "run") as progress:
            VideoRun(self._network, video, plan, tiling, progress).fill(canvas)
        latents = canvas.array if canvas.array is not None else np.empty(0)
        return self._scaled(latents[: len(latents) // 2] if self._moments else latents)

    def _check_left_over(self, frames: int) -> None:
        """Refuses frames that make no whole chunk, and so no latents of their own."""
        first, chunk = self._parts.first_chunk, self._parts.chunk or USUAL_CHUNK
        if (
            self._network.is_streaming
            and first is not None
            and first < frames
            and (left := (frames - first) % chunk) != 0
        ):
            raise ArgumentError(
                f"frames are {frames}, a first chunk of {first} and then chunks of {chunk}: "
                f"{counted_are(left, 'frame')} left over"
            )

    def _check_whole(self, axis: int, size: int) -> None:
        """Refuses a size that the model rounds down, if its declared dims tell."""
        graph = self._network.later
        once, twice = graph.made(axis, size), graph.made(axis, 2 * size)
        if once is not None and twice is not None and twice != 2 * once:
            raise ArgumentError(
                f"tile: the model makes {once} of {size} and {twice} of {2 * size}, so that tiles of {size} do not "
                "become whole latents: give a multiple of the pixels of one"
            )

    def _scaled(self, latents: Array) -> Array:
        settings.check_channels("mean", self._mean, len(latents))
        settings.check_channels("std", self._std, len(latents))
        return (latents - self._mean) / self._std


def _real(frames: Any) -> Any:
    """Bytes as real numbers from -1 to 1, their channels in front."""
    array = torch_values.numbers("frames", frames)
    if array.dtype != np.uint8:
        return frames
    if array.ndim not in (4, 5):
        raise ArgumentError(f"frames of bytes have the shape {array.shape}, expected [frames, height, width, channels]")
    return np.moveaxis(array, -1, -4).astype(np.float32) / np.float32(127.5) - 1
