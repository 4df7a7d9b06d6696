"""The reports that onnxc grew from, on sizes shrunk for the CPU: what the wrong result was is said where it helps.

The trackers' names are in front of the numbers.
"""

import itertools
from typing import Any

import ml_dtypes
import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, Constant, case, graph_case, small_integers
from tests.ops.network import convolution_reference
from tests.ops.network.convolution_cases import conv_case
from tests.ops.table import EVERYWHERE, table_test


def filter_order() -> list[Case]:
    """iree#20473: the filter's reduction axes were collapsed in the filter's own order, the input's in another."""
    x = np.array([[[0, 1], [0, 0], [0, 0]]], np.float32)
    dense = np.arange(1, 7, dtype=np.float32).reshape(1, 3, 2)
    w = np.arange(1, 9, dtype=np.float32).reshape(2, 2, 2)
    turned = [
        ("Transpose", "x", "a", {"perm": [0, 2, 1]}),
        ("Transpose", "w", "b", {"perm": [2, 0, 1]}),
        ("Conv", "a b", "c"),
        ("Transpose", "c", "y", {"perm": [0, 2, 1]}),
    ]
    nodes: list[Any] = turned
    impulse = np.array([[[5, 6], [0, 0]]], np.float32)
    sums = np.array([[[48, 58], [80, 98]]], np.float32)
    cases = [
        graph_case("transposed filter, impulse", nodes, {"x": x}, {"w": w}, expected=(impulse,), tolerance=0.0),
        graph_case("transposed filter, dense", nodes, {"x": dense}, {"w": w}, expected=(sums,), tolerance=0.0),
        graph_case("transposed filter at run time", nodes, {"x": dense, "w": w}, {}, expected=(sums,), tolerance=0.0),
        case(
            "ConvTranspose",
            np.ascontiguousarray(x.transpose(0, 2, 1)),
            Constant(np.array([[[3, 1], [4, 2]], [[7, 5], [8, 6]]], np.float32)),
            name="of a flipped filter",
            pads=[1, 1],
            expected=[impulse.transpose(0, 2, 1).copy()],
            tolerance=0.0,
        ),
    ]
    return [*cases, *filter_order_in_planes_and_volumes(), *stored_filter_orders()]


def filter_order_in_planes_and_volumes() -> list[Case]:
    """The numbers of iree#20473 along each axis of a plane and a volume, channels last and the filter in each of the
    orders (channel, kernel, filter), (kernel, channel, filter), (channel, filter, kernel), (filter, kernel, channel)
    """
    w = np.arange(1, 9, dtype=np.float32).reshape(2, 2, 2).transpose(2, 0, 1)  # filter, channel, kernel
    dense = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    impulse = np.array([[0, 1], [0, 0], [0, 0]], np.float32)
    sums, names = np.array([[48, 58], [80, 98]], np.float32), np.array([[5, 6], [0, 0]], np.float32)
    cases = []
    for rank, axis in ((2, 0), (2, 1), (3, 0), (3, 1), (3, 2)):
        kernel = tuple(range(2, rank + 2))
        last = (0, rank + 1, *range(1, rank + 1))

        def along(array: Array, axis: int = axis, rank: int = rank) -> Array:
            """[size, channel] as [1, 1, ..., size, ..., 1, channel]."""
            return array.reshape(1, *[array.shape[0] if i == axis else 1 for i in range(rank)], array.shape[1])

        for order in ((1, *kernel, 0), (*kernel, 1, 0), (1, 0, *kernel), (0, *kernel, 1)):
            back = [order.index(i) for i in range(rank + 2)]
            stored = w.reshape(2, 2, *[2 if i == axis else 1 for i in range(rank)]).transpose(order).copy()
            for x, y in ((dense, sums), (impulse, names)):
                cases.append(
                    graph_case(
                        f"iree#20473 {rank}D axis {axis}, filter {list(order)}{'' if x is dense else ', impulse'}",
                        [
                            ("Transpose", "x", "a", {"perm": list(last)}),
                            ("Transpose", "w", "b", {"perm": back}),
                            ("Conv", "a b", "c"),
                            ("Transpose", "c", "y", {"perm": [0, *range(2, rank + 2), 1]}),
                        ],
                        {"x": along(x)},
                        {"w": stored},
                        expected=(along(y),),
                        tolerance=0.0,
                    )
                )
    return cases


def stored_filter_orders() -> list[Case]:
    """Filters of 1D, 2D and 3D stored in every order of their axes and turned back in the graph at compile time, and in
    some of them at run time."""
    cases = []
    for x_shape, w_shape in (
        ((1, 4, 9), (5, 4, 3)),
        ((1, 4, 16, 16), (16, 4, 3, 3)),
        ((1, 4, 6, 7, 8), (5, 4, 2, 3, 3)),
    ):
        x, w = small_integers(*x_shape), small_integers(*w_shape, seed=1)
        expected = convolution_reference.conv(x, w)
        for index, order in enumerate(itertools.permutations(range(len(w_shape)))):
            nodes: list[Any] = [
                ("Transpose", "w", "t", {"perm": [order.index(axis) for axis in range(len(order))]}),
                ("Conv", "x t", "y"),
            ]
            stored = w.transpose(order).copy()
            named = order in ((1, 2, 3, 4, 0), (2, 3, 4, 1, 0), (1, 0, 2, 3, 4), (0, 2, 3, 4, 1))
            often = named or index % 11 == 0
            name = f"filter stored in the order {list(order)}"
            settings: dict[str, Any] = {"expected": (expected,), "tolerance": 0.0}
            cases.append(graph_case(name, nodes, {"x": x}, {"w": stored}, **settings, slow=not often))
            if often:
                cases.append(graph_case(f"{name} at run time", nodes, {"x": x, "w": stored}, {}, **settings))
    return cases


def long_flat_filters() -> list[Case]:
    """iree#20139: one rank's loop order was taken for the channel's place."""
    ones = np.ones((1, 1, 32, 32, 32), np.float32)
    w, b = np.ones((16, 1, 9, 9, 1), np.float32), np.ones(16, np.float32)
    counts = np.array([min(i + 4, 31) - max(i - 4, 0) + 1 for i in range(32)], np.float32)
    plane = 1 + counts.reshape(32, 1) * counts.reshape(1, 32)
    expected = np.broadcast_to(plane.reshape(1, 1, 32, 32, 1), (1, 16, 32, 32, 32)).copy()
    assert expected.sum() == 37298176
    assert [float(plane[at]) for at in ((0, 0), (0, 16), (3, 3), (16, 16))] == [26, 46, 65, 82]
    cases = []
    for turn in range(3):
        kernel = tuple(np.roll((9, 9, 1), turn))
        pad = [int(value) for value in np.roll((4, 4, 0), turn)] * 2
        cases.append(
            case(
                "Conv",
                ones,
                Constant(w.reshape(16, 1, *(int(size) for size in kernel))),
                Constant(b),
                name=f"iree#20139 {'x'.join(map(str, kernel))} of ones",
                pads=pad,
                expected=[np.moveaxis(expected, (2, 3, 4), [2 + (i + turn) % 3 for i in range(3)]).copy()],
                tolerance=0.0,
            )
        )
        for filters in (5, 6):  # unlike every size, and like one of them
            cases.append(
                conv_case(
                    f"{'x'.join(map(str, kernel))}, {filters} filters",
                    "Conv",
                    (1, 1, 5, 7, 6),
                    (filters, 1, *(int(size) for size in kernel)),
                    pads=pad,
                    bias=True,
                )
            )
    return cases


def grouped_input_gradient() -> list[Case]:
    """iree#20498: a grouped convolution's input gradient, in its two forms; and depthwise over many channels."""
    x, w = small_integers(2, 12, 5, 8), small_integers(12, 4, 1, 3, seed=1)
    expected = convolution_reference.conv_transpose(x, w, group=3, pads=[0, 1, 0, 1])
    return [
        conv_case("gradient, transposed", "ConvTranspose", (2, 12, 5, 8), (12, 4, 1, 3), group=3, pads=[0, 1, 0, 1]),
        graph_case(
            "gradient, filter flipped in the graph",
            [
                ("Reshape", "w s1", "a"),
                ("Transpose", "a", "b", {"perm": [0, 2, 1, 3, 4]}),
                ("Slice", "b start end axis step", "c"),
                ("Reshape", "c s2", "d"),
                ("Conv", "x d", "y", {"group": 3, "pads": [0, 1, 0, 1]}),
            ],
            {"x": x},
            {
                "w": w,
                "s1": np.array([3, 4, 4, 1, 3]),
                "s2": np.array([12, 4, 1, 3]),
                "start": np.array([-1]),
                "end": np.array([-100]),
                "axis": np.array([4]),
                "step": np.array([-1]),
            },
            expected=(expected,),
            tolerance=0.0,
        ),
        graph_case(
            "gradient, expanded first",
            [
                ("Reshape", "w s1", "a"),
                ("Transpose", "a", "b", {"perm": [0, 2, 1, 3, 4]}),
                ("Slice", "b start end axis step", "c"),
                ("Reshape", "c s2", "d"),
                ("Reshape", "x groups", "e"),
                ("Pad", "e padding", "f"),
                ("Reshape", "f whole", "g"),
                ("Conv", "g d", "y", {"group": 3}),
            ],
            {"x": x},
            {
                "w": w,
                "s1": np.array([3, 4, 4, 1, 3]),
                "s2": np.array([12, 4, 1, 3]),
                "start": np.array([-1]),
                "end": np.array([-100]),
                "axis": np.array([4]),
                "step": np.array([-1]),
                "groups": np.array([2, 3, 4, 5, 8]),
                "padding": np.array([0, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
                "whole": np.array([2, 12, 5, 10]),
            },
            expected=(expected,),
            tolerance=0.0,
        ),
        # The channels of the report; each element counts its products.
        case(
            "ConvTranspose",
            np.ones((1, 384, 2, 6), np.float32),
            Constant(np.ones((384, 128, 1, 3), np.float32)),
            name="iree#20498 of ones",
            group=3,
            pads=[0, 1, 0, 1],
            expected=[np.tile(np.array([256, 384, 384, 384, 384, 256], np.float32), (1, 384, 2, 1))],
            tolerance=0.0,
        ),
        graph_case(
            "gradient, split and joined",
            [
                ("Split", "x", "x0 x1 x2", {"axis": 1, "num_outputs": 3}),
                ("Split", "w", "w0 w1 w2", {"axis": 0, "num_outputs": 3}),
                *[("ConvTranspose", f"x{g} w{g}", f"y{g}", {"pads": [0, 1, 0, 1]}) for g in range(3)],
                ("Concat", "y0 y1 y2", "y", {"axis": 1}),
            ],
            {"x": x},
            {"w": w},
            expected=(expected,),
            tolerance=0.0,
        ),
        *depthwise_rows(),
        case(
            "ConvTranspose",
            np.array([[[2, 3, 1], [1, 3, 2]]], np.float32),
            Constant(np.array([3, 2, 1, 1, 2, 3, 1, 2, 3, 3, 2, 1], np.float32).reshape(2, 2, 3)),
            name="ggml stride 1",
            expected=[np.array([[[7, 18, 22, 18, 7], [5, 18, 26, 18, 5]]], np.float32)],
            tolerance=0.0,
        ),
        case(
            "ConvTranspose",
            np.array([[[2, 3, 1], [1, 3, 2]]], np.float32),
            Constant(np.array([3, 2, 1, 1, 2, 3, 1, 2, 3, 3, 2, 1], np.float32).reshape(2, 2, 3)),
            name="ggml stride 2",
            strides=[2],
            tolerance=0.0,
            expected=[np.array([[[7, 6, 17, 12, 17, 6, 7], [5, 6, 19, 12, 19, 6, 5]]], np.float32)],
        ),
        case(
            "ConvTranspose",
            np.array([[[1, 2]]], np.float32),
            Constant(np.array([[[1, 2, 3]]], np.float32)),
            name="ggml one channel",
            expected=[np.array([[[1, 4, 7, 6]]], np.float32)],
            tolerance=0.0,
        ),
        conv_case("gaps are zero", "ConvTranspose", (1, 3, 4), (3, 2, 2), strides=[3]),
        conv_case("gaps are zero float16", "ConvTranspose", (1, 3, 4), (3, 2, 2), strides=[3], dtype=np.float16),
    ]


def depthwise_rows() -> list[Case]:
    """ggml#931: a launch of channels x kernel threads, which no device has."""
    row = np.convolve(np.ones(187), np.ones(11), "same")
    assert list(row[:7]) == [6, 7, 8, 9, 10, 11, 11]
    cases = []
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        for data in ("ones", "integers"):
            one = conv_case(
                f"ggml#931 512 channels {np.dtype(dtype).name} {data}",
                "Conv",
                (1, 512, 187),
                (512, 1, 11),
                group=512,
                pads=[5, 5],
                data=data,
                dtype=dtype,
            )
            assert one.expected is not None
            assert data != "ones" or np.array_equal(one.expected[0][0, 7].astype(np.float64), row)
            cases.append(one)
    return cases


def beyond_16_bits() -> list[Case]:
    """llama#22944: a launch of as many blocks along an axis as the output is long ends at 65,535."""
    return [
        conv_case(
            f"{kind} longer than 65,535 {np.dtype(dtype).name}", "Conv", shape, weights, dtype=dtype, **attributes
        )
        for kind, shape, weights, attributes in (
            ("plain", (1, 2, 66001), (3, 2, 3), {"pads": [1, 1]}),
            ("depthwise", (1, 3, 66001), (3, 1, 3), {"group": 3, "pads": [1, 1]}),
        )
        for dtype in (np.float32, np.float16)
    ] + [
        conv_case(
            f"longer than 65,535 {np.dtype(dtype).name}",
            "ConvTranspose",
            (1, 2, 33001),
            (2, 3, 2),
            strides=[2],
            dtype=dtype,
        )
        for dtype in (np.float32, np.float16)
    ]


CASES = [
    *filter_order(),
    *long_flat_filters(),
    *grouped_input_gradient(),
    *beyond_16_bits(),
]
test_conv_seeds = table_test("conv_seeds", CASES, EVERYWHERE)
