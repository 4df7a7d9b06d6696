"""NaN, infinities and values near the type's limit flow through as PyTorch's do: not lost, and not spread.

PyTorch is the oracle, since onnxruntime's own kernels drop NaN here and there (its MaxPool, Clip and Max among them).
It computes in float64: in float32 its Gelu of infinity is NaN, and its HardSwish overflows before the result does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from models.tensor_files import Array
from tests.ops.case import Case, Constant, case, random
from tests.ops.table import EVERYWHERE, table_test

# Leaves room for a weight, so that no order of a sum overflows.
LARGEST = np.finfo(np.float32).max / 16
# Its square leaves room for a sum.
LARGEST_TO_SQUARE = np.float32(1e18)


def special(*shape: int, largest: np.floating[Any] = LARGEST) -> Array:
    """Normally distributed values, and far apart a NaN, both infinities and `largest`."""
    values = random(*shape).reshape(-1)
    for index, value in enumerate((np.nan, np.inf, -np.inf, largest)):
        values[(2 * index + 1) * values.size // 9] = value
    return values.reshape(shape)


def against(
    compute: Callable[..., torch.Tensor], op_type: str, *inputs: Array | Constant, name: str = "", **attributes: Any
) -> Case:
    arrays = (value.values if isinstance(value, Constant) else value for value in inputs)
    expected = compute(*(torch.from_numpy(np.array(array, np.float64)) for array in arrays)).numpy()
    return case(op_type, *inputs, name=name, expected=[expected.astype(np.float32)], **attributes)


def convolutions() -> list[Case]:
    """One for each kernel that a convolution may become."""

    def conv(name: str, channels: tuple[int, int], kernel: tuple[int, ...], group: int = 1, stride: int = 1) -> Case:
        pads = tuple(extent // 2 for extent in kernel)
        size = (6, 7, 9)[: len(kernel)]
        return against(
            lambda x, w: getattr(functional, f"conv{len(kernel)}d")(x, w, None, stride, pads, 1, group),
            "Conv",
            special(2, channels[0], *size),
            Constant(random(channels[1], channels[0] // group, *kernel)),
            name=name,
            group=group,
            pads=[*pads, *pads],
            strides=[stride] * len(kernel),
        )

    return [
        conv("three taps", (5, 18), (3, 3, 3)),
        conv("three taps of the depth", (5, 16), (3, 1, 1)),
        conv("three taps of the plane", (17, 32), (1, 3, 3)),
        conv("strided", (5, 18), (3, 3, 3), stride=2),
        conv("pointwise", (17, 20), (1, 1, 1)),
        conv("stem", (1, 16), (5, 7, 3)),
        conv("depthwise", (18, 18), (3, 3, 3), group=18),
        conv("groups", (6, 9), (3, 3, 3), group=3),
        conv("one axis", (4, 6), (3,)),
    ]


def windows() -> list[Case]:
    x = special(2, 5, 8, 9)
    all_lowest = np.full((1, 2, 4, 4), -np.inf, np.float32)
    window: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    weights = Constant(random(5, 7, 2, 2))
    return [
        against(lambda t: functional.max_pool2d(t, 3, 2, 1), "MaxPool", x, **window),
        against(lambda t: functional.max_pool2d(t, 3, 2, 1), "MaxPool", all_lowest, name="of -inf", **window),
        against(lambda t: functional.avg_pool2d(t, 3, 2, 1), "AveragePool", x, **window, count_include_pad=1),
        against(lambda t: t.mean((2, 3), keepdim=True), "GlobalAveragePool", x),
        against(lambda t: t.amax((2, 3), keepdim=True), "GlobalMaxPool", x),
        against(lambda t, w: functional.conv_transpose2d(t, w, None, 2), "ConvTranspose", x, weights, strides=[2, 2]),
    ]


def elementwise() -> list[Case]:
    x = special(3, 40)
    functions: list[tuple[str, Callable[..., torch.Tensor]]] = [
        ("Relu", functional.relu),
        ("LeakyRelu", lambda t: functional.leaky_relu(t, 0.01)),
        ("Elu", functional.elu),
        ("Sigmoid", torch.sigmoid),
        ("Tanh", torch.tanh),
        ("HardSwish", functional.hardswish),
        ("HardSigmoid", lambda t: torch.clamp(t * 0.2 + 0.5, 0, 1)),
        ("Gelu", functional.gelu),
        ("Mish", functional.mish),
        ("Softplus", functional.softplus),
        ("Erf", torch.erf),
        ("Exp", torch.exp),
        ("Log", torch.log),
        ("Sqrt", torch.sqrt),
        ("Abs", torch.abs),
        ("Floor", torch.floor),
        ("Round", torch.round),
    ]
    low, high = Constant(np.array(-1, np.float32)), Constant(np.array(1, np.float32))
    pairs: list[tuple[str, Callable[..., torch.Tensor]]] = [
        ("Max", torch.maximum),
        ("Min", torch.minimum),
        ("Add", torch.add),
        ("Mul", torch.mul),
        ("Div", torch.div),
    ]
    return [
        *(against(function, op, x) for op, function in functions),
        *(against(function, op, x, np.flip(x).copy()) for op, function in pairs),
        against(lambda t, a, b: torch.clamp(t, -1, 1), "Clip", x, low, high),
        against(
            lambda t, s: functional.prelu(t, s), "PRelu", special(2, 3, 30), Constant(np.array([0.25], np.float32))
        ),
    ]


def reductions_and_products() -> list[Case]:
    x = special(3, 5, 35)
    squared = special(3, 5, 35, largest=LARGEST_TO_SQUARE)
    scale, bias = Constant(random(5)), Constant(random(5))
    mean, variance = Constant(random(5)), Constant(np.abs(random(5)) + np.float32(1))
    row_scale, row_bias = Constant(random(35)), Constant(random(35))
    axes = Constant(np.array([2], np.int64))
    reductions: list[tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = [
        ("ReduceSum", lambda t: t.sum(2, keepdim=True)),
        ("ReduceMean", lambda t: t.mean(2, keepdim=True)),
        ("ReduceMax", lambda t: t.amax(2, keepdim=True)),
        ("ReduceMin", lambda t: t.amin(2, keepdim=True)),
    ]
    return [
        *(against(lambda t, _, f=function: f(t), op, x, axes) for op, function in reductions),
        against(torch.matmul, "MatMul", x, Constant(random(35, 20))),
        against(lambda a, b: a @ b, "Gemm", special(9, 35), Constant(random(35, 20))),
        against(
            lambda t, s, b, m, v: functional.batch_norm(t, m, v, s, b),
            "BatchNormalization",
            x,
            scale,
            bias,
            mean,
            variance,
        ),
        against(
            lambda t, s, b: functional.instance_norm(t, weight=s, bias=b), "InstanceNormalization", squared, scale, bias
        ),
        against(
            lambda t, s, b: functional.layer_norm(t, [35], s, b), "LayerNormalization", squared, row_scale, row_bias
        ),
    ]


CASES = [*convolutions(), *windows(), *elementwise(), *reductions_and_products()]
test_not_finite = table_test("not_finite", CASES, EVERYWHERE)
