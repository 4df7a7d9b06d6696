"""Whole networks, from PyTorch's export to the output of model.so, against PyTorch and onnxruntime."""

from pathlib import Path

import onnxruntime
import pytest

from models import tensor_files
from models.export import Run, export
from models.tensor_files import Array
from models.zoo import ROWS, ModelRow
from tests import onnxc_commands
from tests.compare import mismatch
from tests.onnxruntime_sessions import open_session

PARAMETERS = [pytest.param(row, id=name, marks=[pytest.mark.slow] if row.slow else []) for name, row in ROWS.items()]
WITH_ONNXRUNTIME = [parameter for parameter, row in zip(PARAMETERS, ROWS.values(), strict=True) if row.onnxruntime]


def expect_equal(results: dict[str, Array], references: dict[str, Array], tolerance: float, source: str) -> None:
    failures = []
    for name, reference in references.items():
        difference = mismatch(results[name], reference, tolerance)
        if difference:
            failures.append(f"output {name!r} against {source}: {difference}")
    assert not failures, "\n".join(failures)


def pytorch_outputs(run: Run) -> dict[str, Array]:
    return {name: tensor_files.load(path) for name, path in run.outputs.items()}


def onnxruntime_outputs(session: onnxruntime.InferenceSession, run: Run) -> dict[str, Array]:
    feeds = {name: tensor_files.load(path) for name, path in run.inputs.items()}
    return dict(zip(run.outputs, session.run(list(run.outputs), feeds), strict=True))


@pytest.mark.parametrize("row", WITH_ONNXRUNTIME)
def test_references_agree(row: ModelRow) -> None:
    """PyTorch and onnxruntime give the same: an export that is wrong is not held against the compiler."""
    exported = export(row)
    session = open_session(exported.model)
    for run in exported.runs:
        expect_equal(onnxruntime_outputs(session, run), pytorch_outputs(run), row.tolerance, "PyTorch")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("row", PARAMETERS)
def test_matches_pytorch_and_onnxruntime(row: ModelRow, tmp_path: Path) -> None:
    exported = export(row)
    shared_object = onnxc_commands.compile_model(exported.model, tmp_path / "model.so")
    session = open_session(exported.model) if row.onnxruntime else None
    for index, run in enumerate(exported.runs):
        results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), tmp_path / f"run_{index}")
        expect_equal(results, pytorch_outputs(run), row.tolerance, "PyTorch")
        if session is not None:
            expect_equal(results, onnxruntime_outputs(session, run), row.tolerance, "onnxruntime")
    shared_object.unlink()  # holds the weights: up to hundreds of megabytes
