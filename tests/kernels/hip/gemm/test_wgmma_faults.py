"""Faults put into the products of four warps (wgmma_tile.h) on purpose: running them on the host must show each."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kernels.hip.gemm.test_wgmma_products import SOURCE
from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import build_kernels

TILE, PRODUCT = Path("kernels/hip/gemm/wgmma_tile.h"), Path("kernels/hip/gemm/implicit_gemm.h")
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
    command = [sys.executable, "-m", "tests.kernels.hip.gemm.test_wgmma_products", str(library), kind]
    environment = os.environ | {"ONNXC_HOST_ORDER": order}
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return RIGHT if done.returncode == 0 else done.stderr
