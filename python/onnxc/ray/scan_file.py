"""Scans and what is made of them, as files: NIfTI by nibabel, and .npy."""

import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc.errors import OnnxcError
from onnxc.sliding_window import moved_affine
from onnxc.volume import ResultAxis

Array = NDArray[Any]


@dataclass(frozen=True)
class Scan:
    """image: [channels, axes...], mapped if the file allows it. nifti: nibabel's image, None for an array."""

    image: Array
    nifti: Any = None


def read(path: Path, rank: int) -> Scan:
    """A scan with `rank` spatial axes, x, y, z as MONAI has them. One axis more is the channels: the last of a NIfTI
    file, the first of an array.

    Raises OnnxcError for a file that is missing, damaged, or of other axes.
    """
    is_array = path.suffix == ".npy"
    try:
        nifti = None if is_array else _nibabel().load(path)
        image = np.load(path, mmap_mode="r") if nifti is None else np.asanyarray(nifti.dataobj)
    except OnnxcError:
        raise
    except Exception as error:  # whatever the readers stumble over in a damaged file
        raise OnnxcError(f"cannot read the scan {str(path)!r}: {error or type(error).__name__}") from error
    if image.dtype.kind not in "biuf":
        raise OnnxcError(f"{str(path)!r}: elements of type {image.dtype} are not converted to float32")
    if image.ndim == rank:
        return Scan(image[None], nifti)
    if image.ndim == rank + 1:
        return Scan(image if is_array else np.moveaxis(image, -1, 0), nifti)
    sizes = "x".join(map(str, image.shape))
    raise OnnxcError(f"{str(path)!r} has {image.ndim} axes ({sizes}), and the model takes {rank} spatial ones")


def write(path: Path, result: Array, scan: Scan, axes: Sequence[ResultAxis] = ()) -> None:
    """A result of [channels, axes...], of one channel without that axis. A NIfTI file has the scan's header and affine,
    moved to where its voxels are. The file gets its name when it is whole.

    Raises OnnxcError if it cannot be written.
    """
    values = result[0] if result.shape[0] == 1 else result
    try:
        with tempfile.TemporaryDirectory(prefix=".onnxc-", dir=path.parent) as folder:
            whole = Path(folder) / path.name
            if scan.nifti is None:
                np.save(whole, values)
            else:
                header = scan.nifti.header.copy()
                header.set_data_dtype(values.dtype)
                values = values if values is not result else np.moveaxis(result, 0, -1)
                is_moved = any(axis != ResultAxis() for axis in axes)
                affine = moved_affine(scan.nifti.affine, axes) if is_moved else scan.nifti.affine
                image = type(scan.nifti)(values, affine, header)
                if is_moved and hasattr(image, "set_sform"):  # NIfTI, and not another format of nibabel's
                    _move_forms(image, scan.nifti, axes)
                _nibabel().save(image, whole)
            whole.replace(path)
    except OSError as error:
        raise OnnxcError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def _move_forms(image: Any, scan: Any, axes: Sequence[ResultAxis]) -> None:
    """The forms that the scan has, and no others; what is told of slices is no longer true."""
    for name in ("slice_code", "slice_start", "slice_end", "slice_duration"):
        image.header[name] = 0
    forms = [form(coded=True) for form in (scan.get_sform, scan.get_qform)]
    if all(affine is None for affine, _ in forms):
        return
    for (affine, code), set_form in zip(forms, (image.set_sform, image.set_qform), strict=True):
        set_form(None if affine is None else moved_affine(affine, axes), int(code))


def _nibabel() -> Any:
    with contextlib.suppress(ImportError):
        import nibabel

        return nibabel
    raise OnnxcError("NIfTI files are read by nibabel, which is not installed")
