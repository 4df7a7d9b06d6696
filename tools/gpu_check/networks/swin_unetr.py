"""MONAI's SwinUNETR: a Swin transformer over windows of 7x7x7 patches of 2x2x2, and a convolutional decoder.

Hatamizadeh et al., "Swin UNETR: Swin Transformers for Semantic Segmentation of Brain Tumors", 2022.
"""

import itertools
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from tools.gpu_check.networks.unetr_blocks import ResidualBlock, Up

WINDOW = 7
HEADS = (3, 6, 12, 24)
DEPTH = 2
# The order in which MONAI joins the eight voxels of a patch.
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1))


def split(x: torch.Tensor, window: Sequence[int]) -> torch.Tensor:
    """[N, D, H, W, C] as [windows, tokens, C]."""
    batch, depth, height, width, channels = x.shape
    a, b, c = window
    blocks = x.reshape(batch, depth // a, a, height // b, b, width // c, c, channels)
    return blocks.permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, a * b * c, channels)


def joined(windows: torch.Tensor, window: Sequence[int], dims: Sequence[int]) -> torch.Tensor:
    batch, depth, height, width = dims
    a, b, c = window
    blocks = windows.reshape(batch, depth // a, height // b, width // c, a, b, c, -1)
    return blocks.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(batch, depth, height, width, -1)


def window_mask(dims: Sequence[int], window: Sequence[int], shift: Sequence[int]) -> torch.Tensor:
    """-100 between tokens of a window that the shift brought together from two ends of the volume."""
    regions = torch.zeros(1, *dims, 1)
    edges = [(slice(-w), slice(-w, -s), slice(-s, None)) for w, s in zip(window, shift, strict=True)]
    for number, (d, h, w) in enumerate(itertools.product(*edges)):
        regions[:, d, h, w, :] = number
    of_tokens = split(regions, window).squeeze(-1)
    return torch.where(of_tokens.unsqueeze(1) != of_tokens.unsqueeze(2), -100.0, 0.0)


def relative_positions(window: int) -> torch.Tensor:
    """For each pair of tokens, its place in the table of biases of the largest window."""
    axis = torch.arange(window)
    places = torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij")).flatten(1)
    distance = places[:, :, None] - places[:, None, :] + window - 1
    span = 2 * window - 1
    return (distance[0] * span + distance[1]) * span + distance[2]


class WindowAttention(nn.Module):
    positions: torch.Tensor

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.bias_table = nn.Parameter(torch.zeros((2 * WINDOW - 1) ** 3, heads))
        self.register_buffer("positions", relative_positions(WINDOW), persistent=False)
        self.query_key_value = nn.Linear(channels, 3 * channels)
        self.projection = nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        windows, tokens, channels = x.shape
        parts = self.query_key_value(x).reshape(windows, tokens, 3, self.heads, channels // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query * (channels // self.heads) ** -0.5 @ key.transpose(-2, -1)
        bias = self.bias_table[self.positions[:tokens, :tokens].reshape(-1)].reshape(tokens, tokens, -1)
        scores = scores + bias.permute(2, 0, 1).unsqueeze(0)
        if mask is not None:
            count = mask.shape[0]
            scores = scores.reshape(windows // count, count, self.heads, tokens, tokens)
            scores = (scores + mask.unsqueeze(1).unsqueeze(0)).reshape(-1, self.heads, tokens, tokens)
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(windows, tokens, channels)
        out: torch.Tensor = self.projection(mixed)
        return out


class SwinBlock(nn.Module):
    """Attention within windows, shifted by half of one in every second block; channels last."""

    mask: torch.Tensor | None

    def __init__(self, channels: int, heads: int, size: int, is_shifted: bool) -> None:
        super().__init__()
        side = min(size, WINDOW)
        self.window = (side, side, side)
        self.padding = -size % side
        self.shift = WINDOW // 2 if is_shifted and size > WINDOW else 0
        self.norm1 = nn.LayerNorm(channels)
        self.attention = WindowAttention(channels, heads)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = nn.Sequential(nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))
        padded = [size + self.padding] * 3
        mask = window_mask(padded, self.window, [self.shift] * 3) if self.shift else None
        self.register_buffer("mask", mask, persistent=False)

    def attended(self, x: torch.Tensor) -> torch.Tensor:
        _, depth, height, width, _ = x.shape
        x = F.pad(x, (0, 0, 0, self.padding, 0, self.padding, 0, self.padding))
        dims = x.shape[:4]
        if self.shift:
            x = torch.roll(x, shifts=(-self.shift,) * 3, dims=(1, 2, 3))
        x = joined(self.attention(split(x, self.window), self.mask), self.window, dims)
        if self.shift:
            x = torch.roll(x, shifts=(self.shift,) * 3, dims=(1, 2, 3))
        return x[:, :depth, :height, :width]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attended(self.norm1(x))
        out: torch.Tensor = x + self.mlp(self.norm2(x))
        return out


class Stage(nn.Module):
    """Blocks, then patches of 2x2x2 merged into twice the channels."""

    def __init__(self, channels: int, heads: int, size: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(SwinBlock(channels, heads, size, index % 2 == 1) for index in range(DEPTH))
        self.reduction = nn.Linear(8 * channels, 2 * channels, bias=False)
        self.norm = nn.LayerNorm(8 * channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.permute(0, 2, 3, 4, 1)
        for block in self.blocks:
            x = block(x)
        merged = torch.cat([x[:, i::2, j::2, k::2, :] for i, j, k in CORNERS], dim=-1)
        out: torch.Tensor = self.reduction(self.norm(merged))
        return out.permute(0, 4, 1, 2, 3)


def normalized(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x.permute(0, 2, 3, 4, 1), [x.shape[1]]).permute(0, 4, 1, 2, 3)


class SwinUNETR(nn.Module):
    """[N, C, S, S, S] to class scores [N, classes, S, S, S]; S divides by 32."""

    def __init__(self, size: int, features: int, channels_in: int = 1, classes: int = 14) -> None:
        super().__init__()
        self.patches = nn.Conv3d(channels_in, features, 2, 2)
        self.stages = nn.ModuleList(
            Stage(features * 2**level, heads, size // 2 ** (level + 1)) for level, heads in enumerate(HEADS)
        )
        self.encoder1 = ResidualBlock(channels_in, features)
        self.encoder2 = ResidualBlock(features, features)
        self.encoder3 = ResidualBlock(2 * features, 2 * features)
        self.encoder4 = ResidualBlock(4 * features, 4 * features)
        self.encoder10 = ResidualBlock(16 * features, 16 * features)
        self.up5 = Up(16 * features, 8 * features)
        self.up4 = Up(8 * features, 4 * features)
        self.up3 = Up(4 * features, 2 * features)
        self.up2 = Up(2 * features, features)
        self.up1 = Up(features, features)
        self.head = nn.Conv3d(features, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = [self.patches(x)]
        for stage in self.stages:
            hidden.append(stage(hidden[-1]))
        found = [normalized(each) for each in hidden]
        out = self.up5(self.encoder10(found[4]), found[3])
        out = self.up4(out, self.encoder4(found[2]))
        out = self.up3(out, self.encoder3(found[1]))
        out = self.up2(out, self.encoder2(found[0]))
        scores: torch.Tensor = self.head(self.up1(out, self.encoder1(x)))
        return scores


def swin_unetr() -> nn.Module:
    return SwinUNETR(96, features=48)
