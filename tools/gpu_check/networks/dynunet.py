"""MONAI's DynUNet with its usual settings: kernels of 3, strided convolutions, instance normalisation."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


class Block(nn.Module):
    """Two convolutions, each with its normalisation and LeakyReLU."""

    def __init__(self, channels_in: int, channels_out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv3d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv3d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.activation = nn.LeakyReLU(0.01)
        self.norm1 = nn.InstanceNorm3d(channels_out, affine=True)
        self.norm2 = nn.InstanceNorm3d(channels_out, affine=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.activation(self.norm1(self.conv1(x)))
        out: torch.Tensor = self.activation(self.norm2(self.conv2(x)))
        return out


class Up(nn.Module):
    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.upsample = nn.ConvTranspose3d(channels_in, channels_out, 2, 2, bias=False)
        self.block = Block(2 * channels_out, channels_out)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.block(torch.cat((self.upsample(x), skip), dim=1))
        return out


class DynUNet(nn.Module):
    """[N, C, D, H, W] to class scores [N, classes, D, H, W]."""

    def __init__(self, channels: Sequence[int], channels_in: int = 1, classes: int = 14) -> None:
        super().__init__()
        self.first = Block(channels_in, channels[0])
        pairs = list(pairwise(channels))
        self.down = nn.ModuleList(Block(before, after, 2) for before, after in pairs)
        self.up = nn.ModuleList(Up(after, before) for before, after in reversed(pairs))
        self.head = nn.Conv3d(channels[0], classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(levels[-1]))
        x = levels.pop()
        for up in self.up:
            x = up(x, levels.pop())
        scores: torch.Tensor = self.head(x)
        return scores


def dynunet() -> nn.Module:
    return DynUNet((32, 64, 128, 256, 320))
