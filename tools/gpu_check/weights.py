"""Weights that repeat one block of channels, so that a compiled model of any layout compresses.

A tensor of more than SMALL elements has, at [o, i, ...], its block's [o % 13, i % 11, ...]. The periods are coprime to
each other and to every tile: a read of the wrong channel gives another weight. Biases and normalisations do not repeat,
so that channels differ. A block's rows sum to zero, nearly as those of random weights do: without that, equal weights
would add up equal means. A batch normalisation is multiplied into the weights before it when a model is compiled, so
that in large models one scale holds for all of its channels. Networks that are only timed have coarse weights, of some
20 values, which pack four times as well.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

Array = NDArray[Any]

SMALL = 4096
LARGE = 10**6
COARSE_STEPS = 3  # at least, in a standard deviation
PERIODS = (13, 11)


def is_repeated(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 2 and math.prod(shape) > SMALL


def block(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[: PERIODS[0], : PERIODS[1]]


def repeated(part: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """The tensor of this shape that the block fills."""
    rows, columns = (torch.arange(size) % period for size, period in zip(shape[:2], part.shape[:2], strict=True))
    return part[rows][:, columns]


def repeat(model: nn.Module, *, is_coarse: bool = False) -> nn.Module:
    """Makes every large parameter of a model repeat its first block."""
    with torch.no_grad():
        for parameter in model.parameters():
            if not is_repeated(tuple(parameter.shape)):
                continue
            part = block(parameter).clone()
            if parameter.shape[1] > PERIODS[1]:
                part -= part.mean(dim=1, keepdim=True)
            if is_coarse:
                step = 2.0 ** math.floor(math.log2(float(part.std()) / COARSE_STEPS))
                part = (part / step).round() * step
            parameter.copy_(repeated(part, tuple(parameter.shape)))
    return model


def equalize(model: nn.Module) -> nn.Module:
    """Gives the channels of each batch normalisation of a large model one scale: of their mean variance."""
    if sum(parameter.numel() for parameter in model.parameters()) > LARGE:
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, _BatchNorm) and module.running_var is not None:
                    module.running_var.fill_(float(module.running_var.mean()))
                    module.weight.fill_(float(module.weight.mean()))
    return model


def packed(model: nn.Module) -> dict[str, Array]:
    """The parameters and buffers of a model after repeat(): blocks of the large ones."""
    arrays = {}
    for name, tensor in model.state_dict().items():
        part = block(tensor) if is_repeated(tuple(tensor.shape)) else tensor
        assert torch.equal(unpacked(part, tuple(tensor.shape)), tensor), name
        arrays[name] = part.contiguous().numpy()
    return arrays


def unpacked(part: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    return repeated(part, shape) if is_repeated(shape) else part


def load(model: nn.Module, arrays: Mapping[str, Array]) -> nn.Module:
    """Gives a model the weights of packed(), and puts it in evaluation mode."""
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    # A copy, since numpy gives a scalar's array back as read-only memory.
    state = {name: unpacked(torch.from_numpy(np.array(arrays[name])), shape) for name, shape in shapes.items()}
    model.load_state_dict(state)
    return model.eval()
