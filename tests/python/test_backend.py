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
    assert np.isclose(whole.sum(), 1)  # before version 13 all the axes after it are one
    with pytest.raises(OnnxcError, match=r"the node takes the inputs \['x', 'high'\], and 1 array is given"):
        backend.run_node(clip, [A])


FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
SEQUENCE = helper.make_sequence_type_proto(FLOATS)
OPTIONAL = helper.make_optional_type_proto(SEQUENCE)


def of_types(nodes: list[onnx.NodeProto], inputs: dict[str, onnx.TypeProto], output: str) -> onnx.ModelProto:
    given = [helper.make_value_info(name, kind) for name, kind in inputs.items()]
    graph = helper.make_graph(nodes, "sequences", given, [helper.make_value_info(output, SEQUENCE)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_sequences_are_lists() -> None:
    """Their tensors need not agree in size, nor runs in how many there are."""
    insert = helper.make_node("SequenceInsert", ["s", "x", "p"], ["y"])
    number = helper.make_tensor_type_proto(TensorProto.INT64, [])
    rep = backend.prepare(of_types([insert], {"s": SEQUENCE, "x": FLOATS, "p": number}, "y"))
    x, others = np.arange(3, dtype=np.float32), [np.ones(count, np.float32) for count in (4, 1, 2)]
    for count in (3, 0, 1, 3):
        for place in range(-count, count + 1):
            expected = list(others[:count])
            expected.insert(place, x)
            [found] = rep.run([others[:count], x, np.array(place)])
            assert len(found) == count + 1
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    with pytest.raises(OnnxcError, match=r"missing: \['p'\], unknown: \['q'\]"):
        rep.run({"s": others, "x": x, "q": np.array(0)})


def test_an_optional_holds_something_or_nothing() -> None:
    """If it holds nothing, the branch that reads it is not compiled."""
    has = helper.make_node("OptionalHasElement", ["o"], ["has"])
    outputs = [helper.make_value_info(name, SEQUENCE) for name in ("element", "made")]
    get = helper.make_graph([helper.make_node("OptionalGetElement", ["o"], ["element"])], "get", [], outputs[:1])
    make = helper.make_graph([helper.make_node("SequenceConstruct", ["x"], ["made"])], "make", [], outputs[1:])
    choose = helper.make_node("If", ["has"], ["y"], then_branch=get, else_branch=make)
    rep = backend.prepare(of_types([has, choose], {"o": OPTIONAL, "x": FLOATS}, "y"))
    x, held = np.arange(3, dtype=np.float32), [np.ones(2, np.float32), np.zeros(1, np.float32)]
    for given, expected in ((held, held), (None, [x]), (held[:1], held[:1])):
        [found] = rep.run([given, x])
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_values_that_a_number_of_tensors_depends_on() -> None:
    """The model is compiled for those that a run gives."""
    split = helper.make_node("SplitToSequence", ["x", "size"], ["y"], axis=0)
    kinds = {
        "x": helper.make_tensor_type_proto(TensorProto.FLOAT, [6]),
        "size": helper.make_tensor_type_proto(TensorProto.INT64, []),
    }
    rep = backend.prepare(of_types([split], kinds, "y"))
    x = np.arange(6, dtype=np.float32)
    for size in (2, 4, 6, 2):
        [found] = rep.run([x, np.array(size)])
        assert [each.tolist() for each in found] == [x[i : i + size].tolist() for i in range(0, 6, size)]
    with pytest.raises(CompileError, match="parts of 0 elements"):
        rep.run([x, np.array(0)])


def test_devices() -> None:
    assert [backend.supports_device(device) for device in ("CPU", "HIP", "HIP:1", "CUDA")] == [True, True, True, False]
    assert backend.is_compatible(difference())


def test_a_model_that_cannot_be_compiled() -> None:
    model = difference()
    model.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(CompileError, match="NoSuchOperator"):
        backend.prepare(model)
