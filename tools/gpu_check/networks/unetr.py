"""MONAI's UNETR: a vision transformer over patches of 16x16x16, and a convolutional decoder.

Hatamizadeh et al., "UNETR: Transformers for 3D Medical Image Segmentation", 2022.
"""

import torch
from torch import nn

from tools.gpu_check.networks.unetr_blocks import ResidualBlock, Up, doubled

PATCH = 16
LAYERS = 12
READ = (3, 6, 9)  # the layers that the decoder reads


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(width, width)
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        split = self.query_key_value(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        scores = (query @ key.transpose(-2, -1)) * (width // self.heads) ** -0.5
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(batch, tokens, width)
        out: torch.Tensor = self.projection(mixed)
        return out


class TransformerBlock(nn.Module):
    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        out: torch.Tensor = x + self.mlp(self.norm2(x))
        return out


class VisionTransformer(nn.Module):
    def __init__(self, size: int, channels_in: int, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(1, (size // PATCH) ** 3, width))
        self.patches = nn.Conv3d(channels_in, width, PATCH, PATCH)
        self.blocks = nn.ModuleList(TransformerBlock(width, inner, heads) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """The outputs of the layers that are read, then the last one's, normalised."""
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        found = []
        for layer, block in enumerate(self.blocks):
            x = block(x)
            if layer in READ:
                found.append(x)
        return [*found, self.norm(x)]


class UNETR(nn.Module):
    """[N, C, S, S, S] to class scores [N, classes, S, S, S]."""

    def __init__(self, size: int, features: int, width: int, inner: int, heads: int, classes: int) -> None:
        super().__init__()
        self.grid = size // PATCH
        self.transformer = VisionTransformer(size, 1, width, inner, heads)
        self.encoder1 = ResidualBlock(1, features)
        self.encoder2 = nn.Sequential(doubled(width, 2 * features))
        self.encoder3 = nn.Sequential(doubled(width, 4 * features))
        self.encoder4 = nn.Sequential(doubled(width, 8 * features))
        for encoder, channels, count in ((self.encoder2, 2, 2), (self.encoder3, 4, 1)):
            channels *= features
            for _ in range(count):
                encoder.append(nn.Sequential(doubled(channels, channels), ResidualBlock(channels, channels)))
        self.up4 = Up(width, 8 * features)
        self.up3 = Up(8 * features, 4 * features)
        self.up2 = Up(4 * features, 2 * features)
        self.up1 = Up(2 * features, features)
        self.head = nn.Conv3d(features, classes, 1)

    def image(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, _, width = tokens.shape
        return tokens.transpose(1, 2).reshape(batch, width, self.grid, self.grid, self.grid)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        third, sixth, ninth, last = map(self.image, self.transformer(x))
        out = self.up4(last, self.encoder4(ninth))
        out = self.up3(out, self.encoder3(sixth))
        out = self.up2(out, self.encoder2(third))
        scores: torch.Tensor = self.head(self.up1(out, self.encoder1(x)))
        return scores


def unetr() -> nn.Module:
    return UNETR(96, features=16, width=768, inner=3072, heads=12, classes=14)
