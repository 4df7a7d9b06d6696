"""Conv, and ConvTranspose if both have the same cases: the mistakes that others made, each as a case, with sizes shrunk
for the CPU; those of the reports that onnxc grew from are in test_conv_seeds.py.

The trackers' names are in front of the numbers; what the wrong result was is said where it helps.
"""

import itertools

import ml_dtypes
import numpy as np

from tests.ops.case import Case, Constant, case, graph_case, random, small_integers
from tests.ops.network import convolution_reference
from tests.ops.network.convolution_cases import conv_case
from tests.ops.oracle import expected_outputs
from tests.ops.table import EVERYWHERE, table_test

BFLOAT16 = ml_dtypes.bfloat16


def unit_and_strided() -> list[Case]:
    """Items 1 to 10 of the list: unit kernel axes, strides with groups, weights' gradients, odd channel counts."""
    cases = []
    for unit in itertools.product((1, 3), repeat=3):
        if unit == (3, 3, 3):
            continue
        cases.append(
            conv_case(
                f"unit axes {list(unit)} bfloat16",
                "Conv",
                (2, 5, 4, 6, 7),
                (3, 5, *unit),
                dtype=BFLOAT16,
                pads=[size // 2 for size in unit] * 2,
            )
        )
    cases += [
        conv_case("iree#20511", "Conv", (2, 12, 24, 16), (12, 12, 3, 1), pads=[1, 0, 1, 0], dtype=BFLOAT16),
        conv_case("iree#20964", "Conv", (4, 32, 50, 8), (32, 32, 3, 1), strides=[3, 1], dtype=BFLOAT16),
        # Both kinds: the structured test passed although the random one failed.
        conv_case("iree#23706", "Conv", (3, 12, 4, 6, 5), (9, 4, 1, 3, 3), group=3, pads=[0, 1, 1, 0, 1, 1]),
        conv_case(
            "iree#23706 random",
            "Conv",
            (3, 12, 4, 6, 5),
            (9, 4, 1, 3, 3),
            group=3,
            pads=[0, 1, 1, 0, 1, 1],
            data="random",
        ),
        conv_case("iree#22405 stride 1", "Conv", (4, 16, 8, 8), (32, 4, 1, 1), group=4),
        conv_case("iree#22405 stride 2", "Conv", (4, 16, 8, 8), (32, 4, 1, 1), group=4, strides=[2, 2]),
        conv_case(
            "iree#18600 stride 2", "Conv", (1, 32, 14, 14), (32, 1, 3, 3), group=32, pads=[1] * 4, strides=[2, 2]
        ),
        conv_case("iree#18600 7x7", "Conv", (1, 10, 12, 12), (10, 1, 7, 7), group=10, pads=[3] * 4),
        conv_case("iree#19339", "Conv", (1, 24, 13, 13), (24, 1, 7, 7), group=24, pads=[3] * 4),
        conv_case("iree#20536 one channel", "Conv", (1, 1, 4, 4), (1, 1, 2, 2), bias=True),
        conv_case("iree#23346 odd sizes", "Conv", (2, 5, 25, 25), (64, 5, 3, 3), pads=[1] * 4),
        conv_case("iree#20307", "Conv", (1, 13, 46, 34), (33, 13, 3, 3), pads=[1] * 4),
        conv_case("iree#22987", "Conv", (1, 24, 16, 16), (48, 24, 3, 3), pads=[1] * 4, strides=[2, 2]),
    ]
    for group, stride, dilation in itertools.product((1, 3), (1, 2), (1, 2)):
        for op_type in ("Conv", "ConvTranspose"):
            weights = (9, 6 // group) if op_type == "Conv" else (6, 9 // group)
            cases.append(
                conv_case(
                    f"iree#23786 g {group} s {stride} d {dilation}",
                    op_type,
                    (2, 6, 8, 9),
                    (*weights, 3, 3),
                    group=group,
                    strides=[stride] * 2,
                    dilations=[dilation] * 2,
                    pads=[1, 1, 1, 1],
                )
            )
    return cases


def graphs() -> list[Case]:
    """Items 8, 9 and 41: what stands around a convolution."""
    x1, x2 = small_integers(1, 12, 6, 7), small_integers(1, 8, 12, 13, seed=1)
    w1, w2 = small_integers(12, 12, 1, 1, seed=2), small_integers(12, 8, 1, 1, seed=3)
    joined = convolution_reference.conv(x1, w1) + convolution_reference.conv(x2, w2, strides=[2, 2])
    pointwise = convolution_reference.conv(small_integers(1, 16, 6, 6), small_integers(24, 16, 1, 1, seed=1))
    padded_input = small_integers(2, 3, 9, 10)
    w3 = small_integers(5, 3, 3, 3, seed=1)
    chain = convolution_reference.conv(padded_input, w3, pads=[1, 2, 2, 1], strides=[2, 2])
    scale = np.array([0.5, 2, -1, 1, 4], np.float32)
    return [
        graph_case(
            "iree#23028 two 1x1 joined",
            [("Conv", "x1 w1", "a"), ("Conv", "x2 w2", "b", {"strides": [2, 2]}), ("Add", "a b", "y")],
            {"x1": x1, "x2": x2},
            {"w1": w1, "w2": w2},
            expected=(joined,),
            tolerance=0.0,
        ),
        graph_case(
            "iree#19703 1x1 then Pad",
            [("Conv", "x w", "a"), ("Pad", "a p", "y")],
            {"x": small_integers(1, 16, 6, 6)},
            {"w": small_integers(24, 16, 1, 1, seed=1), "p": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
            expected=(np.pad(pointwise, ((0, 0), (0, 0), (1, 1), (1, 1))),),
            tolerance=0.0,
        ),
        graph_case(
            "iree#18387 Pad then stride 2",
            [("Pad", "x p", "a"), ("Conv", "a w", "y", {"strides": [2, 2]})],
            {"x": padded_input},
            {"w": w3, "p": np.array([0, 0, 1, 2, 0, 0, 2, 1])},
            expected=(chain,),
            tolerance=0.0,
        ),
        graph_case(
            "batch normalization folded",
            [
                ("Conv", "x w b", "a", {"pads": [1, 2, 2, 1], "strides": [2, 2]}),
                ("BatchNormalization", "a scale shift mean variance", "c", {"epsilon": 0.0}),
                ("Relu", "c", "y"),
            ],
            {"x": padded_input},
            {
                "w": w3,
                "b": small_integers(5, seed=4),
                "scale": scale,
                "shift": small_integers(5, seed=5),
                "mean": small_integers(5, seed=6),
                "variance": np.array([1, 4, 0.25, 16, 1], np.float32),
            },
        ),
        graph_case(
            "residual sum and activation",
            [
                ("Conv", "x w", "a", {"pads": [1, 1, 1, 1]}),
                ("Add", "r a", "b"),
                ("LeakyRelu", "b", "y", {"alpha": 0.5}),
            ],
            {"x": small_integers(2, 5, 6, 7), "r": small_integers(2, 5, 6, 7, seed=8)},
            {"w": small_integers(5, 5, 3, 3, seed=1)},
        ),
        graph_case(
            "dilation with residual sum and activation",
            [
                ("Conv", "x w", "a", {"pads": [2, 3, 2, 3], "dilations": [2, 3]}),
                ("Add", "r a", "b"),
                ("LeakyRelu", "b", "y", {"alpha": 0.5}),
            ],
            {"x": small_integers(2, 16, 12, 19), "r": small_integers(2, 12, 12, 19, seed=8)},
            {"w": small_integers(12, 16, 3, 3, seed=1)},
        ),
        graph_case(
            "dilation before a pool",
            [
                ("Conv", "x w", "a", {"pads": [2] * 4, "dilations": [2, 2]}),
                ("MaxPool", "a", "y", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            ],
            {"x": small_integers(2, 16, 12, 18)},
            {"w": small_integers(16, 16, 3, 3, seed=1)},
        ),
        graph_case(
            "one result used twice",
            [("Conv", "x w", "a"), ("Relu", "a", "b"), ("Neg", "a", "c"), ("Concat", "b c", "y", {"axis": 1})],
            {"x": small_integers(2, 5, 6, 7)},
            {"w": small_integers(4, 5, 3, 3, seed=1)},
        ),
        graph_case(
            "a result that is an output and is used",
            [("Conv", "x w", "y"), ("Relu", "y", "z")],
            {"x": small_integers(2, 5, 6, 7)},
            {"w": small_integers(4, 5, 3, 3, seed=1)},
            ("y", "z"),
        ),
        graph_case(
            "weights shared by two",
            [("Conv", "x w", "a"), ("Conv", "a w", "y", {"dilations": [2, 2]})],
            {"x": small_integers(1, 4, 9, 10, low=-2, high=2)},
            {"w": small_integers(4, 4, 3, 2, seed=1, low=-2, high=2)},
        ),
        conv_case(
            "burn-onnx#346 weights at run time",
            "Conv",
            (2, 4, 5, 6),
            (6, 2, 3, 3),
            group=2,
            bias=True,
            constant_weights=False,
        ),
        *(
            conv_case(
                f"computed weights of more than a channel block to {filters} {np.dtype(dtype)}",
                "Conv",
                (2, 20, 6, 19),
                (filters, 20, 3, 3),
                bias=True,
                constant_weights=False,
                dtype=dtype,
                pads=[1, 0, 1, 2],
            )
            for filters, dtype in ((33, np.float32), (3, np.float32), (33, np.float16))
        ),
        conv_case(
            "burn-onnx#346 weights at run time",
            "ConvTranspose",
            (2, 4, 5, 6),
            (4, 3, 3, 3),
            group=2,
            bias=True,
            constant_weights=False,
            strides=[2, 1],
        ),
    ]


def dilation_and_pads() -> list[Case]:
    """Items 11 to 15."""
    return [
        conv_case(
            "MIGraphX#3501", "Conv", (2, 3, 10, 10, 20), (8, 3, 5, 5, 5), pads=[4] * 6, dilations=[2] * 3, bias=True
        ),
        conv_case("rocMLIR#1299 order of pads", "Conv", (1, 4, 5, 6, 7), (3, 4, 3, 3, 3), pads=[0, 1, 2, 3, 4, 5]),
        conv_case("rocMLIR#1299 order of pads 2D", "Conv", (1, 8, 13, 13), (8, 8, 1, 7), pads=[0, 3, 1, 2]),
        conv_case(
            "rocMLIR#1299 order of pads", "ConvTranspose", (1, 4, 5, 6, 7), (4, 3, 4, 4, 5), pads=[0, 1, 2, 3, 2, 1]
        ),
        conv_case(
            "rocm-libraries#4998 float16",
            "Conv",
            (1, 16, 9, 11),
            (24, 4, 3, 3),
            group=4,
            pads=[1] * 4,
            dtype=np.float16,
        ),
        conv_case("modular#6129", "Conv", (1, 64, 150), (64, 4, 128), group=16, pads=[64, 64]),
        conv_case("MIOpen#2560", "ConvTranspose", (2, 8, 5, 6, 7), (8, 4, 3, 3, 3), group=2, strides=[2] * 3),
        conv_case(
            "rocMLIR#2241",
            "Conv",
            (1, 6, 10, 10, 10),
            (9, 2, 3, 3, 3),
            group=3,
            strides=[2, 1, 3],
            dilations=[1, 2, 1],
            pads=[1, 2, 0, 0, 1, 2],
        ),
        *(
            conv_case(
                f"dilation {dilations} on {size}",
                "Conv",
                (2, channels, *size),
                (9, channels, *kernel),
                dilations=dilations,
                pads=pads,
                bias=True,
            )
            for channels, size, kernel, dilations, pads in (
                (12, (9, 10, 13), (3, 3, 3), [2, 2, 2], [2] * 6),
                (12, (9, 11, 23), (3, 3, 3), [4, 4, 4], [4] * 6),
                (9, (7, 12, 10), (3, 3, 3), [1, 3, 2], [0, 3, 1, 2, 4, 2]),
                (16, (3, 2, 4), (3, 3, 3), [4, 3, 2], [5, 4, 2, 3, 3, 3]),
                (10, (6, 17, 15), (1, 3, 3), [3, 2, 3], [0, 2, 3, 0, 2, 3]),
                (10, (16, 3, 15), (3, 1, 3), [3, 1, 2], [3, 0, 2, 3, 0, 2]),
                (20, (33,), (3,), [5], [4, 6]),
                (20, (21, 18), (3, 3), [3, 2], [3, 2, 3, 2]),
            )
        ),
        conv_case(
            "dilation random",
            "Conv",
            (1, 16, 17, 18, 33),
            (8, 16, 3, 3, 3),
            dilations=[4, 2, 4],
            pads=[4, 2, 4] * 2,
            data="random",
        ),
        conv_case(
            "dilation random 2D",
            "Conv",
            (1, 16, 29, 33),
            (24, 16, 3, 3),
            dilations=[3, 4],
            pads=[3, 4] * 2,
            data="random",
        ),
        conv_case("CK#1031 depth of one", "ConvTranspose", (2, 8, 1, 9, 7), (8, 6, 1, 3, 3), pads=[0, 1, 1, 0, 1, 1]),
        conv_case("padding deeper than the input", "Conv", (2, 4, 1, 7, 9), (3, 4, 3, 3, 3), pads=[2, 1, 1, 3, 1, 1]),
        conv_case("window in the padding alone", "Conv", (1, 2, 3, 4), (3, 2, 2, 2), pads=[4, 4, 4, 4], bias=True),
        conv_case("long kernel 3D float16", "Conv", (1, 1, 12, 15), (1, 1, 9, 9), dtype=np.float16),
    ]


def automatic_pads() -> list[Case]:
    """Item 25: SAME with strides, even kernels and dilations, of one to three axes."""
    cases = []
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        cases += [
            conv_case(f"{auto_pad} 1D k 4", "Conv", (2, 3, 11), (5, 3, 4), auto_pad=auto_pad, strides=[2]),
            conv_case(f"{auto_pad} 2D", "Conv", (2, 3, 9, 10), (5, 3, 3, 3), auto_pad=auto_pad, strides=[2, 2]),
            conv_case(f"{auto_pad} 2D even", "Conv", (2, 3, 9, 10), (5, 3, 4, 2), auto_pad=auto_pad),
            conv_case(
                f"{auto_pad} 2D dilated", "Conv", (2, 3, 9, 10), (5, 3, 3, 2), auto_pad=auto_pad, dilations=[2, 3]
            ),
            conv_case(f"{auto_pad} 3D", "Conv", (1, 3, 7, 8, 9), (4, 3, 3, 4, 2), auto_pad=auto_pad, strides=[2, 1, 3]),
        ]
    return cases


def tile_edges() -> list[Case]:
    """Channels, filters and widths around the sizes of vectors and register tiles."""
    cases = []
    for channels, filters, width in (
        (1, 1, 1),
        (3, 15, 13),
        (7, 16, 15),
        (8, 17, 16),
        (9, 31, 17),
        (15, 32, 31),
        (16, 33, 14),
        (17, 8, 29),
        (32, 48, 28),
        (33, 7, 33),
        (31, 64, 12),
        (64, 65, 6),
    ):
        name = f"{channels} to {filters}, width {width}"
        shape = (1, channels, 3, 4, width)
        cases += [
            conv_case(f"3x3x3 {name}", "Conv", shape, (filters, channels, 3, 3, 3), pads=[1] * 6, bias=True),
            conv_case(f"1x1x1 {name}", "Conv", shape, (filters, channels, 1, 1, 1)),
            conv_case(f"stride 2 {name}", "Conv", shape, (filters, channels, 3, 3, 3), pads=[1] * 6, strides=[2] * 3),
            conv_case(f"depthwise {name}", "Conv", shape, (channels, 1, 3, 3, 3), group=channels, pads=[1] * 6),
            conv_case(f"up {name}", "ConvTranspose", shape, (channels, filters, 2, 2, 2), strides=[2] * 3),
        ]
    for data in ("impulse", "random", "ones"):
        cases.append(conv_case(f"3x3x3 {data}", "Conv", (2, 5, 6, 7, 8), (4, 5, 3, 3, 3), pads=[1] * 6, data=data))
        cases.append(
            conv_case(f"3x3x3 {data}", "ConvTranspose", (2, 5, 3, 4, 5), (5, 4, 3, 3, 3), strides=[2] * 3, data=data)
        )
    return cases


def types_and_versions() -> list[Case]:
    cases = []
    for dtype in (np.float64, np.float16, BFLOAT16):
        kind = np.dtype(dtype).name
        cases += [
            conv_case(kind, "Conv", (2, 5, 4, 5, 6), (6, 5, 3, 3, 3), pads=[1] * 6, dtype=dtype, bias=True),
            conv_case(
                kind, "ConvTranspose", (2, 4, 3, 4, 5), (4, 3, 2, 3, 2), strides=[2, 1, 2], dtype=dtype, bias=True
            ),
        ]
    # The partial sum, 110592, is above float16's largest number; the result is zero (MIGraphX#850).
    halves = np.concatenate((np.ones((1, 64, 3, 3, 3)), -np.ones((1, 64, 3, 3, 3))), axis=1).astype(np.float16)
    cases.append(
        case(
            "Conv",
            np.full((1, 128, 3, 3, 3), 64, np.float16),
            Constant(halves),
            name="float16 accumulates wider",
            expected=[np.zeros((1, 1, 1, 1, 1), np.float16)],
            tolerance=0.0,
        )
    )
    for opset in (1, 11, 22):
        cases.append(conv_case("", "Conv", (1, 3, 5, 6), (4, 3, 2, 3), pads=[1, 0, 0, 2], opset=opset, bias=True))
        cases.append(
            conv_case("", "ConvTranspose", (1, 3, 5, 6), (3, 4, 2, 3), pads=[1, 0, 0, 2], opset=opset, strides=[2, 1])
        )
    cases.append(conv_case("kernel_shape given", "Conv", (1, 3, 5, 6), (4, 3, 2, 3), kernel_shape=[2, 3]))
    nan = random(1, 2, 4, 5)
    nan[0, 1, 2, 3], nan[0, 0, 0, 0] = np.nan, np.inf
    w = random(3, 2, 2, 2, seed=1)
    cases.append(case("Conv", nan, Constant(w), name="NaN and infinity", expected=[convolution_reference.conv(nan, w)]))
    cases.append(conv_case("no batch", "Conv", (0, 3, 5, 6), (4, 3, 2, 3)))
    return cases


CASES = [
    *unit_and_strided(),
    *graphs(),
    *dilation_and_pads(),
    *automatic_pads(),
    *tile_edges(),
    *types_and_versions(),
]
test_conv = table_test("conv", CASES, EVERYWHERE)


def test_references_agree() -> None:
    """The plain loop and onnxruntime give the same, dilations and crops included: an oracle can have the bug too."""
    for one in (
        conv_case("a", "Conv", (2, 6, 7, 8, 9), (4, 3, 3, 2, 1), group=2, dilations=[2, 1, 3], pads=[0, 1, 2, 3, 1, 0]),
        conv_case(
            "b",
            "ConvTranspose",
            (2, 6, 3, 4, 5),
            (6, 2, 3, 2, 4),
            group=2,
            dilations=[2, 1, 1],
            strides=[1, 3, 2],
            pads=[0, 1, 2, 3, 1, 0],
            output_padding=[0, 2, 1],
        ),
        conv_case(
            "c",
            "ConvTranspose",
            (1, 2, 5, 5),
            (2, 3, 2, 2),
            dilations=[2, 2],
            pads=[3] * 4,
            strides=[2, 2],
            output_padding=[1, 1],
        ),
        conv_case("d", "Conv", (2, 3, 9, 10), (5, 3, 4, 2), auto_pad="SAME_LOWER"),
    ):
        assert one.expected is not None
        unanswered = Case(one.name, one.nodes, one.inputs, one.constants, one.outputs, one.opset)
        np.testing.assert_array_equal(expected_outputs(unanswered)[0], one.expected[0])
