"""Blocks of normalised lines and of channelwise convolutions at the start, in the middle and at the end of tensors of
more than 2^31 elements and 4 GiB."""

from pathlib import Path

import pytest

from tests.kernels.hip import large_tensors
from tools.host_blocks import build_kernels

SOURCE, FUNCTION = Path(__file__).parent / "large_tensors.hip", "large_tensors"
PLANES = 3 * 8192 * 12288
# Elements of six blocks, and the last of the tensor.
CASES = {
    "over channels": (6 * 64 * 96, 96 * 41 * 480 * 832 - 1),
    "over free channels": (6 * 256 * 70, 2 * 70 * 20_000_000 - 1),
    "of rows": (6 * 16 * 48, 70_000_000 * 48 - 1),
    # The last line is the first of two.
    "cut": (6 * 256 * 32, 4 * 32 * 20_000_000 - 20_000_000 - 1),
    # The last chunk has 192 of 512 columns.
    "chunks": ((5 * 512 - 128) * 16, 2 * 75_000_000 * 16 - 1),
    "depthwise": (6 * 16 * 512, PLANES * 16 - 1),
    "depthwise rows": (6 * 8192, PLANES * 8 - 1),
    "transposed": (6 * 16384, PLANES * 16 - 1),
    "transposed rows": (6 * 16384, PLANES * 8 - 1),
}
LINES, CHANNELWISE = (f"kernels/hip/memory_bound/{name}.h" for name in ("normalized_lines", "channelwise"))
# Indices that are cut to 32 bits.
FAULTS = {
    "offsets of lines": ("over channels", {LINES: ("using Type = uint64_t;", "using Type = uint32_t;")}),
    "the first line of a block": (
        "of rows",
        {LINES: ("static_cast<int64_t>(first_outer) * columns * behind", "first_outer * columns * behind")},
    ),
    "an element's place": (
        "depthwise",
        {
            CHANNELWISE: (
                "{offset(kept, stride_of(arguments.input_view, axis)), ",
                "{int32_t(offset(kept, stride_of(arguments.input_view, axis))), ",
            ),
        },
    ),
    "the place of an output": (
        "transposed",
        {CHANNELWISE: ("int64_t to = offset(at[outer]", "int32_t to = offset(at[outer]")},
    ),
}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("large_tensors") / "kernels.so"
    build_kernels(SOURCE, "sm_80", output)
    return output


@pytest.mark.parametrize("case", CASES)
def test_blocks_everywhere(library: Path, case: str) -> None:
    large_tensors.expect(library, FUNCTION, case, *CASES[case])


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_shows_an_index_of_32_bits(fault: str, tmp_path: Path) -> None:
    case, changes = FAULTS[fault]
    assert large_tensors.finds(SOURCE, FUNCTION, case, changes, tmp_path)
