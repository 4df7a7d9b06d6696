"""onnxc-run --volume on NIfTI files of every form, and the place of its results in the world, by nibabel."""

import gzip
import math
import struct
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from nibabel import affines, eulerangles
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

import onnxc
from tests.python.volumes.networks import RESAMPLING, assert_places, ramp, save_resampling
from tests.tools.volume_files import AFFINE, execute, passes, voxels_of

pytestmark = pytest.mark.usefixtures("commands")

SCAN = np.arange(8 * 6 * 4, dtype=np.int16).reshape(8, 6, 4)
TURNED = affines.from_matvec(eulerangles.euler2mat(0.1, -0.2, 0.3) @ np.diag([2.0, 3.0, 4.0]), [5, -6, 7])


@pytest.fixture(scope="module")
def doubling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = 2 * x."""
    path = tmp_path_factory.mktemp("doubling") / "m.onnx"
    dims = ["N", 1, "D", "H", "W"]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "k"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)], [numpy_helper.from_array(np.float32(2), "k")],
    )  # fmt: skip
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    onnxc.compile(path, path.with_suffix(".so"), options=["-O0"]).close()
    return path.with_suffix(".so")


@pytest.fixture(scope="module")
def resampling(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("resampling")
    models = {name: save_resampling(folder / f"{name}.onnx", name) for name in RESAMPLING}
    for path in models.values():
        onnxc.compile(path, path.with_suffix(".so"), options=["-O0"]).close()
    return {name: path.with_suffix(".so") for name, path in models.items()}


# ------------------------------------------------------------------------------------------------------------ headers

FORMS = [(version, order, suffix) for version in (1, 2) for order in "<>" for suffix in (".nii", ".nii.gz")]


def save_form(path: Path, version: int, order: str, dtype: type = np.int16) -> Path:
    kinds = {1: (nibabel.Nifti1Image, nibabel.Nifti1Header), 2: (nibabel.Nifti2Image, nibabel.Nifti2Header)}
    image_of, header_of = kinds[version]
    image: Any = image_of(SCAN.astype(dtype), AFFINE, header_of(endianness=order))
    nibabel.save(image, path)
    return path


def set_offset(path: Path, version: int, order: str, offset: float, moved: int = 0) -> None:
    """Writes vox_offset, and moves the voxels so many bytes further."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        content = bytearray(file.read())
    if version == 1:
        content[108:112] = struct.pack(f"{order}f", offset)
    else:
        content[168:176] = struct.pack(f"{order}q", int(offset))
    end = {1: 352, 2: 544}[version]
    content[end:end] = bytes(moved)
    with opened(path, "wb") as file:
        file.write(content)


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float64])
@pytest.mark.parametrize(("version", "order", "suffix"), FORMS)
def test_versions_and_byte_orders(
    doubling: Path, tmp_path: Path, version: int, order: str, suffix: str, dtype: type
) -> None:
    scan = save_form(tmp_path / f"scan{suffix}", version, order, dtype)
    result = tmp_path / f"out{suffix}"
    passes(doubling, "--volume", scan, "--window", "4", "--output", result)
    expected = 2 * voxels_of(scan)
    assert expected.any()
    np.testing.assert_array_equal(voxels_of(result), expected)
    np.testing.assert_allclose(nibabel.load(result).affine, nibabel.load(scan).affine, atol=1e-5)


@pytest.mark.parametrize(("version", "order", "suffix"), FORMS)
@pytest.mark.parametrize("moved", [0, 16, 3, None], ids=["least", "aligned", "odd", "none"])
def test_voxels_begin_where_the_header_says(
    doubling: Path, tmp_path: Path, version: int, order: str, suffix: str, moved: int | None
) -> None:
    """No offset, 0, is the least."""
    scan = save_form(tmp_path / f"scan{suffix}", version, order)
    least = {1: 352, 2: 544}[version]
    set_offset(scan, version, order, 0 if moved is None else least + moved, moved or 0)
    passes(doubling, "--volume", scan, "--window", "4", "--output", tmp_path / "out.nii")
    np.testing.assert_array_equal(voxels_of(tmp_path / "out.nii"), 2.0 * SCAN)


WRONG = [(1, offset) for offset in (100, 348, 351, -4, math.nan, math.inf, 352.5, 1e30)] + [
    (2, offset) for offset in (352, 540, -4)
]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("version", "offset"), WRONG)
def test_voxels_within_the_header_are_refused(
    doubling: Path, tmp_path: Path, version: int, offset: float, order: str
) -> None:
    scan = save_form(tmp_path / "scan.nii", version, order)
    set_offset(scan, version, order, offset)
    done = execute(doubling, "--volume", scan, "--window", "4", "--output", tmp_path / "out.nii")
    assert done.returncode == 1
    assert f"{scan}': the header says that the voxels begin at byte" in done.stderr
    assert f"expected 0, or a whole number from {352 if version == 1 else 544} on" in done.stderr
    assert not (tmp_path / "out.nii").exists()


# ----------------------------------------------------------------------------------------------------------- geometry

# Codes of sform and qform.
CODES = [(1, 0), (0, 1), (2, 3), (0, 0)]


def save_ramp(path: Path, shape: tuple[int, ...], codes: tuple[int, int]) -> Any:
    image: Any = nibabel.Nifti1Image(ramp(shape), AFFINE)
    image.set_sform(AFFINE if codes[0] else None, codes[0])
    image.set_qform(TURNED if codes[1] else None, codes[1])
    image.header["slice_code"] = 1
    image.header["slice_end"] = shape[2] - 1
    nibabel.save(image, path)
    return nibabel.load(path)


def scan_places(scan: Any, result: Any, form: str) -> NDArray[np.float64]:
    """From voxels of the result to those of the scan, by one of both files' forms."""
    ours, theirs = (getattr(image, f"get_{form}")() for image in (result, scan))
    return np.asarray(np.linalg.inv(theirs) @ ours)


@pytest.mark.parametrize("name", RESAMPLING)
@pytest.mark.parametrize("codes", CODES, ids=str)
@pytest.mark.parametrize(
    "words", [["--preset", "monai"], ["--preset", "nnunet"], ["--labels"]], ids=["xyz", "zyx", "labels"]
)
def test_a_result_of_another_resolution_lies_where_its_voxels_do(
    resampling: dict[str, Path], tmp_path: Path, name: str, codes: tuple[int, int], words: list[str]
) -> None:
    scan = save_ramp(tmp_path / "scan.nii.gz", (24, 18, 30), codes)
    result_file = tmp_path / "out.nii.gz"
    words = [*words, "--window", "0" if name == "twice" else "12"]
    words += ["--step" if "nnunet" in words else "--overlap", "0.5"]
    passes(resampling[name], "--volume", tmp_path / "scan.nii.gz", *words, "--output", result_file)
    result: Any = nibabel.load(result_file)
    steps = RESAMPLING[name] if "nnunet" not in words else RESAMPLING[name][::-1]
    np.testing.assert_allclose(result.header.get_zooms(), np.multiply(scan.header.get_zooms(), steps), rtol=1e-6)
    assert (result.get_sform(coded=True)[1], result.get_qform(coded=True)[1]) == codes
    assert result.header["slice_code"] == 0
    assert result.header["slice_end"] == 0
    for form, code in zip(("sform", "qform"), codes, strict=True):
        if code and "--labels" not in words:
            assert_places(result.get_fdata(), scan_places(scan, result, form), margin=1)
    if "--labels" not in words:  # as nibabel takes it, even if neither has a code
        places = np.linalg.inv(scan.affine) @ result.affine
        assert_places(result.get_fdata(), np.asarray(places), margin=1)


@pytest.mark.parametrize(("name", "shape"), [("halves", (9, 30, 11)), ("twice", (9, 11, 7)), ("odd", (11, 12, 24))])
def test_padding_before_the_scan(
    resampling: dict[str, Path], tmp_path: Path, name: str, shape: tuple[int, ...]
) -> None:
    scan = save_ramp(tmp_path / "scan.nii", shape, (1, 1))
    words: list[str | Path] = [
        "--window",
        "12",
        "--padding",
        "replicate",
        "--overlap",
        "0.5",
        "--output",
        tmp_path / "out.nii",
    ]
    passes(resampling[name], "--volume", tmp_path / "scan.nii", *words)
    result: Any = nibabel.load(tmp_path / "out.nii")
    for form in ("sform", "qform"):
        assert_places(result.get_fdata(), scan_places(scan, result, form), margin=1)


def test_the_voxels_of_a_window_decide_and_not_the_scans_sizes(resampling: dict[str, Path], tmp_path: Path) -> None:
    """25 voxels give 12 of two each; one is left over."""
    scan = save_ramp(tmp_path / "scan.nii", (25, 19, 31), (1, 1))
    passes(resampling["halves"], "--volume", tmp_path / "scan.nii", "--window", "12", "--output", tmp_path / "out.nii")
    result: Any = nibabel.load(tmp_path / "out.nii")
    assert result.shape == (12, 9, 15)
    moved = np.array([[2, 0, 0, 0.5], [0, 2, 0, 0.5], [0, 0, 2, 0.5], [0, 0, 0, 1]])
    for form in ("sform", "qform"):
        np.testing.assert_allclose(scan_places(scan, result, form), moved, atol=1e-4)


def test_an_array_has_voxels_of_a_millimetre(resampling: dict[str, Path], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", ramp((24, 18, 30)))
    for name, steps in RESAMPLING.items():
        words: list[str | Path] = ["--window", "0" if name == "twice" else "12", "--overlap", "0.5"]
        words += ["--volume", tmp_path / "x.npy", "--output", tmp_path / "out.nii"]
        passes(resampling[name], *words)
        result: Any = nibabel.load(tmp_path / "out.nii")
        np.testing.assert_allclose(result.header.get_zooms(), steps)
        assert_places(result.get_fdata(), result.affine, margin=1)


def test_the_same_resolution_keeps_the_header(doubling: Path, tmp_path: Path) -> None:
    scan = save_ramp(tmp_path / "scan.nii", (9, 30, 12), (2, 1))
    passes(doubling, "--volume", tmp_path / "scan.nii", "--window", "12", "--output", tmp_path / "out.nii")
    result: Any = nibabel.load(tmp_path / "out.nii")
    for form in ("get_sform", "get_qform"):
        np.testing.assert_array_equal(getattr(result, form)(), getattr(scan, form)())
    assert result.header["slice_code"] == 1
    assert result.header["slice_end"] == 11
