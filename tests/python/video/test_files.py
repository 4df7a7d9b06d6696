"""Videos that onnxc.video.Decoder writes: .npy files, and what a stand-in for ffmpeg is given."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest

import onnxc
from onnxc.sliding_window import Progress
from tests.python.video.networks import latents

CACHES = {"cache": "next"}
# Writes its words, a line each, and then what comes by the pipe.
WRITES = """#!/usr/bin/env python3
import sys
with open(sys.argv[-1].removeprefix("file:"), "wb") as file:
    file.write("\\n".join(sys.argv[1:]).encode() + b"\\n\\n")
    file.write(sys.stdin.buffer.read())
"""
REFUSES = """#!/bin/sh
echo "Unknown encoder 'nope'" >&2
exit 8
"""


def streaming(file: Path, progress: Progress | None = None, tile: int | None = 6) -> onnxc.video.Decoder:
    return onnxc.video.Decoder(file, entry="later", first="first", caches=CACHES, tile=tile, progress=progress)


def install(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("kind", ["uint8", "float32"])
@pytest.mark.parametrize("tile", [None, 6])
def test_npy(decoder_file: Path, tmp_path: Path, kind: str, tile: int | None) -> None:
    values = latents(2, 4, 9, 8)
    decoder = streaming(decoder_file, tile=tile)
    decoder.write(values, tmp_path / "video.npy", frames=kind)
    np.testing.assert_array_equal(np.load(tmp_path / "video.npy"), decoder.decode(values, kind))
    decoder.write(values[None], tmp_path / "video.npy", frames=kind)  # over the first
    assert [path.name for path in tmp_path.iterdir()] == ["video.npy"]


def fail_at_the_third(done: int, number: int) -> None:
    if done == 3:
        raise RuntimeError("stopped")


@pytest.mark.parametrize("name", ["video.npy", "video.mp4"])
@pytest.mark.parametrize("tile", [None, 6])
def test_an_interrupted_video_leaves_the_one_before(
    decoder_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, tile: int | None
) -> None:
    install(tmp_path, WRITES, monkeypatch)
    (tmp_path / name).write_text("the one before")
    with pytest.raises(RuntimeError, match="stopped"):
        streaming(decoder_file, fail_at_the_third, tile).write(latents(2, 4, 9, 8), tmp_path / name, fps=4)
    assert (tmp_path / name).read_text() == "the one before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", name]


@pytest.mark.parametrize("tile", [None, 6])
def test_ffmpeg_is_given_all_frames(
    decoder_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tile: int | None
) -> None:
    install(tmp_path, WRITES, monkeypatch)
    values = latents(2, 4, 9, 8)
    decoder = streaming(decoder_file, tile=tile)
    decoder.write(values, tmp_path / "my video.mp4", fps=30000 / 1001, options=["-c:v", "libx264"])
    words, frames = (tmp_path / "my video.mp4").read_bytes().split(b"\n\n", 1)
    assert frames == decoder.decode(values, "uint8").tobytes()
    given = words.decode().split("\n")
    assert given[given.index("-i") - 8 : -1] == [
        *["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "16x18", "-r", "29.97002997", "-i", "pipe:0", "-c:v", "libx264"]
    ]
    assert given[-1].startswith(f"file:{tmp_path}/.onnxc-")
    assert given[-1].endswith("/my video.mp4")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "my video.mp4"]


def test_ffmpegs_own_words_are_told(decoder_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, REFUSES, monkeypatch)
    with pytest.raises(onnxc.OnnxcError, match=r"^ffmpeg ended with exit code 8: Unknown encoder 'nope'$"):
        streaming(decoder_file).write(latents(2, 4, 90, 80), tmp_path / "video.mp4", fps=4)
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_no_ffmpeg(decoder_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(onnxc.OnnxcError, match=r"^'video.mp4' is written by ffmpeg, which is not on the PATH: install"):
        streaming(decoder_file).write(latents(2, 4, 9, 8), tmp_path / "video.mp4", fps=4)


def test_files_that_cannot_be_written(decoder_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, WRITES, monkeypatch)
    decoder = streaming(decoder_file)
    for name in ("none/video.npy", "none/video.mp4"):
        with pytest.raises(onnxc.OnnxcError, match=r"^cannot write '.*none/video.*': No such file or directory$"):
            decoder.write(latents(2, 4, 9, 8), tmp_path / name, fps=4)
    with pytest.raises(onnxc.ArgumentError, match=r"^frames is 'float32', and ffmpeg takes bytes: leave it out"):
        decoder.write(latents(2, 4, 9, 8), tmp_path / "video.mp4", fps=4, frames="float32")
    for fps in (None, 0, -1.0):
        with pytest.raises(onnxc.ArgumentError, match=rf"^fps is {fps}, expected frames a second"):
            decoder.write(latents(2, 4, 9, 8), tmp_path / "video.mp4", fps=fps)
