"""R3D-18 and R(2+1)D-18 with the structure of torchvision.models.video.

Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition", 2018.
"""

from collections.abc import Callable

import torch
from torch import nn

ConvolutionBuilder = Callable[[int, int, int, int], nn.Module]


def convolution_3d(channels_in: int, channels_out: int, middle: int, stride: int) -> nn.Module:
    return nn.Conv3d(channels_in, channels_out, 3, stride=stride, padding=1, bias=False)


def convolution_2plus1d(channels_in: int, channels_out: int, middle: int, stride: int) -> nn.Module:
    """A convolution over the frame, then one over time; `middle` keeps the count of parameters of the 3D one."""
    return nn.Sequential(
        nn.Conv3d(channels_in, middle, (1, 3, 3), stride=(1, stride, stride), padding=(0, 1, 1), bias=False),
        nn.BatchNorm3d(middle),
        nn.ReLU(),
        nn.Conv3d(middle, channels_out, (3, 1, 1), stride=(stride, 1, 1), padding=(1, 0, 0), bias=False),
    )


class BasicBlock(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, convolution: ConvolutionBuilder, stride: int) -> None:
        super().__init__()
        middle = (channels_in * channels_out * 27) // (channels_in * 9 + 3 * channels_out)
        self.conv1 = nn.Sequential(
            convolution(channels_in, channels_out, middle, stride), nn.BatchNorm3d(channels_out), nn.ReLU()
        )
        self.conv2 = nn.Sequential(convolution(channels_out, channels_out, middle, 1), nn.BatchNorm3d(channels_out))
        self.relu = nn.ReLU()
        self.downsample: nn.Module | None = None
        if stride != 1 or channels_in != channels_out:
            self.downsample = nn.Sequential(
                nn.Conv3d(channels_in, channels_out, 1, stride=stride, bias=False), nn.BatchNorm3d(channels_out)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        residual = x if self.downsample is None else self.downsample(x)
        out: torch.Tensor = self.relu(self.conv2(self.conv1(x)) + residual)
        return out


class VideoResNet18(nn.Module):
    """[N, 3, T, H, W] float32 to class scores [N, 400]."""

    def __init__(self, stem: nn.Module, convolution: ConvolutionBuilder) -> None:
        super().__init__()
        self.stem = stem
        self.layer1 = self.layer(64, 64, convolution, stride=1)
        self.layer2 = self.layer(64, 128, convolution, stride=2)
        self.layer3 = self.layer(128, 256, convolution, stride=2)
        self.layer4 = self.layer(256, 512, convolution, stride=2)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512, 400)

    @staticmethod
    def layer(channels_in: int, channels_out: int, convolution: ConvolutionBuilder, stride: int) -> nn.Module:
        return nn.Sequential(
            BasicBlock(channels_in, channels_out, convolution, stride),
            BasicBlock(channels_out, channels_out, convolution, 1),
        )

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(clip)))))
        scores: torch.Tensor = self.fc(self.avgpool(x).flatten(1))
        return scores


def r3d_18() -> nn.Module:
    stem = nn.Sequential(
        nn.Conv3d(3, 64, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False), nn.BatchNorm3d(64), nn.ReLU()
    )
    return VideoResNet18(stem, convolution_3d)


def r2plus1d_18() -> nn.Module:
    stem = nn.Sequential(
        nn.Conv3d(3, 45, (1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False),
        nn.BatchNorm3d(45),
        nn.ReLU(),
        nn.Conv3d(45, 64, (3, 1, 1), padding=(1, 0, 0), bias=False),
        nn.BatchNorm3d(64),
        nn.ReLU(),
    )
    return VideoResNet18(stem, convolution_2plus1d)
