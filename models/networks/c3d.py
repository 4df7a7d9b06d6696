"""C3D: eight 3x3x3 convolutions and three linear layers on clips of 16 frames.

Tran et al., "Learning Spatiotemporal Features with 3D Convolutional Networks", 2015.
"""

import torch
from torch import nn


class C3D(nn.Module):
    """[N, 3, 16, 112, 112] float32 to class scores [N, 487]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *self.convolution(3, 64),
            nn.MaxPool3d((1, 2, 2), stride=(1, 2, 2)),
            *self.convolution(64, 128),
            nn.MaxPool3d(2, stride=2),
            *self.convolution(128, 256),
            *self.convolution(256, 256),
            nn.MaxPool3d(2, stride=2),
            *self.convolution(256, 512),
            *self.convolution(512, 512),
            nn.MaxPool3d(2, stride=2),
            *self.convolution(512, 512),
            *self.convolution(512, 512),
            nn.MaxPool3d(2, stride=2, padding=(0, 1, 1)),
        )
        self.classifier = nn.Sequential(
            nn.Linear(8192, 4096),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(4096, 487),
        )

    @staticmethod
    def convolution(channels_in: int, channels_out: int) -> tuple[nn.Module, ...]:
        return nn.Conv3d(channels_in, channels_out, 3, padding=1), nn.ReLU()

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.classifier(self.features(clip).flatten(1))
        return scores
