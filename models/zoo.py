"""The table of test models: one row a model.

A row says how to build the network, on what inputs, through which exporter, and how close a result must come.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import nn
from torch.export import Dim

from models.networks import c3d, monai_networks, narrow, published_video, resnet3d, small, unet3d, video, x3d

Shape = tuple[int, ...]

# Largest difference over largest magnitude. Float32 accumulation over the few thousand products of a 3D convolution,
# through some dozens of layers, stays well below this in any order of summation.
FLOAT32 = 2e-5
# float16 holds 11 significant bits, bfloat16 8: one rounding of a result is half a unit in the last place, and a layer
# whose input was rounded differently moves by as much again. Four such layers follow one another in the 16-bit models.
FLOAT16 = 4 * 2.0**-11
BFLOAT16 = 4 * 2.0**-8
# For networks with dozens of layers: twice what those with instance normalizations, which spread an error, have seen.
# On inputs far from those that X3D's batch normalizations were calibrated with, onnxruntime too is 50 units from
# float32.
DEEP_FLOAT16 = 32 * 2.0**-11
FLOAT16_FAR_FROM_CALIBRATION = {"x3d_s_dynamic": 100 * 2.0**-11}


@dataclass(frozen=True)
class Integers:
    """An input of int64 drawn uniformly from low..high, both included."""

    shape: Shape
    low: int
    high: int


InputSpec = Shape | Integers


@dataclass(frozen=True)
class ModelRow:
    """One model under test.

    inputs: shapes of the first run (normally distributed float), or Integers.
    more_inputs: further runs of a dynamic model, each as `inputs`.
    dynamic_shapes: as torch.onnx.export takes it; None for a static export.
    dtype: the type in memory of weights and float inputs.
    tolerance: largest |difference| over largest |reference|, with its reason if it is not the type's own.
    onnxruntime: the same bound against onnxruntime; None if it cannot run the model, with its reason.
    optimized: whether the exporter folds constants; without, a graph holds its shape arithmetic in full.
    calibrated: whether batch normalizations take their statistics from the first inputs.
    slow: left to the complete test run.
    """

    name: str
    build: Callable[[], nn.Module]
    inputs: tuple[InputSpec, ...]
    exporter: Literal["dynamo", "legacy"] = "dynamo"
    tolerance: float = FLOAT32
    tolerance_reason: str = ""
    onnxruntime: bool = True
    onnxruntime_reason: str = ""
    dtype: torch.dtype = torch.float32
    dynamic_shapes: tuple[dict[int, Any] | tuple[dict[int, Any], ...], ...] | None = None
    more_inputs: tuple[tuple[InputSpec, ...], ...] = ()
    optimized: bool = True
    calibrated: bool = True
    slow: bool = False


CLIP_DIMS = {0: Dim("N", min=1, max=8), 2: Dim("T", min=2, max=64)}
CLIP_PLANE = {3: Dim("H", min=2, max=512), 4: Dim("W", min=2, max=512)}
DEPTH, HEIGHT, WIDTH = (Dim(name, min=2, max=16) for name in ("D", "H", "W"))

NETWORKS = (
    ModelRow("seed_convolution", small.seed_convolution, ((1, 1, 32, 32, 32),)),
    ModelRow("c3d", c3d.C3D, ((1, 3, 16, 112, 112),), slow=True),
    ModelRow("r3d_18", resnet3d.r3d_18, ((1, 3, 16, 112, 112),)),
    ModelRow("r3d_18_legacy", resnet3d.r3d_18, ((1, 3, 8, 56, 48),), exporter="legacy", slow=True),
    ModelRow("r2plus1d_18", resnet3d.r2plus1d_18, ((1, 3, 8, 112, 112),), slow=True),
    ModelRow("unet3d", unet3d.unet3d, ((1, 1, 64, 64, 64),)),
    ModelRow("unet3d_legacy", unet3d.unet3d, ((1, 1, 32, 48, 64),), exporter="legacy", slow=True),
    ModelRow("x3d_s", x3d.X3D, ((1, 3, 13, 160, 160),)),
)

SMALL = (
    ModelRow("normalizations", small.normalizations, ((2, 12, 3, 5, 7),)),
    ModelRow("activations", small.activations, ((2, 6, 3, 4, 5),)),
    ModelRow("resizes", small.Resizes, ((2, 3, 5, 6, 7),)),
    ModelRow("nearest_exact", small.NearestExactByAnyFactor, ((2, 3, 5, 6, 7),)),
    ModelRow(
        "nearest_exact_dynamic",
        small.NearestExact,
        ((2, 3, 5, 6, 7),),
        dynamic_shapes=({2: DEPTH, 3: HEIGHT, 4: WIDTH},),
        more_inputs=(((2, 3, 2, 3, 4),), ((2, 3, 7, 16, 9),)),
    ),
    ModelRow("pools", small.Pools, ((2, 3, 8, 9, 11),)),
    ModelRow("adaptive_pools", small.AdaptivePools, ((2, 3, 8, 9, 11),), exporter="legacy"),
    ModelRow("paddings", small.Paddings, ((2, 3, 4, 5, 6),)),
    ModelRow("convolutions", small.convolutions, ((2, 6, 7, 8, 9),)),
    ModelRow("lower_ranks", small.LowerRanks, ((2, 6, 10, 13),)),
    ModelRow("transposed_convolutions", small.transposed_convolutions, ((2, 6, 4, 5, 3),)),
    ModelRow("window_attention", small.WindowAttention, ((2, 4, 6, 8, 24),)),
    ModelRow("transformer_layer", small.TransformerLayer, ((3, 10, 16),)),
    ModelRow(
        "attention_dynamic",
        small.Attention,
        ((2, 2, 7, 8), (2, 2, 9, 8), (2, 2, 9, 20), (7, 9)),
        more_inputs=tuple(
            ((1, 2, queries, 8), (1, 2, keys, 8), (1, 2, keys, 20), (queries, keys))
            for queries, keys in ((12, 16), (13, 17), (31, 33), (3, 385), (100, 200))
        ),
        dynamic_shapes=(
            {0: Dim("N"), 2: Dim("L")},
            {0: Dim("N"), 2: Dim("S")},
            {0: Dim("N"), 2: Dim("S")},
            {0: Dim("L"), 1: Dim("S")},
        ),
    ),
    ModelRow("one_hot_routing", small.OneHotRouting, (Integers((7, 2), 0, 3), (7, 2))),
    ModelRow("scatter_routing", small.ScatterRouting, (Integers((7, 1), 0, 3), (7, 1))),
    ModelRow("masks", small.Masks, ((2, 3, 4, 5, 6), Integers((2, 3, 4), -9, 9))),
    ModelRow("data_movement", small.DataMovement, ((2, 4, 6, 5, 8),)),
    ModelRow(
        "half_network",
        small.HalfNetwork,
        ((2, 3, 8, 10, 12),),
        dtype=torch.float16,
        tolerance=FLOAT16,
        tolerance_reason="float16's own error",
    ),
    ModelRow(
        "bfloat16_network",
        small.HalfNetwork,
        ((2, 3, 8, 10, 12),),
        dtype=torch.bfloat16,
        tolerance=BFLOAT16,
        tolerance_reason="bfloat16's own error",
        optimized=False,  # folding batch normalizations, the exporter leaves weights of float32
        onnxruntime=False,
        onnxruntime_reason="its CPU provider has no convolution of bfloat16",
    ),
)

UNOPTIMIZED = (
    ModelRow("normalizations_unoptimized", small.normalizations, ((2, 12, 3, 5, 7),), optimized=False),
    ModelRow("resizes_unoptimized", small.Resizes, ((2, 3, 5, 6, 7),), optimized=False),
    ModelRow("pools_unoptimized", small.Pools, ((2, 3, 8, 9, 11),), optimized=False),
    ModelRow("window_attention_unoptimized", small.WindowAttention, ((2, 4, 6, 8, 24),), optimized=False),
)

# Networks of full width on inputs that the simulated GPU gets through.
SIMULATED = (
    ModelRow("r3d_18_small", resnet3d.r3d_18, ((1, 3, 4, 28, 28),), slow=True),
    ModelRow(
        "unet3d_small",
        unet3d.unet3d,
        ((1, 1, 32, 16, 16),),
        tolerance=2e-4,
        tolerance_reason="its deepest instance normalization divides by the deviation of two voxels",
        slow=True,
    ),
)

MONAI = (
    ModelRow("monai_unet", monai_networks.monai_unet, ((1, 1, 32, 40, 48),)),
    ModelRow("monai_dynunet", monai_networks.monai_dynunet, ((1, 2, 32, 24, 40),)),
    ModelRow("monai_segresnet", monai_networks.monai_segresnet, ((1, 2, 32, 40, 24),)),
    ModelRow("monai_swin_unetr", monai_networks.monai_swin_unetr, ((1, 1, 64, 64, 64),), slow=True),
    ModelRow("monai_densenet121", monai_networks.monai_densenet121, ((1, 1, 64, 96, 48),), slow=True),
)

MORE_MONAI = (
    ModelRow("monai_attention_unet", monai_networks.monai_attention_unet, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow("monai_basic_unet", monai_networks.monai_basic_unet, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow("monai_segresnet_ds", monai_networks.monai_segresnet_ds, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow("monai_highresnet", monai_networks.monai_highresnet, ((1, 1, 24, 32, 40),), slow=True),
    ModelRow("monai_vnet", monai_networks.monai_vnet, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow("monai_mednext", monai_networks.monai_mednext, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow("monai_unetr", monai_networks.monai_unetr, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow("monai_vit", monai_networks.monai_vit, ((1, 1, 32, 48, 64),), slow=True),
    ModelRow(
        "monai_resnet50",
        monai_networks.monai_resnet50,
        ((1, 1, 32, 64, 48),),
        tolerance=1e-4,
        tolerance_reason="PyTorch and onnxruntime themselves are 4e-5 apart after its 50 layers",
        slow=True,
    ),
    ModelRow(
        "monai_se_resnext50",
        monai_networks.monai_se_resnext50,
        ((1, 1, 32, 64, 48),),
        tolerance=5e-4,
        tolerance_reason="PyTorch and onnxruntime themselves are 1.2e-4 apart after its 50 layers",
        slow=True,
    ),
    ModelRow(
        "monai_efficientnet_b0",
        monai_networks.monai_efficientnet_b0,
        ((1, 1, 64, 64, 64),),
        tolerance=1e-4,
        tolerance_reason="some 80 layers, of which each may be as far off as one of the other networks",
        slow=True,
    ),
)

DYNAMIC = (
    ModelRow(
        "unet3d_dynamic",
        unet3d.unet3d,
        ((2, 1, 32, 48, 64),),
        dynamic_shapes=({0: Dim("N", min=1, max=4), 2: 16 * DEPTH, 3: 16 * HEIGHT, 4: 16 * WIDTH},),
        more_inputs=(((1, 1, 48, 32, 32),), ((3, 1, 32, 32, 48),)),
        slow=True,
    ),
    ModelRow(
        "r3d_18_dynamic",
        resnet3d.r3d_18,
        ((2, 3, 8, 48, 56),),
        dynamic_shapes=({**CLIP_DIMS, 3: Dim("H", min=16, max=256), 4: Dim("W", min=16, max=256)},),
        more_inputs=(((1, 3, 5, 33, 47),), ((3, 3, 16, 64, 40),)),
        slow=True,
    ),
    ModelRow(
        "x3d_s_dynamic",
        x3d.X3D,
        ((2, 3, 5, 64, 96),),
        dynamic_shapes=({**CLIP_DIMS, 3: Dim("H", min=32, max=512), 4: Dim("W", min=32, max=512)},),
        more_inputs=(((1, 3, 13, 71, 65),), ((3, 3, 4, 96, 64),)),
        slow=True,
    ),
    ModelRow(
        "unet3d_narrow",
        narrow.unet3d_narrow,
        ((2, 1, 32, 48, 64),),
        dynamic_shapes=({0: Dim("N", min=1, max=4), 2: 16 * DEPTH, 3: 16 * HEIGHT, 4: 16 * WIDTH},),
        more_inputs=(((1, 1, 48, 32, 32),),),
    ),
    ModelRow(
        "r3d_18_narrow",
        narrow.NarrowVideoResNet18,
        ((2, 3, 8, 48, 56),),
        dynamic_shapes=({**CLIP_DIMS, **CLIP_PLANE},),
        more_inputs=(((1, 3, 5, 33, 47),),),
    ),
    ModelRow(
        "x3d_narrow",
        narrow.NarrowX3D,
        ((2, 3, 5, 32, 48),),
        dynamic_shapes=({**CLIP_DIMS, **CLIP_PLANE},),
        more_inputs=(((1, 3, 13, 41, 35),),),
    ),
    ModelRow(
        "pooled_convolutions",
        small.pooled_convolutions,
        ((2, 3, 7, 42, 37),),
        dynamic_shapes=({**CLIP_DIMS, 3: Dim("H", min=4, max=512), 4: Dim("W", min=4, max=512)},),
        more_inputs=(((1, 3, 4, 33, 64),), ((3, 3, 2, 5, 4),)),
    ),
    ModelRow(
        "one_hot_routing_dynamic",
        small.OneHotRouting,
        (Integers((7, 2), 0, 3), (7, 2)),
        dynamic_shapes=({0: Dim("T")}, {0: Dim("T")}),
        more_inputs=((Integers((1, 2), 0, 3), (1, 2)), (Integers((65, 2), 0, 3), (65, 2))),
    ),
    ModelRow(
        "scatter_routing_dynamic",
        small.ScatterRouting,
        (Integers((7, 1), 0, 3), (7, 1)),
        dynamic_shapes=({0: Dim("T")}, {0: Dim("T")}),
        more_inputs=((Integers((33, 1), 0, 3), (33, 1)), (Integers((2, 1), 0, 3), (2, 1))),
    ),
)

LATENT_DIMS = {
    0: Dim("N", min=1, max=4),
    2: Dim("T", min=1, max=64),
    3: Dim("H", min=2, max=256),
    4: Dim("W", min=2, max=256),
}


def decoder(name: str, build: Callable[[], nn.Module]) -> ModelRow:
    """A decoder of latents [N, 5, T, H, W], each dim free."""
    sizes = ((2, 3, 7, 4), (1, 2, 5, 6), (1, 5, 9, 17))
    inputs: list[Shape] = [(n, video.LATENT_CHANNELS, t, h, w) for n, t, h, w in sizes]
    return ModelRow(
        name,
        build,
        (inputs[0],),
        dynamic_shapes=(LATENT_DIMS,),
        more_inputs=tuple((shape,) for shape in inputs[1:]),
    )


def streaming(n: int, t: int, h: int, w: int) -> tuple[Shape, ...]:
    """Latents and the caches of the frames before."""
    caches = ((n, channels, 2, h, w) for channels in (video.LATENT_CHANNELS, 12, 12))
    return ((n, video.LATENT_CHANNELS, t, h, w), *caches, (n, 6, 2, 2 * h, 2 * w))


CACHE_DIMS = {0: LATENT_DIMS[0], 3: LATENT_DIMS[3], 4: LATENT_DIMS[4]}
VIDEO = (
    ModelRow(
        "video_streaming",
        video.StreamingDecoder,
        streaming(2, 3, 7, 4),
        dynamic_shapes=(
            LATENT_DIMS,
            *(CACHE_DIMS for _ in range(3)),
            {0: LATENT_DIMS[0], 3: 2 * LATENT_DIMS[3], 4: 2 * LATENT_DIMS[4]},
        ),
        more_inputs=(streaming(1, 1, 5, 6), streaming(1, 2, 9, 17)),
    ),
    decoder("video_shuffling", video.ShufflingDecoder),
    decoder("video_wavelets", video.WaveletDecoder),
    decoder("video_interpolating", video.InterpolatingDecoder),
    decoder("video_blending", video.BlendingDecoder),
)


SPACE = {3: Dim.DYNAMIC, 4: Dim.DYNAMIC}
WAN_INPUTS = published_video.wan_inputs(8, 10)
# Only make bench has diffusers, from which these are built.
PUBLISHED_VIDEO = (
    ModelRow(
        "wan_chunk", published_video.wan_chunk, WAN_INPUTS, dynamic_shapes=(SPACE, (SPACE,) * (len(WAN_INPUTS) - 1))
    ),
    *(
        ModelRow(name, build, (shape,), dynamic_shapes=({2: Dim.DYNAMIC, **SPACE},))
        for name, build, shape in (
            ("hunyuan_video", published_video.hunyuan, (1, 16, 3, 6, 8)),
            ("ltx_video", published_video.ltx, (1, 128, 3, 4, 6)),
            ("ltx2_video", published_video.ltx2, (1, 128, 3, 4, 6)),
            ("cosmos", published_video.cosmos, (1, 16, 3, 10, 12)),
            ("allegro", published_video.allegro, (1, 4, 4, 8, 10)),
            ("stable_video", published_video.stable_video, (1, 4, 4, 10, 12)),
        )
    ),
    ModelRow("cogvideox", published_video.cogvideox, ((1, 16, 2, 8, 10),), exporter="legacy"),
)


def in_half(row: ModelRow) -> ModelRow:
    """The same network in float16."""
    return replace(
        row,
        name=f"{row.name}_half",
        dtype=torch.float16,
        tolerance=FLOAT16_FAR_FROM_CALIBRATION.get(row.name, DEEP_FLOAT16),
        tolerance_reason="dozens of layers that each round to float16",
        slow=True,
    )


HALF = tuple(
    in_half(row)
    for row in (*NETWORKS, *MONAI, *DYNAMIC)
    if row.exporter == "dynamo" and not any(isinstance(spec, Integers) for spec in row.inputs)
)

ROWS: dict[str, ModelRow] = {
    row.name: row for row in (*NETWORKS, *SMALL, *UNOPTIMIZED, *SIMULATED, *MONAI, *MORE_MONAI, *DYNAMIC, *VIDEO, *HALF)
}
# With those that need more than the tests have.
ALL_ROWS: dict[str, ModelRow] = {**ROWS, **{row.name: row for row in PUBLISHED_VIDEO}}
