"""Bad input that onnxc.video.Decoder refuses, and its words."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxc
from tests.python.video import networks
from tests.python.video.networks import latents

CACHES = {"cache": "next"}


def refused(text: str) -> Any:
    return pytest.raises(onnxc.ArgumentError, match="^" + re.escape(text))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tile": 0}, "tile is 0, expected 1 or more, a number or one for height and one for width"),
        ({"tile": (4, 4, 4)}, "tile is (4, 4, 4), expected 1 or more, a number or one for height and one for width"),
        ({"tile": 4.5}, "tile is 4.5, expected 1 or more"),
        ({"tile": 4, "overlap": 4}, "overlap is 4, and tiles of 4 must overlap by less than their size"),
        ({"tile": (4, 9), "overlap": (1, 9)}, "overlap is 9, and tiles of 9 must overlap by less than their size"),
        ({"tile": 4, "overlap": -1}, "overlap is -1, expected 0 or more"),
        ({"overlap": 4}, "overlap is 4, and there are no tiles: give tile=, or leave it out"),
        ({"time_tile": 2, "time_overlap": 2}, "time_overlap is 2, and tiles of 2 must overlap by less than their size"),
        ({"time_overlap": 1}, "time_overlap is 1, and there are no windows: give time_tile=, or leave it out"),
        ({"time_tile": 2, "chunk": 1}, "time_tile: windows over time are for models without caches and chunks"),
        ({"first_chunk": 1}, "first_chunk is 1, and there are no chunks: give caches= or chunk="),
        ({"chunk": 0}, "chunk is 0, expected 1 frame or more, or None"),
        ({"caches": ["next"]}, "caches is ['next'], expected a mapping from names to names of outputs"),
        ({"caches": {"cache": 1}}, "caches['cache'] is 1, expected the name of an output"),
        ({"caches": {"nope": "frames"}}, "caches has ['nope'], and the model's inputs are ['latents']"),
        ({"caches": {"latents": "nope"}}, "caches has ['nope'], and the model's outputs are ['frames']"),
        ({"fixed": {"nope": 1}}, "fixed has ['nope'], and the model's inputs are ['latents']"),
        (
            {"fixed": {"latents": latents(1, 2, 1, 3, 3)}},
            "one of the inputs of the entry 'model' is the video, and these",
        ),
        ({"first": "first"}, "first: a graph for the first chunk needs caches for the later ones, and there are none"),
        ({"mean": "x"}, "mean is 'x', expected a number, or one for each channel"),
        ({"std": [1, float("nan")]}, "std is nan, expected a number, or one for each channel"),
        ({"clamp": (1, -1)}, "clamp is (1, -1), expected two numbers, the smaller first, or None"),
        ({"progress": 1}, "progress is 1, expected a function, or True for tqdm's bar"),
    ],
)
def test_arguments(causal_file: Path, options: dict[str, Any], text: str) -> None:
    with refused(text):
        onnxc.video.Decoder(causal_file, **options)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (latents(2, 0, 4, 4), "latents have the shape (2, 0, 4, 4): no frames"),
        (latents(1, 2, 3, 0, 4), "latents have the shape (1, 2, 3, 0, 4): no rows"),
        (latents(0, 2, 3, 4, 4), "latents have the shape (0, 2, 3, 4, 4): no videos"),
        (latents(3, 2, 4, 4), "latents have 3 channels, and the model's input 'latents' takes 2"),
        (latents(3, 4, 4), "latents have the shape (3, 4, 4), expected [channels, frames, height, width], with or"),
        (latents(2, 3, 4, 4) > 0, "latents have elements of type bool, expected float32, float16 or such"),
        (np.array(["a"]), "latents: elements of type <U1 are not converted to float32"),
    ],
)
def test_latents(causal_file: Path, values: Any, text: str) -> None:
    decoder = onnxc.video.Decoder(causal_file, tile=3)
    with refused(text):
        decoder.decode(values)
    with refused(text):
        decoder.chunks(values)


def test_numbers_for_other_channels_and_other_frames(causal_file: Path) -> None:
    with refused("mean has 3 numbers, and the latents 2 channels"):
        onnxc.video.Decoder(causal_file, mean=[1, 2, 3]).decode(latents(2, 3, 4, 4))
    with refused("frames is 'int8', expected 'float32' or 'uint8'"):
        onnxc.video.Decoder(causal_file).decode(latents(2, 3, 4, 4), "int8")
    with refused("latents have 2 videos: give one, as latents[i]"):
        onnxc.video.Decoder(causal_file).chunks(latents(2, 2, 3, 4, 4))


def test_a_causal_model_without_caches_takes_no_chunks(causal_file: Path, still_file: Path) -> None:
    with refused(
        "chunk: the model makes 1 frame of 1 and 3 of 2, so that it is causal and its chunks need caches=; with"
    ):
        onnxc.video.Decoder(causal_file, chunk=1)
    with refused("chunk: the model makes 3 frames of 2 and 7 of 4, so that it is causal"):
        onnxc.video.Decoder(causal_file, chunk=2)


def test_windows_over_time_are_for_causal_models(commands: None, tmp_path: Path) -> None:
    text = networks.STILL.replace("(frames) {", "(frames) <float[5] scales = {1, 1, 2, 1, 1}> {").replace(
        "frames = Conv", "once = Conv"
    )
    text = text.replace("w2) }", "w2) frames = Resize(once, , scales) }")
    file = networks.compiled(tmp_path, "twice", text)
    assert onnxc.video.Decoder(file, chunk=2).decode(latents(2, 5, 4, 4)).shape == (3, 10, 4, 4)
    text = (
        "time_tile: the model makes 8 frames of 4, and windows over time are for causal models, which make r*(t-1) + 1 "
        "frames of t or the reverse; for others give chunk="
    )
    with pytest.raises(onnxc.OnnxcError, match="^" + re.escape(text)):
        onnxc.video.Decoder(file, time_tile=3, time_overlap=1).decode(latents(2, 6, 4, 4))


def test_entries(decoder_file: Path) -> None:
    with pytest.raises(onnxc.OnnxcError, match="nope"):
        onnxc.video.Decoder(decoder_file, entry="nope")
    with pytest.raises(onnxc.OnnxcError, match="nope"):
        onnxc.video.Decoder(decoder_file, entry="later", first="nope", caches=CACHES)
    session = onnxc.InferenceSession(decoder_file, entry="later")
    with refused("the model has the entries ['first', 'later'], and not 'nope'"):
        onnxc.video.Decoder(session, first="nope", caches=CACHES)
    with refused("first is 1, expected the name of an entry, or a session"):
        onnxc.video.Decoder(decoder_file, entry="later", first=1, caches=CACHES)  # type: ignore[arg-type]
    with refused(
        "one of the outputs of the entry 'first' is the video, and these are not in caches: ['frames', 'next']"
    ):
        onnxc.video.Decoder(decoder_file)


def test_a_first_chunk_longer_than_the_video(decoder_file: Path) -> None:
    decoder = onnxc.video.Decoder(decoder_file, entry="later", first="first", caches=CACHES, first_chunk=3)
    with refused("latents have 2 frames, and the first chunk takes 3: give a longer video, or a smaller first_chunk"):
        decoder.decode(latents(2, 2, 4, 4))


def test_a_cache_of_the_wrong_shape(commands: None, tmp_path: Path) -> None:
    # A first chunk of one frame, whose cache is that frame, without the zeros before it.
    short = networks.FIRST.replace("next = Slice(all,", "next = Slice(latents,")
    file = networks.compiled(tmp_path, "short", short, networks.LATER)
    decoder = onnxc.video.Decoder(file, entry="later", first="first", caches=CACHES)
    text = (
        "caches: the run before gave 'next' with the dims 1x2x1x4x5, and the input 'cache' takes 1x2x2xHxW: "
        "with T = 1, H = 4, W = 5"
    )
    with pytest.raises(onnxc.OnnxcError, match="^" + re.escape(text)):
        decoder.decode(latents(2, 3, 4, 5))


def test_a_cache_of_other_elements_or_axes(commands: None, tmp_path: Path) -> None:
    text = networks.LATER.replace("(frames, next)", "(frames, flat)").replace(
        "next = Slice(all, last, end, axis)", "flat = Flatten(all)"
    )
    file = networks.compiled(tmp_path, "flat", text)
    with refused("caches: the output 'flat' is tensor(float) 1x"):
        onnxc.video.Decoder(file, caches={"cache": "flat"})


def test_zeros_of_an_unknown_size(commands: None, tmp_path: Path) -> None:
    text = networks.LATER.replace("float[1, 2, 2, H, W] cache", "float[1, 2, P, H, W] cache")
    file = networks.compiled(tmp_path, "free", text)
    decoder = onnxc.video.Decoder(file, caches=CACHES)
    text = (
        "caches: the size 'P' of 'cache' does not follow from the latents, so that its zeros at first are of no known"
    )
    with pytest.raises(onnxc.OnnxcError, match="^" + re.escape(text)):
        decoder.decode(latents(2, 3, 4, 5))


def test_a_model_of_one_size(commands: None, tmp_path: Path) -> None:
    text = networks.CAUSAL.replace("[1, 2, T, H, W]", "[1, 2, 3, 4, 5]")
    file = networks.compiled(tmp_path, "static", text)
    values = latents(2, 3, 8, 9)
    assert onnxc.video.Decoder(file, tile=(4, 5), overlap=0).decode(values[:, :, :8, :5]).shape == (3, 5, 16, 10)
    with refused(
        "the entry 'model' takes 'latents' of the dims 1x2x3x4x5, and a chunk of a tile has 1x2x3x4x4: export it with "
        "dynamic frames, height and width, or choose chunk and tile so that all are alike"
    ):
        onnxc.video.Decoder(file, tile=(4, 5), overlap=0).decode(values)


def test_a_model_without_frames(commands: None, tmp_path: Path) -> None:
    text = networks.HEAD + "flat (float[1, 2, H, W] x) => (y) { y = Relu(x) }"
    file = networks.compiled(tmp_path, "flat", text)
    with refused("'x' of the entry 'model' has 4 axes, expected [1, channels, frames, height, width]"):
        onnxc.video.Decoder(file)
