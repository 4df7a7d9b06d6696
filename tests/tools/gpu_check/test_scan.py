"""The plain sliding window is MONAI's inferer."""

from dataclasses import replace

import pytest
import torch

from models.weights import initialize
from tools.gpu_check import scan
from tools.gpu_check.devices import Cpu
from tools.gpu_check.manifest import Scan
from tools.gpu_check.networks.dynunet import DynUNet

SCAN = Scan("tiny", (20, 16, 27), (16, 16, 16), 3)


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [0.5, 0.25])
def test_labels_are_those_of_monai(overlap: float) -> None:
    from monai.inferers import SlidingWindowInferer  # here, since it takes seconds

    network = initialize(DynUNet((4, 6, 8), classes=5), 1)
    image = scan.volume(SCAN.dims)
    inferer = SlidingWindowInferer(SCAN.window, SCAN.batch, overlap, "gaussian")
    with torch.no_grad():
        expected = inferer(image, network)[0].argmax(dim=0)
        found = scan.labels(network, image, replace(SCAN, overlap=overlap), Cpu(), torch.float32)
    assert len(expected.unique()) > 2
    assert (found == expected).double().mean() > 0.9999


def test_windows_cover_the_volume_and_end_with_it() -> None:
    assert scan.places((20, 16), (16, 16), 0.5) == [(0, 0), (4, 0)]
    assert scan.places((32, 24), (16, 8), 0.5) == [(a, b) for a in (0, 8, 16) for b in (0, 4, 8, 12, 16)]
    assert len(scan.places((512, 512, 304), (96, 96, 96), 0.5)) == 600


def test_importance_is_largest_in_the_middle_and_never_nothing() -> None:
    weights = scan.importance((5, 7, 96), Cpu(), torch.float32)
    assert weights.shape == (5, 7, 96)
    assert weights.argmax() == weights.flatten().shape[0] // 2 - 1
    assert weights.min() == pytest.approx(1e-3)
