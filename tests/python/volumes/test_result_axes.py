"""The places of outputs of another resolution: SlidingWindow's summary, MONAI's MetaTensor, and files of onnxc.ray.
Each value over a ramp tells the place of its voxel."""

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
import torch
from monai.data.meta_tensor import MetaTensor
from numpy.typing import NDArray

import onnxc
import onnxc.ray
from tests.python.volumes.networks import RESAMPLING, assert_places, ramp, save_network, save_resampling
from tests.tools.volume_files import AFFINE

pytestmark = pytest.mark.usefixtures("commands")

SHAPES = {"halves": (24, 30, 11), "odd": (11, 12, 24), "twice": (9, 11, 12)}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("resampling")
    paths = {name: save_resampling(folder / f"{name}.onnx", name) for name in RESAMPLING}
    for path in paths.values():
        onnxc.compile(path, path.with_suffix(".so"), options=["-O0"]).close()
    return {name: path.with_suffix(".so") for name, path in paths.items()}


def matrix(axes: Any) -> NDArray[np.float64]:
    result = np.diag([*(axis.step for axis in axes), 1.0])
    result[:3, 3] = [axis.origin for axis in axes]
    return result


@pytest.mark.parametrize("name", RESAMPLING)
@pytest.mark.parametrize("roi", [12, (12, 0, 24)], ids=str)
def test_the_summary_and_a_meta_tensor(models: dict[str, Path], name: str, roi: Any) -> None:
    x = ramp(SHAPES[name])
    window = onnxc.SlidingWindow(models[name], roi, overlap=0.5, padding_mode="replicate")
    y = window(x[None, None])
    assert window.summary is not None
    assert_places(y[0, 0], matrix(window.summary.axes["y"]), margin=1)
    affine = torch.from_numpy(AFFINE)
    tensor: Any = window(MetaTensor(torch.from_numpy(x)[None, None], affine=affine))
    assert isinstance(tensor, MetaTensor)
    assert_places(tensor.numpy()[0, 0], np.linalg.inv(AFFINE) @ tensor.affine.numpy(), margin=1)


def test_each_output_has_its_own_axes(tmp_path: Path) -> None:
    path = save_network(tmp_path / "network.onnx", ("full", "half", "quarter", "twice"), channels=1)
    window = onnxc.SlidingWindow(path, 8, output={"full": "labels", "quarter": "values", "twice": "values"})
    window(np.zeros((1, 1, 16, 16, 16), np.float32))
    assert window.summary is not None
    steps = {name: [(axis.step, axis.origin) for axis in axes] for name, axes in window.summary.axes.items()}
    assert steps == {"full": [(1, 0)] * 3, "quarter": [(4, 1.5)] * 3, "twice": [(0.5, -0.25)] * 3}


@pytest.mark.parametrize("codes", [(1, 0), (0, 1), (2, 1)], ids=str)
def test_files_of_ray(models: dict[str, Path], tmp_path: Path, codes: tuple[int, int]) -> None:
    image: Any = nibabel.Nifti1Image(ramp((24, 18, 30)), AFFINE)
    image.set_sform(AFFINE if codes[0] else None, codes[0])
    image.set_qform(np.diag([2.0, 3.0, 4.0, 1.0]) if codes[1] else None, codes[1])
    nibabel.save(image, tmp_path / "scan.nii.gz")
    for name in RESAMPLING:
        roi = 0 if name == "twice" else 12
        segment = onnxc.ray.SegmentVolumes(models[name], roi, overlap=0.5, folder=tmp_path / name)
        done = segment({"path": np.array([str(tmp_path / "scan.nii.gz")], object)})
        assert list(done["error"]) == [""]
        scan, result = (nibabel.load(file) for file in (tmp_path / "scan.nii.gz", done["output"][0]))
        found: Any = result
        assert (found.get_sform(coded=True)[1], found.get_qform(coded=True)[1]) == codes
        places = np.linalg.inv(scan.affine) @ found.affine
        assert_places(found.get_fdata(), places, margin=1)
