"""MONAI's SegResNet: residual blocks with group normalisation before each convolution, trilinear upsampling."""

from collections.abc import Sequence

import torch
from torch import nn

GROUPS = 8


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, channels)
        self.norm2 = nn.GroupNorm(GROUPS, channels)
        self.activation = nn.ReLU()
        self.conv1 = nn.Conv3d(channels, channels, 3, 1, 1, bias=False)
        self.conv2 = nn.Conv3d(channels, channels, 3, 1, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.conv1(self.activation(self.norm1(x)))
        out: torch.Tensor = x + self.conv2(self.activation(self.norm2(inner)))
        return out


class SegResNet(nn.Module):
    """[N, C, D, H, W] to class scores [N, classes, D, H, W]; D, H and W divide by 8."""

    def __init__(self, filters: int, channels_in: int, classes: int, blocks: Sequence[int] = (1, 2, 2, 4)) -> None:
        super().__init__()
        self.first = nn.Conv3d(channels_in, filters, 3, 1, 1, bias=False)
        self.down = nn.ModuleList()
        for level, count in enumerate(blocks):
            channels = filters * 2**level
            halved = nn.Conv3d(channels // 2, channels, 3, 2, 1, bias=False) if level else nn.Identity()
            self.down.append(nn.Sequential(halved, *(ResidualBlock(channels) for _ in range(count))))
        widths = [filters * 2**level for level in reversed(range(len(blocks) - 1))]
        self.up_blocks = nn.ModuleList(nn.Sequential(ResidualBlock(width)) for width in widths)
        self.up = nn.ModuleList(
            nn.Sequential(
                nn.Conv3d(2 * width, width, 1, bias=False),
                nn.Upsample(scale_factor=2, mode="trilinear", align_corners=False),
            )
            for width in widths
        )
        self.head = nn.Sequential(nn.GroupNorm(GROUPS, filters), nn.ReLU(), nn.Conv3d(filters, classes, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        levels = []
        for down in self.down:
            x = down(x)
            levels.append(x)
        levels.pop()
        for up, block in zip(self.up, self.up_blocks, strict=True):
            x = block(up(x) + levels.pop())
        scores: torch.Tensor = self.head(x)
        return scores


def segresnet() -> nn.Module:
    return SegResNet(32, channels_in=4, classes=3)
