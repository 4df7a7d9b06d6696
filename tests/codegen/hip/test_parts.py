"""Reductions in parts on the simulator: one model for sizes with few tiles, whose reductions are cut, and with many."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import onnxc_commands
from tests.codegen.hip.any_size import compile_for_any_size, run
from tests.ops.case import Case, case, constant, random, small_integers
from tests.ops.network.convolution_cases import conv_case

Sizes = list[tuple[int, ...]]


def convolution(
    op_type: str, weights: tuple[int, ...], sizes: Sizes, dtype: Any = np.float32, **attributes: Any
) -> list[Case]:
    return [conv_case("", op_type, size, weights, dtype=dtype, bias=True, **attributes) for size in sizes]


def product(left: Sizes, right: Sizes) -> list[Case]:
    """Both matrices made at run time."""
    cases = []
    for a, b in zip(left, right, strict=True):
        x, y = small_integers(*a), small_integers(*b, seed=1)
        cases.append(case("MatMul", x, y, expected=[x @ y]))
    return cases


def gemm(weights: tuple[int, int], rows: list[int]) -> list[Case]:
    w, bias = small_integers(*weights, seed=1), small_integers(weights[0], seed=2)
    cases = []
    for count in rows:
        x = small_integers(count, weights[1])
        cases.append(case("Gemm", x, constant(w), constant(bias), expected=[x @ w.T + bias], transB=1))
    return cases


# For each the sizes, and into how many of them reductions are cut.
CASES: dict[str, tuple[list[Case], int]] = {
    "conv 3x3": (convolution("Conv", (32, 32, 3, 3), [(1, 32, 5, 7), (2, 32, 20, 30), (1, 32, 282, 290)]), 2),
    "conv 3x3x3 stride 2": (
        convolution("Conv", (72, 40, 3, 3, 3), [(1, 40, 3, 5, 7), (2, 40, 6, 5, 1)], strides=[2] * 3, pads=[1] * 6),
        2,
    ),
    "conv in float16": (
        convolution("Conv", (24, 80, 3, 3), [(1, 80, 4, 4), (2, 80, 9, 7)], dtype=np.float16, pads=[1] * 4),
        2,
    ),
    "conv of groups": (convolution("Conv", (48, 24, 5, 3), [(1, 72, 7, 5), (3, 72, 9, 7)], group=3), 2),
    "stem": (
        convolution(
            "Conv", (64, 3, 3, 7, 7), [(1, 3, 2, 17, 19), (2, 3, 3, 9, 33)], strides=[1, 2, 2], pads=[1, 3, 3] * 2
        ),
        2,
    ),
    "transposed": (
        convolution("ConvTranspose", (64, 40, 4, 4), [(1, 64, 5, 3), (2, 64, 1, 1)], strides=[2, 2], pads=[1] * 4),
        2,
    ),
    "gemm": (gemm((24, 700), [1, 63, 130]), 3),
    "matrices of a batch": (product([(2, 3, 9, 300), (1, 3, 65, 300)], [(2, 3, 300, 20), (1, 3, 300, 20)]), 2),
}


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", CASES)
def test_one_model_for_all_sizes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases, in_parts = CASES[name]
    shared_object = compile_for_any_size(cases[:1], tmp_path)
    log = tmp_path / "launches"
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_LOG", str(log))
    for one in cases:
        assert one.expected is not None
        np.testing.assert_array_equal(run(shared_object, [one], tmp_path)[0], one.expected[0])
    kernels = [json.loads(line)["kernel"] for line in log.read_text().splitlines()]
    assert sum(kernel.startswith("second") for kernel in kernels) == in_parts


@pytest.mark.usefixtures("commands")
def test_the_same_bits_each_time(tmp_path: Path) -> None:
    """Parts are summed up in their order, whichever block was done first."""
    one = conv_case("", "Conv", (1, 96, 6, 6), (40, 96, 3, 3), data="random")
    assert one.expected is not None
    shared_object = compile_for_any_size([one], tmp_path)
    [first] = run(shared_object, [one], tmp_path)
    x, w = np.abs(random(1, 96, 6, 6)).max(), np.abs(random(40, 96, 3, 3, seed=1)).max()
    assert np.abs(first.astype(np.float64) - one.expected[0]).max() <= 2.0**-22 * np.sqrt(96 * 9) * x * w
    for _ in range(3):
        np.testing.assert_array_equal(run(shared_object, [one], tmp_path)[0], first)
