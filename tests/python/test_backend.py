"""onnxc.backend: onnx.backend.base's interface, and what its callers may do wrong."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxc import backend
from onnxc.errors import CompileError, OnnxcError

pytestmark = pytest.mark.usefixtures("commands")


def difference() -> onnx.ModelProto:
    """y = a - b, z = a * 2; `two` is an initializer that the graph lists as an input too."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("a", "b", "y", "z")]
    two = onnx.numpy_helper.from_array(np.array(2, np.float32), "two")
    optional = helper.make_tensor_value_info("two", TensorProto.FLOAT, [])
    graph = helper.make_graph(
        [helper.make_node("Sub", ["a", "b"], ["y"]), helper.make_node("Mul", ["a", "two"], ["z"])],
        "difference",
        [values[0], optional, values[1]],
        values[2:],
        [two],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 0.5, np.float32)


def test_prepared_model_takes_inputs_in_each_form() -> None:
    rep = backend.prepare(difference(), "CPU")
    for inputs in ([A, B], (A, B), {"b": B, "a": A}):
        outputs = rep.run(inputs)
        assert np.array_equal(outputs[0], A - B)
        assert np.array_equal(outputs["z"], A * 2)
    with pytest.raises(OnnxcError, match=r"3 inputs are given, and the model takes 2: \['a', 'b'\]"):
        rep.run([A, B, A])
    with pytest.raises(OnnxcError, match=r"missing: \['b'\]"):
        rep.run([A])


def test_run_model_and_run_node() -> None:
    assert np.array_equal(backend.run_model(difference(), [A, B], march="x86-64-v3")[0], A - B)
    clip = helper.make_node("Clip", ["x", "", "high"], ["y"])
    assert np.array_equal(backend.run_node(clip, [A, np.array(2, np.float32)])[0], np.minimum(A, 2))
    described = [(np.dtype(np.float32), (2, 3))]
    softmax = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    whole = backend.run_node(softmax, [A], outputs_info=described, opset_version=11)[0]
    assert np.isclose(whole.sum(), 1)  # before version 13 all the axes behind are one
    with pytest.raises(OnnxcError, match=r"the node takes the inputs \['x', 'high'\], and 1 arrays are given"):
        backend.run_node(clip, [A])


def test_devices() -> None:
    assert [backend.supports_device(device) for device in ("CPU", "HIP", "HIP:1", "CUDA")] == [True, True, True, False]
    assert backend.is_compatible(difference())


def test_a_model_that_cannot_be_compiled() -> None:
    model = difference()
    model.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(CompileError, match="NoSuchOperator"):
        backend.prepare(model)
