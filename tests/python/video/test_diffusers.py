"""onnxc.video beside the tiled decoding and encoding of diffusers itself, whose loops run around the same networks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import onnxc
from tests.onnxruntime_sessions import open_session
from tests.python.video.networks import ZOOM, Array, latents

pytestmark = pytest.mark.slow

CACHES = {"cache": "next"}
TILES = [(6, 2), (5, 4), (8, 0), (7, 1), (30, 2)]


def classes() -> Any:
    """Imported here, since it takes seconds."""
    import diffusers

    return diffusers


class Causal(nn.Module):
    """The whole video, or a window of it."""

    def __init__(self, folder: Path, name: str = "causal", given: str = "latents") -> None:
        super().__init__()
        self.session, self.given = open_session(folder / f"{name}.onnx"), given

    def forward(self, values: torch.Tensor, *_: object) -> torch.Tensor:
        return torch.from_numpy(self.session.run(None, {self.given: values.contiguous().numpy()})[0])


class Streaming(nn.Module):
    """A chunk and its cache, as the networks of Wan and CogVideoX take them."""

    def __init__(self, folder: Path, first: str = "first", later: str = "later", given: str = "latents") -> None:
        super().__init__()
        self.first, self.later = open_session(folder / f"{first}.onnx"), open_session(folder / f"{later}.onnx")
        self.given = given

    def run(self, values: torch.Tensor, cache: Array | None) -> tuple[torch.Tensor, Array]:
        inputs = {self.given: values.contiguous().numpy()}
        session = self.first if cache is None else self.later
        frames, following = session.run(None, inputs if cache is None else {**inputs, "cache": cache})
        return torch.from_numpy(frames), following


class WanLike(Streaming):
    def forward(
        self, values: torch.Tensor, feat_cache: list[Any], feat_idx: list[int], first_chunk: bool = False
    ) -> torch.Tensor:
        assert self.given == "frames" or first_chunk == (feat_cache[0] is None)
        frames, feat_cache[0] = self.run(values, feat_cache[0])
        return frames


class CogVideoXLike(Streaming):
    def forward(self, values: torch.Tensor, conv_cache: Array | None) -> tuple[torch.Tensor, Array]:
        return self.run(values, conv_cache)


def with_decoder(autoencoder: Any, decoder: nn.Module) -> Any:
    autoencoder.decoder, autoencoder.post_quant_conv = decoder, nn.Identity()
    return autoencoder.eval()


def wan(folder: Path) -> Any:
    tiny = {"base_dim": 4, "z_dim": 2, "dim_mult": [1, 1], "num_res_blocks": 1, "temperal_downsample": [True]}
    return with_decoder(classes().AutoencoderKLWan(**tiny, scale_factor_spatial=ZOOM), WanLike(folder))


def hunyuan_video(folder: Path) -> Any:
    autoencoder = classes().AutoencoderKLHunyuanVideo(
        latent_channels=2, block_out_channels=(4, 4, 4, 4), norm_num_groups=2, layers_per_block=1
    )
    return with_ratios(with_decoder(autoencoder, Causal(folder)))


def with_ratios(autoencoder: Any) -> Any:
    """With the ratios of the small decoder, which the class does not build."""
    autoencoder.spatial_compression_ratio = autoencoder.temporal_compression_ratio = ZOOM
    return autoencoder


def ltx(folder: Path) -> Any:
    return with_ratios(with_decoder(classes().AutoencoderKLLTXVideo(latent_channels=2, **SMALL_LTX), Causal(folder)))


def cogvideox(folder: Path) -> Any:
    return with_decoder(
        classes().AutoencoderKLCogVideoX(
            latent_channels=2, block_out_channels=(4, 4), layers_per_block=1, norm_num_groups=2,
            down_block_types=("CogVideoXDownBlock3D",) * 2, up_block_types=("CogVideoXUpBlock3D",) * 2,
        ),
        CogVideoXLike(folder),
    )  # fmt: skip


SMALL_LTX = {
    "block_out_channels": (8, 8, 8, 8), "decoder_block_out_channels": (8, 8, 8, 8),
    "layers_per_block": (1,) * 5, "decoder_layers_per_block": (1,) * 5,
}  # fmt: skip


def decoded(autoencoder: Any, values: Array) -> Array:
    with torch.no_grad():
        frames: Array = autoencoder.decode(torch.from_numpy(values)).sample.numpy()
    return frames


def close(actual: Array, expected: Array) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def enable_strides(autoencoder: Any, tile: int, overlap: int, **more: int) -> None:
    size, stride = tile * ZOOM, (tile - overlap) * ZOOM
    autoencoder.enable_tiling(
        tile_sample_min_height=size,
        tile_sample_min_width=size,
        tile_sample_stride_height=stride,
        tile_sample_stride_width=stride,
        **more,
    )


@pytest.mark.parametrize(("tile", "overlap"), TILES)
def test_wan(decoder_file: Path, tile: int, overlap: int) -> None:
    autoencoder = wan(decoder_file.parent)
    enable_strides(autoencoder, tile, overlap)
    values = latents(1, 2, 4, 13, 22)
    options: dict[str, Any] = {"entry": "later", "first": "first", "caches": CACHES, "clamp": (-1, 1)}
    close(
        onnxc.video.Decoder(decoder_file, tile=tile, overlap=overlap, **options).decode(values),
        decoded(autoencoder, values),
    )


@pytest.mark.parametrize("build", [ltx, hunyuan_video])
@pytest.mark.parametrize(("tile", "overlap"), TILES)
def test_ltx_and_hunyuan_video(causal_file: Path, build: Callable[[Path], Any], tile: int, overlap: int) -> None:
    autoencoder = build(causal_file.parent)
    autoencoder.use_framewise_decoding = False
    enable_strides(autoencoder, tile, overlap)
    values = latents(1, 2, 3, 13, 22)
    close(onnxc.video.Decoder(causal_file, tile=tile, overlap=overlap).decode(values), decoded(autoencoder, values))


@pytest.mark.parametrize(("time_tile", "time_overlap"), [(4, 1), (3, 2), (2, 0)])
@pytest.mark.parametrize("frames", [2, 4, 5, 9])
def test_windows_over_time_of_hunyuan_video(causal_file: Path, time_tile: int, time_overlap: int, frames: int) -> None:
    autoencoder = hunyuan_video(causal_file.parent)
    stride = (time_tile - time_overlap) * ZOOM
    enable_strides(autoencoder, 6, 2, tile_sample_min_num_frames=time_tile * ZOOM, tile_sample_stride_num_frames=stride)
    values = latents(1, 2, frames, 9, 13)
    decoder = onnxc.video.Decoder(causal_file, tile=6, overlap=2, time_tile=time_tile, time_overlap=time_overlap)
    close(decoder.decode(values), decoded(autoencoder, values))


@pytest.mark.parametrize("frames", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("is_tiled", [False, True])
def test_cogvideox(decoder_file: Path, frames: int, is_tiled: bool) -> None:
    autoencoder = cogvideox(decoder_file.parent)
    if is_tiled:
        autoencoder.enable_tiling(12 * ZOOM, 15 * ZOOM, 1 / 6, 1 / 5)
    values = latents(1, 2, frames, 21, 31)
    options: dict[str, Any] = {"tile": (12, 15), "overlap": (2, 3)} if is_tiled else {}
    decoder = onnxc.video.Decoder(decoder_file, entry="later", first="first", caches=CACHES, chunk=2, **options)
    close(decoder.decode(values), decoded(autoencoder, values))


def with_encoder(autoencoder: Any, encoder: nn.Module) -> Any:
    autoencoder.encoder, autoencoder.quant_conv = encoder, nn.Identity()
    return autoencoder


def encoded(autoencoder: Any, frames: Array) -> Any:
    with torch.no_grad():
        return autoencoder.encode(torch.from_numpy(frames)).latent_dist


@pytest.mark.parametrize(("tile", "overlap"), [(4, 2), (3, 1), (5, 4), (30, 2)])
def test_the_encoder_of_wan(decoder_file: Path, streaming_encoder_file: Path, tile: int, overlap: int) -> None:
    folder = decoder_file.parent
    autoencoder = with_encoder(wan(folder), WanLike(folder, "begin", "go_on", "frames"))
    enable_strides(autoencoder, tile, overlap)
    frames = latents(1, 3, 9, 14, 22)
    encoder = onnxc.video.Encoder(
        streaming_encoder_file, entry="go_on", first="begin", caches=CACHES, first_chunk=1, moments=True,
        tile=tile * ZOOM, overlap=overlap * ZOOM,
    )  # fmt: skip
    close(encoder.encode(frames), encoded(autoencoder, frames).mode().numpy())


@pytest.mark.parametrize("frames", [1, 9, 17])
@pytest.mark.parametrize(("time_tile", "time_overlap"), [(4, 1), (3, 0), (8, 2)])
def test_the_encoder_of_hunyuan_video(
    causal_file: Path, encoder_file: Path, frames: int, time_tile: int, time_overlap: int
) -> None:
    folder = causal_file.parent
    autoencoder = with_encoder(hunyuan_video(folder), Causal(folder, "encoder", "frames"))
    stride = (time_tile - time_overlap) * ZOOM
    enable_strides(autoencoder, 3, 1, tile_sample_min_num_frames=time_tile * ZOOM, tile_sample_stride_num_frames=stride)
    values = latents(1, 3, frames, 10, 14)
    encoder = onnxc.video.Encoder(
        encoder_file, tile=6, overlap=2, time_tile=time_tile * ZOOM, time_overlap=time_overlap * ZOOM
    )
    close(encoder.encode(values), encoded(autoencoder, values).parameters.numpy())


def test_the_scaling_of_latents_and_bytes_are_those_of_a_pipeline(causal_file: Path) -> None:
    from diffusers.video_processor import VideoProcessor

    values = latents(1, 2, 3, 6, 7)
    mean, std = [0.5, -0.25], [1.5, 3.0]
    # As WanPipeline scales them.
    reciprocal = 1.0 / torch.tensor(std).view(1, 2, 1, 1, 1)
    scaled = torch.from_numpy(values) / reciprocal + torch.tensor(mean).view(1, 2, 1, 1, 1)
    frames = Causal(causal_file.parent)(scaled)
    decoder = onnxc.video.Decoder(causal_file, mean=mean, std=std)
    close(decoder.decode(values), frames.numpy())
    shown = VideoProcessor(vae_scale_factor=ZOOM).postprocess_video(frames, output_type="np")
    expected = (np.asarray(shown) * 255).round().astype(np.uint8)
    difference = decoder.decode(values, "uint8").astype(int) - expected
    assert np.abs(difference).max() <= 1
    assert np.mean(difference != 0) < 1e-3
