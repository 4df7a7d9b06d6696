"""The convolutional blocks that MONAI's UNETR and SwinUNETR share."""

import torch
from torch import nn


class ResidualBlock(nn.Module):
    """Two convolutions with normalisations that have no weights; a projection if the channels change."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv3d(channels_in, channels_out, 3, 1, 1, bias=False)
        self.conv2 = nn.Conv3d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.activation = nn.LeakyReLU(0.01)
        self.norm = nn.InstanceNorm3d(channels_out)
        self.projection = nn.Conv3d(channels_in, channels_out, 1, bias=False) if channels_in != channels_out else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.norm(self.conv2(self.activation(self.norm(self.conv1(x)))))
        kept = x if self.projection is None else self.norm(self.projection(x))
        out: torch.Tensor = self.activation(inner + kept)
        return out


def doubled(channels_in: int, channels_out: int) -> nn.Module:
    return nn.ConvTranspose3d(channels_in, channels_out, 2, 2, bias=False)


class Up(nn.Module):
    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.upsample = doubled(channels_in, channels_out)
        self.block = ResidualBlock(2 * channels_out, channels_out)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.block(torch.cat((self.upsample(x), skip), dim=1))
        return out
