"""Convolutions by products of a warp (mma_tile.h) with every tile, on the host, against PyTorch in float64."""

from pathlib import Path

import pytest

from tests.kernels.hip.gemm.test_wgmma_products import EXTENTS, SOURCE, TILES, convolve, run_sanitized
from tools.host_blocks import build_kernels

PRODUCTS = ["float32", "bf16x3", "xf32", "float16"]
# Their products hold the rows of LDS in registers, or the columns.
TALL, SQUARE = TILES[:2]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("mma_products") / "products.so"
    build_kernels(SOURCE, "sm_80", output)
    return output


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("kind", PRODUCTS)
def test_integers_are_exact(library: Path, kind: str, tile: tuple[int, ...], extents: tuple[int, ...]) -> None:
    convolve(library, kind, tile, "integers", extents)


@pytest.mark.parametrize("tile", [TALL, SQUARE], ids=str)
@pytest.mark.parametrize("kind", PRODUCTS)
def test_rounding(library: Path, kind: str, tile: tuple[int, ...]) -> None:
    convolve(library, kind, tile, "random", (2, 5, 29))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward"])
def test_under_the_address_sanitizer(tmp_path: Path, order: str) -> None:
    run_sanitized("sm_80", tmp_path, order, *PRODUCTS)
