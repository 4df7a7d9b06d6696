"""The example of a MONAI bundle from end to end, and its picture."""

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from PIL import Image

from tests.onnxc_commands import BINARIES
from tools.examples import segment_phantom

pytestmark = [pytest.mark.usefixtures("commands"), pytest.mark.slow]


def test_onnxc_and_monai_give_the_same_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_BIN", str(BINARIES))
    assert segment_phantom.segment(tmp_path) >= 0.99999
    image: Any = nibabel.load(tmp_path / "labels.nii.gz")
    labels = np.asarray(image.dataobj)
    assert labels.shape == segment_phantom.SIZE
    assert len(np.unique(labels)) >= 3  # not one class everywhere, for which equality would say little
    with Image.open(tmp_path / "slices.png") as image:
        colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 24) or []}
    assert len(colours) > 100
