"""Decoders of video latents as diffusers has them, at their published widths, with weights of ours.

Diffusers is imported only to build one: only make bench has it. Each takes latents [N, C, T, H, W].
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Shape = tuple[int, ...]


class Decoder(nn.Module):
    """`decode` of a model, as a module: the exporter takes modules."""

    def __init__(self, model: nn.Module, decode: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.model = model
        self.decode = decode

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        return self.decode(latents)


# Channels and enlargement of each cache of Wan 2.1's decoder: of two frames, in the order of its convolutions.
WAN_CACHES = (
    (16, 1), *[(384, 1)] * 11, (192, 2), *[(384, 2)] * 6, *[(192, 4)] * 6, *[(96, 8)] * 7,
)  # fmt: skip


class WanChunk(nn.Module):
    """One latent frame after the first two, with the caches of earlier ones: four frames, and the caches to come."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, latents: torch.Tensor, *caches: torch.Tensor) -> tuple[torch.Tensor, ...]:
        carried: list[torch.Tensor | None] = [*caches, None]
        frames = self.model.decoder(self.model.post_quant_conv(latents), feat_cache=carried, feat_idx=[0])
        return frames, *(cache for cache in carried if cache is not None)


def wan_inputs(height: int, width: int) -> tuple[Shape, ...]:
    caches = ((1, channels, 2, height * scale, width * scale) for channels, scale in WAN_CACHES)
    return ((1, 16, 1, height, width), *caches)


def wan_chunk() -> nn.Module:
    from diffusers import AutoencoderKLWan

    return WanChunk(AutoencoderKLWan())


def hunyuan() -> nn.Module:
    from diffusers import AutoencoderKLHunyuanVideo
    from diffusers.models.autoencoders import autoencoder_kl_hunyuan_video as source

    def causal_mask(
        frames: int, voxels: int, dtype: torch.dtype, device: torch.device, batch_size: int
    ) -> torch.Tensor:
        """[batch_size, frames * voxels, frames * voxels]. The exporter writes a wrong Expand for diffusers' own."""
        frame = torch.arange(frames * voxels, device=device) // voxels
        hidden = torch.where(frame[:, None] >= frame[None, :], 0.0, float("-inf")).to(dtype)
        return hidden.expand(batch_size, -1, -1)

    source.prepare_causal_attention_mask = causal_mask
    model = AutoencoderKLHunyuanVideo(
        block_out_channels=(128, 256, 512, 512),
        down_block_types=("HunyuanVideoDownBlock3D",) * 4,
        up_block_types=("HunyuanVideoUpBlock3D",) * 4,
    )
    return Decoder(model, lambda latents: model.decoder(model.post_quant_conv(latents)))


def cogvideox() -> nn.Module:
    from diffusers import AutoencoderKLCogVideoX

    model = AutoencoderKLCogVideoX(
        block_out_channels=(128, 256, 256, 512),
        down_block_types=("CogVideoXDownBlock3D",) * 4,
        up_block_types=("CogVideoXUpBlock3D",) * 4,
        latent_channels=16,
        layers_per_block=3,
    )
    return Decoder(model, lambda latents: model.decoder(latents)[0])


def ltx() -> nn.Module:
    from diffusers import AutoencoderKLLTXVideo

    model = AutoencoderKLLTXVideo()
    return Decoder(model, lambda latents: model.decoder(latents))


def ltx2() -> nn.Module:
    from diffusers import AutoencoderKLLTX2Video

    model = AutoencoderKLLTX2Video()
    return Decoder(model, lambda latents: model.decoder(latents, None, causal=False))


def cosmos() -> nn.Module:
    from diffusers import AutoencoderKLCosmos

    model = AutoencoderKLCosmos()
    return Decoder(model, lambda latents: model.decoder(model.post_quant_conv(latents)))


def allegro() -> nn.Module:
    from diffusers import AutoencoderKLAllegro

    model = AutoencoderKLAllegro(
        block_out_channels=(128, 256, 512, 512),
        temporal_downsample_blocks=(True, True, False, False),
        temporal_upsample_blocks=(False, True, True, False),
        latent_channels=4,
    )
    return Decoder(model, lambda latents: model.decoder(latents))


def stable_video() -> nn.Module:
    from diffusers import AutoencoderKLTemporalDecoder

    model = AutoencoderKLTemporalDecoder(
        block_out_channels=(128, 256, 512, 512), down_block_types=("DownEncoderBlock2D",) * 4, layers_per_block=2
    )

    def decode(latents: torch.Tensor) -> torch.Tensor:
        _, _, frames, _, _ = latents.shape
        images = latents.transpose(1, 2).flatten(0, 1)
        indicator = torch.zeros(1, frames, dtype=latents.dtype, device=latents.device)
        return model.decoder(images, num_frames=frames, image_only_indicator=indicator)

    return Decoder(model, decode)
