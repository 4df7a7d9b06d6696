"""The rest of a model that fails: the nodes that the fault needs, and no other, whatever the graph looks like."""

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxc.graphs.reduction import Feeds, Part, Test
from onnxc.graphs.subgraphs import names_read
from onnxc.reduce import reduce_model
from tests.onnxruntime_sessions import open_session

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
NODES = 30


def model_of(nodes: Sequence[onnx.NodeProto], inputs: Sequence[str], outputs: Sequence[str]) -> onnx.ModelProto:
    """A model of float tensors, all of whose dims are free."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, FLOAT, ["N", "C"]) for name in inputs],
        [helper.make_tensor_value_info(name, FLOAT, [None, None]) for name in outputs],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(middle: str) -> onnx.ModelProto:
    """Twenty operators, one of them in the middle as asked."""
    types = ["Relu", "Neg", "Abs", "Tanh", "Sigmoid"] * 4
    types[11] = middle
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i, op in enumerate(types)]
    nodes.append(helper.make_node("Add", ["v5", "v20"], ["y"]))
    return model_of(nodes, ["v0"], ["y"])


def random_dag(seed: int) -> onnx.ModelProto:
    """Operators of one and two inputs, which read what any before them give."""
    random = np.random.default_rng(seed)
    names, nodes = ["x"], []
    for number in range(NODES):
        operator = str(random.choice(["Relu", "Neg", "Abs", "Tanh", "Add", "Mul", "Max"]))
        count = 2 if operator in ("Add", "Mul", "Max") else 1
        read = [names[int(len(names) * (1 - random.random() ** 2)) - 1] for _ in range(count)]
        nodes.append(helper.make_node(operator, read, [f"v{number}"], name=f"n{number}"))
        names.append(f"v{number}")
    read_names = {name for node in nodes for name in node.input}
    return model_of(nodes, ["x"], [name for name in names if name not in read_names])


def arithmetic_of_sizes() -> onnx.ModelProto:
    """A chain from Shape to ConstantOfShape: a value on the way that became an input would not be a size."""
    nodes = [
        helper.make_node("Shape", ["x"], ["v0"], name="n0"),
        helper.make_node("Cast", ["v0"], ["v1"], to=FLOAT, name="n1"),
    ]
    operators = ["Abs", "Sqrt", "Floor", "Relu", "Ceil"] * 5
    for number, operator in enumerate(operators, start=2):
        nodes.append(helper.make_node(operator, [f"v{number - 1}"], [f"v{number}"], name=f"n{number}"))
    last = len(operators) + 1
    nodes += [
        helper.make_node("Cast", [f"v{last}"], ["sizes"], to=INT64, name="n27"),
        helper.make_node("ConstantOfShape", ["sizes"], ["zeros"], name="n28"),
        helper.make_node("Neg", ["zeros"], ["y"], name="n29"),
    ]
    return model_of(nodes, ["x"], ["y"])


def with_branches() -> onnx.ModelProto:
    """A chain to an If, whose branches are chains as well, and one after it."""

    def branch(name: str, operators: Sequence[str]) -> onnx.GraphProto:
        inner = [
            helper.make_node(operator, ["v5" if i == 0 else f"{name}{i}"], [f"{name}{i + 1}"], name=f"{name}_n{i}")
            for i, operator in enumerate(operators)
        ]
        return helper.make_graph(
            inner, name, [], [helper.make_tensor_value_info(f"{name}{len(operators)}", FLOAT, [None, None])]
        )

    first = branch("then", ["Relu", "Cos", "Neg", "Abs", "Tanh", "Relu"])
    second = branch("else", ["Relu", "Neg"])
    before = [helper.make_node("Neg", ["x" if i == 0 else f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(5)]
    test = [
        helper.make_node("ReduceMax", ["v2"], ["largest"], keepdims=0, name="n5"),
        helper.make_node("Greater", ["largest", "zero"], ["condition"], name="n6"),
        helper.make_node("If", ["condition"], ["b"], name="n7", then_branch=first, else_branch=second),
    ]
    after = [helper.make_node("Abs", ["b" if i == 0 else f"w{i}"], [f"w{i + 1}"], name=f"n{8 + i}") for i in range(8)]
    model = model_of([*before, *test, *after], ["x"], ["w8"])
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.float32), "zero"))
    return model


def operators_of(graph: onnx.GraphProto) -> list[str]:
    found = []
    for node in graph.node:
        found.append(node.op_type)
        for each in node.attribute:
            found += operators_of(each.g) if each.type == onnx.AttributeProto.GRAPH else []
    return found


def runs(model: onnx.ModelProto, feeds: Feeds) -> bool:
    onnx.checker.check_model(model, full_check=True)
    open_session(model, optimized=False, threads=1).run(None, feeds)
    return True


def needs_names(wanted: set[str], *, no_new_input: bool) -> Test:
    """A fault of these nodes; perhaps only as long as all is computed from the model's own inputs."""

    def failure(model: onnx.ModelProto, feeds: Feeds) -> str | None:
        is_own = not no_new_input or (
            {each.name for each in model.graph.input} <= {"x"} and not model.graph.initializer
        )
        return (
            "planted" if wanted <= {node.name for node in model.graph.node} and is_own and runs(model, feeds) else None
        )

    return failure


def needs_path(*wanted: str) -> Test:
    """A fault of operators that lie on one path from a Shape, in this order."""

    def failure(model: onnx.ModelProto, feeds: Feeds) -> str | None:
        reached: dict[str, int] = {}  # how many of them lie on the way to a tensor
        for node in model.graph.node:
            count = max((reached.get(name, 0) for name in node.input), default=0)
            count += count < len(wanted) and node.op_type == wanted[count]
            reached |= dict.fromkeys(node.output, count)
        return "planted" if max(reached.values(), default=0) == len(wanted) and runs(model, feeds) else None

    return failure


def holds(*wanted: str) -> Test:
    """A failure of models that hold these operators in this order."""

    def failure(model: onnx.ModelProto, feeds: Feeds) -> str | None:
        onnx.checker.check_model(model, full_check=True)
        left = list(wanted)
        for operator in operators_of(model.graph):
            if left and operator == left[0]:
                left.pop(0)
        return None if left else "holds"

    return failure


X = {"x": np.arange(1, 13, dtype=np.float32).reshape(4, 3)}


@pytest.mark.parametrize("wanted", [("Cos",), ("Relu", "Cos"), ("Cos", "Sigmoid", "Add"), ("Neg", "Abs", "Cos", "Neg")])
def test_the_least_nodes_stay(wanted: tuple[str, ...]) -> None:
    feeds = {"v0": np.arange(6, dtype=np.float32).reshape(2, 3)}
    small, inputs, kind = reduce_model(chain("Cos"), feeds, holds(*wanted))
    assert [node.op_type for node in small.graph.node] == list(wanted)
    assert kind == "holds"
    assert {value.name for value in small.graph.input} == set(inputs)


@pytest.mark.parametrize("no_new_input", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_of_a_dag_exactly_the_nodes_that_the_fault_needs_stay(seed: int, count: int, no_new_input: bool) -> None:
    random = np.random.default_rng([seed, count])
    wanted = {f"n{int(each)}" for each in random.choice(NODES, count, replace=False)}
    small, feeds, _ = reduce_model(random_dag(seed), X, needs_names(wanted, no_new_input=no_new_input))
    assert {node.name for node in small.graph.node} == wanted
    assert runs(small, feeds)


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (("Shape", "Sqrt", "ConstantOfShape"), ["Shape", "Cast", "Sqrt", "Cast", "ConstantOfShape"]),
        (("Shape", "ConstantOfShape"), ["Shape", "ConstantOfShape"]),
        (("Shape", "Floor", "Sqrt", "Ceil"), ["Shape", "Cast", "Floor", "Sqrt", "Ceil"]),
        (("Shape", "ConstantOfShape", "Neg"), ["Shape", "ConstantOfShape", "Neg"]),
    ],
)
def test_what_is_computed_of_sizes_stays_so(wanted: Sequence[str], left: list[str]) -> None:
    small, _, _ = reduce_model(arithmetic_of_sizes(), X, needs_path(*wanted))
    assert [node.op_type for node in small.graph.node] == left


@pytest.mark.parametrize("wanted", [("Cos",), ("Greater", "If"), ("Greater", "If", "Cos"), ("Cos", "Abs")])
def test_branches_become_as_small(wanted: tuple[str, ...]) -> None:
    """An If that the fault does not need is replaced by its branch; of one that it needs the branches are reduced."""
    small, feeds, _ = reduce_model(with_branches(), X, holds(*wanted))
    left = operators_of(small.graph)
    assert [each for each in left if each != "Identity"] == list(wanted)
    assert left.count("Identity") == (2 - ("Cos" in wanted) if "If" in wanted else 0), "a branch holds one node"
    assert runs(small, feeds)


def needs_free_dims(wanted: str) -> Test:
    """A fault of an operator in models without a known dim."""

    def failure(model: onnx.ModelProto, feeds: Feeds) -> str | None:
        dims = [dim for each in model.graph.input for dim in each.type.tensor_type.shape.dim]
        is_free = bool(dims) and not any(dim.HasField("dim_value") for dim in dims)
        found = any(node.op_type == wanted for node in model.graph.node)
        return "planted" if found and is_free and runs(model, feeds) else None

    return failure


@pytest.mark.parametrize("make", [lambda: chain("Cos"), lambda: random_dag(7)])
def test_free_dims_stay_free(make: Callable[[], onnx.ModelProto]) -> None:
    model = make()
    wanted = "Cos" if any(node.op_type == "Cos" for node in model.graph.node) else "Max"
    small, feeds, _ = reduce_model(model, {model.graph.input[0].name: X["x"]}, needs_free_dims(wanted))
    assert [node.op_type for node in small.graph.node] == [wanted]
    for given in small.graph.input:
        assert [dim.dim_param for dim in given.type.tensor_type.shape.dim] == ["N", "C"], "as the model names them"
    other = {name: np.ones((5, 2), np.float32) for name in feeds}
    assert runs(small, other)


def test_known_dims_stay_known() -> None:
    model = chain("Cos")
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (4, 3), strict=True):
        dim.dim_value = size
    small, _, _ = reduce_model(model, {"v0": X["x"]}, holds("Cos"))
    assert [dim.dim_value for dim in small.graph.input[0].type.tensor_type.shape.dim] == [4, 3]


def test_a_model_that_onnxruntime_refuses_is_reduced_to_what_is_refused() -> None:
    """Values after the unknown operator are not known, those before it are."""
    small, feeds, _ = reduce_model(chain("NoSuchOperator"), {"v0": X["x"]}, of_unchecked("NoSuchOperator"))
    assert [node.op_type for node in small.graph.node] == ["NoSuchOperator"]
    assert set(feeds) == {"v11"}
    np.testing.assert_array_equal(feeds["v11"], Part(chain("Relu"), {"v0": X["x"]}).values["v11"])


def of_unchecked(wanted: str) -> Test:
    return lambda model, feeds: "refused" if any(node.op_type == wanted for node in model.graph.node) else None


def test_what_does_not_fail_is_not_reduced() -> None:
    with pytest.raises(ValueError, match="nothing fails"):
        reduce_model(chain("Cos"), {"v0": np.zeros((1, 3), np.float32)}, holds("Sin"))


def test_subgraphs_read_names_from_outside() -> None:
    branch = helper.make_graph(
        [helper.make_node("Add", ["outside", "k"], ["t"])], "b", [], [helper.make_tensor_value_info("t", 1, None)],
        [numpy_helper.from_array(np.zeros(1, np.float32), "k")],
    )  # fmt: skip
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    assert names_read(node) == {"c", "outside"}
