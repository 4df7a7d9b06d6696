"""The networks to time, a row each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from models.networks.resnet3d import r2plus1d_18, r3d_18
from models.networks.unet3d import UNet3D, unet3d
from models.networks.x3d import X3D
from tools.gpu_check.networks.dynunet import DynUNet, dynunet
from tools.gpu_check.networks.layers import COUNT, chain
from tools.gpu_check.networks.residual_unet import ResidualUNet, residual_encoder_m
from tools.gpu_check.networks.segresnet import SegResNet, segresnet
from tools.gpu_check.networks.swin_unetr import SwinUNETR, swin_unetr
from tools.gpu_check.networks.unetr import UNETR, unetr
from tools.gpu_check.networks.video_decoder import DecoderLevel, decoder_level

GOALS, LAYERS, MORE, SCAN, DRY = "networks", "layers", "more", "scan", "dry"


@dataclass(frozen=True)
class Network:
    """A network on inputs of one shape.

    part: of the check that measures it.
    kinds: the product kinds to time.
    goal_float16_ms: on an H100.
    divisor: the number of equal layers, by which a time is divided before it is shown.
    compiles_slowly: torch.compile took more than 20 seconds for it, so that it comes last.
    """

    name: str
    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    part: str = GOALS
    kinds: tuple[str, ...] = ("float16", "tf32", "ieee", "bf16x3")
    goal_float16_ms: float | None = None
    divisor: int = 1
    compiles_slowly: bool = False


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
    Network("segresnet_128", segresnet, cube(128, 4), goal_float16_ms=5.8, compiles_slowly=True),
    Network("resenc_m_128", residual_encoder_m, cube(128), goal_float16_ms=4.6, compiles_slowly=True),
    Network("swin_unetr_96", swin_unetr, cube(96), goal_float16_ms=6.9, compiles_slowly=True),
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
    # Dry runs on a CPU: one that takes little, and each architecture on its smallest volume.
    Network("tiny", lambda: UNet3D((4, 6, 8)), cube(16), DRY),
    Network("tiny_dynunet", lambda: DynUNet((4, 6, 8)), cube(16), DRY),
    Network("tiny_segresnet", lambda: SegResNet(8, 4, 3), cube(16, 4), DRY),
    Network("tiny_resenc", lambda: ResidualUNet((4, 6, 8), (1, 2, 2)), cube(16), DRY),
    Network("tiny_swin_unetr", lambda: SwinUNETR(64, 12), cube(64), DRY),
    Network("tiny_unetr", lambda: UNETR(32, 4, 24, 40, 3, 5), cube(32), DRY),
    Network("tiny_video_decoder", lambda: DecoderLevel(16), (1, 16, 3, 8, 12), DRY),
    Network("tiny_layer", chain(24), cube(8, 24), DRY),
)
NETWORKS: Mapping[str, Network] = {row.name: row for row in ROWS}
