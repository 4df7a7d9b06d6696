"""Convolutions by products of RDNA's wavefronts (matrix_tile.h) with every tile, on the host, against PyTorch in
float64."""

from pathlib import Path

import pytest

from tests.kernels.hip.gemm.test_wgmma_products import EXTENTS, SOURCE, TILES, convolve, run_sanitized
from tools.host_blocks import build_kernels

PRODUCTS = ["float32", "bf16x3", "float16", "bfloat16"]


@pytest.fixture(scope="session", params=["gfx1100", "gfx1201"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wmma_products") / "products.so"
    build_kernels(SOURCE, request.param, output)
    return output


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("kind", PRODUCTS)
def test_integers_are_exact(library: Path, kind: str, tile: tuple[int, ...], extents: tuple[int, ...]) -> None:
    convolve(library, kind, tile, "integers", extents)


@pytest.mark.parametrize("tile", TILES[:3], ids=str)
@pytest.mark.parametrize("kind", PRODUCTS)
def test_rounding(library: Path, kind: str, tile: tuple[int, ...]) -> None:
    convolve(library, kind, tile, "random", (2, 5, 29))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward"])
@pytest.mark.parametrize("gpu", ["gfx1100", "gfx1201"])
def test_under_the_address_sanitizer(tmp_path: Path, gpu: str, order: str) -> None:
    run_sanitized(gpu, tmp_path, order, *PRODUCTS)
