"""Frames as files: .npy, and what ffmpeg writes. A file has its name only when it is whole."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc.errors import ArgumentError, OnnxcError

Array = NDArray[Any]
PIXELS = {1: "gray", 3: "rgb24", 4: "rgba"}


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """The path of a file to write, in a folder beside it, which gets its name when the block ends without an error."""
    try:
        with tempfile.TemporaryDirectory(prefix=".onnxc-", dir=path.parent) as folder:
            whole = Path(folder) / path.name
            yield whole
            whole.replace(path)
    except OSError as error:
        raise OnnxcError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def mapped_array(path: Path, dtype: str) -> Callable[[tuple[int, ...]], Array]:
    """A function that makes the array of a new .npy file, mapped, of the shape that it is given."""

    def made(shape: tuple[int, ...]) -> Array:
        return np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)

    return made


def flushed(array: Array | None) -> Array:
    """A mapped array whose elements are on the disk."""
    if not isinstance(array, np.memmap):
        raise RuntimeError("the array is not of a file")
    array.flush()
    return array


def found_ffmpeg(path: Path) -> str:
    """The program. Raises OnnxcError if it is not installed."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise OnnxcError(
            f"{path.name!r} is written by ffmpeg, which is not on the PATH: install it, or write a .npy file"
        )
    return program


class VideoFile:
    """A video that ffmpeg writes, to which frames of bytes are sent by a pipe. Leaving the block waits for it."""

    def __init__(self, program: str, path: Path, fps: float, options: Sequence[str]) -> None:
        self._program, self._fps = program, fps
        # The prefix keeps ffmpeg from reading a name as an address or an option.
        self._output = [*options, f"file:{path.absolute()}"]
        self._process: subprocess.Popen[bytes] | None = None
        self._shape: tuple[int, ...] = ()

    def __enter__(self) -> "VideoFile":
        self._messages = tempfile.TemporaryFile()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._messages:
            if self._process is None:
                return
            if kind is not None:
                self._process.kill()
            code = self._ended()
            if kind is None and code != 0:
                raise self._failed(code)

    def send(self, frames: Array) -> None:
        """Frames [frames, height, width, channels]."""
        if self._process is None:
            self._process = self._started(frames.shape[1:])
            self._shape = frames.shape[1:]
        if frames.shape[1:] != self._shape:
            raise OnnxcError(f"a chunk has frames of {frames.shape[1:]}, and those before of {self._shape}")
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(np.ascontiguousarray(frames).data)
        except BrokenPipeError:
            raise self._failed(self._ended()) from None

    def _started(self, shape: tuple[int, ...]) -> "subprocess.Popen[bytes]":
        height, width, channels = shape
        if channels not in PIXELS:
            raise ArgumentError(
                f"frames have {channels} channels, and ffmpeg takes 1 (gray), 3 (red, green, blue) or 4 (with alpha)"
            )
        frames = ["-f", "rawvideo", "-pix_fmt", PIXELS[channels], "-s", f"{width}x{height}", "-r", f"{self._fps:.12g}"]
        return subprocess.Popen(
            [self._program, "-hide_banner", "-loglevel", "error", "-y", *frames, "-i", "pipe:0", *self._output],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
        )

    def _ended(self) -> int:
        """Its exit code, after the end of the frames."""
        if self._process is None:
            return 0
        with contextlib.suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        return self._process.wait()

    def _failed(self, code: int) -> OnnxcError:
        self._messages.seek(0)
        words = self._messages.read().decode(errors="replace").strip()
        return OnnxcError(f"ffmpeg ended with exit code {code}: {words or 'it said nothing'}")
