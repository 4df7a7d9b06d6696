"""DeformConv of lines, images and volumes, against a plain loop."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test


def interpolated(image: Array, place: Sequence[float]) -> float:
    """Linear between the elements around a place; outside of the image stand zeros."""
    first = [int(np.floor(p)) for p in place]
    total = 0.0
    for corner in itertools.product((0, 1), repeat=len(place)):
        index = tuple(f + c for f, c in zip(first, corner, strict=True))
        if all(0 <= i < n for i, n in zip(index, image.shape, strict=True)):
            weights = [p - f if c else 1 - p + f for p, f, c in zip(place, first, corner, strict=True)]
            total += float(np.prod(weights)) * float(image[index])
    return total


def by_loop(
    x: Array, w: Array, offset: Array, bias: Array | None, mask: Array | None, stride: int, dilation: int, pad: int,
    group: int, offset_group: int,
) -> Array:  # fmt: skip
    axes = x.ndim - 2
    kernel, places = w.shape[2:], offset.shape[2:]
    y = np.zeros((x.shape[0], w.shape[0], *places))
    taps = list(itertools.product(*map(range, kernel)))
    for n, f, place in itertools.product(range(x.shape[0]), range(w.shape[0]), itertools.product(*map(range, places))):
        total = 0.0 if bias is None else float(bias[f])
        for k, (t, tap) in itertools.product(range(w.shape[1]), enumerate(taps)):
            channel = f // (w.shape[0] // group) * w.shape[1] + k
            moved = channel // (x.shape[1] // offset_group) * len(taps) + t
            where = [
                place[i] * stride + tap[i] * dilation - pad + float(offset[(n, moved * axes + i, *place)])
                for i in range(axes)
            ]
            factor = 1.0 if mask is None else float(mask[(n, moved, *place)])
            total += float(w[(f, k, *tap)]) * factor * interpolated(x[n, channel], where)
        y[(n, f, *place)] = total
    return y.astype(x.dtype)


def deform(
    name: str, space: Sequence[int], kernel: int, channels: int = 2, filters: int = 3, stride: int = 1,
    dilation: int = 1, pad: int = 0, group: int = 1, offset_group: int = 1, reach: float = 1, has_bias: bool = False,
    has_mask: bool = False, opset: int = 22, **settings: Any,
) -> Case:  # fmt: skip
    axes = len(space)
    places = [(n + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for n in space]
    taps = kernel**axes * offset_group
    x, w = random(2, channels, *space), random(filters, channels // group, *[kernel] * axes)
    offset = random(2, taps * axes, *places) * np.float32(reach)
    bias = random(filters) if has_bias else None
    mask = random(2, taps, *places) if has_mask else None
    return case(
        "DeformConv", x, w, offset, bias, mask, name=name, opset=opset, tolerance=1e-4,
        expected=[by_loop(x, w, offset, bias, mask, stride, dilation, pad, group, offset_group)],
        kernel_shape=[kernel] * axes, strides=[stride] * axes, dilations=[dilation] * axes, pads=[pad] * 2 * axes,
        group=group, offset_group=offset_group, **settings,
    )  # fmt: skip


CASES = [
    deform("plain", (5, 6), 3),
    deform("still", (5, 6), 3, reach=0),
    deform("far", (5, 6), 3, reach=20),
    deform("padded", (4, 5), 3, pad=1, has_bias=True),
    deform("masked", (5, 4), 2, has_mask=True),
    deform("strides and dilations", (9, 8), 2, stride=2, dilation=2, pad=1, has_bias=True, has_mask=True),
    deform("groups", (4, 4), 2, channels=4, filters=6, group=2),
    deform("offset groups", (4, 4), 2, channels=4, filters=2, offset_group=2, has_mask=True),
    deform("both groups", (4, 4), 2, channels=4, filters=4, group=2, offset_group=4, has_bias=True),
    deform("early", (5, 6), 3, opset=19),
    deform("1D", (7,), 3, pad=1),
    deform("3D", (3, 4, 5), 2, pad=1, has_bias=True, has_mask=True),
]

test_deform_conv = table_test("deform_conv", CASES, EVERYWHERE)
test_unknown_dims = table_test(
    "deform_conv_unknown_dims", [with_unknown_dims(one, "x1", "x3") for one in CASES], ["default"]
)
