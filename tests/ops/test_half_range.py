"""Half precision keeps its range: sums and statistics are float32, so no NaN, Inf or zero comes up that PyTorch lacks.

The values of each case pass the type's largest number, or its precision, on the way to a result that does not. bfloat16
has float32's range: there the cases show that sums are not rounded to its 8 bits on the way.
"""

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, constant, graph_case, ints, random, type_id
from tests.ops.network.convolution_cases import conv_case
from tests.ops.table import EVERYWHERE, table_test

HALVES: tuple[Any, ...] = (np.float16, ml_dtypes.bfloat16)
OPSET = 23  # the first in which every operator takes both types


def checkerboard(*shape: int) -> Array:
    return np.where(np.indices(shape[2:]).sum(axis=0) % 2 == 0, 512, -512) * np.ones(shape)


def statistics(dtype: Any) -> list[Case]:
    """onnxruntime#10079, mlx#4228, MIGraphX#1779, TensorRT#4756: +-512 has a variance that float16 does not have."""
    cases = []
    for shape in ((1, 3, 4, 4, 4), (2, 20, 6, 6, 6), (1, 33, 9, 8)):
        board, channels = checkerboard(*shape).astype(dtype), shape[1]
        scale, shift = np.ones(channels, dtype), np.zeros(channels, dtype)
        kinds: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("", "InstanceNormalization", {}),
            (" of one group", "GroupNormalization", {"num_groups": 1}),
        )
        for name, op_type, attributes in kinds:
            cases.append(
                case(
                    op_type,
                    board,
                    scale,
                    shift,
                    name=f"checkerboard {list(shape)}{name} {type_id(dtype)}",
                    opset=OPSET,
                    expected=[np.sign(board)],
                    **attributes,
                )
            )
    return cases


def root_mean_squares(dtype: Any) -> list[Case]:
    """onnxruntime#29034, #28442, #31626: squares of what is above 256 were infinite, and the quotient silently zero."""
    cases = []
    for width, size in ((64, 9000), (2048, 200), (2048, 30000)):
        x = (random(3, width, seed=size).clip(-2, 2) * size).astype(dtype)
        wide, ones = x.astype(np.float64), np.ones(width, dtype)
        root = np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5)
        centred = wide - wide.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        name = f"{width} of {size} {type_id(dtype)}"
        cases += [
            case("RMSNormalization", x, ones, name=name, opset=OPSET, expected=[(wide / root).astype(dtype)]),
            case("LayerNormalization", x, ones, name=name, opset=OPSET, expected=[(centred / deviation).astype(dtype)]),
            # As exporters write it out: widened for the squares, narrowed again.
            graph_case(
                f"RMSNormalization written out, {name}",
                [
                    ("Cast", "x", "a", {"to": 1}),
                    ("Pow", "a two", "b"),
                    ("ReduceMean", "b axes", "c"),
                    ("Add", "c epsilon", "d"),
                    ("Sqrt", "d", "e"),
                    ("Div", "a e", "f"),
                    ("CastLike", "f x", "y"),
                ],
                {"x": x},
                {"two": np.array([2], np.float32), "axes": np.array([1]), "epsilon": np.array([1e-5], np.float32)},
                opset=OPSET,
                expected=((wide / root).astype(dtype),),
            ),
        ]
    return cases


def scores_past_the_greatest(dtype: Any) -> Array:
    """Keys 0 and 2 have the same score, and what the others have is nothing beside it."""
    values = np.arange(4 * 64).reshape(4, 64).astype(dtype).astype(np.float64)
    mean: Array = np.broadcast_to((values[0] + values[2]) / 2, (1, 1, 2, 64)).astype(dtype)
    return mean


def accumulators(dtype: Any) -> list[Case]:
    """MIGraphX#850: half of the products make 110592 or more, the other half takes it away again."""
    name, halves = type_id(dtype), np.repeat([1.0, -1.0], 1024)
    filters = np.broadcast_to(halves.reshape(1, 2048, 1, 1, 1), (1, 2048, 3, 3, 3)).astype(dtype)
    plane = np.full((1, 2048, 3, 3, 3), 4, dtype)
    zero = np.zeros((1, 1, 1, 1, 1), dtype)
    row = (halves.reshape(2048, 1) * 64).astype(dtype)
    large = np.full((2, 20, 9, 8), 60000, dtype)
    rows = np.full((3, 4096), 60000, dtype)
    spread = np.full((3, 4096), 300, dtype)
    with np.errstate(over="ignore"):
        count = np.array([[70091]]).astype(dtype)
    return [
        case("Conv", plane, constant(filters, dtype), name=f"2048 channels {name}", opset=OPSET, expected=[zero]),
        case("Conv", plane, filters, name=f"2048 channels at run time {name}", opset=OPSET, expected=[zero]),
        case(
            "ConvTranspose",
            plane[..., :1, :1, :1].copy(),
            constant(filters[..., :1, :1, :1].reshape(2048, 1, 1, 1, 1), dtype),
            name=f"2048 channels {name}",
            opset=OPSET,
            expected=[zero],
        ),
        case(
            "MatMul",
            np.full((2, 2048), 64, dtype),
            constant(row, dtype),
            name=f"2048 products {name}",
            opset=OPSET,
            expected=[np.zeros((2, 1), dtype)],
        ),
        case(
            "Gemm",
            np.full((2, 2048), 64, dtype),
            row,
            name=f"2048 products {name}",
            opset=OPSET,
            expected=[np.zeros((2, 1), dtype)],
        ),
        case("ReduceMean", rows, ints(1), name=f"4096 of 60000 {name}", opset=OPSET, expected=[rows[:, :1]]),
        case(
            "ReduceL2", spread, ints(1), name=f"4096 of 300 {name}", opset=OPSET, expected=[64 * spread[:, :1].copy()]
        ),
        case("GlobalAveragePool", large, name=name, opset=OPSET, expected=[large[..., :1, :1].copy()]),
        case(
            "AveragePool",
            large,
            name=name,
            opset=OPSET,
            kernel_shape=[3, 3],
            expected=[large[..., :7, :6].copy()],
        ),
        case(
            "ReduceProd",
            np.array([[30000, 4, 0.125, 2**-13]], dtype),
            ints(1),
            name=f"products past the greatest {name}",
            opset=OPSET,
            expected=[np.array([[30000 * 4 * 0.125 * 2**-13]], dtype)],
        ),
        # Scores of 64 * 64 * 64 each and half of that: only the greater key counts.
        case(
            "Attention",
            np.full((1, 1, 2, 64), 64, dtype),
            np.stack([np.full((2, 64), 64), np.full((2, 64), 32)], axis=1).reshape(1, 1, 4, 64).astype(dtype),
            np.arange(4 * 64).reshape(1, 1, 4, 64).astype(dtype),
            name=f"scores past the greatest {name}",
            opset=OPSET,
            scale=1.0,
            expected=[scores_past_the_greatest(dtype)],
        ),
        # tinygrad#11705: an infinity that is right in float16, and a sum that bfloat16 does not lose on the way.
        case(
            "ReduceSum",
            np.ones((1, 70091), dtype),
            ints(1),
            name=f"70091 ones {name}",
            opset=OPSET,
            expected=[count],
        ),
    ]


def written_out(dtype: Any) -> list[Case]:
    """Operators that exporters write in several nodes; passes look for them in the half types too."""
    name, x = type_id(dtype), random(2, 3, 40).astype(dtype)
    wide = x.astype(np.float64)
    gelu = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
    queries, keys = (np.full((1, 2, 5, 64), 64, dtype) for _ in range(2))
    keys[:, :, 2:] = 32
    values = random(1, 2, 5, 8).astype(dtype)
    chosen = np.broadcast_to(values[:, :, :2].astype(np.float64).mean(axis=2, keepdims=True), values.shape)
    return [
        graph_case(
            f"Gelu written out {name}",
            [
                ("Div", "x root", "a"),
                ("Erf", "a", "b"),
                ("Add", "b one", "c"),
                ("Mul", "x c", "d"),
                ("Mul", "d half", "y"),
            ],
            {"x": x},
            {"root": np.array(math.sqrt(2), dtype), "one": np.array(1, dtype), "half": np.array(0.5, dtype)},
            opset=OPSET,
            expected=(gelu.astype(dtype),),
        ),
        # Each score is 2^18, or half of that; 2^10 and half of that once it is scaled.
        graph_case(
            f"Attention written out {name}",
            [
                ("Transpose", "k", "t", {"perm": [0, 1, 3, 2]}),
                ("Mul", "q scale", "a"),
                ("Mul", "t scale", "b"),
                ("MatMul", "a b", "c"),
                ("Softmax", "c", "d"),
                ("MatMul", "d v", "y"),
            ],
            {"q": queries, "k": keys, "v": values},
            {"scale": np.array(0.0625, dtype)},
            opset=OPSET,
            expected=(chosen.astype(dtype),),
        ),
        # Scaled after the product, and masked by a Where.
        graph_case(
            f"Attention masked by Where {name}",
            [
                ("Transpose", "k", "t", {"perm": [0, 1, 3, 2]}),
                ("MatMul", "q t", "c"),
                ("Mul", "c scale", "d"),
                ("Where", "seen d hidden", "e"),
                ("Softmax", "e", "f"),
                ("MatMul", "f v", "y"),
            ],
            {"q": queries, "k": keys, "v": values},
            {
                "scale": np.array(2.0**-8, dtype),
                "seen": np.ones((5, 5), bool),
                "hidden": np.array(-np.inf, dtype),
            },
            opset=OPSET,
            expected=(chosen.astype(dtype),),
        ),
    ]


def softmaxes(dtype: Any) -> list[Case]:
    """onnxruntime#20059, iree#24175, openvino#33456, PaddleOCR#18341: rows with infinities, as PyTorch has them."""
    name, infinity = type_id(dtype), np.inf
    special = np.array(
        [
            [infinity, 1, 2],
            [-infinity, 1, 2],
            [-infinity, -infinity, -infinity],
            [1, np.nan, 2],
            [60000, -60000, 0],
            [-60000, -60000, -60000],
        ]
    ).astype(dtype)
    masked = random(2, 3, 71, 71)
    masked[..., np.triu(np.ones((71, 71), bool), 1)] = -np.inf
    masked = masked.astype(dtype)
    joined = random(2, 8, 1, 37).astype(dtype), random(2, 8, 1, 5, seed=1).astype(dtype)
    cases = [
        case(op_type, x, name=f"{what} {name}", opset=OPSET, expected=[softmax(x, op_type == "LogSoftmax")])
        for op_type, (what, x) in itertools.product(
            ("Softmax", "LogSoftmax"), (("of infinities", special), ("masked", masked))
        )
        if op_type == "Softmax" or x is not special
    ]
    # iree#22265: along a joined axis whose length only the run knows.
    cases.append(
        graph_case(
            f"Softmax of an unknown axis {name}",
            [("Concat", "a b", "c", {"axis": -1}), ("Softmax", "c", "y", {"axis": -1})],
            dict(zip("ab", joined, strict=True)),
            {},
            opset=OPSET,
            unknown=frozenset("ab"),
            expected=(softmax(np.concatenate(joined, axis=-1)),),
        )
    )
    return cases


def softmax(x: Array, logarithm: bool = False) -> Array:
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        shifted = wide - wide.max(axis=-1, keepdims=True)
        total = np.exp(shifted).sum(axis=-1, keepdims=True)
        return (shifted - np.log(total) if logarithm else np.exp(shifted) / total).astype(x.dtype)


def long_kernel(dtype: Any) -> list[Case]:
    """rocm-libraries#7024: a transformed convolution of 529 taps was off by more than their number explains."""
    shapes = (1, 1, 48, 50), (1, 1, 23, 23)
    return [
        conv_case(f"23x23 {data} {type_id(dtype)}", "Conv", *shapes, data=data, dtype=dtype, opset=OPSET)
        for data in ("random", "integers")
    ]


CASES = [
    one
    for dtype in HALVES
    for part in (statistics, root_mean_squares, accumulators, written_out, softmaxes, long_kernel)
    for one in part(dtype)
]
test_half_range = table_test("half_range", CASES, EVERYWHERE)
