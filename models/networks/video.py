"""A decoder of video latents, chunk by chunk, as Wan's: its structure with few channels."""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = channels**0.5
        self.weight = nn.Parameter(torch.ones(channels, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(x, dim=1) * self.scale * self.weight


class CausalConvolution(nn.Conv3d):
    """Before the frames it reads two earlier ones: those of the last chunk, or zeros."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 3, padding=(0, 1, 1))

    def forward(self, x: torch.Tensor, cache: torch.Tensor | None = None) -> torch.Tensor:
        return super().forward(F.pad(x, (0, 0, 0, 0, 2, 0)) if cache is None else torch.cat([cache, x], dim=2))


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = RMSNorm(channels)
        self.convolution = CausalConvolution(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.convolution(F.silu(self.norm(x)))


class FrameAttention(nn.Module):
    """Between the pixels of each frame."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = RMSNorm(channels)
        self.to_qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.projection = nn.Conv2d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, frames, height, width = x.shape
        flat = self.norm(x).permute(0, 2, 1, 3, 4).reshape(batch * frames, channels, height, width)
        qkv = self.to_qkv(flat).reshape(batch * frames, 1, 3 * channels, height * width).permute(0, 1, 3, 2)
        attended = F.scaled_dot_product_attention(*qkv.chunk(3, dim=-1))
        flat = self.projection(attended.squeeze(1).permute(0, 2, 1).reshape(batch * frames, channels, height, width))
        return x + flat.view(batch, frames, channels, height, width).permute(0, 2, 1, 3, 4)


class Upsample(nn.Module):
    """Twice the height and width, half the channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.nearest = nn.Upsample(scale_factor=(2.0, 2.0), mode="nearest-exact")
        self.convolution = nn.Conv2d(channels, channels // 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, frames, height, width = x.shape
        flat = x.permute(0, 2, 1, 3, 4).reshape(batch * frames, channels, height, width)
        flat = self.convolution(self.nearest(flat))
        return flat.view(batch, frames, channels // 2, height * 2, width * 2).permute(0, 2, 1, 3, 4)


class ChunkDecoder(nn.Module):
    """Latents [1, 8, 2, H, W] and two caches of the last chunk to frames [1, 3, 2, 2*H, 2*W] and the next caches. In a
    chunk of two frames a new cache is all that the convolution reads."""

    def __init__(self) -> None:
        super().__init__()
        self.first = CausalConvolution(8, 20)
        self.block = ResidualBlock(20)
        self.attention = FrameAttention(20)
        self.upsample = Upsample(20)
        self.norm = RMSNorm(10)
        self.last = CausalConvolution(10, 3)

    def forward(
        self, latents: torch.Tensor, latent_cache: torch.Tensor, last_cache: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = self.upsample(self.attention(self.block(self.first(latents, latent_cache))))
        x = F.silu(self.norm(x))
        return self.last(x, last_cache), latents[:, :, -2:], x[:, :, -2:]
