"""WMMA on the host: products of small integers are exact, others within a rounding to float32."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.host_blocks.host_kernels import HostKernels, launch_apart
from tools.host_blocks import build_kernels

SOURCE = Path(__file__).parent / "wmma.hip"
WAVES, SIDE = 8, 16
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.fixture(scope="session", params=["gfx1100", "gfx1201"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wmma") / f"{request.param}.so"
    build_kernels(SOURCE, request.param, output)
    return output


@pytest.mark.parametrize("values", ["integers", "random"])
@pytest.mark.parametrize("kind", TYPES)
def test_halves(library: Path, kind: str, values: str) -> None:
    random = np.random.default_rng(0)
    shape = (WAVES, SIDE, SIDE)
    drawn = random.integers(-9, 10, (3, *shape)) if values == "integers" else random.standard_normal((3, *shape))
    a, b = drawn[:2].astype(TYPES[kind])
    c = drawn[2].astype(np.float32)
    result = np.full_like(c, np.nan)
    HostKernels(library).launch(f"product_{kind}", 1, a.view(np.uint16), b.view(np.uint16), c, result)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    expected = np.einsum("wik,wjk->wij", wide_a, wide_b) + c
    if values == "integers":
        np.testing.assert_array_equal(result, expected)
    else:
        np.testing.assert_allclose(result, expected, rtol=0, atol=np.abs(expected).max() * 2.0**-23)


@pytest.mark.parametrize(("kernel", "dtype"), [("product_s8", np.int8), ("product_u8", np.uint8)])
def test_bytes(library: Path, kernel: str, dtype: Any) -> None:
    random = np.random.default_rng(0)
    a = random.integers(-128, 128, (WAVES, SIDE, SIDE)).astype(np.int8)
    b = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (WAVES, SIDE, SIDE)).astype(dtype)
    c = random.integers(-(2**31), 2**31, (WAVES, SIDE, SIDE)).astype(np.int32)
    result = np.zeros_like(c)
    HostKernels(library).launch(kernel, 1, a, b, c, result)
    wide = np.einsum("wik,wjk->wij", a.astype(np.int64), b.astype(np.int64)) + c
    np.testing.assert_array_equal(result, wide.astype(np.int32))


def test_on_rdna3_both_halves_have_a_row(tmp_path: Path) -> None:
    build_kernels(SOURCE, "gfx1100", tmp_path / "wmma.so")
    failed = launch_apart(tmp_path / "wmma.so", "unequal")
    assert failed.returncode != 0
    assert "lanes 0 and 16 have different elements of a row" in failed.stderr
