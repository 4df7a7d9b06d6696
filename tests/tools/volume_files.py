"""The shared parts of the tests of onnxc-run --volume: scans as files, a small model, and the command."""

import subprocess
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

import onnxc
from tests.onnxc_commands import BINARIES
from tests.python.volumes.networks import save_network

AFFINE = np.array([[-0.7, 0, 0.1, 90], [0, 0.7, 0, -126], [0.05, 0, 2.5, -72], [0, 0, 0, 1]])
SIZE = (22, 19, 17)


def compiled_network(folder: Path) -> Path:
    """A compiled network of one channel and 4 classes; its ONNX file is beside it."""
    path = save_network(folder / "network.onnx", ("full",), channels=1)
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


def voxels_of(path: Path) -> NDArray[np.float32]:
    image: Any = nibabel.load(path)
    return np.asarray(image.get_fdata(), np.float32)
