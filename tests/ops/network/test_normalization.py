"""Batch, instance, group, layer, RMS, local response, Lp and mean-variance normalization."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import FLOATS, Case, Constant, case, graph_case, random, type_id
from tests.ops.table import EVERYWHERE, table_test

VOLUME = random(2, 3, 4, 5, 6)


def parameters(channels: int, dtype: type = np.float32) -> list[Array]:
    """Scale, bias, mean and variance."""
    values: list[Array] = [random(channels, seed=seed).astype(dtype) for seed in (1, 2, 3)]
    return [*values, (np.abs(random(channels, seed=4)) + np.float32(0.2)).astype(dtype)]


def batch_normalized(x: Array, values: list[Array], epsilon: float) -> Array:
    """values: scale, bias, mean and variance."""
    shape = (-1,) + (1,) * (x.ndim - 2)
    wide = [array.astype(np.float64).reshape(shape) for array in values]
    result = (x - wide[2]) / np.sqrt(wide[3] + epsilon) * wide[0] + wide[1]
    return result.astype(x.dtype)


def local_response_normalized(x: Array, size: int, alpha: float) -> Array:
    """With beta 0.75 and bias 1. onnxruntime takes odd sizes only, and ONNX's evaluator stops at the batch's size."""
    channels = range(x.shape[1])
    wide = x.astype(np.float64)
    windows = [slice(max(0, c - (size - 1) // 2), c + size // 2 + 1) for c in channels]
    squares = np.stack([np.square(wide[:, window]).sum(axis=1) for window in windows], axis=1)
    return (wide / (1 + alpha / size * squares) ** 0.75).astype(x.dtype)


def batch_normalization_cases() -> list[Case]:
    cases = []
    for shape in ((2, 3), (2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 6), (2, 1, 3, 4, 5)):
        values = parameters(shape[1])
        cases.append(case("BatchNormalization", random(*shape), *values, name=f"{list(shape)}"))
        constants = [Constant(value) for value in values]
        cases.append(
            case("BatchNormalization", random(*shape), *constants, name=f"{list(shape)} constants", epsilon=1e-2)
        )
    values = parameters(3)
    expected = [batch_normalized(VOLUME, values, 1e-5)]
    cases += [
        case(
            "BatchNormalization",
            VOLUME,
            *values,
            opset=1,
            is_test=1,
            expected=expected,
            consumed_inputs=[0, 0, 0, 1, 1],
        ),
        case("BatchNormalization", VOLUME, *values, opset=6, is_test=1, expected=expected),
        case("BatchNormalization", VOLUME, *values, opset=7),
        case("BatchNormalization", VOLUME, *values, opset=9),
        case("BatchNormalization", VOLUME, *values, opset=14),
        case("BatchNormalization", VOLUME, *values, opset=15),
    ]
    for dtype in FLOATS[1:]:
        typed = parameters(3, dtype)
        expected = [batch_normalized(VOLUME.astype(dtype), typed, 1e-5)]
        cases.append(case("BatchNormalization", VOLUME.astype(dtype), *typed, name=type_id(dtype), expected=expected))
    return cases


def instance_normalization_cases() -> list[Case]:
    scale, bias = parameters(3)[:2]
    cases = [
        case("InstanceNormalization", random(*shape), scale, bias, name=f"{list(shape)}")
        for shape in ((2, 3, 7), (2, 3, 4, 5), (2, 3, 4, 5, 6), (1, 3, 1, 1, 2))
    ]
    cases += [
        case("InstanceNormalization", VOLUME, Constant(scale), Constant(bias), name="constants", epsilon=1e-2),
        case(
            "InstanceNormalization",
            VOLUME + 1000,
            scale,
            bias,
            name="large mean",
            tolerance=2e-3,
            expected=[instance_normalized((VOLUME + 1000).astype(np.float32), scale, bias)],
        ),
        case("InstanceNormalization", VOLUME, scale, bias, opset=6),
        case(
            "InstanceNormalization", VOLUME, scale, bias, opset=1, expected=[instance_normalized(VOLUME, scale, bias)]
        ),
    ]
    # +-512 in a checkerboard: the squares pass float16's largest number, the result is +-1.
    index = np.indices((4, 4, 4)).sum(axis=0)
    board = np.where(index % 2 == 0, 512, -512).astype(np.float16).reshape(1, 1, 4, 4, 4)
    one, zero = np.ones(1, np.float16), np.zeros(1, np.float16)
    cases.append(
        case("InstanceNormalization", board, one, zero, name="float16 checkerboard", expected=[np.sign(board)])
    )
    return cases


def instance_normalized(x: Array, scale: Array, bias: Array) -> Array:
    wide = x.astype(np.float64)
    axes = tuple(range(2, x.ndim))
    shape = (-1,) + (1,) * len(axes)
    deviation = np.sqrt(wide.var(axis=axes, keepdims=True) + 1e-5)
    normal = (wide - wide.mean(axis=axes, keepdims=True)) / deviation
    return (normal * scale.reshape(shape) + bias.reshape(shape)).astype(np.float32)


def group_normalized(x: Array, groups: int, scale: Array, bias: Array) -> Array:
    wide = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    deviation = np.sqrt(wide.var(axis=2, keepdims=True) + 1e-5)
    normal = ((wide - wide.mean(axis=2, keepdims=True)) / deviation).reshape(x.shape)
    shape = (-1,) + (1,) * (x.ndim - 2)
    return (normal * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype)


def group_normalization_cases() -> list[Case]:
    """Version 18 has a test of its own."""
    x = random(2, 12, 3, 4, 5)
    scale, bias = parameters(12)[:2]
    cases = []
    for groups in (1, 3, 4, 12):
        cases.append(
            case(
                "GroupNormalization",
                x,
                scale,
                bias,
                name=f"{groups} groups",
                opset=21,
                num_groups=groups,
                expected=[group_normalized(x, groups, scale, bias)],
            )
        )
    return cases


def layer_normalization_cases() -> list[Case]:
    x = random(2, 3, 4, 7)
    cases = []
    for axis in (-1, 2, 1, -2):
        shape = x.shape[axis:]
        scale, bias = random(*shape, seed=1), random(*shape, seed=2)
        cases.append(case("LayerNormalization", x, scale, bias, name=f"axis {axis}", axis=axis))
        cases.append(case("LayerNormalization", x, scale, name=f"axis {axis} no bias", axis=axis, epsilon=1e-2))
    scale, bias = random(7, seed=1), random(7, seed=2)
    cases.append(case("LayerNormalization", x, scale, bias, name="mean and deviation", outputs=3))
    cases.append(case("LayerNormalization", x, scale, bias, opset=17))
    for dtype in (np.float64, np.float16):
        cases.append(case("LayerNormalization", *(v.astype(dtype) for v in (x, scale, bias)), name=type_id(dtype)))
    # |x| above 256: the squares pass float16's largest number.
    large = (random(3, 64) * 3000).astype(np.float16)
    wide = large.astype(np.float64)
    normal = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    cases.append(
        case(
            "LayerNormalization",
            large,
            np.ones(64, np.float16),
            name="float16 range",
            expected=[normal.astype(np.float16)],
        )
    )
    return cases


def rms_normalization_cases() -> list[Case]:
    cases = []
    x = random(2, 3, 4, 7)
    for axis in (-1, 2):
        shape = x.shape[axis:]
        scale = random(*shape, seed=1)
        axes = tuple(range(axis % 4, 4))
        wide = x.astype(np.float64)
        root = np.sqrt((wide**2).mean(axis=axes, keepdims=True) + 1e-5)
        cases.append(
            case(
                "RMSNormalization",
                x,
                scale,
                name=f"axis {axis}",
                opset=23,
                axis=axis,
                expected=[(wide / root * scale).astype(np.float32)],
            )
        )
    return cases


def other_cases() -> list[Case]:
    image = random(2, 7, 4, 5)
    return [
        case("LRN", image, name="size 3", size=3),
        case("LRN", image, name="size 5", size=5, alpha=0.02, beta=0.5, bias=2.0),
        case(
            "LRN",
            image,
            name="even size",
            size=4,
            alpha=0.5,
            expected=[local_response_normalized(image, 4, 0.5)],
        ),
        case("LRN", image, opset=1, size=3, alpha=0.1),
        case("LpNormalization", image, name="p 2", axis=1),
        case("LpNormalization", image, name="p 1", axis=-1, p=1),
        case("LpNormalization", image, opset=1, axis=2, p=2),
        case("MeanVarianceNormalization", image, axes=[0, 2, 3], expected=[mean_variance_normalized(image, (0, 2, 3))]),
        case(
            "MeanVarianceNormalization",
            image,
            name="default axes",
            opset=9,
            expected=[mean_variance_normalized(image, (0, 2, 3))],
        ),
        case(
            "MeanVarianceNormalization", image, opset=9, axes=[2, 3], expected=[mean_variance_normalized(image, (2, 3))]
        ),
    ]


def mean_variance_normalized(x: Array, axes: tuple[int, ...]) -> Array:
    wide = x.astype(np.float64)
    deviation = np.sqrt(wide.var(axis=axes, keepdims=True))
    return ((wide - wide.mean(axis=axes, keepdims=True)) / (deviation + 1e-9)).astype(np.float32)


def long_cases() -> list[Case]:
    """Statistics of blocks of 16 channels that the GPU sums up in parts: 20 channels leave lanes of the second over."""
    nodes = [
        ("Conv", "x w", "c"),
        ("InstanceNormalization", "c scale bias", "y"),
        ("GlobalAveragePool", "c", "mean"),
        ("GlobalMaxPool", "c", "maximum"),
    ]
    outputs = ("y", "mean", "maximum")
    cases = []
    for dims in ((1, 20, 6, 28, 28), (2, 16, 17, 16, 17), (1, 33, 5, 31, 33)):
        channels = dims[1]
        constants = {
            "w": random(channels, channels, 1, 1, 1),
            "scale": random(channels, seed=1),
            "bias": random(channels, seed=2),
        }
        cases.append(graph_case(f"long {list(dims)}", nodes, {"x": random(*dims) + 3}, constants, outputs))
    return cases


CASES = [
    *long_cases(),
    *batch_normalization_cases(),
    *instance_normalization_cases(),
    *group_normalization_cases(),
    *layer_normalization_cases(),
    *rms_normalization_cases(),
    *other_cases(),
]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize("groups", [1, 3])
def test_parameters_by_group(tmp_path: Path, opset: int, groups: int) -> None:
    """Until version 20 there is one scale and bias a group; ONNX's checker refuses that as deprecated."""
    x = random(2, 6, 3, 4)
    scale, bias = parameters(groups)[:2]
    node = helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=groups)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6, "H", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(scale, "scale"), numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    compiled = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    result = onnxc_commands.run_arrays(compiled, {"x": x}, ["y"], tmp_path)["y"]
    by_channel = [np.repeat(values, 6 // groups) for values in (scale, bias)]
    np.testing.assert_allclose(result, group_normalized(x, groups, *by_channel), rtol=1e-4, atol=1e-5)


test_normalization = table_test("normalization", CASES, EVERYWHERE)
