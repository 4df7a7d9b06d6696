"""Builds cases of Conv and ConvTranspose with the plain loop's result as what is expected."""

from typing import Any

import ml_dtypes
import numpy as np

from models.tensor_files import Array
from tests.ops.case import DEFAULT_OPSET, Case, Constant, case, random, small_integers
from tests.ops.network import convolution_reference

Settings = dict[str, Any]


def conv_case(
    name: str,
    op_type: str,
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    *,
    bias: bool = False,
    data: str = "integers",
    dtype: Any = np.float32,
    constant_weights: bool = True,
    opset: int | None = None,
    slow: bool = False,
    tolerance: float | None = None,
    **attributes: Any,
) -> Case:
    """data: "integers" (small, compared exactly), "random", "positive" (the same without signs), "ones", or "impulse":
    one element of x is 1 and the weights are all different, so that the output names the weight that was read.
    bfloat16 came with version 22."""
    if opset is None:
        opset = 22 if np.dtype(dtype) == ml_dtypes.bfloat16 else DEFAULT_OPSET
    filters = w_shape[0] if op_type == "Conv" else w_shape[1] * attributes.get("group", 1)
    x, w = _operands(data, x_shape, w_shape, dtype)
    b = small_integers(filters, dtype=dtype, seed=2) if bias else None
    reference = getattr(convolution_reference, "conv" if op_type == "Conv" else "conv_transpose")
    wrap = Constant if constant_weights else np.asarray
    operands = [x, wrap(w)] + ([wrap(b)] if b is not None else [])
    if tolerance is None and data not in ("random", "positive"):
        tolerance = 0.0
    return case(
        op_type,
        *operands,
        name=name,
        opset=opset,
        slow=slow,
        tolerance=tolerance,
        expected=[reference(x, w, b, **attributes)],
        **attributes,
    )


def _operands(data: str, x_shape: tuple[int, ...], w_shape: tuple[int, ...], dtype: Any) -> tuple[Array, Array]:
    if data == "ones":
        return np.ones(x_shape, dtype), np.ones(w_shape, dtype)
    if data == "impulse":
        x = np.zeros(x_shape, dtype)
        x[tuple(size // 2 for size in x_shape)] = 1
        return x, (np.arange(np.prod(w_shape)) + 1).reshape(w_shape).astype(dtype)
    if data in ("random", "positive"):
        x, w = random(*x_shape, dtype=dtype), random(*w_shape, dtype=dtype, seed=1)
        return (x, w) if data == "random" else (np.abs(x), np.abs(w))
    return small_integers(*x_shape, dtype=dtype), small_integers(*w_shape, dtype=dtype, seed=1)
