"""What python -m onnxc.reduce leaves of a model that fails: the nodes that fail, and no other."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxc.reduce import Feeds, names_read, reduce_model
from tests.onnxc_commands import BINARIES, REPOSITORY


def chain(middle: str) -> onnx.ModelProto:
    """Twenty operators, one of them in the middle as asked."""
    types = ["Relu", "Neg", "Abs", "Tanh", "Sigmoid"] * 4
    types[11] = middle
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i, op in enumerate(types)]
    nodes.append(helper.make_node("Add", ["v5", "v20"], ["y"]))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def holds(*wanted: str) -> object:
    """A failure of models that hold these operators in this order."""

    def failure(model: onnx.ModelProto, feeds: Feeds) -> str | None:
        onnx.checker.check_model(model, full_check=True)
        left = list(wanted)
        for node in model.graph.node:
            if left and node.op_type == left[0]:
                left.pop(0)
        return None if left else "holds"

    return failure


@pytest.mark.parametrize("wanted", [("Cos",), ("Relu", "Cos"), ("Cos", "Sigmoid", "Add"), ("Neg", "Abs", "Cos", "Neg")])
def test_the_least_nodes_stay(wanted: tuple[str, ...]) -> None:
    feeds = {"v0": np.arange(6, dtype=np.float32).reshape(2, 3)}
    small, inputs, kind = reduce_model(chain("Cos"), feeds, holds(*wanted))  # type: ignore[arg-type]
    assert [node.op_type for node in small.graph.node] == list(wanted)
    assert kind == "holds"
    assert {value.name for value in small.graph.input} == set(inputs)


def test_what_does_not_fail_is_not_reduced() -> None:
    with pytest.raises(ValueError, match="nothing fails"):
        reduce_model(chain("Cos"), {"v0": np.zeros((1, 3), np.float32)}, holds("Sin"))  # type: ignore[arg-type]


def test_subgraphs_read_names_from_outside() -> None:
    branch = helper.make_graph(
        [helper.make_node("Add", ["outside", "k"], ["t"])], "b", [], [helper.make_tensor_value_info("t", 1, None)],
        [numpy_helper.from_array(np.zeros(1, np.float32), "k")],
    )  # fmt: skip
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    assert names_read(node) == {"c", "outside"}


@pytest.mark.usefixtures("commands")
def test_the_command(tmp_path: Path) -> None:
    """A model that onnxc refuses: one of its operators is unknown."""
    onnx.save(chain("NoSuchOperator"), tmp_path / "model.onnx")
    environment = {"PYTHONPATH": str(REPOSITORY / "python"), "ONNXC_BIN": str(BINARIES), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "onnxc.reduce", "model.onnx", "-o", "small.onnx"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "onnxruntime" in done.stderr, "its values come from there, and it knows the operator as little"
    onnx.save(chain("Cos"), tmp_path / "model.onnx")
    done = subprocess.run(
        [*command, "--option=--march=no-such-cpu"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 of 21 nodes fail in the same way (compile, exit code 1" in done.stdout
    assert len(onnx.load(tmp_path / "small.onnx").graph.node) == 1
    assert list(tmp_path.glob("small.onnx.*.npy"))
