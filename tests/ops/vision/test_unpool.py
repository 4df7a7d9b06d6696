"""MaxUnpool after the pool that it undoes, against PyTorch; Col2Im against PyTorch's fold and ONNX's evaluator."""

from typing import Any

import numpy as np
import torch

from models.tensor_files import Array
from tests.ops.case import Case, case, ints, random, small_integers, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test


def pooled(x: Array, kernel: int, stride: int, pad: int) -> tuple[Array, Array, Array]:
    """PyTorch's pool: values, indices as ONNX counts them (in the whole tensor), and what the unpooling gives."""
    spatial = x.ndim - 2
    pool = getattr(torch.nn.functional, f"max_pool{spatial}d")
    unpool = getattr(torch.nn.functional, f"max_unpool{spatial}d")
    values, within_plane = pool(torch.from_numpy(x), kernel, stride, pad, return_indices=True)
    restored = unpool(values, within_plane, kernel, stride, pad, output_size=x.shape).numpy()
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * spatial)
    return values.numpy(), within_plane.numpy() + planes * int(np.prod(x.shape[2:])), restored


def unpool(x: Array, kernel: int, stride: int, pad: int, name: str, **settings: Any) -> Case:
    values, indices, restored = pooled(x, kernel, stride, pad)
    spatial = x.ndim - 2
    return case(
        "MaxUnpool", values, indices, name=name, expected=[restored], kernel_shape=[kernel] * spatial,
        strides=[stride] * spatial, pads=[pad] * 2 * spatial, **settings,
    )  # fmt: skip


def unpool_cases() -> list[Case]:
    cases = [
        unpool(random(2, 3, 8), 2, 2, 0, "1D"),
        unpool(random(2, 3, 8, 6), 2, 2, 0, "2D"),
        unpool(random(2, 3, 4, 6, 8), 2, 2, 0, "3D"),
        unpool(random(1, 2, 9, 9, 9), 3, 3, 0, "3D by 3"),
        # Windows that overlap: some elements are the largest of several.
        unpool(random(2, 2, 7, 9), 3, 2, 0, "overlapping"),
        unpool(random(1, 2, 7, 7, 7), 3, 2, 1, "overlapping and padded"),
        unpool(random(2, 3, 8, 6), 2, 2, 0, "version 9", opset=9),
        unpool(random(2, 3, 8, 6), 2, 2, 0, "version 11", opset=11),
    ]
    # ONNX's own example: indices count in the shape that follows from the pool, output_shape only adds a margin.
    x, indices = np.array([[[[5, 6], [7, 8]]]], np.float32), np.array([[[[5, 7], [13, 15]]]])
    for shape in ([1, 1, 5, 5], [1, 1, 4, 4], [1, 1, 3, 6]):
        for is_known in (True, False):
            given = ints(*shape) if is_known else np.array(shape)
            expected = np.zeros([1, 1, 6, 6], np.float32)
            expected[0, 0, [1, 1, 3, 3], [1, 3, 1, 3]] = x.ravel()
            name = f"output_shape {shape[2]} {'known' if is_known else 'at run time'}"
            cases.append(
                case(
                    "MaxUnpool", x, indices, given, name=name, kernel_shape=[2, 2], strides=[2, 2],
                    expected=[expected[:, :, : shape[2], : shape[3]]],
                )
            )  # fmt: skip
    # Places outside of the output are left out.
    wild = np.array([[[[5, -1], [16, 2**60]]]])
    alone = np.zeros((1, 1, 4, 4), np.float32)
    alone[0, 0, 1, 1] = 5
    cases.append(case("MaxUnpool", x, wild, name="wild", kernel_shape=[2, 2], strides=[2, 2], expected=[alone]))
    return cases


def fold(
    image: tuple[int, int], block: tuple[int, int], name: str, batch: int = 2, channels: int = 3, **given: Any
) -> Case:
    """Small integers: every sum is exact."""
    dilation, stride = given.get("dilations", [1, 1]), given.get("strides", [1, 1])
    pads = given.get("pads", [0, 0, 0, 0])
    counts = [(image[i] + pads[i] + pads[i + 2] - dilation[i] * (block[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    x = small_integers(batch, channels * block[0] * block[1], counts[0] * counts[1])
    padding = pads[:2]
    expected = torch.nn.functional.fold(torch.from_numpy(x), image, block, dilation, padding, stride).numpy()
    return case("Col2Im", x, ints(*image), ints(*block), name=name, expected=[expected], tolerance=0, **given)


def col2im_cases() -> list[Case]:
    cases = [
        fold((5, 6), (1, 5), "rows"),
        fold((5, 5), (2, 3), "block"),
        fold((7, 8), (3, 2), "strides", strides=[2, 3]),
        fold((6, 6), (2, 2), "dilations", dilations=[1, 3]),
        fold((5, 7), (3, 3), "pads", pads=[1, 1, 1, 1]),
        fold((9, 8), (3, 3), "everything", strides=[2, 1], dilations=[2, 2], pads=[2, 1, 2, 1]),
        # Three axes: ONNX's evaluator.
        case(
            "Col2Im", small_integers(1, 2 * 2 * 3 * 2, 3 * 3 * 4), ints(4, 5, 5), ints(2, 3, 2), name="3D", tolerance=0
        ),
        case("Col2Im", small_integers(2, 3 * 2, 5), ints(6), ints(2), name="1D", tolerance=0),
        case("Col2Im", small_integers(1, 5, 5), np.array([5, 5]), np.array([1, 5]), name="at run time", tolerance=0),
    ]
    return cases


UNPOOL, COL2IM = unpool_cases(), col2im_cases()
CASES = [*UNPOOL, *COL2IM]
test_unpool = table_test("unpool", CASES, EVERYWHERE)
test_unknown_dims = table_test(
    "unpool_unknown_dims",
    [
        *(with_unknown_dims(one, "x2") for one in UNPOOL),
        *(with_unknown_dims(one, "x1", "x2") for one in COL2IM),
    ],
    ["default"],
)
