"""The matrix unit on the host against MMA-Sim, which was compared with real GPUs, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.host_blocks.host_kernels import HostKernels
from tests.matrix_data import KINDS, Bits, encoded, nearly_taken_away, random_bits, random_values
from tools.host_blocks import build_kernels

SOURCE = Path(__file__).parent / "matrix.hip"
WARPS, LANES, ROWS, COLUMNS = 8, 32, 16, 8
GPUS = {"sm_80": "Ampere", "sm_90a": "Hopper"}
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8}


@pytest.fixture(scope="session", params=GPUS)
def gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[HostKernels, str]:
    output = tmp_path_factory.mktemp("matrix") / f"{request.param}.so"
    build_kernels(SOURCE, request.param, output)
    return HostKernels(output), GPUS[request.param]


def torch_type(kind: str) -> Any:
    import torch

    return {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}[kind]


def operands(kind: str, data: str, random: np.random.Generator) -> tuple[Bits, Bits, Bits]:
    """a [warp, 16, k], b [warp, k, 8] and sums [warp, 16, 8] as bits."""
    depth, width = DEPTHS[kind], 32 if kind == "tf32" else 16
    shapes = (WARPS, ROWS, depth), (WARPS, depth, COLUMNS), (WARPS, ROWS, COLUMNS)
    if data == "bits":
        a, b, c = (random_bits(shape, size, random) for shape, size in zip(shapes, (width, width, 32), strict=True))
        return a, b, c
    a, b, c = (random_values(data, shape, random) for shape in shapes)
    if data == "cancelling":
        c = nearly_taken_away(np.einsum("wik,wkj->wij", a, b), random)
    return encoded(a, torch_type(kind)), encoded(b, torch_type(kind)), c.astype(np.float32).view(np.uint32)


def mmasim_result(architecture: str, kind: str, a: Bits, b: Bits, c: Bits) -> Bits:
    import torch
    from mmasim.nv_ptx.sim import MMA

    model = MMA(architecture, f"m16n8k{DEPTHS[kind]}.f32.{kind}.{kind}.f32")
    signed = f"i{a.itemsize}"
    results = [
        model(
            torch.from_numpy(row.copy().view(signed)).view(torch_type(kind)),
            torch.from_numpy(column.copy().view(signed)).view(torch_type(kind)),
            torch.from_numpy(addend.copy().view(np.int32)).view(torch.float32),
        )
        for row, column, addend in zip(a, b, c, strict=True)
    ]
    return np.asarray(torch.stack(results).view(torch.int32).numpy()).view(np.uint32)


@pytest.mark.parametrize("data", KINDS)
@pytest.mark.parametrize("kind", DEPTHS)
def test_equals_mmasim(gpu: tuple[HostKernels, str], kind: str, data: str) -> None:
    kernels, architecture = gpu
    a, b, c = operands(kind, data, np.random.default_rng(0))
    result = np.zeros_like(c)
    # The kernel takes b by columns, as it lies in LDS.
    kernels.launch(f"product_{kind}", 1, a, np.ascontiguousarray(b.transpose(0, 2, 1)), c, result)
    expected = mmasim_result(architecture, kind, a, b, c)
    same = result == expected
    assert same.all(), f"{np.count_nonzero(~same)} of {same.size}: {result[~same][:4]} instead of {expected[~same][:4]}"


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
