"""onnxc.video.Encoder against onnxruntime on whole videos, and against diffusers' loops over tiles and windows."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import onnxc
from tests.python.video.networks import Array, decoded_in_tiles, decoded_in_windows, latents, reference

CACHES = {"cache": "next"}
HALF = Fraction(1, 2)
TILES = [((8, 8), (2, 4)), ((8, 8), (0, 0)), ((6, 10), (4, 8)), ((50, 4), (8, 2)), ((50, 60), (8, 8))]


def close(actual: Array, expected: Array) -> None:
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def refused(text: str) -> Any:
    return pytest.raises(onnxc.OnnxcError, match="^" + re.escape(text))


@pytest.fixture(scope="module")
def encode(encoder_file: Path) -> Any:
    return reference(encoder_file.with_name("encoder.onnx"), "frames", "latents")


@pytest.mark.parametrize("size", [(8, 8), (14, 22), (18, 6)])
@pytest.mark.parametrize(("tile", "overlap"), TILES)
def test_tiles(
    encoder_file: Path,
    streaming_encoder_file: Path,
    encode: Any,
    size: tuple[int, int],
    tile: tuple[int, int],
    overlap: tuple[int, int],
) -> None:
    frames = latents(1, 3, 5, *size)
    expected = decoded_in_tiles(encode, frames, tile, overlap, HALF)
    close(onnxc.video.Encoder(encoder_file, tile=tile, overlap=overlap).encode(frames), expected)
    streaming = onnxc.video.Encoder(
        streaming_encoder_file, entry="go_on", first="begin", caches=CACHES, chunk=2, first_chunk=1, tile=tile,
        overlap=overlap,
    )  # fmt: skip
    close(streaming.encode(frames), expected)


@pytest.mark.parametrize("frames", [1, 3, 5, 9])
@pytest.mark.parametrize(("chunk", "first"), [(2, 1), (4, 1), (2, None)])
def test_chunks(streaming_encoder_file: Path, encode: Any, frames: int, chunk: int, first: int | None) -> None:
    encoder = onnxc.video.Encoder(
        streaming_encoder_file, entry="go_on", first="begin", caches=CACHES, chunk=chunk, first_chunk=first
    )
    values = latents(1, 3, frames, 8, 6)
    if first is not None and (frames - first) % chunk != 0:
        with refused(f"frames are {frames}, a first chunk of 1 and then chunks of 4: 2 frames are left over"):
            encoder.encode(values)
    else:
        close(encoder.encode(values), encode(values))


@pytest.mark.parametrize("frames", [1, 5, 9, 13, 21])
@pytest.mark.parametrize(("tile", "overlap"), [(4, 2), (8, 2), (8, 4), (6, 0)])
def test_windows_over_time(encoder_file: Path, encode: Any, frames: int, tile: int, overlap: int) -> None:
    values = latents(1, 3, frames, 10, 12)
    encoder = onnxc.video.Encoder(encoder_file, time_tile=tile, time_overlap=overlap, tile=6, overlap=2)
    expected = decoded_in_windows(
        lambda part: decoded_in_tiles(encode, part, (6, 6), (2, 2), HALF), values, tile, overlap, HALF
    )
    close(encoder.encode(values), expected)


def test_frames_and_latents_of_other_kinds(encoder_file: Path) -> None:
    encoder = onnxc.video.Encoder(encoder_file)
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3, 8, 6, 3)).astype(np.uint8)
    frames = (pixels.transpose(0, 4, 1, 2, 3) / 127.5 - 1).astype(np.float32)
    expected = encoder.encode(frames)
    assert expected.shape == (2, 4, 2, 4, 3)
    np.testing.assert_allclose(encoder.encode(pixels), expected, atol=1e-6)
    np.testing.assert_array_equal(encoder.encode(pixels[1]), encoder.encode(pixels)[1])
    np.testing.assert_array_equal(encoder.encode(frames[0]), expected[0])
    tensor = encoder.encode(torch.from_numpy(frames))
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), expected)
    mean, std = [0.5, -1.0], [2.0, 0.25]
    scaled = onnxc.video.Encoder(encoder_file, moments=True, mean=mean, std=std).encode(frames)
    column = (1, 2, 1, 1, 1)
    close(scaled, (expected[:, :2] - np.reshape(mean, column)) / np.reshape(std, column))


def test_progress(encoder_file: Path) -> None:
    told: list[tuple[int, int]] = []
    encoder = onnxc.video.Encoder(encoder_file, tile=6, overlap=2, progress=lambda *done: told.append(done))
    encoder.encode(latents(1, 3, 3, 10, 8))
    assert told == [(i + 1, 6) for i in range(6)]


def test_bad_input(encoder_file: Path) -> None:
    def encoded(frames: Array, **options: Any) -> None:
        onnxc.video.Encoder(encoder_file, **options).encode(frames)

    with refused("frames have 2 channels, and the model's input 'frames' takes 3"):
        encoded(latents(2, 3, 8, 8))
    with refused("frames have the shape (3, 0, 8, 8): no frames"):
        encoded(latents(3, 0, 8, 8))
    with refused("frames of bytes have the shape (8, 8, 3), expected [frames, height, width, channels]"):
        encoded(np.zeros((8, 8, 3), np.uint8))
    with refused("frames have elements of type int64, expected float32, float16 or such"):
        encoded(np.zeros((3, 1, 8, 8), np.int64))
    with refused(
        "tile: the model makes 2 of 5 and 5 of 10, so that tiles of 5 do not become whole latents: give a mult"
    ):
        encoded(latents(3, 3, 8, 8), tile=5)
    with refused(
        "tile: the model makes 3x3 of 6x6, and of tiles of 6 with an overlap of 3 in 8 no whole sizes: give mul"
    ):
        encoded(latents(3, 3, 8, 8), tile=6, overlap=3)
    with refused(
        "tile: the model makes 3x3 of 6x6, and of tiles of 6 with an overlap of 2 in 9 no whole sizes: give mul"
    ):
        encoded(latents(3, 3, 9, 8), tile=6, overlap=2)
    with refused(
        "time_tile: 2 frames become one, and windows of 4 with an overlap of 1 do not fit 9: give multiples, an"
    ):
        encoded(latents(3, 9, 8, 8), time_tile=4, time_overlap=1)
    with refused("std has a 0, and latents are divided by it"):
        encoded(latents(3, 3, 8, 8), std=0)
    with refused("std has 3 numbers, and the latents 4 channels"):
        encoded(latents(3, 3, 8, 8), std=[1, 2, 3])
