"""tools.matrix_errors: its table for short sums."""

import re

import pytest

from tools import matrix_errors


@pytest.mark.parametrize("matrix", ["", "measured"])
def test_table(matrix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GFX942SIM_MATRIX", matrix)
    lines = matrix_errors.table(list(matrix_errors.INSTRUCTIONS), (16,))
    assert lines[0].startswith("| products | K | normal operands | positive operands |")
    largest = {"f32": 2**-23, "xf32": 2**-12, "bf16x3": 2**-15, "f16": 2**-23, "bf16": 2**-23}
    for kind, line in zip(largest, lines[2:], strict=True):
        normal, positive, mean = (float(number) for number in re.findall(r"-?\d\.\de[+-]\d+", line))
        assert line.startswith(f"| {kind} | 16 |")
        assert largest[kind] / 100 < normal < largest[kind]
        assert abs(mean) <= positive < largest[kind]
