"""onnxc.video of models that hold their caches themselves, as states."""

import contextlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxc
from tests.onnxc_commands import SIMULATOR
from tests.python.video import networks
from tests.python.video.networks import latents

pytestmark = pytest.mark.usefixtures("commands")

STATE = ["--state", "cache=next"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("states")
    return networks.compiled(folder, "states", networks.FIRST, networks.LATER, options=STATE)


@pytest.mark.parametrize("options", [{}, {"chunk": 2}, {"tile": 6, "overlap": 2}, {"tile": (5, 40), "chunk": 3}])
def test_frames_are_those_of_caches_outside(decoder_file: Path, file: Path, options: dict[str, Any]) -> None:
    decoder = onnxc.video.Decoder(file, entry="later", first="first", **options)
    outside = onnxc.video.Decoder(decoder_file, entry="later", first="first", caches={"cache": "next"}, **options)
    for frames in (5, 4):  # the second video finds nothing of the first
        values = latents(2, 2, frames, 9, 13)
        np.testing.assert_array_equal(decoder.decode(values), outside.decode(values))


def test_states_begin_as_zeros_with_each_tile_and_video(decoder_file: Path, file: Path) -> None:
    values = latents(2, 2, 3, 9, 13)
    for tile in (None, 6):
        decoder = onnxc.video.Decoder(file, entry="later", tile=tile)
        outside = onnxc.video.Decoder(decoder_file, entry="later", caches={"cache": "next"}, tile=tile)
        for _ in range(2):
            np.testing.assert_array_equal(decoder.decode(values), outside.decode(values))


def test_chunks_are_of_whole_frames(file: Path) -> None:
    values = latents(2, 3, 9, 13)
    whole = onnxc.video.Decoder(file, entry="later", first="first")
    np.testing.assert_array_equal(np.concatenate(list(whole.chunks(values)), axis=1), whole.decode(values))
    tiled = onnxc.video.Decoder(file, entry="later", first="first", tile=6)
    with pytest.raises(
        onnxc.ArgumentError, match=r"^the model holds the caches of one tile \(--state\), and chunks of "
    ):
        list(tiled.chunks(values))


def test_sessions_share_states(file: Path) -> None:
    values = latents(2, 3, 5, 6)
    expected = onnxc.video.Decoder(file, entry="later", first="first").decode(values)
    later = onnxc.InferenceSession(file, entry="later")
    first = onnxc.InferenceSession(file, entry="first", states_of=later)
    for given in ("first", first):
        np.testing.assert_array_equal(onnxc.video.Decoder(later, first=given).decode(values), expected)


def test_states_of_a_session_by_itself_are_refused(file: Path) -> None:
    later, first = (onnxc.InferenceSession(file, entry=entry) for entry in ("later", "first"))
    with pytest.raises(
        onnxc.ArgumentError, match=r"^first: the session of 'first' has states of its own, and that of "
    ):
        onnxc.video.Decoder(later, first=first)


def test_a_video_that_another_interrupted_is_refused(file: Path) -> None:
    one, other = latents(2, 4, 5, 6), 1 - latents(2, 4, 5, 6)
    session = onnxc.InferenceSession(file, entry="later")
    decoders = [onnxc.video.Decoder(session), onnxc.video.Decoder(session, first="first")]
    for decoder in decoders:
        expected = decoder.decode(other)
        interrupted = decoders[0].chunks(one)
        next(interrupted)
        np.testing.assert_array_equal(decoder.decode(other), expected)
        with pytest.raises(onnxc.OnnxcError, match=r"^another video has begun, and the model holds the caches of one "):
            next(interrupted)
        np.testing.assert_array_equal(decoder.decode(other), expected)


def test_threads_get_right_frames_or_an_error(file: Path) -> None:
    decoder = onnxc.video.Decoder(file, entry="later", tile=3)
    videos = [latents(2, 3, 9, 9), 1 - latents(2, 3, 9, 9)]
    expected = [decoder.decode(video) for video in videos]
    done: list[int] = []

    def decode(index: int) -> None:
        for _ in range(10):
            with contextlib.suppress(onnxc.OnnxcError):
                np.testing.assert_array_equal(decoder.decode(videos[index]), expected[index])
        done.append(index)

    threads = [threading.Thread(target=decode, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1]


def test_on_a_gpu(decoder_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    options = [*STATE, "--target", "gpu"]
    file = networks.compiled(tmp_path, "states", networks.FIRST, networks.LATER, options=options)
    values = latents(2, 3, 6, 7)
    frames = onnxc.video.Decoder(file, entry="later", first="first", tile=5, device="gpu").decode(values)
    outside = onnxc.video.Decoder(decoder_file, entry="later", first="first", caches={"cache": "next"}, tile=5)
    expected = outside.decode(values)
    np.testing.assert_allclose(frames, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_an_encoder(streaming_encoder_file: Path, tmp_path: Path) -> None:
    file = networks.compiled(tmp_path, "states", networks.ENCODER_FIRST, networks.ENCODER_LATER, options=STATE)
    options: dict[str, Any] = {
        "entry": "go_on",
        "first": "begin",
        "chunk": 2,
        "first_chunk": 1,
        "tile": 6,
        "overlap": 2,
    }
    frames = latents(3, 5, 10, 14)
    expected = onnxc.video.Encoder(streaming_encoder_file, caches={"cache": "next"}, **options).encode(frames)
    np.testing.assert_array_equal(onnxc.video.Encoder(file, **options).encode(frames), expected)
