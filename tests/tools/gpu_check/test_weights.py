"""Weights that repeat one block: they compress, come back to the bit, and still tell the channels apart."""

import lzma

import pytest
import torch
from torch import nn

from tools.gpu_check.weights import PERIODS, equalize, load, packed, repeat


def network() -> nn.Module:
    return nn.Sequential(nn.Conv3d(24, 40, 3), nn.BatchNorm3d(40), nn.Conv3d(40, 5, 1), nn.ConvTranspose3d(5, 48, 3))


def test_weights_come_back_to_the_bit() -> None:
    torch.manual_seed(0)
    first, second = repeat(network()), network()
    first.get_buffer("1.running_mean").uniform_()
    arrays = packed(first)
    assert sum(array.size for array in arrays.values()) < sum(each.numel() for each in first.parameters()) / 4
    load(second, arrays)
    assert all(
        torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    )
    assert not second.training


def test_packed_weights_that_do_not_repeat_are_refused() -> None:
    with pytest.raises(AssertionError, match=r"0\.weight"):
        packed(network())


def test_any_order_of_the_channels_compresses_and_no_tile_repeats_the_one_beside_it() -> None:
    torch.manual_seed(0)
    [weight] = repeat(nn.Conv3d(256, 256, 3, bias=False)).parameters()
    tiled = weight.detach().reshape(16, 16, 16, 16, 27).permute(0, 2, 4, 3, 1).contiguous()
    for values in (weight.detach(), tiled):
        assert len(lzma.compress(values.numpy().tobytes(), preset=6)) < values.numel() * 4 / 100
    for step in (1, 2, 4, 8, 16, 32, 64, 128):
        assert not torch.equal(weight[0], weight[step])
        assert not torch.equal(weight[:, 0], weight[:, step])


def test_a_large_batch_normalisation_leaves_the_weights_before_it_repeating() -> None:
    torch.manual_seed(0)
    large = repeat(nn.Sequential(nn.Conv3d(200, 200, 3), nn.BatchNorm3d(200)))
    small = repeat(nn.Sequential(nn.Conv3d(24, 40, 3), nn.BatchNorm3d(40)))
    for model in (large, small):
        model.get_buffer("1.running_var").uniform_(0.5, 2)
        equalize(model)
        scale = model.get_parameter("1.weight") / (model.get_buffer("1.running_var") + 1e-5).sqrt()
        assert bool((scale == scale[0]).all()) == (model is large)


def test_coarse_weights_are_few_numbers_and_pack_better() -> None:
    sizes = []
    for is_coarse in (False, True):
        torch.manual_seed(0)
        [weight] = repeat(nn.Conv3d(256, 256, 3, bias=False), is_coarse=is_coarse).parameters()
        values = weight.detach()
        sizes.append(len(lzma.compress(values.numpy().tobytes(), preset=6)))
    assert len(set(values.flatten().tolist())) < 60
    assert torch.equal(values.half().float(), values)
    assert sizes[1] < sizes[0] / 3


def test_equal_inputs_of_all_channels_nearly_cancel() -> None:
    torch.manual_seed(0)
    [weight] = repeat(nn.Conv3d(PERIODS[1] * 8, 64, 3, bias=False)).parameters()
    assert weight.sum(dim=1).abs().max() < 1e-4 * weight.abs().sum(dim=1).max()
