"""Latents to frames, in tiles and chunks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError
from onnxc.session import InferenceSession
from onnxc.sliding_window import Progress, told
from onnxc.video import files, settings
from onnxc.video.coder import VideoRun
from onnxc.video.frames import KINDS, Canvas, Form
from onnxc.video.given import batch_of, like, only_video
from onnxc.video.network import network_of
from onnxc.video.parts import Parts

Array = NDArray[Any]


class Decoder:
    """Decodes latents of a video to frames, as the autoencoders of diffusers do with enable_tiling.

    model: a model.so or model.onnx, or a session. It takes latents [1, channels, frames, height, width] and gives
        frames of the same axes, in float32, float16 or bfloat16.
    entry: the graph of a model.so with several; the first if None.
    first: the graph for the first chunk, if it is another: the name of an entry of the same file, or a session.
    caches: the outputs of a chunk that are inputs of the next one, as {"input": "output"}. They begin as zeros, but for
        those that `first` gives. A model that was compiled with --state holds its caches itself: leave them out.
    fixed: the inputs that are the same for each run, by name, such as a time step.
    chunk: latent frames of a run; if None one with caches, and all without. A causal decoder without caches, which
        makes 4t-3 frames of t, takes no chunks.
    first_chunk: those of the first run; a chunk and what is left over if None, as for CogVideoX.
    tile, overlap: in latents, a number or one for height and one for width. 32 and 8 are what diffusers calls
        tile_sample_min_height=256 and tile_sample_stride_height=192, for a decoder of 8 times the size. No tile: whole
        frames. No overlap: a quarter.
    time_tile, time_overlap: windows over time in latent frames, for causal decoders without caches. 4 and 1 are what
        diffusers calls tile_sample_min_num_frames=16 and tile_sample_stride_num_frames=12, for 4 times the frames. No
        overlap: a quarter.
    mean, std: latents * std + mean are decoded; a number, or one for each channel.
    clamp: the range of the frames, such as (-1, 1), to which they are clamped after they are blended.
    progress: called with the runs that are done and their number, for each video; True: tqdm's bar, if tqdm is
        installed.
    threads, device: of sessions that are opened here.

    Latents are a numpy array or a torch tensor of any float type, [channels, frames, height, width] or with a batch in
    front, whose videos follow one another. Those of another type become the model's.

    Memory: `chunks` holds the caches of all tiles, and the frames of a chunk. `decode` and `write` go tile by tile and
    hold the caches of one, and of all frames those rows in which tiles overlap.

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
        mean: float | Sequence[float] = 0.0,
        std: float | Sequence[float] = 1.0,
        clamp: tuple[float, float] | None = None,
        progress: Progress | bool | None = None,
        threads: int | None = 0,
        device: str = "cpu",
    ) -> None:
        self._network = network_of(model, entry, first, caches, fixed, threads, device)
        self._parts = Parts.checked(self._network, chunk, first_chunk, tile, overlap, time_tile, time_overlap)
        self._mean, self._std = settings.per_channel("mean", mean), settings.per_channel("std", std)
        self._clamp = settings.value_range("clamp", clamp)
        self._progress: Progress | bool | None = settings.progress_of(progress)

    def decode(self, latents: Any, frames: str = "float32") -> Any:
        """All frames: for "float32" [channels, frames, height, width], for "uint8" the bytes of -1 to 1 as [frames,
        height, width, channels]. A batch stands in front if the latents have one; for a torch tensor they are one.

        Raises ArgumentError for latents that do not fit, RunError if the model refuses them.
        """
        videos = self._videos(latents)
        form = self._form(frames)
        result = np.empty(0)
        for index, video in enumerate(videos):

            def made(shape: tuple[int, ...], index: int = index) -> Array:
                nonlocal result
                if index == 0:
                    result = np.empty((len(videos), *shape), form.kind)
                each: Array = result[index]
                return each

            self._fill(video, Canvas(form, made))
        return like(latents, result if len(np.shape(latents)) == 5 else result[0])

    def chunks(self, latents: Any, frames: str = "float32") -> Iterator[Array]:
        """The same frames of one video, chunk by chunk as they are done, without an axis for the batch."""
        return self._chunks(self._video(latents), self._form(frames))

    def write(
        self,
        latents: Any,
        path: str | Path,
        *,
        fps: float | None = None,
        frames: str = "uint8",
        options: Sequence[str] = ("-pix_fmt", "yuv420p"),
    ) -> None:
        """Decodes one video to a file, which has its name only when it is whole.

        path: ".npy" is an array as `decode` gives it; any other name is written by ffmpeg, which must be installed.
        fps: frames a second, for ffmpeg.
        frames: "uint8" or "float32", for .npy.
        options: ffmpeg's for the output, such as ("-c:v", "libx264", "-crf", "18").
        """
        video = self._video(latents)
        target = arguments.path("path", path)
        form = self._form(frames)
        if target.suffix == ".npy":
            with files.made_whole(target) as whole:
                self._fill_file(video, form, whole)
            return
        if form.kind != "uint8":
            raise ArgumentError(f"frames is {form.kind!r}, and ffmpeg takes bytes: leave it out, or write a .npy file")
        if fps is None or arguments.real("fps", fps) <= 0:
            raise arguments.refused("fps", fps, "frames a second, above 0, for a video")
        words = arguments.texts("options", options, "words for ffmpeg")
        program = files.found_ffmpeg(target)
        with files.made_whole(target) as whole, files.VideoFile(program, whole, fps, words) as output:
            for chunk in self._chunks_of_least_memory(video, form, whole.with_name("frames.npy")):
                output.send(chunk)

    # ------------------------------------------------------------------------------------------------------------ runs

    def _run(self, video: Array, progress: Progress | None) -> VideoRun:
        plan = self._parts.plan(video.shape[1], 1, "latents")
        return VideoRun(self._network, video, plan, self._parts.tiling(video.shape[2:]), progress)

    def _chunks(self, video: Array, form: Form) -> Iterator[Array]:
        with told(self._progress, "run") as progress:
            for values in self._run(video, progress).chunks():
                yield form.of(values)

    def _fill(self, video: Array, canvas: Canvas) -> None:
        with told(self._progress, "run") as progress:
            self._run(video, progress).fill(canvas)

    def _fill_file(self, video: Array, form: Form, path: Path) -> Array:
        """The array of a .npy file, mapped, that is on the disk."""
        canvas = Canvas(form, files.mapped_array(path, form.kind))
        self._fill(video, canvas)
        return files.flushed(canvas.array)

    def _chunks_of_least_memory(self, video: Array, form: Form, path: Path) -> Iterator[Array]:
        if not self._run(video, None).is_smaller_by_tiles:
            yield from self._chunks(video, form)
            return
        array = self._fill_file(video, form, path)
        for frame in range(len(array)):
            yield array[frame : frame + 1]

    # ---------------------------------------------------------------------------------------------------------- checks

    def _form(self, frames: Any) -> Form:
        if frames not in KINDS:
            raise arguments.refused("frames", frames, "'float32' or 'uint8'")
        return Form(str(frames), self._clamp)

    def _video(self, latents: Any) -> Array:
        return only_video("latents", self._videos(latents))

    def _videos(self, latents: Any) -> list[Array]:
        """The latents of each video [channels, frames, height, width], as the model has them."""
        batch = batch_of("latents", latents, self._network)
        channels = batch.shape[1]
        settings.check_channels("mean", self._mean, channels)
        settings.check_channels("std", self._std, channels)
        if np.any(self._mean != 0) or np.any(self._std != 1):
            batch = batch.astype(np.float32) * self._std + self._mean
        return list(batch)
