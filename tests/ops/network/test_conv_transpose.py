"""ConvTranspose: the mistakes that others made, each as a case. The trackers' names are in front of the numbers."""

import numpy as np

from tests.ops.case import Case, Constant, case, small_integers
from tests.ops.network import convolution_reference
from tests.ops.network.convolution_cases import conv_case
from tests.ops.table import EVERYWHERE, table_test


def transposed() -> list[Case]:
    """Items 16 to 24."""
    cases = [
        conv_case(
            f"MIOpen#575 k {list(kernel)} s {list(stride)}",
            "ConvTranspose",
            (1, 8, 6, 7),
            (8, 5, *kernel),
            strides=list(stride),
            pads=[kernel[0] // 2, kernel[1] // 2] * 2,
        )
        for kernel, stride in (
            ((7, 1), (3, 1)),
            ((4, 1), (3, 1)),
            ((1, 7), (1, 3)),
            ((7, 1), (5, 1)),
            ((8, 1), (5, 1)),
            ((6, 2), (3, 2)),
        )
    ]
    half = np.full((1, 1, 5, 5), 0.5, np.float32)
    impulse = np.zeros((1, 1, 3, 3), np.float32)
    impulse[0, 0, 1, 1] = 1
    scattered = np.zeros((1, 1, 5, 5), np.float32)
    scattered[0, 0, ::2, ::2] = np.arange(1, 10).reshape(3, 3)
    cases += [
        conv_case("MIOpen#1916 pad above (k - 1) / 2", "ConvTranspose", (1, 8, 9, 9), (8, 8, 3, 3), pads=[2] * 4),
        conv_case("MIOpen#1495 1x1 stride 2", "ConvTranspose", (1, 4, 2, 2), (4, 6, 1, 1), strides=[2, 2]),
        conv_case(
            "CK#105 1x1 stride 2", "ConvTranspose", (2, 5, 3, 4), (5, 3, 1, 1), strides=[2, 2], output_padding=[1, 1]
        ),
        conv_case(
            "rocm-libraries#7732 stride above dilation",
            "ConvTranspose",
            (1, 4, 5, 6),
            (4, 3, 3, 3),
            strides=[3, 3],
            dilations=[2, 2],
        ),
        conv_case(
            "onnxruntime#2518",
            "ConvTranspose",
            (1, 1, 50, 50),
            (1, 3, 3, 5),
            strides=[2, 1],
            dilations=[3, 1],
            pads=[4, 2, 4, 2],
        ),
        case(
            "ConvTranspose",
            half,
            Constant(np.ones((1, 3, 2, 2), np.float32)),
            name="onnxruntime#14208",
            pads=[3] * 4,
            dilations=[2, 2],
            output_padding=[1, 1],
            tolerance=0.0,
            expected=[np.full((1, 3, 2, 2), 2, np.float32)],
        ),
        conv_case(
            "TVM#19524",
            "ConvTranspose",
            (1, 16, 7, 7),
            (16, 3, 3, 3),
            strides=[2, 2],
            pads=[1] * 4,
            output_padding=[1, 1],
        ),
        conv_case(
            "TVM#18601",
            "ConvTranspose",
            (1, 3, 28, 28),
            (3, 6, 3, 3),
            strides=[2, 2],
            pads=[1] * 4,
            output_padding=[1, 1],
        ),
        # More residues than a table of clang's would hold; so many that loops are used.
        *[
            conv_case(
                f"stride {list(strides)} {outputs}",
                "ConvTranspose",
                (1, 3, *size),
                (3, outputs, *kernel),
                strides=list(strides),
            )
            for strides, kernel, size in (
                ((12, 12), (12, 12), (2, 2)),
                ((16, 16), (17, 15), (2, 3)),
                ((5, 5, 5), (5, 4, 6), (2, 2, 2)),
                ((96,), (100,), (3,)),
                ((9, 8), (3, 20), (2, 2)),
                ((1000, 1), (2, 2), (2, 2)),
                ((70, 70), (2, 3), (2, 2)),
            )
            for outputs in (2, 20)
        ],
        conv_case("TVM#9885 two groups of one", "ConvTranspose", (1, 2, 1, 1), (2, 1, 1, 1), group=2),
        case(
            "ConvTranspose",
            np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2),
            Constant(small_integers(2, 3, 3, 3)),
            name="XNNPACK#1951",
            group=2,
            tolerance=0.0,
            expected=[
                convolution_reference.conv_transpose(
                    np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2), small_integers(2, 3, 3, 3), group=2
                )
            ],
        ),
        case(
            "ConvTranspose",
            impulse,
            Constant(np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)),
            name="mxnet#13876",
            strides=[2, 2],
            dilations=[2, 2],
            pads=[2] * 4,
            expected=[scattered],
            tolerance=0.0,
        ),
        conv_case(
            "torch-mlir#4423 asymmetric crop",
            "ConvTranspose",
            (1, 3, 4, 5, 6),
            (3, 4, 2, 3, 2),
            strides=[2, 3, 1],
            pads=[2, 0, 3, 1, 4, 0],
            output_padding=[1, 2, 0],
        ),
        conv_case("onnxruntime#4086", "ConvTranspose", (1, 1, 2, 2), (1, 1, 3, 3), auto_pad="SAME_UPPER"),
        conv_case(
            "onnxruntime#4698", "ConvTranspose", (1, 1, 5, 5), (1, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"
        ),
        conv_case("VALID", "ConvTranspose", (1, 2, 5, 4), (2, 3, 3, 2), strides=[2, 3], auto_pad="VALID"),
        conv_case(
            "onnxruntime#12537 odd total",
            "ConvTranspose",
            (1, 2, 4, 5),
            (2, 3, 4, 4),
            strides=[1, 1],
            auto_pad="SAME_UPPER",
        ),
        conv_case(
            "onnxruntime#12537 odd total, lower",
            "ConvTranspose",
            (1, 2, 4, 5),
            (2, 3, 4, 4),
            strides=[1, 1],
            auto_pad="SAME_LOWER",
        ),
        conv_case(
            "onnxruntime#11927",
            "ConvTranspose",
            (1, 2, 3, 3),
            (2, 1, 3, 3),
            strides=[2, 2],
            auto_pad="SAME_UPPER",
            output_padding=[1, 1],
        ),
        conv_case(
            "onnxruntime#13311 output_shape",
            "ConvTranspose",
            (1, 3, 4, 5),
            (3, 2, 3, 3),
            strides=[2, 3],
            output_shape=[8, 14],
        ),
        conv_case(
            "output_shape, upper",
            "ConvTranspose",
            (1, 3, 4, 5),
            (3, 2, 4, 3),
            strides=[2, 3],
            output_shape=[7, 14],
            auto_pad="SAME_UPPER",
        ),
        conv_case(
            "output_shape 3D",
            "ConvTranspose",
            (1, 3, 4, 5, 3),
            (3, 2, 3, 3, 2),
            strides=[2, 3, 1],
            output_shape=[8, 14, 3],
        ),
        conv_case(
            "onnxruntime#6703 3D", "ConvTranspose", (1, 32, 4, 7, 7), (32, 16, 4, 4, 4), strides=[2] * 3, pads=[1] * 6
        ),
        conv_case("mlx#3082 long strides", "ConvTranspose", (1, 3, 5), (3, 2, 256), strides=[64]),
        conv_case("halves U-Net 2x2x2", "ConvTranspose", (2, 7, 3, 4, 5), (7, 9, 2, 2, 2), strides=[2] * 3, bias=True),
    ]
    return cases


CASES = [
    *transposed(),
]
test_conv_transpose = table_test("conv_transpose", CASES, EVERYWHERE)
