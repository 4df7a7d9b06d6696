"""DeformConv of lines, images and volumes, against a plain loop; larger ones against onnxruntime, whose are images."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, case, random, small_integers, with_unknown_dims
from tests.ops.oracle import expected_outputs
from tests.ops.table import EVERYWHERE, table_test


def interpolated(image: Array, place: Sequence[float]) -> float:
    """Linear between the elements around a place; outside of the image stand zeros."""
    if any(np.isnan(place)):
        return float("nan")
    if any(p <= -1 or p >= n for p, n in zip(place, image.shape, strict=True)):
        return 0.0
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


# Channels, filters, groups and offset groups: around the widths of vectors and tiles, groups that lie within each other
# and across.
WIDTHS = [
    (1, 1, 1, 1), (7, 5, 1, 1), (16, 33, 1, 1), (17, 16, 1, 1), (33, 31, 1, 1), (9, 9, 9, 1), (9, 18, 9, 3),
    (24, 6, 3, 2), (6, 8, 2, 3), (32, 34, 2, 4), (12, 12, 4, 6),
]  # fmt: skip


def exact(channels: int, filters: int, group: int, offset_group: int, **settings: Any) -> Case:
    """Integers at halves of elements: each sum is exact. Batches, filters and places of sizes that nothing divides."""
    kernel, space, places = (2, 3), (6, 11), (9, 13)  # pads 1, 2 before and 3, 2 after
    taps = 6 * offset_group
    return case(
        "DeformConv", small_integers(3, channels, *space), small_integers(filters, channels // group, *kernel, seed=1),
        small_integers(3, 2 * taps, *places, low=-9, high=9) / np.float32(2), small_integers(filters, seed=2),
        small_integers(3, taps, *places, low=0, high=2), opset=22, tolerance=0, pads=[1, 2, 3, 2], group=group,
        offset_group=offset_group, name=f"exact {channels} to {filters}, groups {group} and {offset_group}", **settings,
    )  # fmt: skip


def with_constant_weights(one: Case) -> Case:
    constants = {name: one.inputs[name] for name in ("x1", "x3")}
    inputs = {name: array for name, array in one.inputs.items() if name not in constants}
    return replace(one, name=f"{one.name}, constant weights", inputs=inputs, constants=constants)


def in_type(dtype: type) -> Case:
    """With values that float16 holds; the sums are made in float32, and rounded once."""
    one = exact(17, 19, 1, 1)
    (sums,) = expected_outputs(one)
    inputs: dict[str, Array] = {name: array.astype(dtype) for name, array in one.inputs.items()}
    return replace(one, name=f"exact {np.dtype(dtype).name}", inputs=inputs, expected=(sums.astype(dtype),))


def not_finite() -> Case:
    """An infinity in a corner and offsets that are not finite: only what reads them is touched."""
    image = small_integers(1, 2, 5, 4)
    image[0, 1, 0, 0], image[0, 0, 4, 3] = np.inf, -np.inf
    offset = small_integers(1, 18, 5, 4, low=-3, high=3) / np.float32(2)
    offset[0, 3, 2, 1], offset[0, 4, 4, 3], offset[0, 9, 0, 2] = np.nan, np.inf, -np.inf
    offset[0, 11, 1, 0], offset[0, 12, 3, 3] = 3e38, -3e38
    weights = small_integers(3, 2, 3, 3, low=1)
    return case(
        "DeformConv", image, weights, offset, opset=22, tolerance=0, pads=[1] * 4, name="not finite",
        expected=[by_loop(image, weights, offset, None, None, stride=1, dilation=1, pad=1, group=1, offset_group=1)],
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
    *[exact(*widths) for widths in WIDTHS],
    *[with_constant_weights(exact(*widths)) for widths in WIDTHS[2:9:3]],
    in_type(np.float16),
    in_type(np.float64),
    not_finite(),
]

test_deform_conv = table_test("deform_conv", CASES, EVERYWHERE)
test_unknown_dims = table_test(
    "deform_conv_unknown_dims", [with_unknown_dims(one, "x1", "x3") for one in CASES], ["default"]
)
