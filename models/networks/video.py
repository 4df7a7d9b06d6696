"""Decoders of video latents, with few channels: one of each kind that video generators publish.

All but the last are causal in time: a frame depends on itself and on earlier ones. They differ in how they see earlier
frames (caches, or copies of the first frame), in their normalisation, and in how they enlarge frames and count more of
them.
"""

from typing import Literal

import torch
from torch import nn
from torch.nn import functional

LATENT_CHANNELS = 5


class ChannelNorm(nn.Module):
    """Divides by the root mean square over the channels of each voxel (axis 1)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(channels, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.normalize(x, dim=1) * x.shape[1] ** 0.5 * self.scale


def frames_of(video: torch.Tensor) -> torch.Tensor:
    """[N, C, T, H, W] as images [N * T, C, H, W]."""
    n, c, t, h, w = video.shape
    return video.transpose(1, 2).reshape(n * t, c, h, w)


def video_of(frames: torch.Tensor, n: int, t: int) -> torch.Tensor:
    """Images [N * T, C, H, W] as [N, C, T, H, W]."""
    return frames.reshape(n, t, *frames.shape[1:]).transpose(1, 2)


class FrameAttention(nn.Module):
    """Attention with one head among the voxels of each frame, added to its input [N, C, T, H, W]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = ChannelNorm(channels)
        self.to_qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, t, h, w = x.shape
        q, k, v = self.to_qkv(frames_of(self.norm(x))).reshape(n * t, 1, 3 * c, h * w).transpose(2, 3).chunk(3, dim=-1)
        found = functional.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(n * t, c, h, w)
        return x + video_of(self.out(found), n, t)


class CachedConvolution(nn.Module):
    """A causal convolution whose two earlier frames come from a cache: of x and a cache to y and the next cache."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv3d(inputs, outputs, 3, padding=(0, 1, 1))

    def forward(self, x: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = torch.cat([cache, x], dim=2)
        return self.convolution(seen), seen[:, :, -2:]


class StreamingDecoder(nn.Module):
    """A decoder by chunks, as Wan's is: latents [N, 5, T, H, W] and four caches to frames [N, 3, 2T, 2H, 2W] and the
    next caches."""

    def __init__(self) -> None:
        super().__init__()
        self.first = CachedConvolution(LATENT_CHANNELS, 12)
        self.attention = FrameAttention(12)
        self.norm1, self.norm2, self.norm3 = ChannelNorm(12), ChannelNorm(12), ChannelNorm(6)
        self.middle = CachedConvolution(12, 12)
        self.more_frames = CachedConvolution(12, 24)
        self.enlarged = nn.Conv2d(12, 6, 3, padding=1)
        self.last = CachedConvolution(6, 3)

    def forward(
        self, latents: torch.Tensor, cache0: torch.Tensor, cache1: torch.Tensor, cache2: torch.Tensor,
        cache3: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:  # fmt: skip
        x, next0 = self.first(latents, cache0)
        x = self.attention(x)
        inner, next1 = self.middle(functional.silu(self.norm1(x)), cache1)
        x = x + inner
        frames, next2 = self.more_frames(functional.silu(self.norm2(x)), cache2)
        n, c, t, h, w = x.shape
        x = frames.reshape(n, 2, c, t, h, w).permute(0, 3, 1, 2, 4, 5).reshape(n * t * 2, c, h, w)
        x = self.enlarged(functional.interpolate(x, scale_factor=2.0, mode="nearest-exact"))
        video, next3 = self.last(functional.silu(self.norm3(video_of(x, n, 2 * t))), cache3)
        return video.clamp(-1.0, 1.0), next0, next1, next2, next3


class CausalConvolution(nn.Module):
    """A convolution over frames before which the first one is repeated, in planes padded by `mode`."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: tuple[int, int, int] = (3, 3, 3),
        mode: Literal["zeros", "reflect", "replicate"] = "zeros",
    ) -> None:
        super().__init__()
        padding = (0, kernel[1] // 2, kernel[2] // 2)
        self.before = kernel[0] - 1
        self.convolution = nn.Conv3d(inputs, outputs, kernel, padding=padding, padding_mode=mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        repeated = x[:, :, :1].repeat(1, 1, self.before, 1, 1)
        y: torch.Tensor = self.convolution(torch.cat([repeated, x], dim=2))
        return y


def shuffled(x: torch.Tensor, time: int, space: int) -> torch.Tensor:
    """Channels become `time` times the frames and `space` times the height and width; the first frames of a causal
    video, which nothing came before, go."""
    n, c, t, h, w = x.shape
    channels = c // (time * space * space)
    parts = x.reshape(n, channels, time, space, space, t, h, w).permute(0, 1, 5, 2, 6, 3, 7, 4)
    return parts.reshape(n, channels, t * time, h * space, w * space)[:, :, time - 1 :]


class ShufflingDecoder(nn.Module):
    """Channels become voxels, as in LTX' decoder: latents [N, 5, T, H, W] to frames [N, 3, 2T-1, 4H, 4W]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = CausalConvolution(LATENT_CHANNELS, 16, mode="reflect")
        self.norm1, self.norm2 = ChannelNorm(16), ChannelNorm(8)
        self.inner = CausalConvolution(16, 16, mode="reflect")
        self.enlarge = CausalConvolution(16, 64, mode="reflect")
        self.last = CausalConvolution(8, 3 * 4)

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        x = self.first(latents)
        x = x + self.inner(functional.silu(self.norm1(x)))
        # The residual shuffles too, its channels repeated.
        residual = shuffled(x, 2, 2).repeat(1, 4, 1, 1, 1)
        x = shuffled(self.enlarge(x), 2, 2) + residual
        return shuffled(self.last(functional.silu(self.norm2(x))), 1, 2)


class FrameGroupNorm(nn.Module):
    """GroupNorm of each frame by itself."""

    def __init__(self, groups: int, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return video_of(self.norm(frames_of(x)), x.shape[0], x.shape[2])


class WaveletDecoder(nn.Module):
    """Planes and time by turns, then Haar wavelets, as in Cosmos' decoder: latents [N, 5, T, H, W] to frames
    [N, 3, 2T-1, 2H, 2W]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = CausalConvolution(LATENT_CHANNELS, 8, (1, 3, 3))
        self.over_time = CausalConvolution(8, 8, (3, 1, 1))
        self.norm1, self.norm2 = FrameGroupNorm(1, 8), FrameGroupNorm(2, 8)
        self.to_bands = CausalConvolution(8, 3 * 8)
        low, high = torch.tensor([0.5, 0.5]), torch.tensor([0.5, -0.5])
        filters = [torch.einsum("t,h,w->thw", t, h, w) for t in (low, high) for h in (low, high) for w in (low, high)]
        self.register_buffer("filters", torch.stack(filters).unsqueeze(1).repeat(3, 1, 1, 1, 1) * 8)

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        x = self.first(latents)
        x = x + self.over_time(functional.silu(self.norm1(x)))
        bands = self.to_bands(functional.silu(self.norm2(x)))
        # Each band by its own filter, then the sum of the eight bands of a colour.
        filters: torch.Tensor = self.get_buffer("filters")
        parts = functional.conv_transpose3d(bands, filters, stride=2, groups=24)
        n, _, t, h, w = parts.shape
        return parts.reshape(n, 3, 8, t, h, w).sum(2)[:, :, 1:]


class InterpolatingDecoder(nn.Module):
    """The first frame is enlarged in its plane, the others in time as well, as in HunyuanVideo's decoder: latents
    [N, 5, T, H, W] to frames [N, 3, 2T-1, 2H, 2W]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = CausalConvolution(LATENT_CHANNELS, 12, mode="replicate")
        self.norm1, self.norm2 = nn.GroupNorm(3, 12), nn.GroupNorm(3, 12)
        self.inner = CausalConvolution(12, 12, mode="replicate")
        self.enlarged = CausalConvolution(12, 6, mode="replicate")
        self.shortcut = nn.Conv3d(12, 6, 1)
        self.last = CausalConvolution(6, 3, mode="replicate")

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        """Among all voxels of the same and of earlier frames."""
        n, c, t, h, w = x.shape
        voxels = x.reshape(n, 1, c, t * h * w).transpose(2, 3)
        frame = torch.arange(t, device=x.device).unsqueeze(1).expand(t, h * w).reshape(-1)
        mask = frame.unsqueeze(1) >= frame.unsqueeze(0)
        found = functional.scaled_dot_product_attention(voxels, voxels, voxels, attn_mask=mask)
        return x + found.transpose(2, 3).reshape(n, c, t, h, w)

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        x = self.attention(self.first(latents))
        x = x + self.inner(functional.silu(self.norm1(x)))
        x = functional.silu(self.norm2(x))
        alone = functional.interpolate(x[:, :, 0], scale_factor=2.0, mode="nearest").unsqueeze(2)
        others = functional.interpolate(x[:, :, 1:], scale_factor=2.0, mode="nearest")
        x = torch.cat([alone, others], dim=2)
        return self.last(self.enlarged(x) + self.shortcut(x))


class BlendingDecoder(nn.Module):
    """Planes and time by turns with a learned share of each, as in SVD's temporal decoder: latents [N, 5, T, H, W] to
    frames [N, 3, T, 2H, 2W]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(LATENT_CHANNELS, 12, 3, padding=1)
        self.plane_norm, self.time_norm = nn.GroupNorm(4, 12), nn.GroupNorm(4, 12)
        self.plane = nn.Conv2d(12, 12, 3, padding=1)
        self.time = nn.Conv3d(12, 12, (3, 1, 1), padding=(1, 0, 0))
        self.share = nn.Parameter(torch.tensor(0.3))
        self.last = nn.Conv2d(12, 3, 3, padding=1)
        self.last_in_time = nn.Conv3d(3, 3, (3, 1, 1), padding=(1, 0, 0))

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        n, t = latents.shape[0], latents.shape[2]
        frames = self.first(frames_of(latents))
        frames = frames + self.plane(functional.silu(self.plane_norm(frames)))
        video = video_of(functional.interpolate(frames, scale_factor=2.0, mode="nearest"), n, t)
        later = video + self.time(functional.silu(self.time_norm(video)))
        share = torch.sigmoid(self.share)
        video = share * video + (1.0 - share) * later
        planes = self.last(functional.silu(frames_of(video)))
        result: torch.Tensor = self.last_in_time(video_of(planes, n, t))
        return result
