"""A level of a video decoder in the manner of Wan 2.1's: causal convolutions, RMS normalisation, larger planes."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class RmsNorm(nn.Module):
    """Over the channels of each voxel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(x, dim=1) * (self.weight * math.sqrt(x.shape[1]))


class CausalConvolution(nn.Conv3d):
    """Sees its own frame and the two before it."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__(channels_in, channels_out, 3, padding=(0, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(F.pad(x, (0, 0, 0, 0, 2, 0)))


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            RmsNorm(channels),
            nn.SiLU(),
            CausalConvolution(channels, channels),
            RmsNorm(channels),
            nn.SiLU(),
            CausalConvolution(channels, channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = x + self.body(x)
        return out


class DecoderLevel(nn.Module):
    """[N, C, T, H, W] to [N, C / 2, T, 2H, 2W]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            ResidualBlock(channels),
            ResidualBlock(channels),
            nn.Upsample(scale_factor=(1.0, 2.0, 2.0), mode="nearest"),
            nn.Conv3d(channels, channels // 2, (1, 3, 3), padding=(0, 1, 1)),
            ResidualBlock(channels // 2),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.body(x)
        return out


def decoder_level() -> nn.Module:
    return DecoderLevel(384)
