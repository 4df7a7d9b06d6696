"""Conditions, trip counts and inputs of functions that are absent, empty or of another type: refused, no crash."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name: str, kind: int = FLOAT, shape: Sequence[int | str] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: object) -> onnx.NodeProto:
    return helper.make_node(operator, inputs, outputs, name=f"the_{operator}", **attributes)


def branch(output: str, nodes: Sequence[onnx.NodeProto] = ()) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), "branch", [], [info(output)])


def choice(condition: str, then: str = "t") -> onnx.NodeProto:
    """An If between x + x and x * x, or between the value `then` and that."""
    first = branch(then, [node("Add", ["x", "x"], ["t"])] if then == "t" else [])
    return node("If", [condition], ["y"], then_branch=first, else_branch=branch("e", [node("Mul", ["x", "x"], ["e"])]))


def loop(count: str, condition: str, body_condition: onnx.NodeProto, state: str = "next") -> onnx.NodeProto:
    body = helper.make_graph(
        [body_condition, node("Add", ["state", "state"], ["next"])], "body",
        [info("round", INT64, []), info("before", BOOL, []), info("state")], [info("after", BOOL, []), info(state)],
    )  # fmt: skip
    return node("Loop", [count, condition, "x"], ["y"], body=body)


KEEP = node("Identity", ["before"], ["after"])


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (),
    constants: dict[str, np.ndarray] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes), "g", [info("x", FLOAT, [4]), *inputs], [info("y")],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))


def called_without(body: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    """A function of x, and of `absent`, which the call leaves out."""
    imports = [helper.make_opsetid("", 18)]
    function = helper.make_function("own", "F", ["x", "absent"], ["y"], list(body), imports)
    return model([helper.make_node("F", ["x"], ["y"], domain="own")], (), None, [function])


def flag(*shape: int) -> np.ndarray:
    return np.ones(shape, np.bool_)


EMPTY = np.zeros(0, np.bool_)
ONE = np.array(3, np.int64)
REFUSED: dict[str, tuple[onnx.ModelProto, str]] = {
    "if_empty": (model([choice("c")], (), {"c": EMPTY}), "must have one element, found shape [0]"),
    "if_two": (model([choice("c")], (), {"c": flag(2)}), "must have one element, found shape [2]"),
    "if_free": (model([choice("c")], [info("c", BOOL, ["N"])]), "must have one element, found shape [N]"),
    "if_float": (model([choice("c")], (), {"c": np.ones((), np.float32)}), "bool"),
    "if_integer": (model([choice("c")], [info("c", INT64, [])]), "bool"),
    "if_nothing": (model([choice("")]), "the_If"),
    "loop_empty": (
        model([loop("n", "c", KEEP)], (), {"n": ONE, "c": EMPTY}), "one number is expected as first condition"
    ),
    "loop_two": (model([loop("n", "c", KEEP)], (), {"n": ONE, "c": flag(2)}), "one number is expected"),
    "loop_float": (model([loop("n", "c", KEEP)], (), {"n": ONE, "c": np.ones((), np.float32)}), "bool"),
    "loop_body_float": (
        model([loop("n", "", node("Cast", ["round"], ["after"], to=FLOAT))], (), {"n": ONE}), "a boolean is expected"
    ),
    "loop_body_empty": (
        model([loop("n", "", node("Constant", [], ["after"], value=numpy_helper.from_array(EMPTY)))], (), {"n": ONE}),
        "one number is expected as condition that the body gives",
    ),
    "loop_count_empty": (model([loop("n", "", KEEP)], (), {"n": np.zeros(0, np.int64)}), "one number is expected"),
    "loop_count_two": (model([loop("n", "", KEEP)], (), {"n": np.ones(2, np.int64)}), "one number is expected"),
    "loop_count_float": (model([loop("n", "", KEEP)], (), {"n": np.ones((), np.float32)}), "int64"),
    "scan_scalar": (
        model([node("Scan", ["s"], ["y"], num_scan_inputs=1, body=helper.make_graph(
            [node("Identity", ["row"], ["z"])], "body", [info("row", FLOAT, [])], [info("z")]))],
            (), {"s": np.ones((), np.float32)}),
        "'s' is a scalar and cannot be scanned",
    ),
    "absent_in_branch": (called_without([node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True))),
                                         choice("c", "absent")]), "the call does not give"),
    "absent_in_open_branch": (called_without([node("ReduceSum", ["x"], ["s"], keepdims=0),
                                              node("Cast", ["s"], ["c"], to=BOOL), choice("c", "absent")]),
                              "the call does not give"),
    "absent_condition": (called_without([choice("absent")]), "leaves out"),
    "absent_in_body": (called_without([node("Constant", [], ["n"], value=numpy_helper.from_array(ONE)),
                                       loop("n", "", KEEP, "absent")]), "the call does not give"),
    "absent_state": (
        called_without([node("Constant", [], ["n"], value=numpy_helper.from_array(ONE)),
                        node("Loop", ["n", "", "x", "absent"], ["y", "z"], body=helper.make_graph(
                            [KEEP, node("Identity", ["a"], ["c"]), node("Identity", ["b"], ["d"])], "body",
                            [info("round", INT64, []), info("before", BOOL, []), info("a"), info("b")],
                            [info("after", BOOL, []), info("c"), info("d")]))]), "leaves out"
    ),
    "absent_in_concat": (called_without([node("Concat", ["x", "absent"], ["y"], axis=0)]), "leaves out"),
    "absent_in_add": (called_without([node("Add", ["x", "absent"], ["y"])]), "leaves out"),
    "absent_output": (called_without([node("Relu", ["x"], ["z"]), node("Identity", ["absent"], ["y"])]), "leaves out"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(tmp_path: Path, name: str) -> None:
    built, says = REFUSED[name]
    (tmp_path / "model.onnx").write_bytes(built.SerializeToString())
    done = subprocess.run(
        [BINARIES / "onnxc", "model.onnx", "-o", "model.so"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert says in done.stderr
    assert not (tmp_path / "model.so").exists()


def test_an_optional_input_may_be_left_out(tmp_path: Path) -> None:
    built = called_without([node("Clip", ["x", "absent"], ["y"])])
    (tmp_path / "model.onnx").write_bytes(built.SerializeToString())
    subprocess.run([BINARIES / "onnxc", "model.onnx", "-o", "model.so"], cwd=tmp_path, check=True)


def test_what_a_loop_without_rounds_would_read_may_be_empty(tmp_path: Path) -> None:
    """Row `round` of a table, as often as the table has rows."""
    body = helper.make_graph(
        [KEEP, node("Gather", ["table", "round"], ["row"]), node("Add", ["state", "row"], ["next"])], "body",
        [info("round", INT64, []), info("before", BOOL, []), info("state")], [info("after", BOOL, []), info("next")],
    )  # fmt: skip
    nodes = [
        node("Shape", ["table"], ["shape"], end=1), node("Squeeze", ["shape"], ["n"]),
        node("Loop", ["n", "", "x"], ["y"], body=body),
    ]  # fmt: skip
    built = model(nodes, [info("table", FLOAT, ["T", 4])])
    (tmp_path / "model.onnx").write_bytes(built.SerializeToString())
    subprocess.run([BINARIES / "onnxc", "model.onnx", "-o", "model.so", "-q"], cwd=tmp_path, check=True)
    for rows in (0, 3):
        np.save(tmp_path / "x.npy", np.ones(4, np.float32))
        np.save(tmp_path / "table.npy", np.full((rows, 4), 2, np.float32))
        subprocess.run(
            [BINARIES / "onnxc-run", "model.so", "--input", "x=x.npy", "--input", "table=table.npy", "--output", "out"],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.full(4, 1 + 2 * rows, np.float32))
