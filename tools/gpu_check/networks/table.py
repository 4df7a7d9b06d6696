"""The networks to time, a row each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from models.networks.resnet3d import r2plus1d_18, r3d_18
from models.networks.unet3d import UNet3D, unet3d
from models.networks.x3d import X3D
from tools.gpu_check.networks.dynunet import dynunet
from tools.gpu_check.networks.layers import COUNT, chain
from tools.gpu_check.networks.residual_unet import residual_encoder_m
from tools.gpu_check.networks.segresnet import segresnet
from tools.gpu_check.networks.swin_unetr import swin_unetr
from tools.gpu_check.networks.unetr import unetr
from tools.gpu_check.networks.video_decoder import decoder_level

GOALS, LAYERS, MORE, SCAN, DRY = "networks", "layers", "more", "scan", "dry"


@dataclass(frozen=True)
class Network:
    """part: of the check that measures it. kinds: the product kinds to time. goal_float16_ms: on an H100. divisor: the
    number of equal layers, by which a time is divided before it is shown."""

    name: str
    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    part: str = GOALS
    kinds: tuple[str, ...] = ("float16", "tf32", "ieee", "bf16x3")
    goal_float16_ms: float | None = None
    divisor: int = 1


VIDEO = (1, 3, 16, 112, 112)


def cube(side: int, channels: int = 1) -> tuple[int, ...]:
    return (1, channels, side, side, side)


def layer(name: str, channels: int, *space: int) -> Network:
    kinds = ("float16", "tf32", "ieee")
    return Network(name, chain(channels), (1, channels, *space), LAYERS, kinds, divisor=COUNT)


ROWS = (
    Network("r3d_18", r3d_18, VIDEO, goal_float16_ms=0.39),
    Network("unet3d_32", unet3d, cube(32), goal_float16_ms=0.38),
    Network("unet3d_64", unet3d, cube(64), goal_float16_ms=0.77),
    Network("unet3d_128", unet3d, cube(128), goal_float16_ms=3.0),
    Network("dynunet_128", dynunet, cube(128), goal_float16_ms=3.1),
    Network("segresnet_128", segresnet, cube(128, 4), goal_float16_ms=5.8),
    Network("resenc_m_128", residual_encoder_m, cube(128), goal_float16_ms=4.6),
    Network("swin_unetr_96", swin_unetr, cube(96), goal_float16_ms=6.9),
    Network("r2plus1d_18", r2plus1d_18, VIDEO, goal_float16_ms=1.1),
    layer("layer_64_56x56x16", 64, 16, 56, 56),
    layer("layer_128_28x28x8", 128, 8, 28, 28),
    layer("layer_256_14x14x4", 256, 4, 14, 14),
    layer("layer_512_7x7x2", 512, 2, 7, 7),
    layer("layer_32_64x64x64", 32, 64, 64, 64),
    layer("layer_64_128x128x128", 64, 128, 128, 128),
    Network("dynunet_96", dynunet, cube(96), MORE),
    Network("video_decoder", decoder_level, (1, 384, 4, 60, 104), MORE, ("bfloat16", "float16", "tf32")),
    Network("unetr_96", unetr, cube(96), MORE, ("float16", "tf32")),
    Network("x3d_s", X3D, (1, 3, 13, 160, 160), MORE, ("float16", "tf32")),
    Network("dynunet_scan", dynunet, (4, 1, 96, 96, 96), SCAN, ("float16", "tf32")),
    Network("tiny", lambda: UNet3D((4, 6, 8)), cube(16), DRY),
)
NETWORKS: Mapping[str, Network] = {row.name: row for row in ROWS}
