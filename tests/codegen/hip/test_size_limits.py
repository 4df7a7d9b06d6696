"""Sizes that the kernels do not count, known when the model is compiled, run as loops, which count any."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper, numpy_helper

from tests import onnxc_commands
from tests.ops.case import random

POSITIONS = 1 << 30


def convolution(length: int, groups: int) -> onnx.ModelProto:
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1], group=groups)
    return make_model(node, {"x": [1, 16, length]}, {"w": (16, 16 // groups, 3)})


def convolution_of_planes(edge: int) -> onnx.ModelProto:
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 6)
    return make_model(node, {"x": [1, 16, 2, edge, edge]}, {"w": (16, 16, 3, 3, 3)})


def transposed(length: int) -> onnx.ModelProto:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2])
    return make_model(node, {"x": [1, 16, length]}, {"w": (16, 16, 2)})


def product(rows: int) -> onnx.ModelProto:
    return make_model(helper.make_node("MatMul", ["x", "w"], ["y"]), {"x": [rows, 16]}, {"w": (16, 16)})


def softmax(positions: int, axis: int = 1) -> onnx.ModelProto:
    return make_model(helper.make_node("Softmax", ["x"], ["y"], axis=axis), {"x": [1, 96, positions]}, {})


def normalized(operator: str, shape: list[int], parameters: int, **attributes: int) -> onnx.ModelProto:
    node = helper.make_node(operator, ["x", "s", "b"], ["y"], **attributes)
    return make_model(node, {"x": shape}, {"s": (parameters,), "b": (parameters,)})


def make_model(node: onnx.NodeProto, inputs: dict[str, list[int]], weights: dict[str, Any]) -> onnx.ModelProto:
    graph = helper.make_graph(
        [node],
        "large",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(random(*shape), name) for name, shape in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("model", "is_kernel"),
    [
        pytest.param(convolution(POSITIONS - 16, 1), True, id="conv, as many as fit"),
        pytest.param(convolution(POSITIONS, 1), False, id="conv"),
        pytest.param(convolution_of_planes(11_585), True, id="conv, planes as large as fit"),
        pytest.param(convolution_of_planes(11_586), False, id="conv, planes that are 2^31 elements apart"),
        pytest.param(convolution(POSITIONS - 16, 16), True, id="conv of groups, as many as fit"),
        pytest.param(convolution(POSITIONS, 16), False, id="conv of groups"),
        pytest.param(transposed(POSITIONS // 2 - 16), True, id="conv_transpose, as many as fit"),
        pytest.param(transposed(POSITIONS // 2), False, id="conv_transpose, whose output is too large"),
        pytest.param(product(POSITIONS - 16), True, id="matmul, as many as fit"),
        pytest.param(product(POSITIONS), False, id="matmul"),
        pytest.param(softmax(POSITIONS - 64), True, id="softmax over channels, as many as fit"),
        pytest.param(softmax(POSITIONS), False, id="softmax over channels"),
        pytest.param(normalized("InstanceNormalization", [1, 16, POSITIONS - 1], 16), True, id="instance, most"),
        pytest.param(normalized("InstanceNormalization", [1, 16, POSITIONS], 16), False, id="instance"),
        pytest.param(normalized("LayerNormalization", [POSITIONS - 64, 16], 16), True, id="layer, as many as fit"),
        pytest.param(normalized("LayerNormalization", [POSITIONS, 16], 16), False, id="layer, of 2^24 blocks"),
    ],
)
def test_more_positions_than_a_kernel_counts(model: onnx.ModelProto, is_kernel: bool, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(model, file)
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(file), "--target", "hip", "--report", "--json"]
    (node,) = json.loads(onnxc_commands.execute(command).stdout)["gpu"]["nodes"]
    assert node["became"] == ("kernel" if is_kernel else "loops")
