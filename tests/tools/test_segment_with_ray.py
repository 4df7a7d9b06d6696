"""The example of a Ray cluster: a worker that died is replaced, and a damaged scan reported."""

import os
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

import onnxc
from tests.onnxc_commands import REPOSITORY

pytestmark = [pytest.mark.usefixtures("commands"), pytest.mark.slow]


def test_all_scans_but_the_damaged_one_are_segmented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.examples import segment_with_ray as example

    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY / 'python'}{os.pathsep}{REPOSITORY}")  # of Ray's workers
    rows = example.segment(tmp_path)
    assert [Path(row["path"]).name for row in rows] == [f"scan{i}.nii.gz" for i in range(example.COUNT)]
    assert {Path(row["path"]).name for row in rows if row["error"]} == {example.DAMAGED}
    assert (tmp_path / "a-worker-died").exists()
    assert len({row["worker"] for row in rows}) >= 2
    assert {row["threads"] for row in rows} == {1}  # as many as Ray gave each
    window = onnxc.SlidingWindow(tmp_path / "network.so", output="labels", **example.WINDOWS)
    for row in rows:
        if row["error"]:
            assert "cannot read the scan" in row["error"]
            assert not (tmp_path / "labels" / Path(row["path"]).name).exists()
            continue
        scan: Any = nibabel.load(row["path"])
        labels: Any = nibabel.load(row["output"])
        expected = window(example.normalize(np.asarray(scan.dataobj))[None, None])[0, 0]
        np.testing.assert_array_equal(np.asarray(labels.dataobj), expected)
