"""No kernel leaves the work to one thread: of each row of a table of operators, what its longest thread does, and that
the modelled time is near a good kernel's."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.codegen.hip.gpu_model import expect
from tests.codegen.hip.serial_table import MOST_STEPS, MOST_TIMES, ROWS, Row, measure
from tests.onnxc_commands import ENVIRONMENT

pytestmark = pytest.mark.usefixtures("commands")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_right_and_in_parallel(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure(row, tmp_path, lambda name, value: monkeypatch.setitem(ENVIRONMENT, name, value))
    session = onnxruntime.InferenceSession(row.model().SerializeToString())
    for name, expected in zip(found.outputs, session.run(list(found.outputs), row.inputs), strict=True):
        if expected.dtype == np.float32:
            expect(found.outputs[name], expected)
        else:
            np.testing.assert_array_equal(found.outputs[name], expected)
    assert found.steps <= MOST_STEPS, found.kernels
    assert found.microseconds <= MOST_TIMES * row.should_us, found.microseconds
