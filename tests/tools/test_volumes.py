"""onnxc-run --volume: scans from files, against MONAI's and nnU-Net's own windows on arrays that nibabel reads."""

import gzip
import json
import re
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
import torch
from monai.inferers import SlidingWindowInferer
from numpy.typing import NDArray

import onnxc
from tests.onnxc_commands import BINARIES
from tests.python.volumes.networks import predictor, save_network, volume
from tests.python.volumes.nnunet_package import nnunet_predictor, sums_in_float32

pytestmark = pytest.mark.usefixtures("commands")

AFFINE = np.array([[-0.7, 0, 0.1, 90], [0, 0.7, 0, -126], [0.05, 0, 2.5, -72], [0, 0, 0, 1]])
SIZE = (22, 19, 17)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled network of one channel and 4 classes; its ONNX file is beside it."""
    path = save_network(tmp_path_factory.mktemp("network") / "network.onnx", ("full",), channels=1)
    onnxc.compile(path, path.with_suffix(".so"), options=["-O1"]).close()
    return path.with_suffix(".so")


def execute(*words: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [str(BINARIES / "onnxc-run"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def passes(*words: str | Path) -> str:
    done = execute(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def save_scan(path: Path, scan: NDArray[Any], slope: float = 1.0, intercept: float = 0.0) -> Path:
    """As scanners do: int16 that a slope and an offset turn into Hounsfield units."""
    image: Any = nibabel.Nifti1Image(np.rint((scan - intercept) / slope).astype(np.int16), AFFINE)
    image.header.set_slope_inter(slope, intercept)
    image.header.set_xyzt_units("mm")
    image.header["descrip"] = b"phantom"
    nibabel.save(image, path)
    return path


def monai(model: Path, x: NDArray[Any], roi: int, **arguments: Any) -> NDArray[Any]:
    y: torch.Tensor = SlidingWindowInferer(roi, **arguments)(torch.from_numpy(x)[None, None], predictor(model))
    return y[0].numpy()


def voxels_of(path: Path) -> NDArray[np.float32]:
    image: Any = nibabel.load(path)
    return np.asarray(image.get_fdata(), np.float32)


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


def test_several_files_go_on_where_they_stopped(model: Path, tmp_path: Path) -> None:
    files = [save_scan(tmp_path / f"case{i}.nii.gz", volume(SIZE, i) * 100) for i in range(4)]
    whole = files[1].read_bytes()
    files[1].write_bytes(whole[: len(whole) * 2 // 3])
    words: tuple[str | Path, ...] = (
        model,
        "--volume",
        *files,
        "--window",
        "12",
        "--labels",
        "--json",
        "--output",
        tmp_path / "out",
    )
    done = execute(*words)
    assert done.returncode == 1
    assert "case1.nii.gz' is truncated or damaged" in done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [Path(line["volume"]).name for line in lines] == ["case0.nii.gz", "case2.nii.gz", "case3.nii.gz"]
    assert all(line["dims"] == list(SIZE) and 0 < line["network_share"] < 1 for line in lines)
    results = sorted((tmp_path / "out").iterdir())
    assert [result.name for result in results] == ["case0.nii.gz", "case2.nii.gz", "case3.nii.gz"]
    times = [result.stat().st_mtime_ns for result in results]

    files[1].write_bytes(whole)
    assert [Path(json.loads(line)["volume"]).name for line in passes(*words).splitlines()] == ["case1.nii.gz"]
    assert [result.stat().st_mtime_ns for result in results] == times
    assert len(passes(*words, "--overwrite").splitlines()) == 4


def lying_header(path: Path) -> None:
    header = bytearray(gzip.decompress(path.read_bytes()))
    header[42:44] = (30000).to_bytes(2, "little")  # dim[1]
    header[44:46] = (30000).to_bytes(2, "little")
    path.write_bytes(gzip.compress(bytes(header)))


def broken_sum(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))


def save_as(array: NDArray[Any]) -> Any:
    return lambda path: nibabel.save(nibabel.Nifti1Image(array, AFFINE), path)


BAD_SCANS: list[tuple[str, Any, str]] = [
    ("lying", lying_header, "the header says that .* bytes of voxels begin at byte 352, and the file has"),
    ("broken sum", broken_sum, "damaged"),
    ("rank 2", save_as(np.zeros((9, 9), np.int16)), r"has 2 axes \(9x9\), and the model takes 3 spatial ones"),
    (
        "rank 5",
        save_as(np.zeros((9, 9, 9, 2, 2), np.int16)),
        r"has 5 axes \(9x9x9x2x2\), and the model takes 3 spatial",
    ),
    ("channels", save_as(np.zeros((9, 9, 9, 2), np.int16)), "dim 1 .*1.*; the inputs are 'x' 1x2x"),
    ("complex", save_as(np.zeros((9, 9, 9), np.complex64)), r"elements of NIfTI type 32 \(COMPLEX64\)"),
    ("text", lambda path: path.write_text("a scan"), "is not a NIfTI image, or its header is damaged"),
    ("empty", lambda path: path.write_bytes(b""), "is not a NIfTI image, or its header is damaged"),
    ("none", lambda path: path.unlink(), "cannot read .*: No such file or directory"),
]


@pytest.mark.parametrize(("change", "text"), [case[1:] for case in BAD_SCANS], ids=[case[0] for case in BAD_SCANS])
def test_bad_scans(model: Path, tmp_path: Path, change: Any, text: str) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)
    change(ct)
    done = execute(model, "--volume", ct, "--window", "12", "--output", tmp_path / "seg.nii.gz")
    assert done.returncode == 1
    assert re.search(text, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path != ct] == []


def test_nan_voxels_are_told(model: Path, tmp_path: Path) -> None:
    x = volume(SIZE)
    x[3:5, 3:6, 3:7] = np.nan
    nibabel.save(nibabel.Nifti1Image(x, AFFINE), tmp_path / "x.nii.gz")
    done = execute(model, "--volume", tmp_path / "x.nii.gz", "--window", "12", "--json", "--output", tmp_path / "y.npy")
    assert done.returncode == 0
    assert "24 voxels are NaN" in done.stderr
    assert json.loads(done.stdout)["nan_voxels"] == 24
    y = np.load(tmp_path / "y.npy")
    assert np.isnan(y[:, 4, 4, 4]).all()
    assert not np.isnan(y[:, 15:]).any()


def test_a_file_that_cannot_be_written_leaves_nothing(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for name in ("seg.nii", "seg.nii.gz", "seg.npy"):
        done = execute(model, "--volume", ct, "--window", "12", "--output", tmp_path / name, preexec_fn=limit)
        assert done.returncode == 1
        assert "cannot write" in done.stderr
        assert list(tmp_path.iterdir()) == [ct]


def test_ctrl_c_leaves_nothing(model: Path, tmp_path: Path) -> None:
    ct = save_scan(tmp_path / "ct.nii", volume((120, 120, 120)) * 10)
    words = [model, "--volume", ct, "--window", "12", "--overlap", "0.9", "--output", tmp_path / "seg.nii.gz"]
    process = subprocess.Popen([str(BINARIES / "onnxc-run"), *map(str, words)], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob(".onnxc-*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    assert list(tmp_path.iterdir()) == [ct]


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
        (["--window", "12", "--labels", "--softmax"], "--labels excludes --softmax"),
    ],
)
def test_wrong_words(model: Path, tmp_path: Path, words: list[str], text: str) -> None:
    ct = save_scan(tmp_path / "ct.nii.gz", volume(SIZE) * 10)
    done = execute(model, "--volume", ct, *words, "--output", tmp_path / "seg.nii.gz")
    assert done.returncode == 2
    assert text in done.stderr


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
