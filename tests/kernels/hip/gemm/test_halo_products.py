"""Convolutions whose tiles are bricks of voxels (halo_gemm.h), on the host, against PyTorch in float64."""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernels.hip.gemm.test_wgmma_products import HALVES, NUMBERS, made_of
from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import asan_runtime, build_kernels

SOURCE = Path(__file__).parent / "halo_products.hip"
Floats = NDArray[np.float32]
Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """The shapes of halo_cases.h; the brick is that of a tile."""

    channels: int
    columns: int
    kernel: Extents
    brick: Extents
    dilation: Extents = (1, 1, 1)


CASES = [
    Case(64, 40, (3, 3, 3), (4, 8, 8)),
    Case(48, 130, (1, 3, 3), (1, 16, 8)),
    Case(80, 20, (5, 1, 1), (2, 16, 8)),
    Case(40, 33, (2, 2, 2), (4, 16, 8), (1, 2, 3)),
    Case(32, 64, (3, 1, 5), (2, 8, 8)),
    Case(80, 32, (3, 2, 3), (1, 32, 8)),
    Case(20, 16, (3, 3, 3), (8, 8, 8)),
    Case(32, 96, (1, 3, 3), (1, 32, 8)),
]
PRODUCTS = [(kind, number) for kind in ("float16", "xf32", "bf16x3") for number in range(len(CASES))]
PRODUCTS += [("bfloat16", 0), ("bfloat16", 5)]
# Padding before the first voxel and after the last, in halves of what the kernel reaches. Some inputs are cut off.
PADS = {"same": (1, 1), "causal": (2, 0), "none": (0, 0), "cropped": (-1, 3)}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("halo_products") / "products.so"
    build_kernels(SOURCE, "sm_90a", output)
    return output


def beyond(case: Case, more: Extents) -> Extents:
    """Extents of the output: those of a brick, and some more."""
    d, h, w = (b + m for b, m in zip(case.brick, more, strict=True))
    return d, h, w


def convolve(
    library: Path, kind: str, number: int, values: str, extents: Extents, pads: tuple[int, int] = (1, 1)
) -> None:
    import torch

    case = CASES[number]
    reach = [(k - 1) * d for k, d in zip(case.kernel, case.dilation, strict=True)]
    before, after = ([r * share // 2 for r in reach] for share in pads)
    inputs = [o + r - b - a for o, r, b, a in zip(extents, reach, before, after, strict=True)]
    assert min(inputs) > 0
    random = np.random.default_rng(number)
    x = made_of("integers" if values == "impulse" else values, (case.channels, *inputs), random)
    w = made_of("integers" if values == "impulse" else values, (case.columns, case.channels, *case.kernel), random)
    if values == "impulse":  # one voxel, in the last channel
        x[:] = 0
        x[-1, inputs[0] // 2, inputs[1] // 2, inputs[2] // 2] = 1
    if kind in HALVES:
        x, w = (torch.from_numpy(array).to(getattr(torch, kind)).float().numpy() for array in (x, w))
    elif kind == "xf32":  # the compiler rounds weights
        w = ((w.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)
    result = np.full((case.columns, *extents), np.nan, np.float32)
    sizes = np.array([*inputs, *extents, *before], np.int64)
    of_products, error = NUMBERS[kind]
    places = [ctypes.c_void_p(array.ctypes.data) for array in (x, w, result, sizes)]
    assert ctypes.CDLL(str(library)).convolution(of_products, number, *places) == 1

    def exact(a: Floats, b: Floats) -> NDArray[Any]:
        ends = [(max(begin, 0), max(end, 0)) for begin, end in zip(before, after, strict=True)]
        padded = np.pad(a.astype(np.float64), [(0, 0), *ends])
        for axis, (begin, end) in enumerate(zip(before, after, strict=True), 1):
            padded = np.take(padded, range(max(-begin, 0), padded.shape[axis] - max(-end, 0)), axis)
        return np.asarray(
            torch.nn.functional.conv3d(
                torch.from_numpy(padded)[None], torch.from_numpy(b.astype(np.float64)), dilation=case.dilation
            )[0].numpy()
        )

    expected = exact(x, w)
    if values in ("integers", "impulse"):
        stored = torch.from_numpy(expected).to(getattr(torch, kind)).double().numpy() if kind in HALVES else expected
        np.testing.assert_array_equal(result, stored)
        return
    # An operand of each product is rounded, and the result to its own type; sums are cut to 24 bits or more.
    magnitudes = exact(np.abs(x), np.abs(w))
    of_operands, of_results = (0, error) if kind in HALVES else (error, 0)
    assert (np.abs(result - expected) <= magnitudes * (of_operands + 2.0**-20) + np.abs(expected) * of_results).all()
    # In bf16x3 the product of two low parts is left out, and these are of one sign.
    if values == "positive" and kind != "bf16x3":
        assert abs((result / expected - 1).mean()) < error / 8, "operands were cut: every sum is too small"


@pytest.mark.parametrize(("kind", "number"), PRODUCTS)
def test_integers_are_exact(library: Path, kind: str, number: int) -> None:
    convolve(library, kind, number, "integers", beyond(CASES[number], (0, 0, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("more", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, -7)], ids=str)
@pytest.mark.parametrize(("kind", "number"), PRODUCTS)
def test_extents_around_a_brick(library: Path, kind: str, number: int, more: Extents) -> None:
    convolve(library, kind, number, "integers", beyond(CASES[number], more))


@pytest.mark.parametrize("pads", PADS)
@pytest.mark.parametrize(
    "number", [1, pytest.param(0, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_pads(library: Path, number: int, pads: str) -> None:
    convolve(library, "float16", number, "integers", beyond(CASES[number], (0, 0, 0)), PADS[pads])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_an_impulse(library: Path, number: int) -> None:
    convolve(library, "xf32", number, "impulse", CASES[number].brick)


@pytest.mark.parametrize("values", ["positive", "random"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "xf32", "bf16x3"])
def test_rounding(library: Path, kind: str, values: str) -> None:
    convolve(library, kind, 0, values, (3, 7, 8))


def test_statistics_of_bricks(tmp_path: Path) -> None:
    """The mean of each channel, what is left of it, and the sum of the squares of the differences from it."""
    import torch

    build_kernels(Path(__file__).with_name("halo_moments.hip"), "sm_90a", tmp_path / "moments.so")
    random = np.random.default_rng(0)
    extents = np.array([2, 32, 8], np.int64)
    x, w = (made_of("integers", shape, random) for shape in ((32, *extents), (96, 32, 1, 3, 3)))
    result = np.full((96, *extents), np.nan, np.float32)
    partial = np.full((6, 2, 3, 16), np.nan, np.float32)
    places = [ctypes.c_void_p(array.ctypes.data) for array in (x, w, result, partial, extents)]
    ctypes.CDLL(str(tmp_path / "moments.so")).convolution(*places)
    y = torch.nn.functional.conv3d(torch.from_numpy(x).double(), torch.from_numpy(w).double(), padding=(0, 1, 1))
    np.testing.assert_array_equal(result, y.numpy())
    mean, rest, squares = (partial[:, :, i].transpose(0, 2, 1).reshape(96, 2).astype(np.float64) for i in range(3))
    of_bricks = y.numpy().reshape(96, 2, -1)
    np.testing.assert_allclose(mean + rest, of_bricks.mean(2), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(squares, of_bricks.var(2) * of_bricks.shape[2], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward", "7"])
def test_under_the_address_sanitizer(tmp_path: Path, order: str) -> None:
    build_kernels(SOURCE, "sm_90a", tmp_path / "products.so", sanitize=True)
    environment = os.environ | {"ONNXC_HOST_ORDER": order, "LD_PRELOAD": asan_runtime()}
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    command = [sys.executable, "-m", __name__, str(tmp_path / "products.so")]
    subprocess.run(command, env=environment, cwd=REPOSITORY, check=True)


def main() -> None:
    """The products of a kind and a case, or all of them."""
    library, *which = sys.argv[1:]
    for kind, number in PRODUCTS:
        if not which or which == [kind, str(number)]:
            convolve(Path(library), kind, number, "integers", CASES[number].brick)
            convolve(Path(library), kind, number, "positive", (2, 2, 8))


if __name__ == "__main__":
    main()
