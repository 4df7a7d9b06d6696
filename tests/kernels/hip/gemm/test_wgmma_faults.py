"""Faults put into the products of four warps (wgmma_tile.h) on purpose: running them on the host must show each."""

from pathlib import Path

import pytest

from tests.kernels.hip.gemm.planted_faults import RIGHT, WRONG, Fault, expect_shown
from tests.kernels.hip.gemm.test_wgmma_products import SOURCE

TILE, PRODUCT = Path("kernels/hip/gemm/wgmma_tile.h"), Path("kernels/hip/gemm/implicit_gemm.h")

FAULTS = {
    "none": Fault(TILE, "", "", RIGHT),
    "copies that are not shown": Fault(
        PRODUCT, "      Product::show_copies();\n", "", "no fence.proxy.async after copies to shared memory"
    ),
    "copies that are not waited for": Fault(
        PRODUCT, "wait_for_copies<stage_count - 3>()", "wait_for_copies<stage_count - 2>()", "operands changed"
    ),
    "no barrier": Fault(
        PRODUCT,
        "      Product::show_copies();\n      barrier();\n",
        "      Product::show_copies();\n",
        "operands changed",
    ),
    "a stage that is filled while it is read": Fault(
        PRODUCT, "int stage = 0, further = stage_count - 2;", "int stage = 0, further = 0;", "operands changed"
    ),
    "products that are not waited for": Fault(
        PRODUCT, "    product.template finish<0>();\n", "    product.template finish<1>();\n", WRONG
    ),
    "no fence before products": Fault(TILE, "    begin_products();\n", "", "no wgmma.fence since the last group"),
    "the first half twice": Fault(TILE, "factors + 2 * half", "factors", WRONG),
    "another order of chunks": Fault(TILE, "(row >> 1 & 3)", "(row & 3)", WRONG),
    "rows of the next eight elsewhere": Fault(TILE, "eight_rows = 8 *", "eight_rows = 16 *", "operands changed"),
    "rows of xf32 that are cut": Fault(
        TILE, "row[i][word] = rounded_to_tf32(row[i][word])", "(void)word", "every sum is too small", "xf32"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_shows(name: str, tmp_path: Path) -> None:
    expect_shown(FAULTS[name], SOURCE, "tests.kernels.hip.gemm.test_wgmma_products", (), tmp_path)
