"""The networks of the zoo with few channels: their structure and all their shapes, at a cost that allows many sizes."""

import torch
from torch import nn

from models.networks.resnet3d import VideoResNet18, convolution_3d
from models.networks.unet3d import UNet3D
from models.networks.x3d import EXPANSION, Block


def unet3d_narrow() -> nn.Module:
    return UNet3D((4, 6, 8, 10, 12))


class NarrowVideoResNet18(VideoResNet18):
    """R3D-18 with 5 to 9 channels: [N, 3, T, H, W] float32 to class scores [N, 7]."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.stem = nn.Sequential(
            nn.Conv3d(3, 5, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False), nn.BatchNorm3d(5), nn.ReLU()
        )
        self.layer1 = self.layer(5, 5, convolution_3d, stride=1)
        self.layer2 = self.layer(5, 6, convolution_3d, stride=2)
        self.layer3 = self.layer(6, 8, convolution_3d, stride=2)
        self.layer4 = self.layer(8, 9, convolution_3d, stride=2)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(9, 7)


class NarrowX3D(nn.Module):
    """X3D's blocks, one of each kind: [N, 3, T, H, W] float32 to class scores [N, 7]."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv3d(3, 6, (1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1), bias=False),
            nn.Conv3d(6, 6, (5, 1, 1), padding=(2, 0, 0), groups=6, bias=False),
            nn.BatchNorm3d(6),
            nn.ReLU(),
        )
        self.stages = nn.Sequential(
            Block(6, 6, 2, squeeze_excite=True),
            Block(6, 6, 1, squeeze_excite=False),
            Block(6, 10, 2, squeeze_excite=True),
            Block(10, 10, 1, squeeze_excite=False),
            Block(10, 12, 2, squeeze_excite=True),
        )
        inner = int(12 * EXPANSION)
        self.head = nn.Sequential(
            nn.Conv3d(12, inner, 1, bias=False), nn.BatchNorm3d(inner), nn.ReLU(), nn.AdaptiveAvgPool3d(1)
        )
        self.projection = nn.Linear(inner, 7)

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.projection(self.head(self.stages(self.stem(clip))).flatten(1))
        return scores
