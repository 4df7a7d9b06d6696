"""Model-local functions, as PyTorch's exporter writes them: nested, with attributes and opsets of their own."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests import compare, onnxc_commands
from tests.ops.case import random

DOMAIN = "pkg.onnxscript.torch_lib"
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]


def scaled_relu() -> onnx.FunctionProto:
    """relu(x) * alpha + x, with alpha an attribute of the call."""
    alpha = helper.make_node("Constant", [], ["alpha"])
    alpha.attribute.append(
        onnx.AttributeProto(name="value_float", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["positive"]),
        alpha,
        helper.make_node("Mul", ["positive", "alpha"], ["scaled"]),
        helper.make_node("Add", ["scaled", "x"], ["y"]),
    ]
    return helper.make_function(DOMAIN, "scaled_relu", ["x"], ["y"], nodes, OPSETS, ["alpha"])


def twice() -> onnx.FunctionProto:
    """scaled_relu of scaled_relu, and the first result too; inner names are those of the graph around it."""
    nodes = [
        helper.make_node("scaled_relu", ["x"], ["middle"], domain=DOMAIN, alpha=0.5),
        helper.make_node("scaled_relu", ["middle"], ["y"], domain=DOMAIN, alpha=2.0),
    ]
    return helper.make_function(DOMAIN, "twice", ["x"], ["y", "middle"], nodes, OPSETS)


@pytest.mark.usefixtures("commands")
def test_nested_functions(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("twice", ["x"], ["a", "b"], domain=DOMAIN),
        helper.make_node("scaled_relu", ["b"], ["middle"], domain=DOMAIN, alpha=-1.0),
        helper.make_node("Sub", ["a", "middle"], ["y"]),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 5]) for name in "xy"]
    graph = helper.make_graph(nodes, "calls", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=OPSETS, functions=[scaled_relu(), twice()], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, tmp_path / "model.onnx")
    x = random(3, 5)
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    [y] = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], tmp_path / "run").values()
    [expected] = ReferenceEvaluator(model).run(None, {"x": x})
    assert compare.elementwise_mismatch(y, np.asarray(expected), 1e-6, 1e-7) is None
