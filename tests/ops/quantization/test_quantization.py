"""Quantised operators: conversions for a tensor, an axis and blocks, and products of integers, right to the bit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import Case, Constant, case, constant, random, type_id
from tests.ops.table import EVERYWHERE, table_test

BYTES = (np.uint8, np.int8)
QUANTIZED = (*BYTES, np.uint16, np.int16)


def integers(*shape: int, dtype: Any = np.uint8, seed: int = 0) -> Array:
    """Every value of a type of 8 or 16 bits."""
    limits = np.iinfo(dtype)
    return np.random.default_rng([seed, *shape]).integers(limits.min, limits.max + 1, shape).astype(dtype)


def scales(*shape: int, seed: int = 0) -> Constant:
    return Constant(np.random.default_rng([seed, *shape]).uniform(0.01, 0.1, shape).astype(np.float32))


# Ties, both ends, beyond them, infinities.
EDGES = np.array(
    [0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 128.5, 254.5, 255.5, 300, -128.5, -129.5, -300, 1e9, -1e9, 3e38, -3e38,
     np.inf, -np.inf, 32767.5, 65534.5, -32768.5], np.float32
)  # fmt: skip


def rounded(x: Array, scale: Any, zero: Any, dtype: Any) -> Array:
    """ONNX's formula in float64: exact for float32 quotients that are exact."""
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x.astype(np.float64) / scale) + zero, limits.min, limits.max).astype(dtype)


def quantize_cases() -> list[Case]:
    x = random(3, 4, 5) * np.float32(40)
    cases = []
    for dtype in QUANTIZED:
        zero = np.array(np.iinfo(dtype).max // 3, dtype)
        cases += [
            case("QuantizeLinear", x, constant(0.37), Constant(zero), opset=21, name=type_id(dtype)),
            case("QuantizeLinear", EDGES, constant(1), Constant(zero), opset=21, name=f"{type_id(dtype)} edges",
                 expected=[rounded(EDGES, 1, int(zero), dtype)]),
            case("QuantizeLinear", x, constant(0.37), Constant(np.zeros((), dtype)), opset=25, name=type_id(dtype)),
        ]  # fmt: skip
    for dtype in BYTES:
        for opset in (10, 13, 19, 23, 24):
            seven = constant(7, dtype)
            cases.append(case("QuantizeLinear", x, constant(0.37), seven, opset=opset, name=type_id(dtype)))
        for axis in (0, 1, 2, -1, -3):
            size = x.shape[axis]
            cases.append(
                case("QuantizeLinear", x, scales(size), Constant(integers(size, dtype=dtype)), opset=13,
                     name=f"{type_id(dtype)} axis {axis}", axis=axis)
            )  # fmt: skip
    cases += [
        case("QuantizeLinear", x, constant(0.37), opset=13, name="no zero point"),
        case("QuantizeLinear", x, constant([0.37]), constant([3], np.uint8), opset=13, name="vectors of one"),
        case("QuantizeLinear", x, np.array(0.37, np.float32), np.array(3, np.uint8), opset=13, name="computed scale"),
        case("QuantizeLinear", x, scales(4).values, integers(4), opset=13, name="computed scales"),
        case("QuantizeLinear", np.array(12.3, np.float32), np.array([0.37], np.float32), np.array([3], np.uint8),
             opset=13, name="a scalar by computed vectors of one"),
        case("QuantizeLinear", x, constant(0.37), opset=21, name="output_dtype", output_dtype=3),
        case("QuantizeLinear", random(4, 3, dtype=np.int32), constant(0.7), constant(3, np.uint8), opset=13,
             name="int32"),
        case("QuantizeLinear", x, constant(3, np.int32), constant(3, np.uint8), opset=25, name="a scale of int32",
             expected=[rounded(x, 3, 3, np.uint8)]),
        case("QuantizeLinear", random(0, 3), constant(0.7), constant(3, np.uint8), opset=13, name="empty",
             expected=[np.zeros((0, 3), np.uint8)]),
    ]  # fmt: skip
    for block in (2, 3, 5):
        count = -(-5 // block)
        cases.append(
            case("QuantizeLinear", x, scales(3, 4, count), Constant(integers(3, 4, count, dtype=np.int8)), opset=21,
                 name=f"blocks of {block}", axis=2, block_size=block)
        )  # fmt: skip
    cases.append(
        case("QuantizeLinear", x, scales(3, 2, 5), Constant(integers(3, 2, 5)), opset=21, name="blocks of axis 1",
             axis=1, block_size=2)
    )  # fmt: skip
    return cases


SMALL_INTEGERS = (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
FLOAT4 = ml_dtypes.float4_e2m1fn
POWERS_OF_TWO = ml_dtypes.float8_e8m0fnu
SMALL_FLOATS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    FLOAT4,
)


def small_cases() -> list[Case]:
    """Types of less than a byte, float8 and float4, whose zero point is 0. The formulas are ONNX's, by ml_dtypes."""
    x = np.concatenate([random(30) * np.float32(3), EDGES]).reshape(1, -1)
    cases = []
    for dtype in SMALL_INTEGERS:
        limits = ml_dtypes.iinfo(dtype)
        zero = np.ones((), dtype)
        expected = np.clip(np.rint(x / np.float32(0.5)) + 1, int(limits.min), int(limits.max)).astype(dtype)
        whole = np.arange(int(limits.min), int(limits.max) + 1).astype(dtype).reshape(2, -1)
        by_row = (whole.astype(np.float32) - 1) * np.array([[0.3], [0.7]], np.float32)
        cases += [
            case("QuantizeLinear", x, constant(0.5), Constant(zero), opset=25, name=type_id(dtype),
                 expected=[expected]),
            case("DequantizeLinear", whole, constant([0.3, 0.7]), Constant(np.ones(2, dtype)), opset=25, axis=0,
                 name=type_id(dtype), expected=[by_row], tolerance=0.0),
        ]  # fmt: skip
    for dtype in SMALL_FLOATS:
        most = float(ml_dtypes.finfo(dtype).max)
        quotient = x / np.float32(0.3)
        every = np.arange(16 if dtype is FLOAT4 else 256, dtype=np.uint8).view(dtype)
        every = every[np.isfinite(every.astype(np.float32))]
        cases += [
            case("QuantizeLinear", x, constant(0.3), Constant(np.zeros((), dtype)), opset=23, name=type_id(dtype),
                 expected=[np.clip(quotient, -most, most).astype(dtype)]),
            case("DequantizeLinear", every, constant(0.3), opset=23, name=type_id(dtype),
                 expected=[every.astype(np.float32) * np.float32(0.3)], tolerance=0.0),
        ]  # fmt: skip
    inside = random(3, 4)
    cases.append(
        case("QuantizeLinear", inside, constant(0.3), opset=23, name="float8 without saturation", output_dtype=17,
             saturate=0, expected=[(inside / np.float32(0.3)).astype(ml_dtypes.float8_e4m3fn)])
    )  # fmt: skip
    return cases


def power_of_two_cases() -> list[Case]:
    """Blocks with scales of float8e8m0, as the MX formats have them: each product is exact in float64."""

    def powers(*shape: int, low: int = 107, high: int = 147) -> Array:
        return np.random.default_rng(shape).integers(low, high, shape).astype(np.uint8).view(POWERS_OF_TWO)

    cases = []
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, FLOAT4, np.int8):
        x = (random(3, 70, 2) * np.float32(4)).astype(dtype)
        for code, to in ((1, np.float32), (10, np.float16), (16, ml_dtypes.bfloat16)):
            scale = powers(3, 3, 2, low=121, high=133)
            spread = scale.astype(np.float64).repeat(32, axis=1)[:, :70]
            cases.append(
                case("DequantizeLinear", x, Constant(scale), opset=25, name=f"{type_id(dtype)} to {type_id(to)}",
                     axis=1, block_size=32, output_dtype=code, expected=[(x.astype(np.float64) * spread).astype(to)],
                     tolerance=0.0)
            )  # fmt: skip
    # Each scale has two elements; 255 is NaN.
    every = np.arange(256, dtype=np.uint8).view(POWERS_OF_TWO)
    one = np.tile(np.array([1, -1.5], ml_dtypes.float8_e4m3fn), 256)
    product = one.astype(np.float64) * every.astype(np.float64).repeat(2)
    x, scale = random(5, 96), powers(5, 3)
    quotient = x.astype(np.float64) / scale.astype(np.float64).repeat(32, axis=1)
    with np.errstate(over="ignore"):
        cases += [
            case("DequantizeLinear", one, every, opset=24, name="every power of two", axis=0, block_size=2,
                 output_dtype=1, expected=[product.astype(np.float32)], tolerance=0.0),
            case("DequantizeLinear", integers(4, 3, 64, dtype=np.int8), powers(3), opset=24, name="powers of an axis",
                 output_dtype=1, tolerance=0.0, expected=[
                     integers(4, 3, 64, dtype=np.int8) * powers(3).astype(np.float32)[:, None]]),
            case("DequantizeLinear", integers(64, dtype=np.int8), Constant(powers(1)[0]), constant(3, np.int8),
                 opset=25, name="a power and a zero point", output_dtype=1, tolerance=0.0, expected=[
                     (integers(64, dtype=np.int8).astype(np.float32) - 3) * powers(1).astype(np.float32)]),
            case("QuantizeLinear", x, Constant(scale), opset=25, name="by powers of two", axis=1, block_size=32,
                 output_dtype=17, expected=[np.clip(quotient, -448, 448).astype(np.float32).astype(
                     ml_dtypes.float8_e4m3fn)]),
        ]  # fmt: skip
    return cases


def half_cases() -> list[Case]:
    """The quotient is rounded to the type of the scale, or that of 'precision', before it is rounded to an integer."""
    cases = []
    for dtype in (np.float16, ml_dtypes.bfloat16):
        x, scale = (random(6, 50) * 30).astype(dtype), np.array(0.3, dtype)
        quotient = (x.astype(np.float32) / np.float32(scale)).astype(dtype).astype(np.float32)
        expected = [np.clip(np.rint(quotient) + 3, -128, 127).astype(np.int8)]
        cases.append(
            case("QuantizeLinear", x, Constant(scale), constant(3, np.int8), opset=23, name=type_id(dtype),
                 expected=expected)
        )  # fmt: skip
        single = np.rint(x.astype(np.float32) / np.float32(scale)) + 3
        cases.append(
            case("QuantizeLinear", x, Constant(scale), constant(3, np.int8), opset=23, precision=1,
                 name=f"{type_id(dtype)} in float32", expected=[np.clip(single, -128, 127).astype(np.int8)])
        )  # fmt: skip
        whole = integers(5, 7, dtype=np.int8)
        product = (whole.astype(np.float32) - 3) * np.float32(scale)
        cases += [
            case("DequantizeLinear", whole, Constant(scale), constant(3, np.int8), opset=23, name=type_id(dtype),
                 expected=[product.astype(dtype)], tolerance=0.0),
            case("DequantizeLinear", whole, Constant(scale), constant(3, np.int8), opset=23, output_dtype=1,
                 name=f"{type_id(dtype)} to float32", expected=[product], tolerance=0.0),
        ]  # fmt: skip
    return cases


def dequantize_cases() -> list[Case]:
    cases = []
    for dtype in QUANTIZED:
        x = integers(3, 4, 5, dtype=dtype)
        zero = Constant(integers(1, dtype=dtype)[0].reshape(()))
        cases.append(case("DequantizeLinear", x, constant(0.37), zero, opset=21, name=type_id(dtype), tolerance=0.0))
    for dtype in BYTES:
        x = integers(3, 4, 5, dtype=dtype)
        for opset in (10, 13, 19, 23, 25):
            cases.append(
                case("DequantizeLinear", x, constant(0.37), constant(7, dtype), opset=opset, name=type_id(dtype),
                     tolerance=0.0)
            )  # fmt: skip
        for axis in (0, 1, -1):
            size = x.shape[axis]
            cases.append(
                case("DequantizeLinear", x, scales(size), Constant(integers(size, dtype=dtype)), opset=13,
                     name=f"{type_id(dtype)} axis {axis}", axis=axis, tolerance=0.0)
            )  # fmt: skip
    x = integers(3, 4, 5)
    cases += [
        case("DequantizeLinear", x, constant(0.37), opset=13, name="no zero point", tolerance=0.0),
        case("DequantizeLinear", x, constant([0.37]), constant([3], np.uint8), opset=13, name="vectors of one"),
        case("DequantizeLinear", x, np.array(0.37, np.float32), np.array(3, np.uint8), opset=13, name="computed scale"),
        case(
            "DequantizeLinear",
            np.array(200, np.uint8),
            np.array([0.37], np.float32),
            np.array([3], np.uint8),
            opset=13,
            name="a scalar by computed vectors of one",
        ),
        case("DequantizeLinear", random(3, 4, dtype=np.int32) * 10**7, constant(0.37), opset=13, name="int32"),
    ]
    for block in (2, 3, 5):
        count = -(-5 // block)
        cases.append(
            case("DequantizeLinear", x, scales(3, 4, count), Constant(integers(3, 4, count)), opset=21,
                 name=f"blocks of {block}", axis=2, block_size=block, tolerance=0.0)
        )  # fmt: skip
    return cases


def dynamic_cases() -> list[Case]:
    inputs = {
        "both signs": random(3, 4, 5),
        "positive": np.abs(random(7)) + np.float32(3),
        "negative": -np.abs(random(2, 9)) - np.float32(1),
        "large": random(5, 5) * np.float32(1e6),
    }
    return [case("DynamicQuantizeLinear", x, outputs=3, opset=11, name=name) for name, x in inputs.items()]


def matmul_cases() -> list[Case]:
    cases = []
    for a in BYTES:
        for b in BYTES:
            # onnxruntime multiplies int8 by int8 and by uint8 through other kernels; all give one sum.
            x, w = integers(5, 7, dtype=a), integers(7, 3, dtype=b, seed=1)
            wide = (x.astype(np.int32) - int(x[0, 0])) @ (w.astype(np.int32) - int(w[0, 0]))
            name = f"{type_id(a)} by {type_id(b)}"
            cases += [
                case("MatMulInteger", x, Constant(w), Constant(x[0, 0]), Constant(w[0, 0]), opset=10, name=name,
                     expected=[wide]),
                case("MatMulInteger", x, w, opset=10, name=f"{name}, no zero points",
                     expected=[x.astype(np.int32) @ w.astype(np.int32)]),
            ]  # fmt: skip
    x, w = integers(5, 7), integers(7, 3, dtype=np.int8)
    rows, columns = integers(5), integers(3, dtype=np.int8)
    wide = (x.astype(np.int32) - rows[:, None]) @ (w.astype(np.int32) - columns)
    batch, other = integers(2, 4, 3, 6), integers(2, 1, 6, 5, seed=1)
    batch_rows, other_columns = integers(2, 4, 3, 1, seed=2), integers(2, 1, 1, 5, seed=3)
    cases += [
        case("MatMulInteger", x, Constant(w), rows, Constant(columns), opset=10, name="by row and column",
             expected=[wide]),
        case("MatMulInteger", batch, Constant(other[0, 0]), batch[0, 0, 0, :1], opset=10,
             name="zero point that a run gives",
             expected=[(batch.astype(np.int32) - int(batch[0, 0, 0, 0])) @ other[0, 0]]),
        case("MatMulInteger", batch, other, Constant(batch[0, 0, 0, 0]), Constant(other[0, 0, 0, 0]), opset=10,
             name="batches"),
        case("MatMulInteger", batch, other, batch_rows, other_columns, opset=10, name="batches by row and column",
             expected=[(batch.astype(np.int32) - batch_rows) @ (other.astype(np.int32) - other_columns)]),
        case("MatMulInteger", integers(600, dtype=np.uint8)[None, :], integers(600, 2), opset=10, name="long"),
    ]  # fmt: skip
    return cases


def qlinear_matmul_cases() -> list[Case]:
    cases = []
    for dtype in BYTES:
        a, b = integers(5, 24, dtype=dtype), integers(24, 6, dtype=dtype, seed=1)
        zero = constant(4, dtype)
        for opset in (10, 21):
            cases.append(
                case("QLinearMatMul", a, constant(0.02), zero, Constant(b), constant(0.03), zero, constant(1.7), zero,
                     opset=opset, name=type_id(dtype))
            )  # fmt: skip
    a, b = integers(5, 24), integers(24, 6, dtype=np.int8, seed=1)
    columns = Constant(integers(6, dtype=np.int8))
    cases += [
        case("QLinearMatMul", a, constant(0.02), constant(9, np.uint8), Constant(b), scales(6), columns, constant(1.7),
             constant(100, np.uint8), opset=10, name="by column"),
        case("QLinearMatMul", integers(2, 3, 4, 8), constant(0.02), constant(9, np.uint8), integers(2, 1, 8, 5),
             constant(0.05), constant(8, np.uint8), constant(1.1), constant(128, np.uint8), opset=10, name="batches"),
        case("QLinearMatMul", a, constant([0.02]), constant([9], np.uint8), Constant(b), constant([0.03]),
             constant([1], np.int8), constant([1.7]), constant([100], np.uint8), opset=10, name="vectors of one"),
    ]  # fmt: skip
    return cases


def conv_arguments(rank: int, x_type: Any, w_type: Any, groups: int = 1) -> tuple[Array, Constant, Constant, Constant]:
    spatial = (9, 7, 6)[:rank]
    x = integers(2, 4, *spatial, dtype=x_type)
    w = integers(6, 4 // groups, *(3, 2, 3)[:rank], dtype=w_type, seed=1)
    return x, Constant(w), constant(5, x_type), constant(2, w_type)


def conv_sum(x: Array, w: Array, x_zero: int, w_zero: Array, **attributes: Any) -> Array:
    """The convolution in float64 by onnxruntime: sums of that few products of bytes are exact."""
    from tests.ops.oracle import expected_outputs

    wide = case(
        "Conv",
        x.astype(np.float64) - x_zero,
        Constant(w.astype(np.float64) - w_zero.reshape(-1, *[1] * (w.ndim - 1))),
        **attributes,
    )
    return expected_outputs(wide)[0].astype(np.int32)


CONVOLUTIONS: Sequence[dict[str, Any]] = (
    {},
    {"pads": 1},
    {"pads": 1, "strides": 2},
    {"dilations": 2, "pads": 2},
    {"group": 2},
    {"auto_pad": "SAME_UPPER", "strides": 2},
)


def spread(attributes: dict[str, Any], rank: int) -> dict[str, Any]:
    times = {"pads": 2 * rank, "strides": rank, "dilations": rank}
    return {name: [value] * times[name] if name in times else value for name, value in attributes.items()}


def conv_cases() -> list[Case]:
    cases = []
    for rank in (1, 2, 3):
        for given in CONVOLUTIONS:
            attributes = spread(given, rank)
            name = f"{rank}D {given}"
            x, w, x_zero, w_zero = conv_arguments(rank, np.uint8, np.int8, given.get("group", 1))
            expected = [conv_sum(x, w.values, 5, np.full(6, 2), **attributes)]
            channels = Constant(integers(6, dtype=np.int8))
            by_channel = [conv_sum(x, w.values, 5, channels.values, **attributes)]
            cases += [
                case("ConvInteger", x, w, x_zero, w_zero, opset=10, name=name, expected=expected, **attributes),
                case("ConvInteger", x, w, x_zero, channels, opset=10, name=f"{name} by channel", expected=by_channel,
                     **attributes),
                case("QLinearConv", x, constant(0.02), x_zero, w, constant(0.03), w_zero, constant(0.4),
                     constant(100, np.uint8), opset=10, name=name, **attributes),
                case("QLinearConv", x, constant(0.02), x_zero, w, scales(6), Constant(np.zeros(6, np.int8)),
                     constant(0.4), constant(100, np.uint8), constant(range(-300, 300, 100), np.int32), opset=10,
                     name=f"{name} by channel, biased", **attributes),
            ]  # fmt: skip
    for x_type in BYTES:
        x, w, x_zero, w_zero = conv_arguments(2, x_type, x_type)
        expected = [conv_sum(x, w.values, 0, np.zeros(6))]
        cases += [
            case("ConvInteger", x, w, opset=10, name=f"{type_id(x_type)}, no zero points", expected=expected),
            case("QLinearConv", x, constant([0.02]), x_zero, w, constant([0.03]), w_zero, constant([0.4]),
                 constant([3], x_type), opset=10, name=f"{type_id(x_type)}, vectors of one"),
        ]  # fmt: skip
    return cases


CASES = [
    *quantize_cases(),
    *half_cases(),
    *small_cases(),
    *power_of_two_cases(),
    *dequantize_cases(),
    *dynamic_cases(),
    *matmul_cases(),
    *qlinear_matmul_cases(),
    *conv_cases(),
]


@pytest.mark.usefixtures("commands")
def test_a_power_of_two_says_no_type_for_the_output(tmp_path: Path) -> None:
    inputs, node = "(int8[4, 64] x, float8e8m0[4, 2] s)", "DequantizeLinear <axis = 1, block_size = 32> (x, s)"
    head = '<ir_version: 11, opset_import: ["" : 25]> m'
    onnx.save(parse_model(f"{head} {inputs} => (float[4, 64] y) {{ y = {node} }}"), tmp_path / "m.onnx")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(tmp_path / "m.onnx", tmp_path / "m.so")
    assert (
        "a scale of float8e8m0 is a power of two, which says no type for the output: give attribute 'output_dtype', "
        "such as 1 for float32" in failure.value.message
    )


test_quantization = table_test("quantization", CASES, EVERYWHERE)
