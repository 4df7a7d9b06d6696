"""tools/operator_benchmark.py: what it measures is what onnxruntime computes, even if all dims are free."""

import numpy as np
import pytest

from tools.operator_benchmark import OPERATORS
from tools.operator_timing import Operator, measure


@pytest.mark.parametrize("has_free_dims", [False, True])
def test_times_of_an_operator(has_free_dims: bool) -> None:
    times = measure(OPERATORS["argmax of rows"], has_free_dims, 0.01)
    assert 0 < times.onnxc < 1000
    assert 0 < times.onnxruntime < 1000


def test_other_shapes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator("Identity", {"x": np.zeros((2, 3), np.float32)})
    monkeypatch.setattr("onnxc.InferenceSession.run", lambda *_: [np.zeros((3, 2), np.float32)])
    with pytest.raises(AssertionError, match=r"Identity: \(3, 2\) for \(2, 3\)"):
        measure(operator, False, 0.01)
