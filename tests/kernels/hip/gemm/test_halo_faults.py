"""Faults put into the products of bricks of voxels (halo_gemm.h) on purpose: running on the host must show each."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import build_kernels

SOURCE = Path(__file__).parent / "halo_faults.hip"
FOLDER = Path("kernels/hip/gemm")
TILE, HALO, GEOMETRY = (FOLDER / f"halo_{name}.h" for name in ("tile", "gemm", "geometry"))
RIGHT, WRONG = "all are right", "Arrays are not equal"


@dataclass(frozen=True)
class Fault:
    file: Path
    before: str
    after: str
    report: str
    kind: str = "float16"


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
    fault = FAULTS[name]
    text = (REPOSITORY / "src" / fault.file).read_text()
    assert fault.before in text
    changed = tmp_path / fault.file
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(fault.before, fault.after) if fault.before else text)
    build_kernels(SOURCE, "sm_90a", tmp_path / "products.so", headers=tmp_path)
    reports = [run(tmp_path / "products.so", fault.kind, order) for order in ("forward", "backward")]
    if fault.report == RIGHT:
        assert reports == [RIGHT, RIGHT]
    else:
        assert any(fault.report in report for report in reports), reports


def run(library: Path, kind: str, order: str) -> str:
    command = [sys.executable, "-m", "tests.kernels.hip.gemm.test_halo_products", str(library), kind, "3"]
    environment = os.environ | {"ONNXC_HOST_ORDER": order}
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return RIGHT if done.returncode == 0 else done.stderr
