"""The model repository for Triton's Python backend. The server's module of that backend is not a package of PyPI: a
stand-in has what the example uses of it, by the names and arguments of the backend's documentation."""

import importlib
import json
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests import onnxc_commands

REPOSITORY = onnxc_commands.REPOSITORY / "tools" / "examples" / "triton" / "network"


@dataclass
class Tensor:
    name: str
    array: Any

    def as_numpy(self) -> Any:
        return self.array


@dataclass
class TritonError:
    text: str


@dataclass
class InferenceResponse:
    output_tensors: list[Tensor]
    error: TritonError | None = None


@dataclass
class Request:
    tensors: dict[str, Tensor] = field(default_factory=dict)


def backend() -> ModuleType:
    module = ModuleType("triton_python_backend_utils")
    module.__dict__.update(
        Tensor=Tensor,
        TritonError=TritonError,
        InferenceResponse=InferenceResponse,
        get_input_tensor_by_name=lambda request, name: request.tensors[name],
    )
    return module


def request(x: Any) -> Request:
    return Request({"x": Tensor("x", x)})


@pytest.mark.usefixtures("commands")
def test_requests_of_any_size_and_one_that_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "network"
    shutil.copytree(REPOSITORY, repository)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("w", TensorProto.FLOAT, [2, 1, 1, 1, 1], [2.0, -3.0])],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "net.onnx"
    )
    onnxc_commands.compile_model(tmp_path / "net.onnx", repository / "1" / "net.so")
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", backend())
    monkeypatch.syspath_prepend(repository)
    module = importlib.import_module("1.model")  # as the backend's stub does

    model = module.TritonPythonModel()
    threads = re.findall(r'key: "(\w+)", value: { string_value: "(\d+)" }', (REPOSITORY / "config.pbtxt").read_text())
    config = {"parameters": {key: {"string_value": value} for key, value in threads}}
    assert config == {"parameters": {"threads": {"string_value": "2"}}}
    model.initialize({"model_repository": str(repository), "model_version": "1", "model_config": json.dumps(config)})
    sizes = [(1, 1, 2, 3, 4), (2, 1, 5, 1, 3)]
    inputs = [np.arange(np.prod(size), dtype=np.float32).reshape(size) for size in sizes]
    good, other, bad = model.execute([*(request(x) for x in inputs), request(np.zeros((1, 3, 2, 2, 2), np.float32))])
    for response, x in ((good, inputs[0]), (other, inputs[1])):
        [y] = response.output_tensors
        assert (y.name, response.error) == ("y", None)
        np.testing.assert_array_equal(y.array, np.concatenate([2 * x, -3 * x], axis=1))
    assert bad.output_tensors == []
    assert "1" in bad.error.text
    assert "3" in bad.error.text
