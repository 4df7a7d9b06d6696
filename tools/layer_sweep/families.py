"""The families of layers, and the values that each of their parameters takes: the rows of the sweep, as data."""

import itertools
from collections.abc import Iterator

import numpy as np

from tools.layer_sweep.elements import (
    binary,
    depth_to_space,
    elementwise,
    gather,
    pad,
    parts,
    quantize,
    slices,
    transpose,
)
from tools.layer_sweep.layer import Family, Layer
from tools.layer_sweep.products import attention, byte_product, general_product, product, recurrent, sums_of_products
from tools.layer_sweep.rows import along_an_axis, channel_normalization, other_normalization, row_normalization
from tools.layer_sweep.signals import fourier, grid_sample, resize, short_fourier
from tools.layer_sweep.windows import (
    byte_convolution,
    convolution,
    deformed_convolution,
    global_pool,
    grouped_convolution,
    grouped_transposed_convolution,
    pool,
    transposed_convolution,
)

SHAPES = ((512, 1024), (1024, 512), (8, 262144), (262144, 8), (64, 16, 32, 33), (1, 14, 64, 64, 8), (1000, 1, 513))

# Inputs and outputs of each group: as many, or twice as many, or half as many and one.
GROUP_WIDTHS = (
    *((width, width) for width in range(1, 65)),
    *((width, 2 * width if width % 2 or width == 2 else width // 2 + 1) for width in range(1, 65)),
)

FAMILIES = [
    Family(
        "Conv",
        convolution,
        {
            "rank": (3, 2, 1),
            "channels": (32, 1, 3, 7, 12, 16, 17, 24, 48, 64, 96),
            "filters": (None, 1, 2, 16, 33, 64),
            "groups": (1, 2, 4, 8, "each"),
            "multiplier": (1, 2, 3),
            "kernel": (3, 1, 2, 4, 5, 7),
            "stride": (1, 2, 3),
            "dilation": (1, 2, 3),
            "voxels": (4096, 64, 512, 27000),
            "odd": (False, True),
            "batch": (1, 3),
            "bias": (True, False),
            "behind": (None, "Relu", "Gelu", "HardSwish", "Sigmoid"),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "Conv of each channel",
        convolution,
        {
            "groups": ("each",),
            "channels": (32, 1, 5, 8, 16, 24, 100),
            "filters": (None,),
            "multiplier": (1, 2, 3),
            "rank": (3, 2, 1),
            "kernel": (3, 5, 7, 9),
            "stride": (1, 2),
            "dilation": (1, 2),
            "voxels": (4096, 27000),
            "odd": (False, True),
            "batch": (1,),
            "bias": (True,),
            "behind": (None, "Relu", "Gelu"),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "ConvTranspose",
        transposed_convolution,
        {
            "rank": (3, 2, 1),
            "channels": (32, 1, 3, 12, 24, 64),
            "filters": (None, 1, 16, 48),
            "groups": (1, 2, 4, "each"),
            "kernel": (2, 1, 3, 4, 5),
            "stride": (2, 1, 3, 4),
            "dilation": (1, 2),
            "padding": (0, 1),
            "voxels": (1000, 64, 4096),
            "odd": (False, True),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "Groups of Conv",
        grouped_convolution,
        {
            "width": GROUP_WIDTHS,
            "rank": (3, 2),
            "kernel": (3, 1, 5),
            "stride": (1, 2),
            "dilation": (1, 2),
            "voxels": (1000, 8, 64),
            "batch": (1,),
            "bias": (True,),
            "behind": (None, "Relu"),
            "type": (np.float32,),
        },
    ),
    Family(
        "Groups of ConvTranspose",
        grouped_transposed_convolution,
        {
            "width": GROUP_WIDTHS,
            "rank": (3, 2),
            "kernel": (3, 2),
            "stride": (2, 1),
            "dilation": (1,),
            "padding": (1, 0),
            "voxels": (512, 8),
            "type": (np.float32,),
        },
    ),
    Family(
        "QLinearConv",
        byte_convolution,
        {
            "rank": (3, 2, 1),
            "channels": (32, 1, 3, 12, 48, 64),
            "groups": (1, "each"),
            "kernel": (3, 1, 5),
            "stride": (1, 2),
            "dilation": (1, 2),
            "voxels": (4096, 512),
            "by filter": (False, True),
            "type": (np.uint8,),
        },
    ),
    Family(
        "Pool",
        pool,
        {
            "type of pool": ("MaxPool", "AveragePool", "LpPool"),
            "rank": (3, 2, 1),
            "kernel": (3, 2, 5, 7, 9, 15),
            "stride": (2, 1, 3),
            "dilation": (1, 2),
            "channels": (16, 1, 3, 20, 64),
            "voxels": (13824, 512),
            "odd": (False, True),
            "ceil": (False, True),
            "counts padding": (False, True),
            "type": (np.float32, np.float16, np.int8, np.uint8),
        },
    ),
    Family(
        "GlobalPool",
        global_pool,
        {
            "type of pool": ("GlobalAveragePool", "GlobalMaxPool"),
            "rank": (3, 2, 1),
            "channels": (64, 1, 7, 512),
            "voxels": (4096, 27, 200),
            "batch": (1, 4),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "DeformConv",
        deformed_convolution,
        {
            "channels": (16, 3, 32, 256),
            "kernel": (3, 1, 5),
            "stride": (1, 2),
            "groups": (1, 2, 16),
            "offset groups": (1, 2, 4),
            "mask": (True, False),
            "voxels": (1024, 4096),
        },
    ),
    Family(
        "DFT",
        fourier,
        {
            "length": (512, 8, 100, 127, 360, 1024, 4096),
            "rows": (64, 1, 5),
            "parts": (1, 2),
            "axis": (1, 0),
            "onesided": (False, True),
            "inverse": (False, True),
        },
    ),
    Family(
        "STFT",
        short_fourier,
        {"frame": (400, 64, 512, 1000), "length": (16000, 4000), "overlap": (2, 4), "batch": (1, 3),
         "onesided": (True, False)},
    ),
    Family(
        "Norm of rows",
        row_normalization,
        {
            "type of norm": ("LayerNormalization", "RMSNormalization"),
            "width": (384, 3, 8, 33, 64, 1000, 8192),
            "elements": (400_000, 4000),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "Norm of channels",
        channel_normalization,
        {
            "type of norm": ("InstanceNormalization", "GroupNormalization", "BatchNormalization"),
            "channels": (32, 1, 3, 12, 100),
            "groups": (4, 1),
            "rank": (3, 2, 1),
            "voxels": (13824, 64, 1000),
            "odd": (False, True),
            "batch": (1, 5),
            "behind": (None, "Relu"),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "Other norm",
        other_normalization,
        {
            "type of norm": ("LpNormalization", "LRN", "MeanVarianceNormalization"),
            "axis": (-1, 1),
            "p": (2, 1),
            "channels": (32, 3),
            "side": (64, 17),
        },
    ),
    Family(
        "Resize",
        resize,
        {
            "mode": ("linear", "nearest", "cubic"),
            "rank": (3, 2, 1),
            "scale": (2.0, 0.5, 1.5, 3.0, 0.7),
            "coordinates": ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"),
            "nearest": ("round_prefer_floor", "floor"),
            "antialias": (False, True),
            "channels": (16, 1, 3, 20),
            "voxels": (4096, 512),
            "type": (np.float32, np.float16),
        },
    ),
    Family(
        "MatMul",
        product,
        {
            "sizes": ((256, 256, 256), (1, 1024, 1024), (1024, 1024, 1), (7, 33, 65), (3, 2000, 3), (500, 8, 500),
                      (1000, 3, 16), (64, 64, 3), (128, 1000, 128)),
            "right": ("constant", "computed"),
            "batch": (1, 2, 30),
            "type": (np.float32, np.float16, np.float64),
        },
    ),
    Family(
        "Gemm",
        general_product,
        {"sizes": ((128, 256, 192), (1, 512, 1000), (5, 33, 7)), "transposes a": (False, True),
         "transposes b": (True, False)},
    ),
    Family(
        "Product of bytes",
        byte_product,
        {"type of product": ("MatMulInteger", "QLinearMatMul"),
         "sizes": ((256, 256, 256), (1, 1024, 1024), (7, 33, 65), (64, 64, 3), (1000, 3, 16))},
    ),
    Family(
        "Einsum",
        sums_of_products,
        {"equation": ("bhik,bhjk->bhij", "bik,bkj->bij", "ij,jk->ik", "bij->bji", "bcij,cd->bdij", "ij,ij->i",
                      "bhik,hkd->bid", "ij->", "ii->i", "i,j->ij")},
    ),
    Family(
        "Along an axis",
        along_an_axis,
        {
            "operator": ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "CumSum", "TopK", "ReduceSum",
                         "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                         "ReduceLogSumExp", "ReduceSumSquare"),
            "axis": (1, 0, 2),
            "shape": SHAPES,
            "type": (np.float32, np.float64),
        },
    ),
    Family(
        "Transpose",
        transpose,
        {
            "shape": ((32, 48, 40, 36), (2, 3, 500, 400), (64, 256, 1, 64), (300, 400), (16, 8, 12, 10, 9)),
            "perm": ((0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 1, 3), (1, 0), (0, 2, 3, 4, 1), (4, 3, 2, 1, 0)),
            "type": (np.float32, np.int64, np.uint8),
        },
    ),
    Family("Pad", pad, {"mode": ("constant", "edge", "reflect", "wrap"), "rank": (3, 2, 1), "width": (2, 1, 5),
                        "channels": (16, 3), "voxels": (13824, 512)}),
    Family("Slice", slices, {"axis": (1, 0, 2, 3), "step": (1, 2, -1)}),
    Family("Parts", parts, {"operator": ("Concat", "Split"), "axis": (1, 0, 2, 3), "count": (2, 3, 10)}),
    Family(
        "Gather",
        gather,
        {
            "operator": ("Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements"),
            "shape": ((1000, 256), (64, 30, 100), (20000, 8)),
            "axis": (0, 1, 2),
            "count": (500, 10),
        },
    ),
    Family(
        "GridSample",
        grid_sample,
        {
            "rank": (2, 3),
            "mode": ("linear", "nearest", "cubic"),
            "padding": ("zeros", "border", "reflection"),
            "aligned": (False, True),
            "channels": (4, 1, 17),
            "voxels": (4096,),
        },
    ),
    Family(
        "Recurrent",
        recurrent,
        {
            "operator": ("LSTM", "GRU", "RNN"),
            "direction": ("forward", "reverse", "bidirectional"),
            "hidden": (128, 5, 64, 300),
            "width": (64, 3),
            "steps": (30, 1),
            "batch": (1, 8),
        },
    ),
    Family(
        "Attention",
        attention,
        {"queries": (128, 1, 50), "keys": (128, 7, 300), "heads": (8, 1), "width": (64, 20, 128), "batch": (1, 2),
         "causal": (False, True)},
    ),
    Family(
        "Elementwise",
        elementwise,
        {
            "operator": ("Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Erf", "Gelu", "Mish", "HardSwish",
                         "Softplus", "Elu", "Selu", "Celu", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
                         "Cosh", "Asinh", "Acosh", "Atanh", "Floor", "Round", "Sign", "Reciprocal", "Softsign",
                         "HardSigmoid", "IsNaN", "Abs", "Neg"),
            "shape": ((512, 1024), (7,), (3, 5, 7, 11)),
            "type": (np.float32, np.float16, np.float64),
        },
    ),
    Family(
        "Binary",
        binary,
        {
            "operator": ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Equal", "Less", "Greater"),
            "shapes": (((512, 1024), (512, 1024)), ((512, 1024), (1024,)), ((512, 1024), (512, 1)),
                       ((512, 1), (1, 1024)), ((64, 1, 32, 33), (1, 16, 1, 33)), ((), (512, 1024)), ((3, 7), (3, 7))),
            "type": (np.float32, np.int64, np.int32, np.float64, np.float16),
        },
    ),
    Family("Blocks of space", depth_to_space, {"operator": ("DepthToSpace", "SpaceToDepth"), "block": (2, 4),
                                               "mode": ("DCR", "CRD")}),
    Family(
        "Quantize",
        quantize,
        {"operator": ("QuantizeLinear", "DequantizeLinear"), "shape": ((1, 32, 24, 24, 24), (500, 1000), (1, 3, 7)),
         "by channel": (False, True), "type": (np.uint8, np.int8)},
    ),
]  # fmt: skip


def fixed_layers() -> Iterator[Layer]:
    return itertools.chain.from_iterable(family.rows() for family in FAMILIES)


def quick_layers() -> Iterator[Layer]:
    return (family.first_layer() for family in FAMILIES)


def drawn_layers(count: int, seed: int) -> Iterator[Layer]:
    random = np.random.default_rng(seed)
    names: set[str] = set()
    while len(names) < count:
        layer = FAMILIES[int(random.integers(len(FAMILIES)))].draw(random)
        if layer is not None and layer.name not in names:
            names.add(layer.name)
            yield layer
