"""onnxc-run --volume --preset diffusers against diffusers' loops around onnxruntime, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.python.video import networks
from tests.python.video.networks import Array, decoded_in_tiles, decoded_in_windows, latents, reference
from tests.tools.volume_files import execute, passes

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return networks.compiled(tmp_path_factory.mktemp("causal"), "causal", networks.CAUSAL)


@pytest.fixture(scope="module")
def decode(model: Path) -> Callable[[Array], Array]:
    return reference(model.with_name("causal.onnx"))


def run(model: Path, folder: Path, values: Array, *words: str) -> Array:
    np.save(folder / "latents.npy", values)
    output = folder / "frames.npy"
    passes(model, "--volume", folder / "latents.npy", "--preset", "diffusers", *words, "--output", output)
    frames: Array = np.load(output)
    assert frames.dtype == np.float32
    return frames


def close(actual: Array, expected: Array) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("size", [(5, 7), (8, 8), (13, 22), (17, 6)])
@pytest.mark.parametrize(
    ("window", "fraction", "overlap"),
    [
        ((6, 6), 0.25, (1, 1)),
        ((8, 8), 0.0, (0, 0)),
        ((5, 7), 0.8, (4, 5)),
        ((4, 40), 0.5, (2, 20)),
        ((50, 60), 0.25, (12, 15)),
    ],
)
def test_tiles_are_blended_as_diffusers_does(
    model: Path,
    decode: Callable[[Array], Array],
    tmp_path: Path,
    size: tuple[int, int],
    window: tuple[int, int],
    fraction: float,
    overlap: tuple[int, int],
) -> None:
    values = latents(2, 3, *size)
    frames = run(model, tmp_path, values, "--window", f"0x{window[0]}x{window[1]}", "--overlap", str(fraction))
    close(frames, decoded_in_tiles(decode, values[None], window, overlap)[0])


@pytest.mark.parametrize("frames", [1, 4, 5, 7, 11])
@pytest.mark.parametrize(("window", "fraction", "overlap"), [(4, 0.25, 1), (4, 0.75, 3), (3, 0, 0)])
def test_windows_over_time_are_blended_as_diffusers_does(
    model: Path,
    decode: Callable[[Array], Array],
    tmp_path: Path,
    frames: int,
    window: int,
    fraction: float,
    overlap: int,
) -> None:
    values = latents(2, frames, 6, 11)
    # Whole planes, and tiles of them.
    made = run(model, tmp_path, values, "--window", f"{window}x0x0", "--overlap", str(fraction))
    close(made, decoded_in_windows(decode, values[None], window, overlap)[0])
    made = run(model, tmp_path, values, "--window", f"{window}x6x8", "--overlap", str(fraction))
    in_plane = int(6 * fraction), int(8 * fraction)
    expected = decoded_in_windows(
        lambda part: decoded_in_tiles(decode, part, (6, 8), in_plane), values[None], window, overlap
    )
    close(made, expected[0])


def test_arrays_of_other_kinds_and_folders_of_results(model: Path, tmp_path: Path) -> None:
    values = latents(2, 3, 9, 8)
    expected = run(model, tmp_path, values, "--window", "0x6x6")
    np.testing.assert_array_equal(run(model, tmp_path, values.astype(np.float64), "--window", "0x6x6"), expected)
    np.testing.assert_array_equal(run(model, tmp_path, values[None], "--window", "0x6x6"), expected)
    fortran = np.asfortranarray(values)
    np.testing.assert_array_equal(run(model, tmp_path, fortran, "--window", "0x6x6"), expected)
    words: list[str | Path] = [
        model,
        "--volume",
        tmp_path / "latents.npy",
        "--preset",
        "diffusers",
        "--window",
        "0x6x6",
        "--json",
    ]
    told = json.loads(passes(*words, "--output", f"{tmp_path / 'out'}/"))
    assert (told["windows"], told["runs"]) == (4, 4)
    assert told["dims"] == [3, 9, 8]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "latents.npy"), expected)
    assert execute(*words, "--output", f"{tmp_path / 'out'}/").stdout == ""  # it is there already


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--window", "32x32"], 2, "--window: 2 sizes are given, and --preset diffusers takes three: latent frames, "),
        (["--window", "0x6x6", "--blend", "gaussian"], 2, "--blend"),
        (["--window", "0x6x6", "--labels"], 2, "--labels"),
        (["--window", "0x6x6", "--step", "0.5"], 2, "--step"),
        (["--window", "0x6x6", "--overlap", "1"], 2, "--overlap 1: expected between 0 and below 1"),
    ],
)
def test_options(model: Path, tmp_path: Path, words: list[str], code: int, text: str) -> None:
    np.save(tmp_path / "latents.npy", latents(2, 3, 9, 8))
    given: list[str | Path] = [model, "--volume", tmp_path / "latents.npy", "--preset", "diffusers", *words]
    done = execute(*given, "--output", tmp_path / "frames.npy")
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert not (tmp_path / "frames.npy").exists()


@pytest.mark.parametrize(
    ("values", "output", "text"),
    [
        (latents(3, 3, 9, 8), "y.npy", "3"),  # of other channels: the runtime names the input and the dim
        (latents(2, 0, 9, 8), "y.npy", "has no voxels: its dims are 2x0x9x8"),
        (latents(9, 8), "y.npy", "has 2 axes (9x8), and the model takes 3 spatial ones, with or without channels"),
        (
            latents(2, 2, 3, 9, 8),
            "y.npy",
            "has 5 axes (2x2x3x9x8), and the model takes 3 spatial ones, with or without",
        ),
        (latents(2, 3, 9, 8).astype(np.float16), "y.npy", "has elements of float16"),
        (np.ones((2, 3, 9, 8), np.int16), "y.npy", "latents are float32 or float64, and these have elements of int16"),
        (latents(2, 3, 9, 8), "y.nii", "y.nii': --preset diffusers writes .npy"),
    ],
)
def test_latents(model: Path, tmp_path: Path, values: Array, output: str, text: str) -> None:
    np.save(tmp_path / "latents.npy", values)
    words: list[str | Path] = [
        model,
        "--volume",
        tmp_path / "latents.npy",
        "--preset",
        "diffusers",
        "--window",
        "0x6x6",
    ]
    done = execute(*words, "--output", tmp_path / output)
    assert done.returncode == 1, done.stderr
    assert text in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["latents.npy"]


def test_windows_over_time_are_for_causal_models(tmp_path: Path) -> None:
    text = networks.STILL.replace("(frames) {", "(frames) <float[5] scales = {1, 1, 2, 1, 1}> {")
    text = text.replace("frames = Conv", "once = Conv").replace("w2) }", "w2) frames = Resize(once, , scales) }")
    file = networks.compiled(tmp_path, "twice", text)
    np.save(tmp_path / "latents.npy", latents(2, 6, 4, 4))
    words: list[str | Path] = [file, "--volume", tmp_path / "latents.npy", "--preset", "diffusers", "--window", "3x0x0"]
    done = execute(*words, "--output", tmp_path / "frames.npy")
    assert done.returncode == 1
    assert (
        "--window: 4 latent frames gave 8 frames, and windows over time are for causal decoders, which make r*(t-1) + "
        "1 of t; take 0 for all frames at once"
    ) in done.stderr


@pytest.mark.parametrize("window", ["0x0x0", "0x6x6"])
def test_a_model_with_states_is_refused(tmp_path: Path, window: str) -> None:
    file = networks.compiled(tmp_path, "later", networks.LATER, options=["--state", "cache=next"])
    np.save(tmp_path / "latents.npy", latents(2, 3, 9, 8))
    words: list[str | Path] = [file, "--volume", tmp_path / "latents.npy", "--preset", "diffusers", "--window", window]
    done = execute(*words, "--output", tmp_path / "frames.npy")
    assert done.returncode == 1
    assert (
        f"'{file}' has states, which --preset diffusers does not keep for each tile; decode with onnxc.video.Decoder "
        "of Python"
    ) in done.stderr
    assert not (tmp_path / "frames.npy").exists()
