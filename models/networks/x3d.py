"""X3D-S with the structure of pytorchvideo: depthwise 3x3x3 convolutions, squeeze-and-excite, SiLU.

Feichtenhofer, "X3D: Expanding Architectures for Efficient Video Recognition", 2020.
"""

import torch
from torch import nn

# (channels, blocks) of each stage; the inner channels of a block are 2.25 times those of its stage.
STAGES = ((24, 3), (48, 5), (96, 11), (192, 7))
EXPANSION = 2.25


class SqueezeExcite(nn.Module):
    """Scales each channel by a gate computed from the means of all; reduced to 1/16, a multiple of 8 and at least 8."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        reduced = max(8, int(channels * 0.0625 + 4) // 8 * 8)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool3d(1),
            nn.Conv3d(channels, reduced, 1),
            nn.ReLU(),
            nn.Conv3d(reduced, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = x * self.gate(x)
        return out


class Block(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int, squeeze_excite: bool) -> None:
        super().__init__()
        inner = int(channels_out * EXPANSION)
        self.branch = nn.Sequential(
            nn.Conv3d(channels_in, inner, 1, bias=False),
            nn.BatchNorm3d(inner),
            nn.ReLU(),
            nn.Conv3d(inner, inner, 3, stride=(1, stride, stride), padding=1, groups=inner, bias=False),
            nn.BatchNorm3d(inner),
            SqueezeExcite(inner) if squeeze_excite else nn.Identity(),
            nn.SiLU(),
            nn.Conv3d(inner, channels_out, 1, bias=False),
            nn.BatchNorm3d(channels_out),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Sequential(
                nn.Conv3d(channels_in, channels_out, 1, stride=(1, stride, stride), bias=False),
                nn.BatchNorm3d(channels_out),
            )
        self.activation = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.activation(self.branch(x) + self.shortcut(x))
        return out


class X3D(nn.Module):
    """[N, 3, T, H, W] float32 to class scores [N, 400]."""

    def __init__(self) -> None:
        super().__init__()
        width = STAGES[0][0]
        self.stem = nn.Sequential(
            nn.Conv3d(3, width, (1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1), bias=False),
            nn.Conv3d(width, width, (5, 1, 1), padding=(2, 0, 0), groups=width, bias=False),
            nn.BatchNorm3d(width),
            nn.ReLU(),
        )
        blocks = []
        for channels, count in STAGES:
            for index in range(count):
                blocks.append(Block(width, channels, 2 if index == 0 else 1, squeeze_excite=index % 2 == 0))
                width = channels
        self.stages = nn.Sequential(*blocks)
        inner = int(width * EXPANSION)
        self.head = nn.Sequential(
            nn.Conv3d(width, inner, 1, bias=False),
            nn.BatchNorm3d(inner),
            nn.ReLU(),
            nn.AdaptiveAvgPool3d(1),
            nn.Conv3d(inner, 2048, 1, bias=False),
            nn.ReLU(),
        )
        self.dropout = nn.Dropout(0.5)
        self.projection = nn.Linear(2048, 400)

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        x = self.head(self.stages(self.stem(clip))).flatten(1)
        scores: torch.Tensor = self.projection(self.dropout(x))
        return scores
