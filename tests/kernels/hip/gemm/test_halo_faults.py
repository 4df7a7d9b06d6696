"""Faults put into the products of bricks of voxels (halo_gemm.h) on purpose: running on the host must show each."""

from pathlib import Path

import pytest

from tests.kernels.hip.gemm.planted_faults import RIGHT, WRONG, Fault, expect_shown

SOURCE = Path(__file__).parent / "halo_faults.hip"
FOLDER = Path("kernels/hip/gemm")
TILE, HALO, GEOMETRY = (FOLDER / f"halo_{name}.h" for name in ("tile", "gemm", "geometry"))

FAULTS = {
    "none": Fault(TILE, "", "", RIGHT),
    "strides of the descriptor exchanged": Fault(
        TILE,
        "next_line << 32 | next_plane << 16",
        "next_plane << 32 | next_line << 16",
        "an address outside of the shared memory that the launch asked for",
    ),
    "lines of the brick without their surroundings": Fault(
        TILE, "plan.halo().line_bytes() / 16", "plan.brick.w", WRONG
    ),
    "the same tap of each row of the kernel": Fault(
        TILE, "tap * static_cast<int>(plan.halo().offset(", "0 * static_cast<int>(plan.halo().offset(", WRONG
    ),
    "a dilation that is forgotten": Fault(
        HALO, "plan.halo().offset(0, shape.dilation.h, 0)", "plan.halo().offset(0, 1, 0)", WRONG
    ),
    "the same half of the channels twice": Fault(
        TILE, "add_half(sums, row + other_rows, factors", "add_half(sums, row, factors", WRONG
    ),
    "a halo that is copied over while it is read": Fault(
        HALO,
        "copy_chunks<chunks_a_step>(1 - halo, pair + 1",
        "copy_chunks<chunks_a_step>(halo, pair + 1",
        "operands changed",
    ),
    "a halo whose last part is not copied": Fault(
        GEOMETRY, "return steps() - ahead() - changes_elements;", "return steps();", WRONG
    ),
    "voxels beside the input that are read": Fault(
        HALO, "(static_cast<uint32_t>(w) < static_cast<uint32_t>(size.w)) &", "true &", WRONG
    ),
    "no barrier": Fault(
        HALO, "      Product::show_copies();\n      barrier();\n", "      Product::show_copies();\n", "operands changed"
    ),
    "copies that are not shown": Fault(
        HALO, "      Product::show_copies();\n", "", "no fence.proxy.async after copies"
    ),
    "products that are not waited for": Fault(
        HALO, "    product.template finish<0>();\n", "    product.template finish<1>();\n", WRONG
    ),
    "channels beyond the last pair": Fault(
        HALO, "(block < static_cast<int32_t>(plan.input_blocks()))", "(block >= 0)", WRONG
    ),
    "floats that are cut": Fault(
        HALO, "value[word] = rounded_to_tf32(value[word])", "(void)word", "every sum is too small", "xf32"
    ),
    "the low parts of the next halo forgotten": Fault(
        HALO, "change_chunks<chunks_a_step>(1 - halo", "change_chunks<0>(1 - halo", WRONG, "bf16x3"
    ),
    "low parts where high ones are": Fault(HALO, "at.voxel, chunk + 2}", "at.voxel, chunk}", WRONG, "bf16x3"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_shows(name: str, tmp_path: Path) -> None:
    expect_shown(FAULTS[name], SOURCE, "tests.kernels.hip.gemm.test_halo_products", ("3",), tmp_path)
