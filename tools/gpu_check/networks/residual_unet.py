"""nnU-Net's ResEnc-M: an encoder of residual blocks (ResNet-D), a decoder with one convolution a level.

Isensee et al., "nnU-Net Revisited", 2024.
"""

from collections.abc import Sequence

import torch
from torch import nn


def convolution(channels_in: int, channels_out: int, size: int = 3, stride: int = 1, bias: bool = True) -> nn.Module:
    """With its normalisation, without an activation."""
    return nn.Sequential(
        nn.Conv3d(channels_in, channels_out, size, stride, size // 2, bias=bias),
        nn.InstanceNorm3d(channels_out, affine=True),
    )


class Block(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = convolution(channels_in, channels_out, stride=stride)
        self.conv2 = convolution(channels_out, channels_out)
        self.activation = nn.LeakyReLU(0.01)
        self.skip = nn.Sequential()
        if stride != 1:
            self.skip.append(nn.AvgPool3d(stride, stride))
        if channels_in != channels_out:
            self.skip.append(convolution(channels_in, channels_out, size=1, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.conv2(self.activation(self.conv1(x)))
        out: torch.Tensor = self.activation(inner + self.skip(x))
        return out


class ResidualUNet(nn.Module):
    """[N, C, D, H, W] to class scores [N, classes, D, H, W]."""

    def __init__(self, channels: Sequence[int], blocks: Sequence[int], channels_in: int = 1, classes: int = 3) -> None:
        super().__init__()
        activation = nn.LeakyReLU(0.01)
        self.stem = nn.Sequential(convolution(channels_in, channels[0]), activation)
        self.stages = nn.ModuleList()
        previous = channels[0]
        for level, (width, count) in enumerate(zip(channels, blocks, strict=True)):
            first = Block(previous, width, 2 if level else 1)
            self.stages.append(nn.Sequential(first, *(Block(width, width, 1) for _ in range(count - 1))))
            previous = width
        self.decoder = nn.ModuleList()
        self.up = nn.ModuleList()
        for width in reversed(channels[:-1]):
            self.decoder.append(nn.Sequential(convolution(2 * width, width), activation))
            self.up.append(nn.ConvTranspose3d(previous, width, 2, 2))
            previous = width
        self.head = nn.Conv3d(channels[0], classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        levels = []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        levels.pop()
        for up, block in zip(self.up, self.decoder, strict=True):
            x = block(torch.cat((up(x), levels.pop()), dim=1))
        scores: torch.Tensor = self.head(x)
        return scores


def residual_encoder_m() -> nn.Module:
    return ResidualUNet((32, 64, 128, 256, 320, 320), (1, 3, 4, 6, 6, 6))
