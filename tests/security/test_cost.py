"""Files of a few kilobytes to a megabyte that ask for much: each ends soon, compiled or refused with a reason."""

import itertools
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")
SECONDS = 60  # a usual run takes one or two: the machine may be busy


def model(
    nodes: list[onnx.NodeProto],
    dims: list[int | str] | None = None,
    constants: dict[str, np.ndarray] | None = None,
    functions: list[onnx.FunctionProto] | None = None,
    opset: int = 18,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4] if dims is None else dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions or [])


def chain(operator: str, count: int) -> onnx.ModelProto:
    names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
    return model([helper.make_node(operator, [a], [b]) for a, b in itertools.pairwise(names)])


def many_inputs(operator: str, count: int, *, constant: bool = False) -> onnx.ModelProto:
    if constant:
        names = [f"c{i}" for i in range(count)]
        return model(
            [helper.make_node(operator, names, ["s"]), helper.make_node("Add", ["x", "s"], ["y"])], None,
            {name: np.full(4, i % 7, np.float32) for i, name in enumerate(names)},
        )  # fmt: skip
    return model([helper.make_node(operator, ["x"] * count, ["y"])])


def many_uses(count: int) -> onnx.ModelProto:
    """One value with many uses, each by a node that nothing else needs but a sum of all."""
    nodes = [helper.make_node("Identity", ["x"], [f"v{i}"]) for i in range(count)]
    return model([*nodes, helper.make_node("Sum", [f"v{i}" for i in range(count)], ["y"])])


def doubling(depth: int) -> onnx.ModelProto:
    """Function i calls function i - 1 twice."""
    functions = []
    for i in range(depth):
        inner, domain = ("Relu", "") if i == 0 else (f"f{i - 1}", "own")
        nodes = [
            helper.make_node(inner, ["a"], ["b"], domain=domain),
            helper.make_node(inner, ["b"], ["c"], domain=domain),
        ]
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        functions.append(helper.make_function("own", f"f{i}", ["a"], ["c"], nodes, imports))
    return model([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="own")], None, None, functions)


def folded(count: int, size: int) -> onnx.ModelProto:
    """Products of constants, each computed at compile time."""
    nodes = [helper.make_node("Mul", ["a", "a" if i == 0 else f"p{i - 1}"], [f"p{i}"]) for i in range(count)]
    last = helper.make_node("Add", ["x", f"p{count - 1}"], ["y"])
    return model([*nodes, last], [size], {"a": np.ones(size, np.float32)})


def unsqueeze(count: int) -> onnx.ModelProto:
    return model([helper.make_node("Unsqueeze", ["x"], ["y"], axes=list(range(count)))], opset=11)


def broadcasts(count: int) -> onnx.ModelProto:
    """Sums of three vectors whose lengths are not known to agree, again and again."""
    nodes = [
        helper.make_node("Add", ["x" if i == 0 else f"s{i - 1}", "abc"[i % 3]], ["y" if i == count - 1 else f"s{i}"])
        for i in range(count)
    ]
    built = model(nodes, ["N"])
    built.graph.input.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, [n.upper()]) for n in "abc")
    return built


def attentions(count: int) -> onnx.ModelProto:
    """Layers whose query, keys and mask have batches and lengths of their own: each may broadcast with any other."""
    nodes = []
    for i in range(count):
        query, keys = ("x", "k") if i == 0 else (f"h{i - 1}", f"h{i - 1}")
        nodes += [
            helper.make_node("Transpose", [keys], [f"t{i}"], perm=[0, 2, 1]),
            helper.make_node("MatMul", [query, f"t{i}"], [f"s{i}"]),
            helper.make_node("Add", [f"s{i}", "m"], [f"z{i}"]),
            helper.make_node("Softmax", [f"z{i}"], [f"p{i}"]),
            helper.make_node("MatMul", [f"p{i}", keys], [f"o{i}"]),
            helper.make_node("Add", [f"o{i}", query], ["y" if i == count - 1 else f"h{i}"]),
        ]
    built = model(nodes, ["B", "S", "E"])
    for name, dims in {"k": ["C", "S2", "E"], "m": ["D", "S3", "S4"]}.items():
        built.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
    return built


def merged_rows(count: int) -> onnx.ModelProto:
    """Sums with tensors of another batch and length; after each the rows of all batches become one batch: each size is
    a product of sizes that were broadcast, and is broadcast again."""
    nodes = []
    for i in range(count):
        nodes += [
            helper.make_node("Add", ["x" if i == 0 else f"h{i - 1}", "k"], [f"a{i}"]),
            helper.make_node("Reshape", [f"a{i}", "rows"], [f"f{i}"]),
            helper.make_node("Unsqueeze", [f"f{i}", "first"], [f"u{i}"]),
            helper.make_node("Add", [f"u{i}", "m"], ["y" if i == count - 1 else f"h{i}"]),
        ]
    built = model(nodes, ["B", "S", 4], {"rows": np.array([-1, 4]), "first": np.array([0])})
    for name, dims in {"k": ["C", "S2", 4], "m": ["D", "S3", 4]}.items():
        built.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
    return built


def windows(count: int, *, size: bool = False) -> onnx.ModelProto:
    """Sizes that are padded to windows of other sizes, halved, cut and joined with other sizes, until expressions of
    them are too large and a run computes the rest. The last one is a number, or the length of the output."""
    constants = {f"c{n}": np.array([n]) for n in (2, 3, 5, 7, 11)}
    nodes = [helper.make_node("Shape", [name], [f"n{name}"]) for name in "xabc"]
    last = "nx"
    for i in range(count):
        window, other, further = f"c{(3, 5, 7, 11)[i % 4]}", f"n{'abc'[i % 3]}", f"n{'abc'[(i + 1) % 3]}"
        nodes += [
            helper.make_node("Min", [last, other], [f"m{i}"]),
            helper.make_node("Sub", [last, further], [f"d{i}"]),
            helper.make_node("Max", [f"d{i}", other], [f"l{i}"]),
            helper.make_node("Add", [f"m{i}", f"l{i}"], [f"s{i}"]),
            helper.make_node("Mod", [f"s{i}", window], [f"r{i}"]),
            helper.make_node("Add", [f"s{i}", f"r{i}"], [f"p{i}"]),
            helper.make_node("Div", [f"p{i}", f"c{2 + i % 2}"], [f"h{i}"]),
        ]
        last = f"h{i}"
    if size:
        nodes += [helper.make_node("ConstantOfShape", [last], ["zeros"]), helper.make_node("Neg", ["zeros"], ["y"])]
    else:
        nodes.append(helper.make_node("Cast", [last], ["f"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Add", ["x", "f"], ["y"]))
    built = model(nodes, ["N"], constants)
    built.graph.input.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, [n.upper()]) for n in "abc")
    return built


# For each case: the model, the options, the exit code, and words that the error must have.
CASES: dict[str, tuple[Callable[[], onnx.ModelProto], tuple[str, ...], int, bytes]] = {
    "relu": (lambda: chain("Relu", 10_000), ("--dump-shapes",), 0, b""),
    "sin": (lambda: chain("Sin", 2_000), ("--emit", "ir", "-o", "out"), 0, b""),
    "unknown": (lambda: chain("Unknown", 20_000), ("-o", "out"), 1, b"20000 nodes cannot be compiled"),
    "sum": (lambda: many_inputs("Sum", 20_000), ("--emit", "ir", "-o", "out"), 0, b""),
    "sum of constants": (lambda: many_inputs("Sum", 20_000, constant=True), ("--emit", "ir", "-o", "out"), 0, b""),
    "maximum": (lambda: many_inputs("Max", 2_000), ("-o", "out"), 0, b""),
    "mean": (lambda: many_inputs("Mean", 3_000), ("-o", "out"), 0, b""),
    "uses": (lambda: many_uses(10_000), ("--emit", "ir", "-o", "out"), 0, b""),
    "doubling": (lambda: doubling(30), ("-o", "out", "--max-nodes", "100000"), 1, b"--max-nodes"),
    "doubling names": (lambda: doubling(14), ("--dump-shapes",), 0, b""),
    "folded": (lambda: folded(2_000, 300_000), ("--emit", "ir", "-o", "out"), 0, b""),
    "unsqueeze": (lambda: unsqueeze(100_000), ("--dump-shapes",), 1, b"100000 axes are added"),
    "remainders": (lambda: model([helper.make_node("Relu", ["x"], ["y"])], ["*".join(["((N//2)%3)"] * 12)]),
                   ("--dump-shapes",), 0, b""),
    "broadcasts": (lambda: broadcasts(100), ("--emit", "ir", "-o", "out"), 0, b""),
    "attentions": (lambda: attentions(24), ("--emit", "ir", "-o", "out"), 0, b""),
    "merged rows": (lambda: merged_rows(12), ("--emit", "ir", "-o", "out"), 0, b""),
    "windows": (lambda: windows(40), ("--emit", "ir", "-o", "out"), 0, b""),
    "size of windows": (lambda: windows(40, size=True), ("--emit", "ir", "-o", "out"), 0, b""),
    "auto_pad": (lambda: model([helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="A" * 3_000_000)], [1, 1, 4],
                               {"w": np.ones((1, 1, 1), np.float32)}),
                 ("-o", "out"), 1, b"SAME_LOWER, VALID, found 'AAA"),
    "perm": (
        lambda: model([helper.make_node("Transpose", ["x"], ["y"], perm=range(1_000_000))]), ("-o", "out"), 1, b"'perm'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cost(tmp_path: Path, name: str) -> None:
    build, options, code, says = CASES[name]
    (tmp_path / "model.onnx").write_bytes(build().SerializeToString())
    start = time.monotonic()
    done = subprocess.run(
        [BINARIES / "onnxc", "model.onnx", *options], cwd=tmp_path, capture_output=True, check=False, timeout=SECONDS
    )
    print(f"{name}: {time.monotonic() - start:.1f} s")
    assert done.returncode == code, done.stderr[:2000]
    assert says in done.stderr
    assert len(done.stderr) < 40_000, "what an error says is for people"
    if code == 0:
        assert done.stderr == b"" or b"error" not in done.stderr


def test_many_inputs_are_joined_in_their_order(tmp_path: Path) -> None:
    """(1 + 2^24) - 2^24 and so on: another order would give another sum."""
    numbers = np.array([2.0**24, 1, -(2.0**24), 3] * 40, np.float32)
    nodes = [helper.make_node("Sum", ["x", *(f"c{i}" for i in range(len(numbers)))], ["y"])]
    constants = {f"c{i}": np.full(4, number, np.float32) for i, number in enumerate(numbers)}
    (tmp_path / "model.onnx").write_bytes(model(nodes, None, constants).SerializeToString())
    subprocess.run([BINARIES / "onnxc", "model.onnx", "-o", "model.so", "-q"], cwd=tmp_path, check=True)
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    subprocess.run(
        [BINARIES / "onnxc-run", "model.so", "--input", "x=x.npy", "--output", "out"], cwd=tmp_path, check=True,
        capture_output=True,
    )  # fmt: skip
    expected = np.arange(4, dtype=np.float32)
    for number in numbers:
        expected = expected + np.float32(number)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), expected)
