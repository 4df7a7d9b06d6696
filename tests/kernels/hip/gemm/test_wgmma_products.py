"""Convolutions by products of four warps (wgmma_tile.h) with every tile, on the host, against PyTorch in float64."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.onnxc_commands import REPOSITORY
from tools.host_blocks import asan_runtime, build_kernels

SOURCE = Path(__file__).parent / "tile_products.hip"
Floats = NDArray[np.float32]

# Numbers of the enumeration of products, and the error of a rounded operand; of bf16x3, whose parts are cut to 8 bits,
# that of a product without its lowest part.
NUMBERS = {
    "float32": (0, 2.0**-24),
    "xf32": (1, 2.0**-11),
    "bf16x3": (2, 2.0**-14),
    "float16": (3, 2.0**-11),
    "bfloat16": (4, 2.0**-8),
}
PRODUCTS = ["xf32", "float16", "bfloat16"]
HALVES = ["float16", "bfloat16"]
# Rows and columns of the tile, the shape's number, and whether the reduction is split.
TILES = [
    (256, 64, 0),
    (128, 128, 1),
    (64, 256, 2),
    (128, 64, 2),
    (64, 64, 1),
    (128, 32, 0),
    (256, 32, 0),
    (64, 64, 0, 1),
]
# Channels, columns, kernel, stride and dilation.
SHAPES = [
    (64, 40, (2, 3, 3), (1, 1, 1), (1, 1, 1)),
    (48, 150, (1, 2, 3), (1, 2, 1), (1, 1, 1)),
    (112, 270, (1, 1, 3), (1, 1, 1), (1, 1, 2)),
]
# Extents of the output: less than a tile's rows, exactly some, one more.
EXTENTS = [
    (3, 3, 7),
    pytest.param((4, 8, 8), marks=pytest.mark.slow),
    pytest.param((1, 1, 257), marks=pytest.mark.slow),
]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wgmma_products") / "products.so"
    build_kernels(SOURCE, "sm_90a", output)
    return output


def made_of(values: str, shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    if values == "integers":
        return random.integers(-3, 4, shape).astype(np.float32)
    if values == "positive":
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    return random.standard_normal(shape).astype(np.float32)


def convolve(library: Path, kind: str, tile: tuple[int, ...], values: str, extents: tuple[int, ...]) -> None:
    import torch

    rows, columns, number, *split = tile
    channels, filters, kernel, stride, dilation = SHAPES[number]
    pads = tuple((k - 1) * d // 2 for k, d in zip(kernel, dilation, strict=True))
    ends = [
        (o - 1) * s + (k - 1) * d + 1 - p for o, s, k, d, p in zip(extents, stride, kernel, dilation, pads, strict=True)
    ]
    inputs = [max(end - 1, 1) for end in ends]  # the last row of taps reads padding
    random = np.random.default_rng(rows + columns)
    x = made_of(values, (channels, *inputs), random)
    w = made_of(values, (filters, channels, *kernel), random)
    if kind in HALVES:
        stored = getattr(torch, kind)
        x, w = (torch.from_numpy(array).to(stored).float().numpy() for array in (x, w))
    elif kind == "xf32":  # the compiler rounds weights
        w = ((w.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)
    result = np.full((filters, *extents), np.nan, np.float32)
    sizes = np.array([*inputs, *extents, *pads], np.int64)
    number_of_products, error = NUMBERS[kind]
    places = [ctypes.c_void_p(array.ctypes.data) for array in (x, w, result, sizes)]
    split_flag = split[0] if split else 0
    found = ctypes.CDLL(str(library)).convolution(number_of_products, rows, columns, number, split_flag, *places)
    assert found == 1

    def exact(a: Floats, b: Floats) -> NDArray[Any]:
        after = [end - 1 - size + p + 1 for end, size, p in zip(ends, inputs, pads, strict=True)]
        padded = np.pad(a.astype(np.float64), [(0, 0), *zip(pads, [n + 8 for n in after], strict=True)])
        y = torch.nn.functional.conv3d(
            torch.from_numpy(padded)[None], torch.from_numpy(b.astype(np.float64)), stride=stride, dilation=dilation
        )[0]
        return np.asarray(y[:, : extents[0], : extents[1], : extents[2]].numpy())

    expected = exact(x, w)
    if values == "integers":
        stored_expected = (
            torch.from_numpy(expected).to(getattr(torch, kind)).double().numpy() if kind in HALVES else expected
        )
        np.testing.assert_array_equal(result, stored_expected)
        return
    # An operand of each product is rounded, and the result to its own type; sums are cut to 24 bits or more.
    magnitudes = exact(np.abs(x), np.abs(w))
    of_products, of_results = (0, error) if kind in HALVES else (error, 0)
    bound = magnitudes * (of_products + 2.0**-20) + np.abs(expected) * of_results
    assert (np.abs(result - expected) <= bound).all()
    if values == "positive":
        assert abs((result / expected - 1).mean()) < error / 8, "operands were cut: every sum is too small"


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("kind", PRODUCTS)
def test_integers_are_exact(library: Path, kind: str, tile: tuple[int, ...], extents: tuple[int, ...]) -> None:
    convolve(library, kind, tile, "integers", extents)


@pytest.mark.parametrize("values", ["positive", "random"])
@pytest.mark.parametrize("kind", PRODUCTS)
def test_rounding(library: Path, kind: str, values: str) -> None:
    convolve(library, kind, TILES[0], values, (2, 5, 29))


def run_sanitized(gpu: str, folder: Path, order: str, *kinds: str) -> None:
    """The products of these kinds, in a process with the address sanitizer."""
    build_kernels(SOURCE, gpu, folder / "products.so", sanitize=True)
    environment = os.environ | {"ONNXC_HOST_ORDER": order, "LD_PRELOAD": asan_runtime()}
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    command = [sys.executable, "-m", __name__, str(folder / "products.so"), *kinds]
    subprocess.run(command, env=environment, cwd=REPOSITORY, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward", "7"])
def test_under_the_address_sanitizer(tmp_path: Path, order: str) -> None:
    run_sanitized("sm_90a", tmp_path, order)


def main() -> None:
    """The products of each kind that is named, all without a name."""
    library, *kinds = sys.argv[1:]
    for kind in kinds or PRODUCTS:
        for tile in TILES:
            convolve(Path(library), kind, tile, "integers", (3, 3, 7))
        if kind in PRODUCTS:
            convolve(Path(library), kind, TILES[0], "positive", (2, 2, 9))


if __name__ == "__main__":
    main()
