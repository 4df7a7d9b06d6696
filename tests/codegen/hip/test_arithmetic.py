"""Operators that hang on single instructions of the vector unit: quotients and large angles, on the simulator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.codegen.hip.test_implicit_gemm import run
from tests.ops.case import case


def quotient_operands(kind: Any) -> tuple[Any, Any]:
    """Every pair of edges, then quotients that are denormal, and around those that are zero or infinite."""
    info = np.finfo(kind)
    edges = [0, 1, 3, 0.1, 1e4, 1e-4, info.max, info.smallest_normal, info.smallest_subnormal, np.inf, np.nan]
    signed = np.array([*edges, *[-edge for edge in edges]], kind)
    rows, columns = (grid.ravel() for grid in np.meshgrid(signed, signed))
    random = np.random.default_rng(0)
    scale = np.float64(info.max) ** 0.5
    far = random.standard_normal(2000) * scale
    with np.errstate(over="ignore"):
        near = random.standard_normal(2000) / np.float64(info.smallest_subnormal) * random.choice([0.01, 1, 100], 2000)
    tops = [far, random.standard_normal(2000)]
    bottoms = [1 / far[::-1], np.clip(near, -info.max / 2, info.max / 2)]
    with np.errstate(over="ignore"):
        return np.concatenate([rows, *tops]).astype(kind), np.concatenate([columns, *bottoms]).astype(kind)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_quotients_are_correctly_rounded(kind: Any, tmp_path: Path) -> None:
    a, b = quotient_operands(kind)
    with np.errstate(all="ignore"):
        expected = a / b
    actual = run(case("Div", a, b, expected=[expected]), tmp_path)
    np.testing.assert_array_equal(actual, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[is_number]), np.signbit(expected[is_number]))


@pytest.mark.usefixtures("commands")
def test_quotients_of_halves(tmp_path: Path) -> None:
    """LLVM's steps of float16 are within one unit in the last place; zeros have their sign."""
    a, b = quotient_operands(np.float16)
    with np.errstate(all="ignore"):
        expected = a / b
    actual = run(case("Div", a, b, expected=[expected]), tmp_path)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), ~is_number)
    np.testing.assert_array_equal(np.signbit(actual[is_number]), np.signbit(expected[is_number]))
    units = [np.abs(array[is_number].view(np.int16).astype(int) & 0x7FFF) for array in (actual, expected)]
    assert np.abs(units[0] - units[1]).max() <= 1


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("op_type", ["Sin", "Cos", "Tan"])
def test_large_angles_of_float64(op_type: str, tmp_path: Path) -> None:
    """Beyond 2^20 OCML reduces by v_trig_preop_f64; some of these use each segment of 2/pi."""
    random = np.random.default_rng(1)
    angles = random.standard_normal(500) * 10.0 ** random.integers(0, 300, 500)
    edges = [1e6, -1e6, 1e15, 1e22, 1.7e308, 2.0**1023, 0.5, 0.0, 1e-300]
    x = np.array([*edges, *angles])
    expected = getattr(np, op_type.lower())(x)
    np.testing.assert_allclose(run(case(op_type, x, expected=[expected]), tmp_path), expected, rtol=2e-15, atol=0)
