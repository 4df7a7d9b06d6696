"""The matrix unit on the host against MMA-Sim, which was compared with real GPUs, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.host_blocks.host_kernels import HostKernels
from tests.host_blocks.mmasim_products import DEPTHS, assert_same_bits, mmasim_result, operands
from tests.matrix_data import KINDS
from tools.host_blocks import build_kernels

SOURCE = Path(__file__).parent / "matrix.hip"
WARPS, LANES, ROWS, COLUMNS = 8, 32, 16, 8
GPUS = {"sm_80": "Ampere", "sm_90a": "Hopper"}


@pytest.fixture(scope="session", params=GPUS)
def gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[HostKernels, str]:
    output = tmp_path_factory.mktemp("matrix") / f"{request.param}.so"
    build_kernels(SOURCE, request.param, output)
    return HostKernels(output), GPUS[request.param]


@pytest.mark.parametrize("data", KINDS)
@pytest.mark.parametrize("kind", DEPTHS)
def test_equals_mmasim(gpu: tuple[HostKernels, str], kind: str, data: str) -> None:
    from mmasim.nv_ptx.sim import MMA

    kernels, architecture = gpu
    a, b, c = operands(kind, data, WARPS, ROWS, COLUMNS, np.random.default_rng(0))
    result = np.zeros_like(c)
    # The kernel takes b by columns, as it lies in LDS.
    kernels.launch(f"product_{kind}", 1, a, np.ascontiguousarray(b.transpose(0, 2, 1)), c, result)
    model = MMA(architecture, f"m16n8k{DEPTHS[kind]}.f32.{kind}.{kind}.f32")
    assert_same_bits(result, mmasim_result(model, kind, a, b, c))


@pytest.mark.parametrize(("kernel", "dtype"), [("product_s8", np.int8), ("product_u8", np.uint8)])
def test_bytes(gpu: tuple[HostKernels, str], kernel: str, dtype: Any) -> None:
    random = np.random.default_rng(0)
    a = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (WARPS, ROWS, 32)).astype(dtype)
    b = random.integers(-128, 128, (WARPS, COLUMNS, 32)).astype(np.int8)
    c = random.integers(-(2**31), 2**31, (WARPS, ROWS, COLUMNS)).astype(np.int32)
    result = np.zeros_like(c)
    gpu[0].launch(kernel, 1, a, b, c, result)
    wide = np.einsum("wik,wjk->wij", a.astype(np.int64), b.astype(np.int64)) + c
    np.testing.assert_array_equal(result, wide.astype(np.int32))
