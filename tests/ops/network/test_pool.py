"""MaxPool, AveragePool, LpPool and global pools of one to three axes."""

from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, random, type_id
from tests.ops.table import EVERYWHERE, table_test

SIZES = {1: (2, 3, 11), 2: (2, 3, 9, 11), 3: (2, 3, 7, 9, 11)}
Spec = dict[str, Any]

# (name, attributes) of each rank, the axes all different.
SPECS: dict[int, list[tuple[str, Spec]]] = {
    1: [
        ("kernel", {"kernel_shape": [3]}),
        ("even kernel", {"kernel_shape": [4], "strides": [3]}),
        ("pads", {"kernel_shape": [3], "strides": [2], "pads": [1, 2]}),
        ("ceil", {"kernel_shape": [4], "strides": [3], "pads": [1, 0], "ceil_mode": 1}),
        ("whole", {"kernel_shape": [11]}),
        ("gaps", {"kernel_shape": [2], "strides": [4]}),
    ],
    2: [
        ("kernel", {"kernel_shape": [2, 3]}),
        ("strides", {"kernel_shape": [3, 2], "strides": [2, 3]}),
        ("pads", {"kernel_shape": [3, 4], "strides": [2, 1], "pads": [1, 0, 2, 3]}),
        ("ceil", {"kernel_shape": [4, 3], "strides": [3, 4], "pads": [0, 1, 1, 2], "ceil_mode": 1}),
        ("SAME_UPPER", {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_UPPER"}),
        ("SAME_LOWER", {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"}),
        ("VALID", {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "VALID"}),
    ],
    3: [
        ("kernel", {"kernel_shape": [2, 3, 4]}),
        ("halving", {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
        ("flat kernel", {"kernel_shape": [1, 2, 2], "strides": [1, 2, 2]}),
        ("strides", {"kernel_shape": [3, 2, 5], "strides": [2, 1, 3]}),
        # Six different pads: an axis taken for another shows.
        ("pads", {"kernel_shape": [3, 4, 5], "strides": [2, 3, 1], "pads": [0, 1, 2, 2, 3, 4]}),
        ("ceil", {"kernel_shape": [3, 2, 4], "strides": [2, 3, 3], "pads": [1, 0, 2, 0, 1, 1], "ceil_mode": 1}),
        ("SAME_UPPER", {"kernel_shape": [3, 3, 2], "strides": [2, 1, 3], "auto_pad": "SAME_UPPER"}),
        ("SAME_LOWER", {"kernel_shape": [3, 3, 2], "strides": [2, 1, 3], "auto_pad": "SAME_LOWER"}),
    ],
}


def by_specification() -> list[Case]:
    cases = []
    for rank, specs in SPECS.items():
        x = random(*SIZES[rank])
        for name, attributes in specs:
            full = f"{rank}D {name}"
            cases += [
                case("MaxPool", x, name=full, **attributes),
                case("AveragePool", x, name=full, expected=average(x, attributes), **attributes),
                case(
                    "AveragePool",
                    x,
                    name=f"{full}, pads counted",
                    expected=average(x, attributes, count_pads=True),
                    count_include_pad=1,
                    **attributes,
                ),
            ]
    return cases


def window_axis(
    size: int, kernel: int, stride: int, dilation: int, begin: int, end: int, ceil: bool, auto_pad: str
) -> tuple[int, int, int]:
    """Output size, pad before and pad after, as the text of ONNX's AveragePool-19 has them."""
    extent = (kernel - 1) * dilation + 1
    if auto_pad.startswith("SAME"):
        count = -(-size // stride)
        total = max((count - 1) * stride + extent - size, 0)
        begin = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
        return count, begin, total - begin
    steps = size + begin + end - extent
    count = (-(-steps // stride) if ceil else steps // stride) + 1
    if ceil and (count - 1) * stride >= size + begin:
        count -= 1  # a window that would begin in the padding after the input
    return count, begin, end


def average(x: Array, attributes: Spec, count_pads: bool = False) -> list[Array]:
    """A plain loop over windows: the sum of what lies in the input, over what it counts."""
    rank = x.ndim - 2
    kernel = attributes["kernel_shape"]
    ones = [1] * rank
    strides, dilations = attributes.get("strides", ones), attributes.get("dilations", ones)
    pads = attributes.get("pads", [0] * (2 * rank))
    resolved = [
        window_axis(
            x.shape[2 + i],
            kernel[i],
            strides[i],
            dilations[i],
            pads[i],
            pads[rank + i],
            bool(attributes.get("ceil_mode", 0)),
            attributes.get("auto_pad", "NOTSET"),
        )
        for i in range(rank)
    ]
    out = np.zeros((*x.shape[:2], *(count for count, _, _ in resolved)))
    for place in np.ndindex(*out.shape[2:]):
        taps = [
            [place[i] * strides[i] - resolved[i][1] + k * dilations[i] for k in range(kernel[i])] for i in range(rank)
        ]
        inside = [[t for t in taps[i] if 0 <= t < x.shape[2 + i]] for i in range(rank)]
        # Padding counts; what a ceiling adds beyond the padding does not.
        padded = [[t for t in taps[i] if t < x.shape[2 + i] + resolved[i][2]] for i in range(rank)]
        divisor = np.prod([len(axis) for axis in (padded if count_pads else inside)])
        window = x[(slice(None), slice(None), *np.ix_(*inside))].astype(np.float64)
        out[(slice(None), slice(None), *place)] = window.sum(axis=tuple(range(2, 2 + rank))) / divisor
    return [out.astype(x.dtype)]


def maximum_cases() -> list[Case]:
    x = random(2, 3, 7, 9, 11)
    dilated: Spec = {
        "kernel_shape": [2, 3, 2],
        "dilations": [3, 2, 4],
        "strides": [1, 2, 1],
        "pads": [1, 0, 1, 0, 2, 0],
    }
    image = random(1, 2, 6, 7)
    return [
        case("MaxPool", x, name="3D dilated", **dilated),
        case("MaxPool", random(2, 3, 11), name="1D dilated", kernel_shape=[3], dilations=[2]),
        case("MaxPool", image, name="indices", outputs=2, kernel_shape=[2, 3], strides=[2, 2]),
        case("MaxPool", image, name="indices, column major", outputs=2, kernel_shape=[2, 2], storage_order=1),
        case("MaxPool", -np.abs(x) - 5, name="negative input, padded", kernel_shape=[3, 3, 3], pads=[1] * 6),
        case("MaxPool", np.full((1, 1, 4, 4), -np.inf, np.float32), name="all -inf", kernel_shape=[2, 2]),
        # If a whole window has the lowest possible value, its first element is the largest, not one of the padding.
        *[
            case(
                "MaxPool",
                np.full((1, 1, 2, 3), low, dtype),
                name=f"indices of {low}",
                outputs=2,
                kernel_shape=[3, 2],
                pads=[1, 1, 1, 0],
                dilations=[1, 2],
                expected=[np.full((1, 1, 2, 2), low, dtype), np.array([[[[1, 0], [1, 0]]]])],
            )
            for low, dtype in ((-np.inf, np.float32), (-128, np.int8), (0, np.uint8))
        ],
        # The last window of a ceiling would lie only in the padding (onnx/onnx#4958).
        case(
            "MaxPool",
            random(1, 1, 4, 4),
            name="ceil, window in padding",
            kernel_shape=[1, 1],
            strides=[2, 3],
            pads=[0, 0, 0, 0],
            ceil_mode=1,
        ),
        case(
            "MaxPool", random(1, 1, 5), name="ceil at the pad", kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1
        ),
        *[
            case(
                "MaxPool", random(1, 2, 6, 7, dtype=dtype), name=type_id(dtype), kernel_shape=[2, 3], pads=[1, 1, 0, 1]
            )
            for dtype in (np.float64, np.float16, np.int8, np.uint8)
        ],
        case("MaxPool", image, opset=1, kernel_shape=[2, 3], pads=[0, 1, 1, 1]),
        case("MaxPool", image, opset=8, kernel_shape=[2, 3], outputs=2),
        case("MaxPool", image, opset=10, kernel_shape=[2, 3], dilations=[2, 1], ceil_mode=1),
        case("MaxPool", image, opset=11, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
        case("MaxPool", image, opset=12, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER"),
    ]


def average_cases() -> list[Case]:
    ones = np.ones((1, 1, 2, 2), np.float32)
    line = np.arange(1, 8, dtype=np.float32).reshape(1, 1, 7)
    ceil: Spec = {"kernel_shape": [7], "strides": [3], "pads": [0, 3], "ceil_mode": 1}
    x = random(1, 2, 6, 7)
    dilated: Spec = {"kernel_shape": [2, 3], "dilations": [2, 3], "pads": [1, 2, 0, 1]}
    padded: Spec = {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1]}
    volume = random(2, 3, 7, 9, 11)
    deep: Spec = {"kernel_shape": [2, 3, 2], "dilations": [3, 2, 4], "strides": [1, 2, 1], "pads": [1, 0, 1, 0, 2, 0]}
    return [
        # microsoft/onnxruntime, pull requests 29631 and 27375.
        case(
            "AveragePool",
            line,
            name="ceil beyond the pad",
            opset=19,
            count_include_pad=1,
            expected=average(line, ceil, count_pads=True),
            **ceil,
        ),
        case(
            "AveragePool",
            ones,
            name="asymmetric pads counted",
            kernel_shape=[2, 2],
            pads=[0, 0, 1, 1],
            count_include_pad=1,
            expected=[np.array([[[[1, 0.5], [0.5, 0.25]]]], np.float32)],
        ),
        case("AveragePool", x, name="dilated", expected=average(x, dilated), **dilated),
        case(
            "AveragePool",
            x,
            name="dilated, pads counted",
            count_include_pad=1,
            expected=average(x, dilated, count_pads=True),
            **dilated,
        ),
        case("AveragePool", volume, name="3D dilated", expected=average(volume, deep), **deep),
        # ONNX's evaluator counts the pads here; the text of version 1 leaves them out.
        case("AveragePool", x, opset=1, expected=average(x, padded), **padded),
        case("AveragePool", x, opset=7, kernel_shape=[2, 3], pads=[0, 1, 1, 1], count_include_pad=1),
        case("AveragePool", x, opset=10, kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1),
        case("AveragePool", x, opset=11, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
        case(
            "AveragePool",
            x.astype(np.float16),
            name="float16",
            kernel_shape=[2, 3],
            expected=[average(x.astype(np.float16).astype(np.float32), {"kernel_shape": [2, 3]})[0].astype(np.float16)],
        ),
    ]


def norm(x: Array, p: float) -> Array:
    """The mean of each whole image."""
    powers = np.abs(x.astype(np.float64)) ** p
    return (powers.sum(axis=(2, 3), keepdims=True) ** (1 / p)).astype(x.dtype)


def other_cases() -> list[Case]:
    cases = []
    for rank, sizes in SIZES.items():
        x = random(*sizes)
        cases += [
            case("GlobalAveragePool", x, name=f"{rank}D"),
            case("GlobalMaxPool", x, name=f"{rank}D"),
            case("GlobalLpPool", x, name=f"{rank}D", p=2),
        ]
    image = random(2, 3, 6, 7)
    cases += [
        case("GlobalAveragePool", image, opset=1),
        case("GlobalMaxPool", image, opset=1),
        case("GlobalLpPool", image, opset=1, p=3.0, expected=[norm(image, 3)]),
        case("GlobalLpPool", image, opset=2, p=3),
        case("GlobalLpPool", image, opset=22, p=3, expected=[norm(image, 3)]),
        case("GlobalAveragePool", image[:, :, :1, :1].copy(), name="of one"),
        case("LpPool", image, kernel_shape=[2, 3], strides=[2, 1], p=2),
        case("LpPool", image, name="p 3", kernel_shape=[2, 2], pads=[1, 0, 0, 1], p=3),
        case("LpPool", image, name="dilated", kernel_shape=[2, 2], dilations=[2, 3]),
        case("LpPool", image, opset=1, kernel_shape=[6, 7], p=3.0, expected=[norm(image, 3)]),
        case("LpPool", image, opset=2, kernel_shape=[2, 3], p=1),
        case("LpPool", image, opset=11, kernel_shape=[2, 3], p=2),
    ]
    return cases


def overlapping_cases() -> list[Case]:
    """Large windows that overlap, of each type that has a kernel: they are folded axis by axis."""
    cases = []
    x = random(1, 5, 10, 11, 12)
    specs: list[tuple[str, Spec]] = [
        ("9x9x9", {"kernel_shape": [9, 9, 9], "pads": [4] * 6}),
        ("5x4x7 strides", {"kernel_shape": [5, 4, 7], "strides": [1, 2, 2], "pads": [2, 1, 3, 0, 3, 2]}),
        ("ceil", {"kernel_shape": [6, 5, 5], "strides": [2, 2, 3], "pads": [1, 2, 0, 2, 0, 1], "ceil_mode": 1}),
        ("dilated", {"kernel_shape": [3, 4, 3], "dilations": [2, 2, 3], "pads": [2, 3, 1, 1, 0, 3]}),
    ]
    for name, attributes in specs:
        cases += [
            case("MaxPool", x, name=f"overlapping, {name}", **attributes),
            case("AveragePool", x, name=f"overlapping, {name}", expected=average(x, attributes), **attributes),
            *[
                case("MaxPool", random(1, 5, 10, 11, 12, dtype=dtype), name=f"{type_id(dtype)} {name}", **attributes)
                for dtype in (np.float16, np.int8, np.uint8)
            ],
        ]
    holes = x.copy()
    holes[0, 1, 5, 5, 5], holes[0, 2, 3, 4, 5], holes[0, 3, 7, 1, 0] = np.nan, np.inf, -np.inf
    image = random(2, 3, 20, 24)
    cases += [
        case("MaxPool", image, name="13x13", kernel_shape=[13, 13], pads=[6] * 4),
        case("AveragePool", image, name="7x6", expected=average(image, {"kernel_shape": [7, 6]}), kernel_shape=[7, 6]),
        case(
            "AveragePool",
            holes,
            name="not finite",
            kernel_shape=[4, 3, 5],
            expected=average(holes, {"kernel_shape": [4, 3, 5]}),
        ),
    ]
    return cases


CASES = [*by_specification(), *maximum_cases(), *average_cases(), *other_cases(), *overlapping_cases()]
test_pool = table_test("pool", CASES, EVERYWHERE)
