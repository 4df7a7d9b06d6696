"""The comparison of results itself: what it lets pass and what it says."""

import ml_dtypes
import numpy as np
import pytest

from tests.compare import elementwise_mismatch, mismatch

REFERENCE = np.array([[1.0, -2.0], [100.0, 0.5]], np.float32)


def test_equal_and_within_tolerance() -> None:
    assert mismatch(REFERENCE.copy(), REFERENCE, 0.0) is None
    moved = REFERENCE + np.float32(1e-3)
    assert mismatch(moved, REFERENCE, 2e-5) is None
    assert mismatch(moved, REFERENCE, 0.5e-5) is not None
    # The same difference is too large for the small elements, when each is judged by its own magnitude.
    assert elementwise_mismatch(moved, REFERENCE, 2e-5, 0.0) is not None


def test_names_the_worst_element() -> None:
    moved = REFERENCE.copy()
    moved[1, 1] = 3.5
    text = mismatch(moved, REFERENCE, 1e-5)
    assert text is not None
    assert "1 of 4 elements; worst at [1, 1]: 3.5, expected 0.5" in text


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value: float) -> None:
    special = REFERENCE.copy()
    special[0, 1] = value
    assert mismatch(special, REFERENCE, 1.0) is not None
    assert mismatch(REFERENCE, special, 1.0) is not None
    assert mismatch(special.copy(), special, 0.0) is None


def test_types_and_shapes() -> None:
    assert mismatch(REFERENCE.astype(np.float64), REFERENCE, 1.0) == "type float64, expected float32"
    assert mismatch(REFERENCE[:1], REFERENCE, 1.0) == "shape [1, 2], expected [2, 2]"
    assert mismatch(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), 0.0) is None


def test_integers_are_exact() -> None:
    large = np.array([2**62 + 1, 5])
    assert mismatch(large, large.copy(), 1.0) is None
    assert mismatch(large - np.array([1, 0]), large, 1.0) is not None
    flags = np.array([True, False])
    assert mismatch(~flags, flags, 1.0) is not None


def test_bfloat16() -> None:
    x = REFERENCE.astype(ml_dtypes.bfloat16)
    assert mismatch(x, x.copy(), 0.0) is None
    assert mismatch(x, (x * 2).astype(ml_dtypes.bfloat16), 0.1) is not None
