"""Files that break ONNX's text and whose meaning is clear: they compile with a warning, as onnxruntime reads them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.compare import mismatch
from tests.onnxruntime_sessions import open_session
from tests.ops.case import random

pytestmark = pytest.mark.usefixtures("commands")


def model_of(
    nodes: Sequence[onnx.NodeProto], dims: Sequence[Any], constants: dict[str, Array] | None = None, opset: int = 20
) -> onnx.ModelProto:
    """From x to y."""
    graph = helper.make_graph(
        list(nodes),
        "lenient",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(type_: str, inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(type_, inputs.split(), [output], name=f"the_{output}", **attributes)


def unsorted() -> onnx.ModelProto:
    nodes = [node("Add", "a b"), node("Relu", "c", "b"), node("Exp", "x", "a"), node("Neg", "x", "c")]
    return model_of(nodes, [2, 3, 4, 4])


def with_branches(is_sorted: bool) -> onnx.ModelProto:
    """Subgraphs that use a value of the graph around them; unsorted before a node makes it, as are their own nodes."""

    def in_order(nodes: Sequence[onnx.NodeProto]) -> Sequence[onnx.NodeProto]:
        return nodes if is_sorted else nodes[::-1]

    branches = [
        helper.make_graph(in_order([node(op, "a", "inner"), node("Exp", "inner", name)]), name,
                          [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])
        for name, op in (("then", "Neg"), ("otherwise", "Abs"))
    ]  # fmt: skip
    nodes = [
        node("Relu", "x", "a"),
        node("ReduceSum", "x", "total", keepdims=0),
        node("Greater", "total zero", "holds"),
        node("If", "holds", "y", then_branch=branches[0], else_branch=branches[1]),
    ]
    return model_of(in_order(nodes), [2, 3, 4, 4], {"zero": np.array(0, np.float32)})


def unknown_dim() -> onnx.ModelProto:
    model = model_of([node("Relu", "x")], ["N", 3, 4, 4])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    return model


def imported_twice() -> onnx.ModelProto:
    """As skl2onnx writes it."""
    model = model_of([node("Relu", "x")], ["N", 3, 4, 4])
    model.opset_import.append(helper.make_opsetid("ai.onnx", 20))
    return model


SCALE = {"scale": random(4)}
LENIENT = {
    "unsorted": (unsorted(), "topological order"),
    "dim of -1": (unknown_dim(), "input 'x': its dim 0 is -1"),
    "dim called -1": (model_of([node("Relu", "x")], ["-1", 3, "-1", "-1"]), "input 'x': its dim 0 is -1"),
    "dim called 2": (model_of([node("Relu", "x")], ["2", 3, 4, 4]), "its dim 0 has the name '2', and is taken as this"),
    "LayerNormalization before 17": (
        model_of([node("LayerNormalization", "x scale", epsilon=1e-3)], [2, 3, 4, 4], SCALE, opset=12),
        "node 'the_y' (LayerNormalization): version 12 of ONNX has no such operator; it is taken as that of version 17",
    ),
    "SimplifiedLayerNormalization": (
        model_of([node("SimplifiedLayerNormalization", "x scale", epsilon=1e-3)], [2, 3, 4, 4], SCALE, opset=14),
        "node 'the_y' (SimplifiedLayerNormalization): ONNX has no such operator; it is taken as onnxruntime's",
    ),
    "ThresholdedRelu before 10": (
        model_of([node("ThresholdedRelu", "x", alpha=0.3)], [2, 3, 4, 4], opset=7),
        "it is taken as that of version 10",
    ),
    "ImageScaler": (
        model_of([node("ImageScaler", "x", scale=0.5, bias=[0.1, -0.2, 0.3])], [2, 3, 4, 4], opset=7),
        "ONNX has no such operator",
    ),
}


def compile_with_messages(model: onnx.ModelProto, folder: Path) -> str:
    onnx.save(model, folder / "model.onnx")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(folder / "model.onnx"), "-o", str(folder / "model.so")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_operator_set_imported_twice(tmp_path: Path) -> None:
    assert "warning" not in compile_with_messages(imported_twice(), tmp_path)
    feeds = {"x": random(2, 3, 4, 4)}
    [expected] = open_session(imported_twice(), optimized=False, threads=1).run(None, feeds)
    result = onnxc_commands.run_arrays(tmp_path / "model.so", feeds, ["y"], tmp_path / "run")
    assert mismatch(result["y"], expected, 0) is None


@pytest.mark.parametrize("text", ["-1", "", "?", "None", " "])
def test_unknown_dims_need_not_be_equal(tmp_path: Path, text: str) -> None:
    """Two inputs whose dims have one text, in onnxruntime of any sizes: here if the text says nothing."""
    graph = helper.make_graph(
        [node("Relu", "x"), node("Neg", "z", "w")],
        "two inputs",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [text, 3]) for name in "xz"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [text, 3]) for name in "yw"],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    compile_with_messages(model, tmp_path)
    feeds = {"x": random(2, 3), "z": random(5, 3)}
    expected = open_session(model, optimized=False, threads=1).run(None, feeds)
    result = onnxc_commands.run_arrays(tmp_path / "model.so", feeds, ["y", "w"], tmp_path / "run")
    assert [mismatch(result[name], array, 0) for name, array in zip("yw", expected, strict=True)] == [None, None]


@pytest.mark.parametrize("name", LENIENT)
def test_lenient(tmp_path: Path, name: str) -> None:
    model, warning = LENIENT[name]
    message = compile_with_messages(model, tmp_path)
    assert "warning" in message
    assert warning in message
    feeds = {"x": random(2, 3, 4, 4)}
    [expected] = open_session(model, optimized=False, threads=1).run(None, feeds)
    result = onnxc_commands.run_arrays(tmp_path / "model.so", feeds, ["y"], tmp_path / "run")
    assert mismatch(result["y"], expected, 1e-5) is None


def test_unsorted_subgraphs(tmp_path: Path) -> None:
    assert "topological order" in compile_with_messages(with_branches(is_sorted=False), tmp_path)
    for seed in (1, 2, 3, 4):
        feeds = {"x": random(2, 3, 4, 4, seed=seed)}
        # onnxruntime refuses subgraphs that are not sorted.
        [expected] = open_session(with_branches(is_sorted=True), optimized=False, threads=1).run(None, feeds)
        result = onnxc_commands.run_arrays(tmp_path / "model.so", feeds, ["y"], tmp_path / "run")
        assert mismatch(result["y"], expected, 1e-5) is None


def test_a_good_file_has_no_warning(tmp_path: Path) -> None:
    assert compile_with_messages(model_of([node("Relu", "x")], [2, 3]), tmp_path) == ""


def test_initializers_that_are_inputs_too(tmp_path: Path) -> None:
    model = model_of([node("Add", "x b")], [2, 3, 4, 4], {"b": random(4)})
    model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [4]))
    compile_with_messages(model, tmp_path)
    x = random(2, 3, 4, 4)
    result = onnxc_commands.run_arrays(tmp_path / "model.so", {"x": x}, ["y"], tmp_path / "run")
    assert np.array_equal(result["y"], x + random(4))


def test_an_input_without_rank_is_named(tmp_path: Path) -> None:
    model = model_of([node("Relu", "x")], [2])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure, match="input 'x': it has no shape"):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")


def test_an_output_too_many_of_an_operator_without_a_schema(tmp_path: Path) -> None:
    model = model_of([node("ImageScaler", "x", scale=0.5, bias=[0.1, -0.2, 0.3])], [2, 3, 4, 4], opset=7)
    model.graph.node[0].output.append("z")
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure, match=r"\(ImageScaler\): output 1 is not one of the operator's"):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
