"""onnxc.video.Decoder against onnxruntime on whole videos, and against diffusers' loops over tiles and windows."""

import gc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import onnxc
from onnxc.video.caches import Caches
from onnxc.video.network import Network
from tests.python.video.networks import (
    ZOOM,
    Array,
    decoded_in_tiles,
    decoded_in_windows,
    latents,
    reference,
)

CACHES = {"cache": "next"}
TOLERANCE = 1e-5

SIZES = [(5, 7), (8, 8), (13, 22), (17, 6)]
# Tile and overlap: more than half, none, one line, unequal, and larger than the video on one axis or on both.
TILES = [((6, 6), (2, 2)), ((8, 8), (0, 0)), ((5, 7), (4, 5)), ((6, 9), (1, 3)), ((4, 40), (2, 8)), ((50, 60), (9, 9))]


def streaming(file: Path, **options: Any) -> onnxc.video.Decoder:
    return onnxc.video.Decoder(file, entry="later", first="first", caches=CACHES, **options)


def close(actual: Array, expected: Array) -> None:
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


@pytest.fixture(scope="module")
def decode(causal_file: Path) -> Any:
    return reference(causal_file.with_name("causal.onnx"))


# ------------------------------------------------------------------------------------------------------- tiles and time


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("tile", "overlap"), TILES)
def test_tiles_are_blended_as_diffusers_does(
    causal_file: Path, decode: Any, size: tuple[int, int], tile: tuple[int, int], overlap: tuple[int, int]
) -> None:
    values = latents(1, 2, 3, *size)
    expected = decoded_in_tiles(decode, values, tile, overlap)
    close(onnxc.video.Decoder(causal_file, tile=tile, overlap=overlap).decode(values), expected)


@pytest.mark.parametrize(("tile", "overlap"), TILES)
def test_tiles_with_caches_give_the_same_in_both_orders(
    decoder_file: Path, decode: Any, tile: tuple[int, int], overlap: tuple[int, int]
) -> None:
    values = latents(1, 2, 4, 13, 22)
    decoder = streaming(decoder_file, tile=tile, overlap=overlap)
    by_tiles = decoder.decode(values)
    close(by_tiles, decoded_in_tiles(decode, values, tile, overlap))
    np.testing.assert_array_equal(np.concatenate(list(decoder.chunks(values)), axis=1), by_tiles[0])


def test_numbers_are_those_of_each_axis_and_the_usual_overlap_is_a_quarter(causal_file: Path) -> None:
    values = latents(1, 2, 2, 13, 22)
    expected = onnxc.video.Decoder(causal_file, tile=(9, 9), overlap=(2, 2)).decode(values)
    np.testing.assert_array_equal(onnxc.video.Decoder(causal_file, tile=9).decode(values), expected)


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("options", [{}, {"chunk": 2}, {"chunk": 3}, {"chunk": 2, "first_chunk": 1}, {"chunk": 50}])
def test_chunks_are_the_whole_video(decoder_file: Path, decode: Any, frames: int, options: dict[str, int]) -> None:
    values = latents(1, 2, frames, 5, 7)
    decoder = streaming(decoder_file, **options)
    close(decoder.decode(values), decode(values))
    chunks = list(decoder.chunks(values))
    close(np.concatenate(chunks, axis=1), decode(values)[0])
    chunk, first = options.get("chunk", 1), options.get("first_chunk")
    first = min(frames, chunk + frames % chunk) if first is None else first
    lengths = [first, *(min(chunk, frames - start) for start in range(first, frames, chunk))]
    assert [each.shape[1] for each in chunks] == [ZOOM * length - (i == 0) for i, length in enumerate(lengths)]


def test_caches_begin_as_zeros_without_a_graph_for_the_first_chunk(decoder_file: Path, decode: Any) -> None:
    values = latents(1, 2, 4, 6, 7)
    frames = onnxc.video.Decoder(decoder_file, entry="later", caches=CACHES).decode(values)
    assert frames.shape[2] == 8  # the first frame too is there twice
    close(frames[:, :, 1:], decode(values))


@pytest.mark.parametrize("frames", [1, 3, 4, 5, 6, 7, 11])
@pytest.mark.parametrize(("tile", "overlap"), [(4, 1), (4, 3), (3, 0), (2, 1)])
def test_windows_over_time_are_blended_as_diffusers_does(
    causal_file: Path, decode: Any, frames: int, tile: int, overlap: int
) -> None:
    values = latents(1, 2, frames, 6, 11)
    decoder = onnxc.video.Decoder(causal_file, time_tile=tile, time_overlap=overlap)
    close(decoder.decode(values), decoded_in_windows(decode, values, tile, overlap))
    # With tiles of the planes: each window's are blended first.
    decoder = onnxc.video.Decoder(causal_file, time_tile=tile, time_overlap=overlap, tile=5, overlap=2)
    expected = decoded_in_windows(
        lambda window: decoded_in_tiles(decode, window, (5, 5), (2, 2)), values, tile, overlap
    )
    close(decoder.decode(values), expected)
    close(np.concatenate(list(decoder.chunks(values)), axis=1), expected[0])


def test_chunks_of_independent_frames_need_no_caches(still_file: Path) -> None:
    values = latents(1, 2, 7, 6, 5)
    whole = onnxc.video.Decoder(still_file).decode(values)
    decoder = onnxc.video.Decoder(still_file, chunk=3)
    np.testing.assert_array_equal(decoder.decode(values), whole)
    assert [chunk.shape[1] for chunk in decoder.chunks(values)] == [3, 3, 1]


def test_only_one_tile_has_caches_unless_frames_are_handed_out(
    decoder_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0
    run = Network.run

    def counted_run(network: Network, values: Array, caches: Caches) -> Array:
        nonlocal most
        held = [each for each in gc.get_objects() if isinstance(each, Caches) and not each.is_new]
        most = max(most, len(held))
        return run(network, values, caches)

    monkeypatch.setattr(Network, "run", counted_run)
    decoder = streaming(decoder_file, tile=6, overlap=2)
    decoder.decode(latents(1, 2, 3, 9, 9))
    assert most == 1
    list(decoder.chunks(latents(1, 2, 3, 9, 9)))
    assert most == 9


# --------------------------------------------------------------------------------------------------- latents and frames


def test_latents_of_other_kinds(causal_file: Path) -> None:
    decoder = onnxc.video.Decoder(causal_file)
    half = latents(1, 2, 2, 5, 6).astype(np.float16)
    expected = decoder.decode(half.astype(np.float32))
    assert expected.shape == (1, 3, 3, 10, 12)
    np.testing.assert_array_equal(decoder.decode(half), expected)
    np.testing.assert_array_equal(decoder.decode(half.astype(np.float64)), expected)
    np.testing.assert_array_equal(decoder.decode(half[0]), expected[0])
    np.testing.assert_array_equal(decoder.decode(half.transpose(0, 1, 2, 4, 3)), decoder.decode(half.swapaxes(3, 4)))
    wide = half.astype(ml_dtypes.bfloat16)
    from_wide = decoder.decode(wide.astype(np.float32))
    np.testing.assert_array_equal(decoder.decode(wide), from_wide)
    tensor = torch.from_numpy(wide.astype(np.float32)).bfloat16().requires_grad_()
    frames = decoder.decode(tensor)
    assert isinstance(frames, torch.Tensor)
    assert frames.dtype == torch.float32
    np.testing.assert_array_equal(frames.numpy(), from_wide)


def test_videos_of_a_batch_follow_one_another(decoder_file: Path) -> None:
    values = latents(3, 2, 3, 9, 8)
    decoder = streaming(decoder_file, tile=6)
    frames = decoder.decode(values)
    for index in range(3):
        np.testing.assert_array_equal(frames[index], decoder.decode(values[index]))


def test_mean_and_deviation_of_the_latents(causal_file: Path) -> None:
    values = latents(1, 2, 2, 5, 6)
    mean, std = [0.25, -1.5], [2.0, 0.5]
    scaled = values * np.array(std, np.float32).reshape(2, 1, 1, 1) + np.array(mean, np.float32).reshape(2, 1, 1, 1)
    expected = onnxc.video.Decoder(causal_file).decode(scaled)
    np.testing.assert_array_equal(onnxc.video.Decoder(causal_file, mean=mean, std=std).decode(values), expected)
    np.testing.assert_array_equal(
        onnxc.video.Decoder(causal_file, std=2).decode(values), onnxc.video.Decoder(causal_file).decode(values * 2)
    )


def test_frames_as_bytes_and_clamped(causal_file: Path) -> None:
    values = latents(2, 2, 3, 9, 8) * 2
    decoder = onnxc.video.Decoder(causal_file, tile=6)
    frames = decoder.decode(values)
    assert np.abs(frames).max() > 1
    expected = np.clip(np.round((np.clip(frames, -1, 1) / 2 + 0.5) * 255), 0, 255).transpose(0, 2, 3, 4, 1)
    bytes_of = decoder.decode(values, "uint8")
    assert bytes_of.dtype == np.uint8
    assert bytes_of.shape == (2, 5, 18, 16, 3)
    assert np.abs(bytes_of - expected).max() <= 1  # halves may be rounded the other way
    assert np.mean(bytes_of != expected) < 1e-3
    np.testing.assert_array_equal(next(decoder.chunks(values[0], "uint8")), bytes_of[0])
    clamped = onnxc.video.Decoder(causal_file, tile=6, clamp=(-0.5, 0.75)).decode(values)
    np.testing.assert_array_equal(clamped, np.clip(frames, -0.5, 0.75))


def test_progress_tells_runs(decoder_file: Path) -> None:
    told: list[tuple[int, int]] = []
    decoder = streaming(decoder_file, tile=6, overlap=2, progress=lambda *done: told.append(done))
    decoder.decode(latents(1, 2, 3, 9, 5))
    assert told == [(i + 1, 18) for i in range(18)]


def test_a_session_is_taken_as_it_is(decoder_file: Path) -> None:
    values = latents(1, 2, 3, 5, 6)
    expected = streaming(decoder_file).decode(values)
    with (
        onnxc.InferenceSession(decoder_file, entry="later") as later,
        onnxc.InferenceSession(decoder_file, entry="first") as first,
    ):
        for given in ("first", first):
            decoder = onnxc.video.Decoder(later, first=given, caches=CACHES)
            np.testing.assert_array_equal(decoder.decode(values), expected)
