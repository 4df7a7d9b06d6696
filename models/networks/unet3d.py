"""A plain 3D U-Net in the manner of nnU-Net: strided convolutions down, transposed convolutions and concatenation up.

Isensee et al., "nnU-Net: a self-configuring method for deep learning-based biomedical image segmentation", 2021.
"""

from collections.abc import Sequence

import torch
from torch import nn


def convolution_block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(channels_in, channels_out, 3, stride=stride, padding=1),
        nn.InstanceNorm3d(channels_out, affine=True),
        nn.LeakyReLU(0.01),
    )


class UNet3D(nn.Module):
    """[N, C, D, H, W] float32 to class scores [N, classes, D, H, W]; D, H, W divide by 2 ** (len(channels) - 1)."""

    def __init__(self, channels: Sequence[int], channels_in: int = 1, classes: int = 2) -> None:
        super().__init__()
        self.encoder = nn.ModuleList()
        previous = channels_in
        for level, width in enumerate(channels):
            first = convolution_block(previous, width, stride=1 if level == 0 else 2)
            self.encoder.append(nn.Sequential(first, convolution_block(width, width, stride=1)))
            previous = width
        self.upsample = nn.ModuleList()
        self.decoder = nn.ModuleList()
        for width in reversed(channels[:-1]):
            self.upsample.append(nn.ConvTranspose3d(previous, width, 2, stride=2))
            self.decoder.append(
                nn.Sequential(convolution_block(2 * width, width, stride=1), convolution_block(width, width, stride=1))
            )
            previous = width
        self.head = nn.Conv3d(previous, classes, 1)

    def forward(self, volume: torch.Tensor) -> torch.Tensor:
        skips = []
        x = volume
        for stage in self.encoder:
            x = stage(x)
            skips.append(x)
        skips.pop()
        for upsample, stage in zip(self.upsample, self.decoder, strict=True):
            x = stage(torch.cat((upsample(x), skips.pop()), dim=1))
        scores: torch.Tensor = self.head(x)
        return scores


def unet3d() -> nn.Module:
    return UNet3D((32, 64, 128, 256, 320))
