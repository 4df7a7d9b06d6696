"""Sizes that only a run knows: one compile, many values, against onnxruntime.

A session keeps what it planned while the sizes stay, so the values come in an order in which they grow, shrink, repeat
and are 0. Values that the data may not have are refused with the node and the values, and the session goes on.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from models.tensor_files import Array
from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.compare import mismatch
from tests.onnxruntime_sessions import open_session

OPSET = 20
TYPES = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL, "u": TensorProto.UINT8}
Feeds = Mapping[str, Array]

pytestmark = pytest.mark.usefixtures("commands")


# For each input: the letter of its type, and its dims.
Inputs = Mapping[str, tuple[str, Sequence[int | str]]]


def node(text: str, **attributes: Any) -> onnx.NodeProto:
    """A node from "y z = Operator(a, b)"; its name is its first output's."""
    outputs, call = text.split(" = ")
    operator, arguments = call.rstrip(")").split("(")
    names = outputs.split()
    return helper.make_node(
        operator, [each.strip() for each in arguments.split(",")], names, name=names[0], **attributes
    )


def build(
    nodes: Sequence[onnx.NodeProto],
    inputs: Inputs,
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "run_time_dims",
        [helper.make_tensor_value_info(name, TYPES[kind], dims) for name, (kind, dims) in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {
        value.name: value.type.tensor_type.elem_type for value in (*inferred.graph.value_info, *inferred.graph.output)
    }
    for output in model.graph.output:
        output.type.CopyFrom(helper.make_tensor_type_proto(types[output.name], None))
    return model


@contextmanager
def on_the_simulator() -> Iterator[None]:
    """For what asks for a GPU: buffers are apart and begin as NaN."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
        patch.setenv("ONNXC_POISON", "1")
        yield


def check_runs(
    model: onnx.ModelProto, folder: Path, runs: Sequence[Feeds], options: Sequence[str] = (), tolerance: float = 0
) -> None:
    onnx.save(model, folder / "model.onnx")
    session = open_session(model, optimized=False, threads=1)
    names = [output.name for output in model.graph.output]
    shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *options)
    with on_the_simulator(), InferenceSession(shared_object, device="hip" if "hip" in options else "cpu") as compiled:
        for run, feeds in enumerate([*runs, runs[0]]):
            for name, result, expected in zip(names, compiled.run(None, feeds), session.run(None, feeds), strict=True):
                assert result.dtype == expected.dtype
                difference = mismatch(result, expected, tolerance)
                assert difference is None, f"run {run}, output {name}: {difference}"


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(list(shape)).integers(-4, 5, shape).astype(np.float32)


LEVELS = [
    pytest.param((), id="default"),
    pytest.param(("-O0",), id="O0"),
    pytest.param(("--target", "hip"), id="gpu"),
]

RESHAPED: Inputs = {"x": ("f", ["A", "B", "C"]), "shape": ("i", [3])}
# x, and shapes that its elements can take.
RESHAPES = (
    ((2, 3, 4), ((-1, 0, 2), (4, 3, 2), (0, 0, 0), (24, 1, 1), (0, -1, 1), (2, 3, -1), (1, 1, 24))),
    ((6, 5, 1), ((0, 0, 0), (-1, 1, 3), (6, 0, 1), (1, -1, 0), (30, 1, 1))),
    ((1, 1, 1), ((0, -1, 0), (1, 1, 1), (-1, 0, 0))),
)  # fmt: skip


@pytest.mark.parametrize("options", LEVELS)
def test_reshape_by_an_input(tmp_path: Path, options: Sequence[str]) -> None:
    model = build(
        [node("y = Reshape(x, shape)"), node("z = Relu(y)"), node("s = ReduceSum(z, last)"), node("d = Shape(y)")],
        RESHAPED,
        ["y", "z", "s", "d"],
        {"last": ints(2)},
    )
    runs = [{"x": numbers(*dims), "shape": ints(*to)} for dims, shapes in RESHAPES for to in shapes]
    check_runs(model, tmp_path, runs, options)


def test_reshape_that_keeps_zeros(tmp_path: Path) -> None:
    model = build([node("y = Reshape(x, shape)", allowzero=1), node("z = Neg(y)")], RESHAPED, ["y", "z"])
    runs = [
        {"x": numbers(0, 3, 4), "shape": ints(0, 7, 2)},
        {"x": numbers(2, 3, 4), "shape": ints(4, -1, 2)},
        {"x": numbers(2, 0, 4), "shape": ints(5, 3, 0)},
        {"x": numbers(2, 3, 4), "shape": ints(1, 24, 1)},
    ]
    check_runs(model, tmp_path, runs)


@pytest.mark.parametrize("options", LEVELS)
def test_reshape_by_sizes_that_are_zero(tmp_path: Path, options: Sequence[str]) -> None:
    """A size that is 0 in a run copies the input's dim (ONNX Reshape 14, allowzero 0)."""
    heads = {"first": [0], "last": [2], "reversed": [2, 1]}
    nodes, outputs = [node("sizes = Shape(x)")], []
    for name in heads:
        nodes += [
            node(f"{name}_sizes = Gather(sizes, {name}_axes)"),
            node(f"{name}_open = Concat({name}_sizes, rest)", axis=0),
            node(f"open_{name} = Concat(rest, {name}_sizes)", axis=0),
            node(f"{name}_y = Reshape(x, {name}_open)"),
            node(f"y_{name} = Reshape(x, open_{name})"),
        ]
        outputs += [f"{name}_y", f"y_{name}"]
    model = build(
        nodes,
        {"x": ("f", ["A", "B", "C"])},
        outputs,
        {"rest": ints(-1), **{f"{name}_axes": ints(*axes) for name, axes in heads.items()}},
    )
    check_runs(model, tmp_path, [{"x": numbers(2, 3, 0)}, {"x": numbers(2, 3, 4)}, {"x": numbers(5, 1, 0)}], options)


@pytest.mark.parametrize("options", LEVELS)
def test_reshape_by_a_product_of_sizes_that_is_zero(tmp_path: Path, options: Sequence[str]) -> None:
    """The expression for -1 stays short: SwinUNETR's windows were refused as too long an expression."""
    model = build(
        [
            node("sizes = Shape(x)"),
            node("a b c = Split(sizes, ones)"),
            node("bc = Mul(b, c)"),
            node("shape = Concat(rest, bc, one)", axis=0),
            node("y = Reshape(x, shape)"),
        ],
        {"x": ("f", ["A", "B", "C"])},
        ["y"],
        {"ones": ints(1, 1, 1), "rest": ints(-1), "one": ints(1)},
    )
    check_runs(model, tmp_path, [{"x": numbers(2, 3, 4)}, {"x": numbers(2, 3, 0)}, {"x": numbers(0, 3, 1)}], options)
    [y] = onnxc_commands.dump_shapes(tmp_path / "model.onnx", tmp_path / "shapes.json")["outputs"]
    assert y["dims"][0] == "A*min(B, C, 1)"


def test_sizes_that_are_zero_and_cannot_be_copied(tmp_path: Path) -> None:
    """Where 64 features shall stay 64, or the copy is 0 itself, the run is refused."""
    model = build(
        [
            node("sizes = Shape(x)"),
            node("step batch = Split(sizes, ones)"),
            node("rows = Mul(step, batch)"),
            node("shape = Concat(rows, rest)", axis=0),
            node("y = Reshape(features, shape)"),
        ],
        {"x": ("f", ["T", "B"]), "features": ("f", ["T", "B", 64])},
        ["y"],
        {"ones": ints(1, 1), "rest": ints(-1)},
    )
    onnx.save(model, tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        [y] = session.run(None, {"x": numbers(2, 3), "features": numbers(2, 3, 64)})
        assert np.array_equal(y, numbers(2, 3, 64).reshape(6, 64))
        with pytest.raises(RunError, match=r"dim 0 of the new shape would be 0, which means a copy of the input's"):
            session.run(None, {"x": numbers(2, 0), "features": numbers(2, 0, 64)})


@pytest.mark.parametrize("options", LEVELS)
def test_steps_of_a_slice(tmp_path: Path, options: Sequence[str]) -> None:
    model = build(
        [node("part = Slice(x, begin, end, axes, steps)"), node("y = Neg(part)"), node("s = Shape(part)")],
        {"x": ("f", ["A", "B"]), **{name: ("i", [2]) for name in ("begin", "end", "steps")}},
        ["y", "s"],
        {"axes": ints(1, -2)},
    )
    generator, runs = np.random.default_rng(5), []
    for _ in range(60):
        begin, end = generator.integers(-8, 9, (2, 2))
        steps = generator.choice(np.array([-(2**63), -3, -2, -1, 1, 2, 3, 2**62]), 2)
        runs.append({"x": numbers(*generator.integers(0, 7, 2)), "begin": begin, "end": end, "steps": steps})
    check_runs(model, tmp_path, runs, options)


def test_a_step_of_zero(tmp_path: Path) -> None:
    model = build(
        [node("y = Slice(x, begin, end, begin, steps)")],
        {"x": ("f", ["A"]), **{name: ("i", [1]) for name in ("begin", "end", "steps")}},
        ["y"],
    )
    onnx.save(model, tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        feeds = {"x": numbers(5), "begin": ints(0), "end": ints(5)}
        with pytest.raises(RunError, match=r"a step may not be 0"):
            session.run(None, {**feeds, "steps": ints(0)})
        [y] = session.run(None, {**feeds, "steps": ints(2)})
        assert np.array_equal(y, numbers(5)[::2])


def test_refused_reshapes(tmp_path: Path) -> None:
    model = build([node("y = Reshape(x, shape)"), node("z = Neg(y)")], RESHAPED, ["z"])
    onnx.save(model, tmp_path / "model.onnx")
    x = numbers(2, 3, 4)
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        for shape in (
            (-1, -1, 2),
            (5, 5, 1),
            (-2, 3, 4),
            (5, -1, 2),
            (2**40, 2**40, 1),
            (2**62, 4, 6),
            (-(2**63), 1, 1),
        ):
            with pytest.raises(RunError, match=r"node .?'?y'? \(Reshape\).*shape_0 = "):
                session.run(None, {"x": x, "shape": ints(*shape)})
            [z] = session.run(None, {"x": x, "shape": ints(4, 0, 2)})
            assert np.array_equal(z, -x.reshape(4, 3, 2))
        assert session.symbol_values() == {
            "A": 2, "B": 3, "C": 4, "shape_0": 4, "shape_1": 0, "shape_2": 2, "y_dim0": 4, "y_dim1": 3, "y_dim2": 2,
        }  # fmt: skip


def test_one_name_for_two_sizes(tmp_path: Path) -> None:
    """A dim_param of two inputs is one size; a run that gives two is refused, and so are dims past 2**63."""
    model = build(
        [node("y = ConstantOfShape(dims)"), node("z = Add(a, b)")],
        {"a": ("f", ["N", 2]), "b": ("f", ["N", 2]), "dims": ("i", [2])},
        ["y", "z"],
    )
    onnx.save(model, tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        with pytest.raises(RunError, match=r"dim 0 of input .?b.? must be N"):
            session.run(None, {"a": numbers(2, 2), "b": numbers(3, 2), "dims": ints(1, 1)})
        good = {"a": numbers(3, 2), "b": numbers(3, 2)}
        for dims, reason in (((-1, 2), "ConstantOfShape.*dims_0 = -1"), ((2**32, 2**32), "63 bits")):
            with pytest.raises(RunError, match=reason):
                session.run(None, {**good, "dims": ints(*dims)})
        y, z = session.run(None, {**good, "dims": ints(2, 3)})
        assert np.array_equal(y, np.zeros((2, 3), np.float32))
        assert np.array_equal(z, good["a"] + good["b"])


@pytest.mark.slow
def test_more_than_2_31_elements(tmp_path: Path) -> None:
    model = build(
        [node("flat = Reshape(x, shape)"), node("y = Slice(flat, begin, end)"), node("n = Size(x)")],
        {"x": ("u", ["A", "B"]), "shape": ("i", [1])},
        ["y", "n"],
        {"begin": ints(-5), "end": ints(2**62)},
    )
    onnx.save(model, tmp_path / "model.onnx")
    rows = 2**16 + 3
    x = np.zeros((rows, 2**15), np.uint8)
    x[-1, -5:] = [1, 2, 3, 4, 5]
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        y, n = session.run(None, {"x": x, "shape": ints(-1)})
    assert list(y) == [1, 2, 3, 4, 5]
    assert n == x.size > 2**31


@pytest.mark.parametrize("options", LEVELS)
def test_sizes_from_data(tmp_path: Path, options: Sequence[str]) -> None:
    """Each operator that takes a size from a tensor, fed by an input."""
    model = build(
        [
            node("ranged = Range(start, limit, delta)"),
            node("real = Range(zero, top, tenth)"),
            node("expanded = Expand(x, shape)"),
            node("sliced = Slice(x, begin, end, axes, step)"),
            node("reversed = Slice(x, end, begin, axes, back)"),
            node("padded = Pad(x, pads)"),
            node("mirrored = Pad(x, pads)", mode="edge"),
            node("tiled = Tile(x, repeats)"),
            node("left right = Split(x, parts)", axis=1),
            node("hot = OneHot(indices, depth, values)"),
            node("filled = ConstantOfShape(shape)"),
            node("joined = Concat(sliced, padded)", axis=0),
            node("count = ReduceSum(tiled)", keepdims=0),
        ],
        {
            "x": ("f", ["A", "B"]), "start": ("i", []), "limit": ("i", []), "delta": ("i", []), "top": ("f", []),
            "shape": ("i", [2]), "begin": ("i", [1]), "end": ("i", [1]), "pads": ("i", [4]), "repeats": ("i", [2]),
            "parts": ("i", [2]), "depth": ("i", []), "indices": ("i", ["K"]),
        },
        ["ranged", "real", "expanded", "sliced", "reversed", "padded", "mirrored", "tiled", "left", "right", "hot",
         "filled", "joined", "count"],
        {"axes": ints(0), "step": ints(2), "back": ints(-1), "zero": np.array(0, np.float32),
         "tenth": np.array(0.1, np.float32), "values": np.array([0, 1], np.float32)},
    )  # fmt: skip
    runs = []
    for a, b, start, limit, delta, top, begin, end, pads, repeats, left, depth in (
        (3, 4, 0, 10, 3, 1.0, 0, 3, (0, 0, 0, 0), (1, 1), 1, 3),
        (5, 2, 10, -3, -4, 0.35, -4, -1, (1, 2, 0, -2), (2, 3), 0, 1),
        (1, 6, 5, 5, 1, 0.0, -100, 100, (2, 0, 3, 0), (0, 1), 6, 9),
        (7, 1, -2, 3, 7, 2.05, 5, 2, (3, 0, 1, 0), (1, 2), 1, 4),
        (7, 1, -2, 3, 7, 2.05, 2**62, -(2**63), (3, 0, 1, 0), (1, 2), 0, 4),
        (7, 1, 0, 100, 1, 2.05, -3, 2**63 - 1, (3, 0, 1, 0), (3, 2), 0, 4),
    ):  # fmt: skip
        runs.append(
            {
                "x": numbers(a, b), "start": np.array(start), "limit": np.array(limit), "delta": np.array(delta),
                "top": np.array(top, np.float32), "shape": ints(a if a > 1 else 4, b), "begin": ints(begin),
                "end": ints(end), "pads": ints(pads[0], 0, pads[2], 0), "repeats": ints(*repeats),
                "parts": ints(left, b - left), "depth": np.array(depth), "indices": ints(0, 2, -1, 5),
            }
        )  # fmt: skip
    check_runs(model, tmp_path, runs, options, tolerance=1e-6)


def test_resize_by_sizes_of_an_input(tmp_path: Path) -> None:
    model = build(
        [node("y = Resize(x, , , sizes)", mode="linear"), node("z = Resize(x, , , sizes)", mode="nearest")],
        {"x": ("f", ["N", 2, "H", "W"]), "sizes": ("i", [4])},
        ["y", "z"],
    )
    runs = [
        {"x": numbers(n, 2, h, w), "sizes": ints(n, 2, *to)}
        for (n, h, w), to in (((1, 4, 5), (8, 10)), ((2, 3, 3), (1, 7)), ((1, 6, 2), (3, 2)), ((1, 6, 2), (17, 2)))
    ]
    check_runs(model, tmp_path, runs, tolerance=1e-5)


@pytest.mark.parametrize("options", LEVELS)
def test_chosen_elements(tmp_path: Path, options: Sequence[str]) -> None:
    """Rows chosen by their value, and a network that goes on with them."""
    model = build(
        [
            node("places = NonZero(x)"),
            node("columns = Transpose(places)"),
            node("picked = GatherND(x, columns)"),
            node("doubled = Add(picked, picked)"),
            node("rows = Compress(x, which)", axis=0),
            node("flat = Compress(x, which)"),
            node("product = MatMul(rows, weights)"),
            node("relu = Relu(product)"),
            node("both = Concat(relu, rows)", axis=1),
            node("count = Shape(rows)"),
            node("u ui uv uc = Unique(x)"),
            node("v vi vv vc = Unique(x)", sorted=0),
            node("w wi wv wc = Unique(x)", axis=0),
            node("r ri rv rc = Unique(x)", axis=1, sorted=0),
            node("top where = TopK(x, k)", axis=0),
            node("low at = TopK(x, k)", axis=0, largest=0),
        ],
        {"x": ("f", ["A", 3]), "which": ("b", ["B"]), "k": ("i", [1])},
        ["places", "picked", "doubled", "rows", "flat", "product", "both", "count", "u", "ui", "uv", "uc", "v", "vi",
         "vv", "vc", "w", "wi", "wv", "wc", "r", "ri", "rv", "rc", "top", "where", "low", "at"],
        {"weights": numbers(3, 5)},
    )  # fmt: skip
    runs = []
    for rows, k, seed in ((4, 2, 0), (9, 9, 1), (1, 0, 2), (33, 5, 3), (33, 7, 4), (33, 7, 5), (2, 1, 6)):
        generator = np.random.default_rng(seed)
        x = generator.integers(-1, 2, (rows, 3)).astype(np.float32)
        runs.append({"x": x, "which": generator.integers(0, 2, rows).astype(bool), "k": ints(k)})
    runs.append({"x": np.zeros((3, 3), np.float32), "which": np.zeros(3, bool), "k": ints(1)})
    check_runs(model, tmp_path, runs, options, tolerance=1e-6)


def test_unique_booleans(tmp_path: Path) -> None:
    model = build(
        [node("y first inverse counts = Unique(x)")], {"x": ("b", ["N"])}, ["y", "first", "inverse", "counts"]
    )
    onnx.save(model, tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        for x in ([True, False, True, True], [False, False], [True]):
            found = session.run(None, {"x": np.array(x)})
            expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
            assert [one.tolist() for one in found] == [one.tolist() for one in expected]


def test_refused_k(tmp_path: Path) -> None:
    model = build([node("y i = TopK(x, k)")], {"x": ("f", ["N"]), "k": ("i", [1])}, ["y", "i"])
    onnx.save(model, tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        for k in (-1, 6):
            with pytest.raises(RunError, match=rf"node 'y'.*K .*k_0 = {k}"):
                session.run(None, {"x": numbers(5), "k": ints(k)})


def test_dump_names_what_a_run_decides(tmp_path: Path) -> None:
    model = build(
        [node("places = NonZero(x)"), node("y = Reshape(x, shape)")],
        {"x": ("f", ["A", 4]), "shape": ("i", [2])},
        ["places", "y"],
    )
    onnx.save(model, tmp_path / "model.onnx")
    dump = onnxc_commands.dump_shapes(tmp_path / "model.onnx", tmp_path / "shapes.json")
    assert [output["dims"] for output in dump["outputs"]] == [[2, "places_dim1"], ["y_dim0", "y_dim1"]]
    assert [each["symbol"] for each in dump["run_time"]] == ["places_dim1", "shape_0", "shape_1", "y_dim0", "y_dim1"]
    assert dump["run_time"][0]["reason"] == "node 'places' (NonZero): dim 1 of the output"
