"""Scans and what is made of them, as files: NIfTI by nibabel, and .npy."""

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc.errors import OnnxcError

Array = NDArray[Any]


@dataclass(frozen=True)
class Scan:
    """image: [channels, axes...], mapped where the file allows it. nifti: nibabel's image, None for an array."""

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


def write(path: Path, result: Array, scan: Scan) -> None:
    """A result of [channels, axes...], of one channel without that axis. A NIfTI file has the scan's header and affine.
    The file gets its name when it is whole.

    Raises OnnxcError where it cannot be written.
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
                _nibabel().save(type(scan.nifti)(values, scan.nifti.affine, header), whole)
            whole.replace(path)
    except OSError as error:
        raise OnnxcError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def _nibabel() -> Any:
    with contextlib.suppress(ImportError):
        import nibabel

        return nibabel
    raise OnnxcError("NIfTI files are read by nibabel, which is not installed")
