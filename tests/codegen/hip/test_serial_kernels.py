"""No kernel leaves the work to one thread: of each row of a table of operators, what its longest thread does, and that
the modelled time is near a good kernel's."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from models.tensor_files import Array
from tests.codegen.hip.gpu_model import expect
from tests.codegen.hip.serial_table import MOST_STEPS, MOST_TIMES, ROWS, Row, measure
from tests.onnxc_commands import ENVIRONMENT

pytestmark = pytest.mark.usefixtures("commands")


def reference(row: Row, outputs: list[str]) -> list[Array]:
    """Expected outputs by onnxruntime, or by ONNX's own evaluator if that lacks a type."""
    try:
        session = onnxruntime.InferenceSession(row.model().SerializeToString())
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return list(ReferenceEvaluator(row.model()).run(outputs, row.inputs))
    return list(session.run(outputs, row.inputs))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_right_and_in_parallel(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure(row, tmp_path, lambda name, value: monkeypatch.setitem(ENVIRONMENT, name, value))
    for name, expected in zip(found.outputs, reference(row, list(found.outputs)), strict=True):
        if expected.dtype in (np.float32, np.float64):
            expect(found.outputs[name], expected)
        else:
            np.testing.assert_array_equal(found.outputs[name], expected)
    assert found.steps <= MOST_STEPS, found.kernels
    assert found.microseconds <= MOST_TIMES * row.should_us, found.microseconds
