"""How results are compared with a reference."""

import ml_dtypes
import numpy as np

from models.tensor_files import Array

FLOATING = (
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    ml_dtypes.float4_e2m1fn,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu,
)


def is_floating(dtype: np.dtype[np.generic]) -> bool:
    return any(dtype == np.dtype(kind) for kind in FLOATING)


def relative_error(actual: Array, expected: Array) -> float:
    """Largest difference over largest magnitude, over the elements whose reference is finite."""
    finite = np.isfinite(expected.astype(np.float64))
    if not finite.any():
        return 0.0
    reference = expected.astype(np.float64)[finite]
    difference = float(np.max(np.abs(actual.astype(np.float64)[finite] - reference)))
    magnitude = float(np.max(np.abs(reference)))
    return difference if magnitude == 0 else difference / magnitude


def mismatch(actual: Array, expected: Array, tolerance: float) -> str | None:
    """None when `actual` equals `expected`, else what differs, with the worst element.

    Type and shape are equal always. Integers and booleans are equal exactly. Floats have NaN and infinities in the same
    places and a largest difference over the largest magnitude of at most `tolerance`; 0 asks for equality.
    """
    return elementwise_mismatch(actual, expected, 0.0, tolerance)


def elementwise_mismatch(actual: Array, expected: Array, relative: float, of_largest: float) -> str | None:
    """As mismatch, with the allowed difference of each float element its magnitude times `relative`, plus the largest
    magnitude times `of_largest`."""
    if actual.dtype != expected.dtype:
        return f"type {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    if actual.size == 0:
        return None
    if not is_floating(actual.dtype):
        wrong = actual != expected
        return _describe(actual, expected, wrong, "differ") if wrong.any() else None
    wide, reference = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(reference)
    wrong = ~finite & ~((wide == reference) | (np.isnan(wide) & np.isnan(reference))) | (finite & ~np.isfinite(wide))
    if wrong.any():
        return _describe(actual, expected, wrong, "have NaN or an infinity on one side alone")
    reference = np.where(finite, reference, 0)
    difference = np.where(finite, np.abs(np.where(finite, wide, 0) - reference), 0)
    excess = difference - relative * np.abs(reference) - of_largest * float(np.max(np.abs(reference)))
    wrong = excess > 0
    if not wrong.any():
        return None
    index = np.unravel_index(int(np.argmax(excess)), excess.shape)
    return (
        f"largest difference over largest magnitude {relative_error(actual, expected):.3g}, allowed "
        f"{relative or of_largest:.3g}; {int(wrong.sum())} of {wrong.size} elements; "
        f"worst at {_place(index)}: {actual[index]}, expected {expected[index]}"
    )


def _describe(actual: Array, expected: Array, wrong: np.ndarray, what: str) -> str:
    index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return (
        f"{int(wrong.sum())} of {wrong.size} elements {what}; "
        f"first at {_place(index)}: {actual[index]}, expected {expected[index]}"
    )


def _place(index: tuple[np.intp, ...]) -> list[int]:
    return [int(i) for i in index]
