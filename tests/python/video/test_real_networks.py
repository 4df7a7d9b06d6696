"""Autoencoders of diffusers end to end, in small configurations: exported, compiled, and decoded in tiles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import onnxc
from tests.onnxc_commands import BINARIES, execute

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

PLANE = {3: torch.export.Dim.DYNAMIC, 4: torch.export.Dim.DYNAMIC}


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


class WanGraph(nn.Module):
    """A chunk through Wan's decoder or encoder, with its caches as inputs and outputs. The first chunk has none."""

    def __init__(self, network: nn.Module, count: int, kept: Sequence[int], is_encoder: bool) -> None:
        super().__init__()
        self.network, self.count, self.kept, self.is_encoder = network, count, kept, is_encoder

    def run(self, video: torch.Tensor, caches: list[Any]) -> torch.Tensor:
        first = {"first_chunk": True} if caches[0] is None and not self.is_encoder else {}
        result: torch.Tensor = self.network(video, feat_cache=caches, feat_idx=[0], **first)
        return result


class WanFirst(WanGraph):
    of_one: Sequence[int] = ()
    """The caches of later chunks that have one frame: those of a downsampling."""

    def forward(self, video: torch.Tensor) -> tuple[torch.Tensor, ...]:
        caches: list[Any] = [None] * self.count
        made = self.run(video, caches)
        found = {i: caches[i] for i in self.kept if not isinstance(caches[i], str)}
        # The others have two frames, and after a first chunk of one frame the first of both is zero.
        return (made, *(c if i in self.of_one else torch.cat((torch.zeros_like(c), c), 2) for i, c in found.items()))


class WanLater(WanGraph):
    def forward(self, video: torch.Tensor, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        caches: list[Any] = [None] * self.count
        for i, cache in zip(self.kept, given, strict=True):
            caches[i] = cache
        made = self.run(video, caches)
        return (made, *(caches[i] for i in self.kept))


def small_wan() -> Any:
    from diffusers import AutoencoderKLWan

    torch.manual_seed(0)
    return AutoencoderKLWan(
        base_dim=8, z_dim=4, dim_mult=[1, 2, 2], num_res_blocks=1, temperal_downsample=[False, True],
        scale_factor_spatial=4, scale_factor_temporal=2,
    ).eval()  # fmt: skip


def export_wan(folder: Path, network: nn.Module, count: int, chunks: Sequence[torch.Tensor], is_encoder: bool) -> Any:
    """Compiles both graphs to wan.so, and gives the pairs of caches. `chunks`: the first one and one after it."""
    caches: list[Any] = [None] * count
    probe = WanGraph(network, count, (), is_encoder)
    probe.run(chunks[0], caches)
    texts = [isinstance(cache, str) for cache in caches]
    probe.run(chunks[1], caches)
    kept = [i for i in range(count) if caches[i] is not None]
    first, later = WanFirst(network, count, kept, is_encoder), WanLater(network, count, kept, is_encoder)
    first.of_one = [i for i in kept if caches[i].shape[2] == 1]
    names = [f"next{i}" for i in kept]
    examples = [torch.zeros_like(caches[i]) for i in kept]
    torch.onnx.export(
        first.eval(), (chunks[0],), str(folder / "first.onnx"), dynamo=True, dynamic_shapes=[PLANE], verbose=False,
        input_names=["video"], output_names=["made", *(f"next{i}" for i in kept if not texts[i])],
    )  # fmt: skip
    torch.onnx.export(
        later.eval(), (chunks[1], *examples), str(folder / "later.onnx"), dynamo=True, verbose=False,
        dynamic_shapes=(PLANE, tuple(PLANE for _ in kept)),
        input_names=["video", *(f"cache{i}" for i in kept)], output_names=["made", *names],
    )  # fmt: skip
    models = [str(folder / f"{name}.onnx") for name in ("first", "later")]
    execute([str(BINARIES / "onnxc"), *models, "-o", str(folder / "wan.so")])
    return {f"cache{i}": f"next{i}" for i in kept}


@torch.no_grad()
def test_wans_decoder(tmp_path: Path) -> None:
    autoencoder = small_wan()

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.decoder = autoencoder.post_quant_conv, autoencoder.decoder

        def forward(self, video: torch.Tensor, **caches: Any) -> Any:
            return self.decoder(self.before(video), **caches)

    example = torch.randn(1, 4, 1, 6, 10)
    count = autoencoder._cached_conv_counts["decoder"]
    pairs = export_wan(tmp_path, Network(), count, (example, example), is_encoder=False)
    latents = torch.randn(1, 4, 4, 13, 18)
    options: dict[str, Any] = {"entry": "later", "first": "first", "caches": pairs, "clamp": (-1, 1)}
    decoder = onnxc.video.Decoder(tmp_path / "wan.so", **options)
    close(decoder.decode(latents), autoencoder.decode(latents).sample)
    for tile, stride in ((8, 6), (10, 3)):
        autoencoder.enable_tiling(tile * 4, tile * 4, stride * 4, stride * 4)
        decoder = onnxc.video.Decoder(tmp_path / "wan.so", tile=tile, overlap=tile - stride, **options)
        close(decoder.decode(latents), autoencoder.decode(latents).sample)


@torch.no_grad()
def test_wans_encoder(tmp_path: Path) -> None:
    autoencoder = small_wan()

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.after = autoencoder.encoder, autoencoder.quant_conv

        def forward(self, video: torch.Tensor, **caches: Any) -> Any:
            return self.after(self.encoder(video, **caches))

    chunks = torch.randn(1, 3, 1, 16, 24), torch.randn(1, 3, 4, 16, 24)
    count = autoencoder._cached_conv_counts["encoder"]
    pairs = export_wan(tmp_path, Network(), count, chunks, is_encoder=True)
    frames = torch.rand(1, 3, 9, 52, 72) * 2 - 1
    options: dict[str, Any] = {"entry": "later", "first": "first", "caches": pairs, "first_chunk": 1, "moments": True}
    close(
        onnxc.video.Encoder(tmp_path / "wan.so", **options).encode(frames),
        autoencoder.encode(frames).latent_dist.mode(),
    )
    autoencoder.enable_tiling(32, 32, 24, 24)
    encoder = onnxc.video.Encoder(tmp_path / "wan.so", tile=32, overlap=8, **options)
    close(encoder.encode(frames), autoencoder.encode(frames).latent_dist.mode())


@torch.no_grad()
def test_the_decoder_of_ltx(tmp_path: Path) -> None:
    from diffusers import AutoencoderKLLTXVideo

    torch.manual_seed(0)
    autoencoder = AutoencoderKLLTXVideo(
        latent_channels=8, block_out_channels=(8,) * 4, decoder_block_out_channels=(8,) * 4,
        layers_per_block=(1,) * 5, decoder_layers_per_block=(1,) * 5,
        spatio_temporal_scaling=(True, True, False, False), decoder_spatio_temporal_scaling=(True, True, False, False),
    ).eval()  # fmt: skip

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.decoder = autoencoder.decoder

        def forward(self, video: torch.Tensor) -> Any:
            return self.decoder(video, None)

    torch.onnx.export(
        Network().eval(), (torch.randn(1, 8, 3, 5, 6),), str(tmp_path / "ltx.onnx"), dynamo=True, verbose=False,
        dynamic_shapes=[{2: torch.export.Dim.DYNAMIC, **PLANE}], input_names=["latents"], output_names=["frames"],
    )  # fmt: skip
    execute([str(BINARIES / "onnxc"), str(tmp_path / "ltx.onnx"), "-o", str(tmp_path / "ltx.so")])
    latents = torch.randn(1, 8, 4, 9, 13)
    close(onnxc.video.Decoder(tmp_path / "ltx.so").decode(latents), autoencoder.decode(latents).sample)
    ratio = autoencoder.spatial_compression_ratio
    for tile, stride in ((6, 4), (7, 6)):
        autoencoder.enable_tiling(tile * ratio, tile * ratio, None, stride * ratio, stride * ratio)
        decoder = onnxc.video.Decoder(tmp_path / "ltx.so", tile=tile, overlap=tile - stride)
        close(decoder.decode(latents), autoencoder.decode(latents).sample)
