"""A model that reads numbers."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import onnxc


@pytest.fixture(scope="module")
def string_to_float(tmp_path_factory: pytest.TempPathFactory, commands: None) -> onnxc.InferenceSession:
    node = helper.make_node("Cast", ["x"], ["y"], name="the_cast", to=TensorProto.FLOAT)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.STRING, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
    )
    path = Path(tmp_path_factory.mktemp("cast")) / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return onnxc.compile(path)
