"""Each kernel with multiply-adds that has a row is tested, its hot loops are read, and it is timed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TABLE = (ROOT / "src" / "codegen" / "cpu" / "call" / "kernel_rows.h").read_text()
ROWS = re.findall(r'^    \{(?:\.name = )?"(\w+)", (?:\.offer = )?offer_\w+(?:, (?:\.\w+ = )?true)?\},$', TABLE, re.M)
MULTIPLYING = [name for name in ROWS if name.startswith("conv") or name in ("matmul", "matmul_tiles", "softmax")]


def text_of(folder: str, pattern: str) -> str:
    """The text of all files of a folder whose names fit."""
    return "".join(file.read_text() for file in sorted((ROOT / folder).rglob(pattern)))


def test_the_table_is_read() -> None:
    assert {"conv_direct", "conv_winograd", "matmul", "pool"} <= set(ROWS)
    assert TABLE.count("void offer_") == len(ROWS)


@pytest.mark.parametrize("name", MULTIPLYING)
def test_a_kernel_is_tested_and_timed(name: str) -> None:
    [header] = (ROOT / "src" / "kernels" / "cpu").glob(f"*/{name}.h")
    include = f'#include "kernels/cpu/{header.parent.name}/{name}.h"'
    assert include in text_of("tests/kernels/cpu", "*_test.cpp")
    assert include in text_of("tests/codegen/cpu", "hot_loops_test.cpp")
    assert include in text_of("tools/microbenchmark", "*.cpp")
