"""Normalisations of finite values whose squares overflow give what their shift is, as onnxruntime's do, and never NaN.

The variance is infinite, and so the normalised values are 0. Statistics that do not overflow would give others; they
cost a pass over the values, and no engine has them. If the sum of the values overflows too, the mean is infinite and
the results are NaN in onnxruntime as well: here one value of each mean is large.
"""

from typing import Any

import ml_dtypes
import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, Constant, case, graph_case, random, type_id
from tests.ops.table import EVERYWHERE, table_test

OPSET = 23


def large(magnitude: float, *shape: int, axes: int = 1, dtype: Any = np.float32) -> Array:
    """Values of any size up to the magnitude, and the magnitude itself once in the last axes."""
    values = (random(*shape, dtype=np.float64).clip(-1, 1) * (magnitude / 200)).astype(dtype)
    values.reshape(*shape[: len(shape) - axes], -1)[..., 0] = magnitude
    return values


def parameters(count: int, dtype: Any) -> tuple[Constant, Constant]:
    """A scale, and a shift that is the result."""
    return Constant(random(count, seed=1).astype(dtype)), Constant(random(count, seed=2).astype(dtype))


def of_channels(shift: Constant, x: Array) -> Array:
    return np.broadcast_to(shift.values.reshape(-1, *[1] * (x.ndim - 2)), x.shape).astype(x.dtype)


def of_rows(magnitude: float, width: int, dtype: Any = np.float32) -> list[Case]:
    x = large(magnitude, 3, width, dtype=dtype)
    scale, shift = parameters(width, dtype)
    name = f"{magnitude} in rows of {width} {type_id(dtype)}"
    zeros = np.zeros_like(x)
    return [
        case("LayerNormalization", x, scale, shift, name=name, opset=OPSET, expected=[zeros + shift.values]),
        case("RMSNormalization", x, scale, name=name, opset=OPSET, expected=[zeros]),
        case("LpNormalization", x, name=name, opset=22, expected=[zeros]),
    ]


def by_channel(magnitude: float, *shape: int, groups: int = 1, dtype: Any = np.float32) -> list[Case]:
    x = large(magnitude, *shape, axes=len(shape) - 2, dtype=dtype)
    scale, shift = parameters(shape[1], dtype)
    expected = [of_channels(shift, x)]
    name = f"{magnitude} in {list(shape)} {type_id(dtype)}"
    return [
        case("InstanceNormalization", x, scale, shift, name=name, opset=OPSET, expected=expected),
        case("GroupNormalization", x, scale, shift, name=name, opset=OPSET, expected=expected, num_groups=groups),
    ]


def behind_a_convolution(magnitude: float, *shape: int) -> Case:
    """Hands its input on, so that a target may compute statistics when it makes the values."""
    x, channels = large(magnitude, *shape), shape[1]
    scale, shift = parameters(channels, np.float32)
    weights = np.eye(channels, dtype=np.float32).reshape(channels, channels, *[1] * (len(shape) - 2))
    return graph_case(
        f"InstanceNormalization behind Conv, {magnitude} in {list(shape)}",
        [("Conv", "x w", "c"), ("InstanceNormalization", "c scale shift", "y")],
        {"x": x},
        {"w": weights, "scale": scale.values, "shift": shift.values},
        opset=OPSET,
        expected=(of_channels(shift, x),),
    )


def others() -> list[Case]:
    x = large(1e30, 2, 3, 8, 9)
    scale, shift = parameters(3, np.float32)
    mean, variance = Constant(random(3, seed=3)), Constant(random(3, seed=4) ** 2 + 1)
    return [
        case("MeanVarianceNormalization", x, name="1e30", opset=OPSET, expected=[np.zeros_like(x)]),
        case("LRN", x, name="1e30", opset=OPSET, expected=[np.zeros_like(x)], size=3),
        case("LpNormalization", x, name="1e30 by sums", opset=22, p=1),
        # Its statistics are given: nothing overflows.
        case("BatchNormalization", x, scale, shift, mean, variance, name="1e30", opset=OPSET),
        case("LayerNormalization", large(1e19, 5, 33), Constant(np.ones(33, np.float32)), name="1e19", opset=OPSET),
    ]


# One in seven runs on the simulated GPU in make test: the first of rows, long ones in chunks, and after a convolution.
CASES = [
    *of_rows(1e30, 200),
    *of_rows(3e38, 7),
    case("LayerNormalization", large(1e200, 3, 40, dtype=np.float64), Constant(np.ones(40)), name="float64",
         opset=OPSET, expected=[np.zeros((3, 40))]),
    *by_channel(1e30, 1, 4, 20, 40, 40, groups=2),
    *by_channel(3e38, 2, 17, 5, 6, groups=17),
    *by_channel(1e30, 1, 32, 6, 6, 6, groups=8),
    *of_rows(1e30, 33, ml_dtypes.bfloat16)[:1],
    behind_a_convolution(1e30, 1, 16, 12, 12, 16),
    *by_channel(1e30, 1, 16, 7, 9, dtype=ml_dtypes.bfloat16, groups=4),
    *of_rows(1e30, 9000)[:2],
    *others(),
]  # fmt: skip

test_large_values = table_test("normalization_of_large_values", CASES, EVERYWHERE)
