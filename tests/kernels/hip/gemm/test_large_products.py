"""Tiles of matrix products at the start, in the middle and at the end of tensors beyond 2^31 elements and 4 GiB."""

from pathlib import Path

import pytest

from tests.kernels.hip import large_tensors
from tools.host_blocks import build_kernels

SOURCE, FUNCTION = Path(__file__).parent / "large_tensors.hip", "large_products"
PLANES = 3 * 8192 * 12288 * 16
# Elements of six tiles, and the last of the tensor.
CASES = {
    "blocks": (6 * 128 * 64, 50_000_000 * 64 - 1),
    "float32": (6 * 128 * 64, 50_000_000 * 64 - 1),
    "planes": (6 * 128 * 16, PLANES - 1),
    "to rows": (6 * 128 * 16, PLANES - 1),
    "from rows": (6 * 128 * 16, PLANES - 1),
    "transposed": (6 * 128 * 16, 4 * 8192 * 12288 * 16 - 1),
    # The last block of channels is half padding.
    "groups": (6 * 128 * 36, 50_000_000 * 80 - 9),
    "voxels": (6 * 256, 3 * 9 * 8192 * 11_000 - 1),
    "matrix": (6 * 128 * 48, 70_000_000 * 48 - 1),
}
BLOCK, LOADS, GEMM = (f"kernels/hip/gemm/{name}.h" for name in ("gemm_block", "gemm_loads", "implicit_gemm"))
# Indices that are cut to 32 bits.
FAULTS = {
    "a row": ("planes", {BLOCK: ("return int64_t{position} * static_cast", "return position * static_cast")}),
    "the block of channels that is stored": (
        "blocks",
        {
            BLOCK: (
                "(channel / lanes * arguments.output_view.block +",
                "(int(channel / lanes * arguments.output_view.block) +",
            )
        },
    ),
    "the way to a tap": (
        "blocks",
        {GEMM: ("move_rows(of_lane(at.lanes.way, at.lane));", "move_rows(int(of_lane(at.lanes.way, at.lane)));")},
    ),
    "an element": (
        "groups",
        {LOADS: ("is_planar ? offset : computed(offset)", "is_planar ? offset : int(computed(offset))")},
    ),
}


@pytest.fixture(scope="session", params=["sm_80", pytest.param("sm_90a", marks=pytest.mark.slow)])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("large_products") / "products.so"
    build_kernels(SOURCE, request.param, output)
    return output


@pytest.mark.parametrize("case", CASES)
def test_tiles_everywhere(library: Path, case: str) -> None:
    large_tensors.expect(library, FUNCTION, case, *CASES[case])


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_shows_an_index_of_32_bits(fault: str, tmp_path: Path) -> None:
    case, changes = FAULTS[fault]
    assert large_tensors.finds(SOURCE, FUNCTION, case, changes, tmp_path)
