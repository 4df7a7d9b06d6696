"""onnxc-run --volume: scans from files, against MONAI's and nnU-Net's own windows on arrays that nibabel reads."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
import torch
from monai.inferers import SlidingWindowInferer
from numpy.typing import NDArray

import onnxc
from tests.onnxc_commands import BINARIES, ENVIRONMENT
from tests.python.volumes.networks import predictor, save_network, volume
from tests.python.volumes.nnunet_package import nnunet_predictor, sums_in_float32
from tests.tools.volume_files import SIZE, compiled_network, execute, passes, save_scan, voxels_of

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_network(tmp_path_factory.mktemp("network"))


def monai(model: Path, x: NDArray[Any], roi: int, **arguments: Any) -> NDArray[Any]:
    y: torch.Tensor = SlidingWindowInferer(roi, **arguments)(torch.from_numpy(x)[None, None], predictor(model))
    return y[0].numpy()


def test_labels_of_a_ct(model: Path, tmp_path: Path) -> None:
    for name in ("ct.nii.gz", "ct.nii"):
        ct = save_scan(tmp_path / name, volume(SIZE) * 300, slope=0.5, intercept=-1024)
        output = tmp_path / f"seg-{name}"
        printed = passes(model, "--volume", ct, "--preset", "monai", "--window", "12x12x12", "--overlap", "0.5",
                         "--labels", "--output", output)  # fmt: skip
        # 22, 19 and 17 voxels take 3, 3 and 2 windows of 12, 6 apart
        assert f"{output}: 18 windows" in printed
        assert "million voxels/s" in printed
        scan: Any = nibabel.load(ct)
        segmentation: Any = nibabel.load(output)
        assert segmentation.get_data_dtype() == np.uint8
        np.testing.assert_array_equal(segmentation.affine, scan.affine)
        np.testing.assert_array_equal(segmentation.header.get_zooms(), scan.header.get_zooms())
        assert segmentation.header["descrip"] == scan.header["descrip"]
        assert segmentation.header.get_xyzt_units() == scan.header.get_xyzt_units()
        expected = monai(model.with_suffix(".onnx"), voxels_of(ct), 12, overlap=0.5).argmax(0)
        assert np.mean(np.asarray(segmentation.dataobj) == expected) >= 0.99999


@pytest.mark.parametrize("name", ["y.npy", "y.nii", "y.nii.gz", "y.raw"])
def test_values(model: Path, tmp_path: Path, name: str) -> None:
    x = volume(SIZE)
    np.save(tmp_path / "x.npy", x)
    passes(model, "--volume", tmp_path / "x.npy", "--window", "12", "--blend", "gaussian", "--output", tmp_path / name)
    expected = monai(model.with_suffix(".onnx"), x, 12, mode="gaussian")
    if name == "y.npy":
        y = np.load(tmp_path / name)
    elif name == "y.raw":
        y = np.fromfile(tmp_path / name, np.float32).reshape(expected.shape)
    else:
        y = np.moveaxis(voxels_of(tmp_path / name), 3, 0)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("order", ["C", "F"])
def test_raw_and_fortran_order(model: Path, tmp_path: Path, order: str) -> None:
    x = (volume(SIZE) * 50).astype(np.int16)
    x.tofile(tmp_path / "x.raw")
    np.save(tmp_path / "x.npy", np.asarray(x, order="C" if order == "C" else "F"))
    results = []
    for name, words in (("x.raw", ["--raw", "22x19x17:int16"]), ("x.npy", [])):
        output = tmp_path / f"{name}.npy"
        passes(model, "--volume", tmp_path / name, *words, "--window", "12", "--softmax", "--output", output)
        results.append(np.load(output))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0].sum(0), 1, atol=1e-5)


def z_score(x: NDArray[Any]) -> NDArray[Any]:
    return (x - x.mean()) / x.std()


INTENSITIES = [
    (["--clip", "-100,200"], lambda x: np.clip(x, -100, 200)),
    (["--clip", "-100,200", "--normalize", "range:-100,200"], lambda x: (np.clip(x, -100, 200) + 100) / 300),
    (["--normalize", "range"], lambda x: (x - x.min()) / (x.max() - x.min())),
    (["--normalize", "zscore"], lambda x: z_score(x)),
    (["--clip", "-100,200", "--normalize", "zscore"], lambda x: z_score(np.clip(x, -100, 200))),
    (["--normalize", "zscore:50,80"], lambda x: (x - 50) / 80),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "function"), INTENSITIES, ids=lambda value: "-".join(value) if isinstance(value, list) else ""
)
def test_intensities(model: Path, tmp_path: Path, words: list[str], function: Any) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 300, slope=2.0, intercept=-1024)
    passes(model, "--volume", ct, "--window", "12", *words, "--output", tmp_path / "y.npy")
    x = function(voxels_of(ct).astype(np.float64)).astype(np.float32)
    expected = monai(model.with_suffix(".onnx"), x, 12)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_preset_nnunet_has_its_axes_and_windows(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)
    passes(model, "--volume", ct, "--preset", "nnunet", "--window", "8x10x12", "--step", "0.6", "--mirror", "0,2",
           "--labels", "--output", tmp_path / "seg.nii.gz")  # fmt: skip
    theirs = nnunet_predictor([model.with_suffix(".onnx")], (8, 10, 12), (0, 2), 0.6, True)
    x = torch.from_numpy(np.ascontiguousarray(voxels_of(ct).T))[None]  # z, y, x
    with sums_in_float32():
        expected = theirs.predict_logits_from_preprocessed_data(x).argmax(0).numpy()
    labels = voxels_of(tmp_path / "seg.nii.gz").T
    assert np.mean(labels == expected) >= 0.99999


def test_a_terminal_sees_the_progress_and_the_time_left(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii", volume(SIZE) * 300)
    ours, theirs = pty.openpty()
    words = [model, "--volume", ct, "--window", "12", "--overlap", "0.5", "--output", tmp_path / "seg.nii"]
    command = [str(BINARIES / "onnxc-run"), *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False)
    os.close(theirs)
    assert done.returncode == 0
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert re.search(r"\r\x1b\[Kseg\.nii: \d+ of 18 windows, \d+%, \d+:\d\d left", shown), shown
    assert shown.endswith("\r\x1b[K")  # nothing of it stays
    assert "windows," in done.stdout


def test_windows_on_a_gpu(tmp_path: Path) -> None:
    path = save_network(tmp_path / "network.onnx", ("full",), channels=1)
    onnxc.compile(path, path.with_suffix(".so"), options=["-O1", "--target", "cpu,hip"]).close()
    ct = save_scan(tmp_path / "ct.nii.gz", volume((14, 13, 17)) * 300)
    words: list[str | Path] = [path.with_suffix(".so"), "--volume", ct, "--window", "8", "--windows-per-run", "4"]
    words += ["--labels", "--json"]
    for device in ("hip", "cpu"):
        done = execute(*words, "--device", device, "--output", tmp_path / f"{device}.nii", env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["runs"] == json.loads(done.stdout)["windows"]
    assert np.mean(voxels_of(tmp_path / "hip.nii") == voxels_of(tmp_path / "cpu.nii")) >= 0.99999


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--window", "12x"], "--window 12x: expected one to three sizes"),
        (["--window", "12x12"], "--window: 2 sizes are given, and the model takes 3 spatial axes"),
        ([], "say the window's sizes"),
        (["--window", "12", "--mirror", "3"], "--mirror 3: expected spatial axes, from 0 to 2"),
        (["--window", "12", "--clip", "5"], "--clip 5: expected two numbers"),
        (["--window", "12", "--clip", "5,4"], "LOW below HIGH"),
        (["--window", "12", "--normalize", "mean"], "--normalize mean: expected zscore"),
        (["--window", "12", "--normalize", "zscore:1,0"], "a deviation above 0"),
        (["--window", "12", "--raw", "4x4:int7"], "--raw 4x4:int7: expected DIMS:TYPE"),
        (["--window", "12", "--labels", "--softmax"], "--labels has no effect with --softmax"),
        (["--window", "12", "--overlap", "50"], "--overlap 50: expected between 0 and below 1; 50 percent is 0.5"),
        (["--window", "12", "--overlap", "1"], "--overlap 1: expected between 0 and below 1"),
        (["--window", "12", "--overlap", "-0.1"], "--overlap -0.1: expected between 0 and below 1"),
        (["--window", "12", "--overlap", "nan"], "--overlap nan: expected between 0 and below 1"),
        (
            ["--window", "12", "--preset", "nnunet", "--step", "0"],
            "--step 0: expected above 0 and at most 1; half a window is 0.5",
        ),
    ],
)
def test_wrong_words(model: Path, tmp_path: Path, words: list[str], text: str) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)
    done = execute(model, "--volume", ct, *words, "--output", tmp_path / "seg.nii.gz")
    assert done.returncode == 2
    assert text in done.stderr


@pytest.mark.parametrize(
    ("name", "ending"),
    [("seg.mha", "'.mha'"), ("seg.mhd", "'.mhd'"), ("seg.nrrd", "'.nrrd'"), ("seg.dcm", "'.dcm'"),
     ("seg.mha.gz", "'.gz'"), ("seg.NII", "'.NII'"), ("seg", "no extension")],
)  # fmt: skip
def test_results_of_other_formats_are_refused_before_the_run(
    model: Path, tmp_path: Path, name: str, ending: str
) -> None:
    done = execute(model, "--volume", tmp_path / "none.nii", "--window", "12", "--output", tmp_path / name)
    assert done.returncode == 2
    assert f"--output '{tmp_path / name}': its name ends in {ending}, and results are written as .nii" in done.stderr
    assert "give such a name, or a folder as FOLDER/" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_file_for_several_volumes_is_refused_before_the_run(model: Path, tmp_path: Path) -> None:
    scans = [tmp_path / "a.nii", tmp_path / "b.nii"]
    done = execute(model, "--volume", *scans, "--window", "12", "--output", tmp_path / "seg.mha")
    assert done.returncode == 2
    assert f"--output '{tmp_path / 'seg.mha'}': the results of 2 volumes go to a folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_overlap_is_refused_before_the_files_are_read(tmp_path: Path) -> None:
    done = execute(tmp_path / "none.so", "--volume", tmp_path / "none.nii", "--window", "12", "--overlap", "50",
                   "--output", tmp_path / "y.npy")  # fmt: skip
    assert done.returncode == 2
    assert "--overlap 50: expected between 0 and below 1" in done.stderr


def test_a_model_that_is_not_compiled(model: Path, tmp_path: Path) -> None:
    onnx = model.with_suffix(".onnx")
    done = execute(onnx, "--volume", tmp_path / "ct.nii", "--window", "12", "--output", tmp_path / "y.npy")
    assert done.returncode == 1
    assert f"compile it first, as onnxc {onnx} -o {model}" in done.stderr


@pytest.mark.slow
def test_results_too_large_to_gather_are_written_slice_by_slice(tmp_path: Path) -> None:
    path = save_network(tmp_path / "network.onnx", ("full",), channels=1, classes=14)
    onnxc.compile(path, path.with_suffix(".so"), options=["-O1"]).close()
    ct = save_scan(tmp_path / "ct.nii.gz", volume((170, 180, 190)) * 100)
    common: tuple[str | Path, ...] = (path.with_suffix(".so"), "--volume", ct, "--window", "64", "--overlap", "0.25")
    passes(*common, "--labels", "--output", tmp_path / "seg.nii.gz")
    labels = voxels_of(tmp_path / "seg.nii.gz")
    for preset in ("monai", "nnunet"):
        passes(*common, "--preset", preset, "--output", tmp_path / "values.nii")
        values = voxels_of(tmp_path / "values.nii")
        assert values.nbytes > 256 << 20
        if preset == "monai":
            assert np.mean(values.argmax(3) == labels) >= 0.99999
