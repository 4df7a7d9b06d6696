"""Operators of onnxruntime's own domain, each against onnxruntime's kernel."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, Constant, Node, case, constant, random
from tests.ops.table import EVERYWHERE, table_test

DOMAIN = "com.microsoft"


def own(op: str, *inputs: Array | Constant | None, **settings: Any) -> Case:
    return case(op, *inputs, domain=DOMAIN, **settings)


def quantized(op: str, *inputs: Array | Constant | None, name: str = "", **attributes: Any) -> Case:
    """For an operator that gives integers; they are made floats, as only ONNX's operators tell the type of an
    output."""
    one = own(op, *inputs, name=name, **attributes)
    inner = one.nodes[0]
    nodes = (
        Node(op, inner.inputs, ("q",), inner.attributes, DOMAIN),
        Node("Cast", ("q",), ("y0",), {"to": 1}),
    )
    return Case(one.name, nodes, one.inputs, one.constants, ("y0",), one.opset, tolerance=0.0)


def quantized_softmax(x: Array, scale: Constant, zero: Constant, axis: int) -> Case:
    """Its attribute 'opset' says which version of Softmax is meant."""
    one = quantized("QLinearSoftmax", x, scale, zero, constant(1 / 256), byte(0), name=f"axis {axis}", axis=axis)
    node, cast = one.nodes
    return replace(one, nodes=(replace(node, attributes={**node.attributes, "opset": 13}), cast))


def fused_cases() -> list[Case]:
    x, w, b = random(2, 4, 9, 7), Constant(random(6, 4, 3, 3, seed=1)), Constant(random(6, seed=2))
    a, flat = random(5, 7), Constant(random(7, 6, seed=3))
    cases = [
        own("FusedConv", x, w, b, random(2, 6, 9, 7, seed=4), name="added", activation="Relu", pads=[1] * 4),
        own("FusedConv", x, w, name="no bias", activation="Tanh", strides=[2, 2]),
        own("FusedGemm", a, flat, b, activation="Relu", alpha=0.5),
        own("FusedGemm", a, flat, b, name="LeakyRelu", activation="LeakyRelu", activation_alpha=0.1),
    ]
    activations: tuple[tuple[str, list[float]], ...] = (
        ("Relu", []),
        ("Sigmoid", []),
        ("LeakyRelu", [0.2]),
        ("Clip", [-0.5, 1.5]),
        ("HardSigmoid", [0.3, 0.4]),
    )
    for activation, numbers in activations:
        given: dict[str, Any] = {"activation_params": numbers} if numbers else {}
        cases.append(own("FusedConv", x, w, b, name=activation, activation=activation, **given))
    return cases


def product_cases() -> list[Case]:
    a, b = random(2, 3, 4, 5), random(2, 3, 5, 6, seed=1)

    def swapped(x: Array) -> Array:
        return x.swapaxes(-1, -2).copy()

    def batch_inside(x: Array) -> Array:
        return np.moveaxis(x, -2, 0).copy()

    return [
        own("FusedMatMul", a, b, alpha=0.25),
        own("FusedMatMul", swapped(a), b, name="transA", transA=1),
        own("FusedMatMul", a, Constant(swapped(b)), name="transB", transB=1, alpha=2.0),
        own("FusedMatMul", swapped(a), swapped(b), name="both", transA=1, transB=1),
        own("FusedMatMul", batch_inside(a), b, name="transBatchA", transBatchA=1),
        own("FusedMatMul", a, batch_inside(b), name="transBatchB", transBatchB=1),
        own("FusedMatMul", batch_inside(swapped(a)), b, name="transBatchA and transA", transBatchA=1, transA=1),
        own("FusedMatMul", random(5), random(5, 3), name="vector"),
        own("TransposeMatMul", a, Constant(swapped(b)), transB=1, alpha=0.5),
    ]


def activation_cases() -> list[Case]:
    x, bias = random(2, 3, 8), Constant(random(8, seed=1))
    return [
        own("Gelu", x),
        own("BiasGelu", x, bias),
        own("FastGelu", x),
        own("FastGelu", x, bias, name="bias"),
        own("QuickGelu", x),
        own("QuickGelu", x, name="alpha", alpha=0.9),
    ]


def gelu(x: Array) -> Array:
    """x * Phi(x), in float64."""
    wide = x.astype(np.float64)
    return wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2


def bias_cases() -> list[Case]:
    """Those for which onnxruntime has kernels only on a GPU."""
    x, bias, skip = random(2, 3, 8), random(8, seed=1), random(2, 3, 8, seed=2)
    first, second = np.split(x + bias, 2, axis=-1)
    return [
        own("BiasSplitGelu", x, Constant(bias), expected=[(first * gelu(second)).astype(np.float32)]),
        own("BiasAdd", x, Constant(bias), skip, expected=[x + bias + skip]),
    ]


def group_norm(x: Array, gamma: Array, beta: Array, groups: int, epsilon: float) -> Array:
    """Attention of [batch, channels, height, width], in float64."""
    wide = x.astype(np.float64).reshape(len(x), groups, -1)
    variance = wide.var(axis=2, keepdims=True)
    wide = (wide - wide.mean(axis=2, keepdims=True)) / np.sqrt(variance + epsilon)
    return wide.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]


def channels_last(x: Array) -> Array:
    return np.moveaxis(x, 1, -1).astype(np.float32)


def group_norm_cases() -> list[Case]:
    """onnxruntime has kernels for them only on a GPU."""
    x, gamma, beta = random(2, 6, 5, 4), random(6, seed=1), random(6, seed=2)
    skip, bias = random(2, 6, seed=3), random(6, seed=4)
    given = (channels_last(x), Constant(gamma), Constant(beta))
    plain = group_norm(x, gamma, beta, 3, 1e-5)
    cases = [
        own("GroupNorm", *given, groups=3, activation=0, expected=[channels_last(plain)]),
        own("GroupNorm", *given, name="Swish", groups=2, activation=1, epsilon=1e-3,
            expected=[channels_last(swish(group_norm(x, gamma, beta, 2, 1e-3)))]),
        own("GroupNorm", x, *given[1:], name="channels first", groups=3, activation=0, channels_last=0,
            expected=[plain.astype(np.float32)]),
    ]  # fmt: skip
    for name, shape in (("vector of each image", (2, 6)), ("the same of rank 4", (2, 1, 1, 6))):
        total = x + skip[:, :, None, None] + bias[:, None, None]
        expected = [channels_last(group_norm(total, gamma, beta, 3, 1e-5)), channels_last(total)]
        cases.append(
            own("SkipGroupNorm", *given, skip.reshape(shape), Constant(bias), name=name, groups=3, activation=0,
                outputs=2, expected=expected)
        )  # fmt: skip
    return cases


def swish(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def normalization_cases() -> list[Case]:
    x, skip = random(2, 3, 8), random(2, 3, 8, seed=1)
    gamma, beta, bias = (Constant(random(8, seed=seed)) for seed in (2, 3, 4))
    # The last output is the sum; those between are for training.
    return [
        own("SkipLayerNormalization", x, skip, gamma, beta, bias, name="all", epsilon=1e-5),
        own("SkipLayerNormalization", x, skip, gamma, name="no beta", epsilon=1e-3),
        own("SkipLayerNormalization", x, skip, gamma, beta, name="default"),
        own("SkipSimplifiedLayerNormalization", x, skip, gamma, bias, name="all", epsilon=1e-5),
        own("SkipSimplifiedLayerNormalization", x, skip, gamma, name="no bias", epsilon=1e-5),
    ]


def with_sum(op: str, *inputs: Array | Constant) -> Case:
    one = own(op, *inputs, name="sum", epsilon=1e-5)
    inner = one.nodes[0]
    node = Node(op, inner.inputs, ("y0", "", "", "y1"), inner.attributes, DOMAIN)
    return Case(one.name, (node,), one.inputs, one.constants, ("y0", "y1"), one.opset)


def attention_cases() -> list[Case]:
    q, k, v = random(2, 5, 12), random(2, 7, 12, seed=1), random(2, 7, 12, seed=2)
    mask = np.array([[1] * 7, [1, 1, 1, 0, 0, 0, 0]], np.int32)
    weights, bias = Constant(random(8, 36, seed=3)), Constant(random(36, seed=4))
    return [
        own("MultiHeadAttention", q, k, v, num_heads=3),
        own("MultiHeadAttention", q, k, v, bias, name="bias", num_heads=3),
        own("MultiHeadAttention", q, k, v, None, mask, name="padding", num_heads=2),
        own("MultiHeadAttention", q, k, v, None, None, random(2, 3, 5, 7), name="attention_bias", num_heads=3),
        own("MultiHeadAttention", q, k, v, None, None, random(1, 1, 5, 7), name="broadcast bias", num_heads=3),
        own("MultiHeadAttention", q, k, v, name="scale", num_heads=3, scale=0.2),
        own("MultiHeadAttention", q, q, q, name="unidirectional", num_heads=3, unidirectional=1),
        own("MultiHeadAttention", q, k, v, None, None, None, random(2, 3, 4, 4), random(2, 3, 4, 4, seed=1),
            name="past", num_heads=3, outputs=3),
        own("Attention", random(2, 5, 8), weights, bias, num_heads=3),
        own("Attention", random(2, 5, 8), weights, bias, name="unidirectional", num_heads=3, unidirectional=1),
        own("Attention", random(2, 7, 8), weights, bias, mask, name="mask", num_heads=2),
    ]  # fmt: skip


def byte(value: int, dtype: Any = np.uint8) -> Constant:
    return constant(value, dtype)


def integers(*shape: int, dtype: Any = np.uint8, seed: int = 0) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng([seed, *shape]).integers(limits.min, limits.max + 1, shape).astype(dtype)


def quantized_cases() -> list[Case]:
    x, other = integers(2, 4, 6, 5), integers(2, 4, 6, 5, seed=1)
    of_x, of_other, of_y = (constant(0.02), byte(120)), (constant(0.03), byte(100)), (constant(0.05), byte(110))
    # Means of bytes over this scale are never half way between two bytes, at which a sum's rounding would decide.
    no_ties = (constant(0.0473), byte(110))
    a, b = integers(5, 7), Constant(integers(7, 4, dtype=np.int8, seed=1))
    bias = Constant(random(4))
    return [
        quantized("QLinearAdd", x, *of_x, other, *of_other, *of_y),
        quantized("QLinearAdd", x, *of_x, Constant(integers(4, 1, 1)), *of_other, *of_y, name="broadcast"),
        quantized("QLinearMul", x, *of_x, other, *of_other, *of_y),
        quantized("QLinearConcat", *of_y, x, *of_x, other, *of_other, axis=1),
        quantized("QLinearGlobalAveragePool", x, *of_x, *of_y),
        quantized("QLinearGlobalAveragePool", x, *of_x, *of_y, name="channels last", channels_last=1),
        quantized("QLinearAveragePool", x, *of_x, *no_ties, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
        quantized("QLinearAveragePool", x, *of_x, *no_ties, name="channels last", kernel_shape=[2, 2], channels_last=1),
        quantized("QLinearSigmoid", x, *of_x, constant(1 / 256), byte(0)),
        quantized("QLinearLeakyRelu", x, *of_x, *of_y, alpha=0.1),
        quantized_softmax(x, *of_x, axis=-1),
        quantized_softmax(x, *of_x, axis=1),
        quantized("QLinearWhere", random(2, 4, 6, 5, dtype=np.bool_), x, *of_x, other, *of_other, *of_y),
        own("MatMulIntegerToFloat", a, b, constant(0.02), constant(0.03), byte(120), byte(3, np.int8), bias),
        own("MatMulIntegerToFloat", a, b, constant(0.02), Constant(np.abs(random(4))), name="by column"),
        own("DynamicQuantizeMatMul", random(5, 7), b, constant(0.03), byte(3, np.int8), bias),
    ]


def gemm_cases() -> list[Case]:
    """The form that onnxruntime's quantizer writes for a Gemm: C has the scale of the sums, and 0 as its zero point."""
    a, b = integers(5, 7), integers(7, 4, dtype=np.int8, seed=1)
    of_a, of_b, of_y = (constant(0.02), byte(120)), (constant(0.03), byte(3, np.int8)), (constant(0.71), byte(110))
    by_column = (Constant(np.abs(random(4)) / 20), Constant(integers(4, dtype=np.int8, seed=3)))
    c = Constant(random(4, dtype=np.int32, seed=2) * 500)
    signed = integers(5, 7, dtype=np.int8, seed=4)
    return [
        quantized("QGemm", a, *of_a, Constant(b), *of_b, c, *of_y),
        quantized("QGemm", a, *of_a, Constant(b), *of_b, None, *of_y, name="no C"),
        quantized("QGemm", a, *of_a, Constant(b), *by_column, c, *of_y, name="by column"),
        quantized("QGemm", a.T.copy(), *of_a, Constant(b.T.copy()), *by_column, c, *of_y, name="transposed",
                  transA=1, transB=1, alpha=0.7),
        quantized("QGemm", signed, constant(0.02), byte(-7, np.int8), Constant(b), *of_b, c, constant(0.71),
                  byte(5, np.int8), name="signed"),
        quantized("QGemm", a, Constant(np.array([0.02], np.float32)), Constant(np.array([120], np.uint8)), b, *of_b,
                  c, *of_y, name="vectors of one"),
        own("QGemm", a, *of_a, Constant(b), *of_b, c, name="numbers"),
    ]  # fmt: skip


CASES = [
    *fused_cases(),
    *product_cases(),
    *activation_cases(),
    *bias_cases(),
    *normalization_cases(),
    *group_norm_cases(),
    with_sum("SkipLayerNormalization", random(2, 3, 8), random(2, 3, 8, seed=1), Constant(random(8)),
             Constant(random(8, seed=1))),
    with_sum("SkipSimplifiedLayerNormalization", random(2, 3, 8), random(2, 3, 8, seed=1), Constant(random(8))),
    *attention_cases(),
    *quantized_cases(),
    *gemm_cases(),
]  # fmt: skip
test_microsoft = table_test("microsoft", CASES, EVERYWHERE)
