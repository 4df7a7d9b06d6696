"""onnxc.ray.SegmentVolumes as Ray Data calls it, without Ray; tests/tools/test_segment_with_ray.py has a cluster."""

import gzip
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

import onnxc
from tests.python.volumes.networks import save_network, volume
from tests.tools.volume_files import AFFINE, SIZE, compiled_network, save_scan, voxels_of

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_network(tmp_path_factory.mktemp("network"))


def objects(*values: Any) -> Any:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def test_files_to_files(model: Path, tmp_path: Path) -> None:
    scans = [save_scan(tmp_path / f"scan{i}.nii.gz", volume(SIZE, i) * 300, 0.5, -1024) for i in range(2)]
    np.save(tmp_path / "scan2.npy", volume(SIZE, 2))
    paths = [*scans, tmp_path / "scan2.npy"]
    segment = onnxc.ray.SegmentVolumes(
        model, 12, overlap=0.5, output="labels", folder=tmp_path / "out", prepare=lambda x: np.clip(x, -200, 200)
    )
    rows = segment({"path": objects(*map(str, paths)), "patient": np.arange(3)})
    assert sorted(rows) == ["error", "output", "path", "patient"]
    assert list(rows["error"]) == ["", "", ""]
    assert list(rows["output"]) == [str(tmp_path / "out" / path.name) for path in paths]
    window = onnxc.SlidingWindow(model, 12, overlap=0.5, output="labels")
    for scan in scans:
        expected = window(np.clip(voxels_of(scan), -200, 200)[None, None])[0, 0]
        result: Any = nibabel.load(tmp_path / "out" / scan.name)
        original: Any = nibabel.load(scan)
        assert result.get_data_dtype() == np.uint8
        np.testing.assert_array_equal(np.asarray(result.dataobj), expected)
        np.testing.assert_array_equal(result.affine, original.affine)
        assert result.header["descrip"] == original.header["descrip"]
    expected = window(np.clip(volume(SIZE, 2), -200, 200)[None, None])[0, 0]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "scan2.npy"), expected)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [path.name for path in paths]


def test_values_have_their_channels_last_in_a_nifti_file_and_first_in_an_array(model: Path, tmp_path: Path) -> None:
    x = (volume(SIZE) * 100).round()
    scan = save_scan(tmp_path / "x.nii", x)
    np.save(tmp_path / "x.npy", x[None])
    segment = onnxc.ray.SegmentVolumes(model, 12, folder=tmp_path / "out")
    assert list(segment({"path": objects(str(scan), str(tmp_path / "x.npy"))})["error"]) == ["", ""]
    expected = onnxc.SlidingWindow(model, 12)(x[None, None])[0]
    np.testing.assert_array_equal(np.moveaxis(voxels_of(tmp_path / "out" / "x.nii"), -1, 0), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "x.npy"), expected)


def test_arrays_to_arrays(model: Path, tmp_path: Path) -> None:
    images = [volume((1, 14 + i, 13, 15), i) for i in range(2)]
    segment = onnxc.ray.SegmentVolumes(model, 12, output="labels")
    rows = segment({"volume": objects(images[0], volume((3, 14, 13, 15)), images[1]), "id": np.arange(3)})
    assert sorted(rows) == ["error", "id", "output"]
    window = onnxc.SlidingWindow(model, 12, output="labels")
    for row, image in ((0, images[0]), (2, images[1])):
        np.testing.assert_array_equal(rows["output"][row], window(image[None])[0])
    assert [bool(error) for error in rows["error"]] == [False, True, False]
    assert "dim 1" in rows["error"][1]
    assert rows["output"][1].shape == (0, 0, 0, 0)
    # A file's result is one too, if no folder is named.
    scan = save_scan(tmp_path / "x.nii", (images[0][0] * 100).round())
    [output] = segment({"path": objects(str(scan))})["output"]
    np.testing.assert_array_equal(output, window(voxels_of(scan)[None, None])[0])


def lying(path: Path) -> None:
    header = bytearray(gzip.decompress(path.read_bytes()))
    header[42:44] = (30000).to_bytes(2, "little")  # dim[1]
    path.write_bytes(gzip.compress(bytes(header)))


def saved(array: Any) -> Any:
    return lambda path: nibabel.save(nibabel.Nifti1Image(array, AFFINE), path)


DAMAGES: list[tuple[str, Any, str]] = [
    ("truncated", lambda path: path.write_bytes(path.read_bytes()[:-900]), "cannot read the scan"),
    ("lying", lying, "cannot read the scan"),
    ("text", lambda path: path.write_text("a scan"), "cannot read the scan"),
    ("none", lambda path: path.unlink(), "cannot read the scan"),
    ("rank 2", saved(np.zeros((9, 8), np.int16)), r"has 2 axes \(9x8\), and the model takes 3 spatial ones"),
    ("complex", saved(np.zeros((9, 9, 9), np.complex64)), "elements of type complex64 are not converted"),
]


@pytest.mark.parametrize(("damage", "text"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
def test_a_damaged_scan_is_reported_and_the_others_are_done(
    model: Path, tmp_path: Path, damage: Any, text: str
) -> None:
    paths = [save_scan(tmp_path / f"scan{i}.nii.gz", volume(SIZE, i) * 100) for i in range(3)]
    damage(paths[1])
    segment = onnxc.ray.SegmentVolumes(model, 12, output="labels", folder=tmp_path / "out")
    rows = segment({"path": objects(*map(str, paths))})
    assert [bool(output) for output in rows["output"]] == [True, False, True]
    assert [bool(error) for error in rows["error"]] == [False, True, False]
    with pytest.raises(onnxc.OnnxcError, match=text):
        raise onnxc.OnnxcError(rows["error"][1])
    assert "scan1.nii.gz" in rows["error"][1]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["scan0.nii.gz", "scan2.nii.gz"]


def test_a_result_that_cannot_be_written_is_reported(model: Path, tmp_path: Path) -> None:
    scan = save_scan(tmp_path / "scan.nii.gz", volume(SIZE) * 100)
    (tmp_path / "out" / "scan.nii.gz").mkdir(parents=True)
    segment = onnxc.ray.SegmentVolumes(model, 12, output="labels", folder=tmp_path / "out")
    [error] = segment({"path": objects(str(scan))})["error"]
    assert error.startswith(f"cannot write {str(tmp_path / 'out' / 'scan.nii.gz')!r}: ")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["scan.nii.gz"]


def test_refusals(model: Path, tmp_path: Path) -> None:
    segment = onnxc.ray.SegmentVolumes(model, 12)
    with pytest.raises(onnxc.OnnxcError, match=r"a batch has one of the columns .*, and this one has \['file'\]"):
        segment({"file": objects("x.nii")})
    path = save_network(tmp_path / "two.onnx", ("full", "half"))
    onnxc.compile(path, path.with_suffix(".so"), options=["-O1"]).close()
    with pytest.raises(onnxc.OnnxcError, match=r"one result here, and these outputs are asked for: .*full.*half"):
        onnxc.ray.SegmentVolumes(path.with_suffix(".so"), 12)
    assert onnxc.ray.SegmentVolumes(path.with_suffix(".so"), 12, output={"full": "labels"}).rank == 3
