"""A part of a large output stands for all of it, and still finds what a wrong kernel would do."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tools.gpu_check import exports
from tools.gpu_check.comparison import MOST_ELEMENTS, Right, expected, mismatch, part_of, stride_of, whole

SHAPES = ((1, 16, 32, 32, 32), (1, 2, 64, 64, 64), (2, 7, 14, 21, 35), (1, 3, 40, 41, 43), (3, 48, 49, 50))
# Channels and columns of a tile.
TILES = ((8, 16), (16, 8), (16, 64), (7, 5))


def right_of(result: torch.Tensor) -> Right:
    stride = stride_of(result.shape)
    return Right(part_of(result, stride).clone(), result.shape, stride)


def fault(result: torch.Tensor, right: Right) -> str:
    return mismatch(result, right, torch.float32, 1e-3)[0]


def made(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(5))


def test_small_outputs_are_kept_whole() -> None:
    assert stride_of((1, 8, 16, 16, 16)) == 1
    assert stride_of(()) == 1
    result = made((3, 4))
    wrong = result.clone()
    wrong[2, 1] += 1
    assert fault(result, whole(result)) == ""
    assert fault(wrong, whole(result)).startswith("off by ")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_part_is_small_and_has_every_place_of_a_tile(shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    stride = stride_of(shape)
    assert MOST_ELEMENTS / 3 < count / stride <= MOST_ELEMENTS
    places = np.unravel_index(np.arange(0, count, stride), shape)
    for size, indices in zip(shape, places, strict=True):
        assert set(indices.tolist()) == set(range(size))
    for channels, columns in TILES:
        seen = set(zip((places[1] % channels).tolist(), (places[-1] % columns).tolist(), strict=True))
        wanted = itertools.product(range(min(channels, shape[1])), range(min(columns, shape[-1])))
        assert seen == set(wanted)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tile", TILES)
def test_any_wrong_tile_is_found(shape: tuple[int, ...], tile: tuple[int, int]) -> None:
    """A tile of channels and columns at one place of the other axes, or what is left of it at the edge."""
    result = made(shape)
    right = right_of(result)
    assert fault(result, right) == ""
    for first in range(0, shape[1], tile[0]):
        for column in range(0, shape[-1], tile[1]):
            for middle in (0, shape[2] - 1):
                wrong = result.clone()
                wrong[-1, first : first + tile[0], middle, ..., column : column + tile[1]] += 0.1
                assert fault(wrong, right).startswith("off by "), (first, column, middle)


def test_any_neighbours_of_the_strides_number_are_found() -> None:
    result = made((1, 3, 40, 41, 43))
    right = right_of(result)
    for first in (0, 1, 12345, result.numel() - right.stride):
        wrong = result.clone()
        wrong.view(-1)[first : first + right.stride] = 0
        assert fault(wrong, right).startswith("off by ")


def test_an_element_between_that_nobody_wrote_is_found() -> None:
    result = made((1, 3, 40, 41, 43))
    right = right_of(result)
    result.view(-1)[right.stride + 1] = float("nan")
    assert fault(result, right) == f"1 of {result.numel()} elements are NaN or infinite"


def test_a_wrong_shape_of_as_many_elements_is_found() -> None:
    result = made((1, 16, 32, 32, 32))
    text = fault(result.reshape(1, 32, 16, 32, 32), right_of(result))
    assert text == "shape [1, 32, 16, 32, 32], expected [1, 16, 32, 32, 32]"


def test_an_exported_case_is_compared_by_its_part(tmp_path: Path) -> None:
    sample = made((1, 2, 64, 64, 64))
    case = exports.case(nn.Identity(), (sample,), (["x"], ["y"]), torch.float32, tmp_path, 0)
    [value] = case.outputs
    assert (value.shape, value.stride) == ([1, 2, 64, 64, 64], 17)
    assert (tmp_path / value.file).stat().st_size < 4 * MOST_ELEMENTS + 200
    assert case.inputs[0].stride == 1
    assert fault(sample, expected(case.outputs, tmp_path)["y"]) == ""
    assert fault(sample.roll(1, -1), expected(case.outputs, tmp_path)["y"]).startswith("off by ")


def test_a_large_input_is_of_few_values_that_every_type_holds() -> None:
    sample = exports.coarse(made((1, 3, 40, 41, 43)))
    assert len(set(sample.flatten().tolist())) < 50
    for dtype in (torch.float16, torch.bfloat16):
        assert torch.equal(sample.to(dtype).float(), sample)
    small = made((3, 5))
    assert exports.coarse(small) is small
