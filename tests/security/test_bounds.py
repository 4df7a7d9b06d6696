"""A compiled model reads only its tensors: operators whose dims are free, given sizes that do not fit each other.

Each operator is compiled once, every dim a symbol of its own, and run with sizes that mean something, which must give
what onnxruntime gives. It is also run with sizes that do not, which must be refused with the node's name before a
kernel runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

pytestmark = pytest.mark.usefixtures("commands")

TYPES = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL, "u": TensorProto.UINT8}
KINDS = {"f": np.float32, "i": np.int64, "b": np.bool_, "u": np.uint8}


@dataclass(frozen=True)
class Free:
    """An operator on inputs of free dims: for each the letter of its type and its rank, or its dims if some are known
    (-1: free), or an array that is constant."""

    operator: str
    inputs: Sequence[tuple[str, int | Sequence[int]] | Array]
    fits: Sequence[Sequence[Any]]  # shapes (of numbers 0, 1, 0, ...) or arrays, of the inputs that are not constant
    refused: Sequence[Sequence[Any]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 20

    def build(self) -> onnx.ModelProto:
        names = [f"x{i}" for i in range(len(self.inputs))]
        inputs, constants = [], []
        for name, given in zip(names, self.inputs, strict=True):
            if isinstance(given, tuple):
                known = [-1] * given[1] if isinstance(given[1], int) else given[1]
                dims = [f"{name}_{axis}" if dim < 0 else dim for axis, dim in enumerate(known)]
                inputs.append(helper.make_tensor_value_info(name, TYPES[given[0]], dims))
            else:
                constants.append(numpy_helper.from_array(given, name))
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, name="culprit", **self.attributes)
        infos = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph([node], "free", inputs, infos, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        inferred = onnx.shape_inference.infer_shapes(model)
        for output, known in zip(model.graph.output, inferred.graph.output, strict=True):
            output.type.CopyFrom(helper.make_tensor_type_proto(known.type.tensor_type.elem_type, None))
        return model

    def feeds(self, values: Sequence[Any]) -> dict[str, Array]:
        free = [(f"x{i}", given[0]) for i, given in enumerate(self.inputs) if isinstance(given, tuple)]
        result: dict[str, Array] = {}
        for (name, kind), given in zip(free, values, strict=True):
            if isinstance(given, np.ndarray):
                result[name] = given
            else:
                count = int(np.prod(given))
                numbers = np.random.default_rng(count).permutation(count) if kind == "f" else np.arange(count) % 2
                result[name] = numbers.reshape(given).astype(KINDS[kind])
        return result


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


F1, F2, F3, F4 = (("f", rank) for rank in (1, 2, 3, 4))
I1, I2 = ("i", 1), ("i", 2)
U1, U2, U3 = (("u", rank) for rank in (1, 2, 3))
# As many numbers as are named, whose values only a run knows.
I_OF_1, I_OF_2 = ("i", [1]), ("i", [2])
NOTHING = np.zeros(0, np.float32)
HALVES = np.full(4, 0.5, np.float32)


def recurrent_weights(gates: int, hidden: int = 6, inputs: int = 4) -> list[Array]:
    """W and R of one direction."""
    generator = np.random.default_rng(gates)
    return [generator.standard_normal((1, gates * hidden, of)).astype(np.float32) * 0.3 for of in (inputs, hidden)]


CASES = {
    "lstm": Free(
        "LSTM",
        [F3, *recurrent_weights(4)],
        [[(5, 3, 4)], [(1, 1, 4)]],
        [[(5, 3, 5)], [(5, 3, 1)]],
        {"hidden_size": 6},
        3,
    ),
    "gru": Free(
        "GRU",
        [F3, *recurrent_weights(3), np.zeros((1, 36), np.float32), np.array([2, 5, 3], np.int32), F3],
        [[(5, 3, 4), (1, 3, 6)]],
        [[(5, 2, 4), (1, 2, 6)], [(5, 3, 4), (1, 1, 6)], [(5, 3, 4), (1, 3, 5)]],
        {"hidden_size": 6},
        2,
    ),
    "quantize_axis": Free("QuantizeLinear", [F2, F1], [[(3, 4), HALVES]], [[(3, 4), (3,)], [(3, 4), (0,)]]),
    "quantize_blocks": Free(
        "QuantizeLinear",
        [F2, F2],
        [[(3, 4), HALVES[:3, None] + HALVES[:2]]],
        [[(3, 4), (3, 3)], [(3, 4), (2, 2)]],
        {"axis": 1, "block_size": 2},
        opset=21,
    ),
    "matmul_integer": Free(
        "MatMulInteger", [U2, U2], [[(2, 3), (3, 4)]], [[(2, 3), (2, 4)], [(2, 3), (1, 4)]]
    ),
    "conv_integer": Free(
        "ConvInteger",
        [U3, np.ones((4, 2, 3), np.uint8), ("u", 0)],
        [[(1, 2, 8), np.array(1, np.uint8)]],
        [[(1, 3, 8), np.array(1, np.uint8)]],
    ),
    "reduce_axes": Free(
        "ReduceSum",
        [F2, I_OF_1],
        [[(2, 3), ints(1)], [(2, 3), ints(-2)], [(0, 3), ints(0)], [(0, 3), ints(1)]],
        [[(2, 3), ints(2)], [(2, 3), ints(-3)]],
    ),
    "reduce_axes_dropped": Free(
        "ReduceMax",
        [F3, I_OF_2],
        [[(2, 3, 4), ints(0, -1)], [(2, 3, 4), ints(2, 1)], [(2, 3, 4), ints(-3, 1)]],
        [[(2, 3, 4), ints(1, 1)], [(2, 3, 4), ints(0, 3)]],
        {"keepdims": 0},
    ),
    "cum_sum_axis": Free(
        "CumSum", [F2, ("i", 0)], [[(2, 3), np.array(-1)], [(2, 3), np.array(0)]], [[(2, 3), np.array(2)]]
    ),
    "squeeze_of_ones": Free(
        "Squeeze", [("f", (-1, 1, -1))], [[(2, 1, 3)], [(5, 1, 2)], [(0, 1, 3)]], [[(1, 1, 3)], [(2, 1, 1)]]
    ),
    "squeeze_axes": Free(
        "Squeeze", [F3, I_OF_1], [[(2, 1, 3), ints(1)], [(2, 3, 1), ints(-1)]], [[(2, 1, 3), ints(0)]]
    ),
    "unsqueeze_axes": Free(
        "Unsqueeze", [F2, I_OF_2], [[(2, 3), ints(-1, 0)], [(2, 3), ints(1, 2)]], [[(2, 3), ints(4, 0)]]
    ),
    "slice_axes": Free(
        "Slice",
        [F2, *[I_OF_1] * 4],
        [
            [(4, 5), ints(3), ints(-100), ints(0), ints(-2)],
            [(4, 5), ints(-4), ints(2**62), ints(-1), ints(3)],
            [(4, 5), ints(9), ints(1), ints(1), ints(-1)],
            [(4, 5), ints(0), ints(4), ints(1), ints(2**62)],
        ],
        [
            [(4, 5), ints(0), ints(1), ints(0), ints(0)],
            [(4, 5), ints(0), ints(1), ints(2), ints(1)],
            [(4, 5), ints(0), ints(1), ints(-3), ints(1)],
        ],
    ),
    "pad_axes": Free(
        "Pad",
        [F2, I_OF_2, np.array(7, np.float32), I_OF_1],
        [[(2, 3), ints(1, 2), ints(1)], [(2, 3), ints(0, -1), ints(-2)]],
        [[(2, 3), ints(1, 2), ints(2)], [(2, 3), ints(-2, -1), ints(0)]],
    ),
    "rotary": Free(
        "RotaryEmbedding",
        [F4, F3, F3],
        [[(2, 2, 3, 4), (2, 3, 2), (2, 3, 2)]],
        [
            [(2, 2, 3, 4), (2, 3, 3), (2, 3, 2)],
            [(2, 2, 3, 4), (2, 2, 2), (2, 3, 2)],
            [(2, 2, 3, 5), (2, 3, 2), (2, 3, 2)],
        ],
        opset=23,
    ),
    "rotary_heads": Free(
        "RotaryEmbedding",
        [F3, F2, F2, I2],
        [[(2, 3, 8), (5, 2), (5, 2), (2, 3)]],
        [[(2, 3, 9), (5, 2), (5, 2), (2, 3)], [(2, 3, 8), (0, 2), (5, 2), (2, 3)], [(2, 3, 8), (5, 2), (5, 2), (2, 4)]],
        {"num_heads": 2},
        opset=23,
    ),
    "rotary_part": Free(
        "RotaryEmbedding",
        [F4, F3, F3],
        [[(2, 2, 3, 6), (2, 3, 2), (2, 3, 2)]],
        [[(2, 2, 3, 3), (2, 3, 2), (2, 3, 2)]],
        {"rotary_embedding_dim": 4},
        opset=23,
    ),
    "gather": Free("Gather", [F2, I1], [[(3, 4), (2,)], [(0, 4), (0,)]], [[(0, 1000), (2,)]]),
    "gather_inner": Free("Gather", [F2, I2], [[(2, 3), (2, 2)]], [[(3, 0), (1, 2)]], {"axis": 1}),
    "gather_elements": Free(
        "GatherElements",
        [F2, I2],
        [[(3, 4), (3, 4)], [(3, 4), (2, 9)]],
        [[(2, 2), (3, 2)], [(3, 0), (3, 1)], [(0, 3), (1, 3)]],
        {"axis": 1},
    ),
    "gather_nd": Free("GatherND", [F2, np.zeros((2, 1), np.int64)], [[(3, 4)]], [[(0, 4)]]),
    "pad_edge": Free("Pad", [F2, ints(1, 0, 0, 2)], [[(2, 3)]], [[(0, 3)], [(3, 0)]], {"mode": "edge"}),
    "pad_reflect": Free("Pad", [F2, ints(1, 0, 1, 0)], [[(3, 3)]], [[(0, 3)]], {"mode": "reflect"}),
    "pad_wrap": Free("Pad", [F1, ints(1, 2)], [[(5,)]], [[(0,)]], {"mode": "wrap"}),
    "pad_wrap_cut": Free("Pad", [F1, ints(-2, 2)], [[(7,)]], [[(2,)]], {"mode": "wrap"}),
    "pad_wrap_cut_end": Free("Pad", [F1, ints(3, -1)], [[(7,)]], [[(1,)]], {"mode": "wrap"}),
    "pad_reflect_cut": Free("Pad", [F1, ints(-1, 2)], [[(7,)]], [[(0,)]], {"mode": "reflect"}),
    "pad_value": Free("Pad", [F1, ints(1, 1), F1], [[(3,), (1,)]], [[(3,), (0,)], [(3,), (2,)]]),
    "resize_sizes": Free(
        "Resize", [F2, NOTHING, NOTHING, ints(4, 5)], [[(2, 3)]], [[(0, 3)], [(2, 0)]], {"mode": "nearest"}
    ),
    "resize_linear": Free("Resize", [F2, NOTHING, NOTHING, ints(4, 5)], [[(2, 3)]], [[(2, 0)]], {"mode": "linear"}),
    "resize_cubic": Free("Resize", [F2, NOTHING, NOTHING, ints(4, 5)], [[(4, 3)]], [[(0, 3)]], {"mode": "cubic"}),
    "resize_scales": Free(
        "Resize",
        [F2, NOTHING, ("f", [2])],
        [[(2, 3), np.array([2, 0.5], np.float32)], [(0, 3), np.array([2, 1], np.float32)]],
        [[(2, 3), np.array([-1, 1], np.float32)], [(2, 3), np.array([1, -0.5], np.float32)]],
        {"mode": "linear"},
    ),
    "conv_bias": Free(
        "Conv", [F3, np.ones((4, 2, 3), np.float32), F1], [[(1, 2, 8), (4,)]], [[(1, 2, 8), (1,)], [(1, 3, 8), (4,)]]
    ),
    "conv_weights": Free(
        "Conv",
        [F3, ("f", [-1, -1, 3]), F1],
        [[(1, 2, 8), (4, 2, 3), (4,)]],
        [[(1, 2, 8), (4, 3, 3), (4,)], [(1, 2, 8), (4, 2, 3), (1,)]],
    ),
    "conv_transpose_bias": Free(
        "ConvTranspose", [F3, np.ones((2, 4, 3), np.float32), F1], [[(1, 2, 8), (4,)]], [[(1, 2, 8), (1,)]]
    ),
    "one_hot_values": Free(
        "OneHot", [I1, ints(3), F1], [[(4,), np.array([5, 7], np.float32)]], [[(4,), (1,)], [(4,), (3,)]]
    ),
    "one_hot_depth": Free(
        "OneHot", [I1, I1, np.array([5, 7], np.float32)], [[(4,), ints(3)]], [[(4,), ints(2, 3)], [(4,), ints()]]
    ),
    "trilu": Free("Trilu", [F2, I1], [[(3, 3), ints(1)]], [[(3, 3), ints()], [(3, 3), ints(1, 0)]]),
    "range": Free(
        "Range",
        [("i", 0), I1, ("i", 0)],
        [],
        [[np.array(0), ints(), np.array(1)], [np.array(0), ints(3, 4), np.array(1)]],
    ),
    "unique": Free("Unique", [F2], [[(3, 2)]], [[(3, 0)]], {"axis": 0}, 1),
    "batch_normalization": Free(
        "BatchNormalization", [F3, F1, F1, F1, F1], [[(2, 3, 4), (3,), (3,), (3,), (3,)]],
        [[(2, 3, 4), (3,), (1,), (3,), (3,)], [(2, 3, 4), (3,), (3,), (3,), (0,)]],
    ),
    "layer_normalization": Free(
        "LayerNormalization", [F2, F1, F1], [[(2, 3), (3,), (3,)]], [[(2, 3), (2,), (3,)], [(2, 3), (3,), (0,)]]
    ),
    "prelu": Free("PRelu", [F2, F1], [[(2, 3), (3,)]], [[(2, 3), (2,)]]),
    "matmul": Free("MatMul", [F2, F2], [[(2, 3), (3, 4)]], [[(2, 3), (2, 4)]]),
    "matmul_constant": Free("MatMul", [F3, np.ones((5, 4), np.float32)], [[(2, 3, 5)]], [[(2, 3, 4)], [(2, 3, 6)]]),
    "gemm_constant": Free("Gemm", [F2, np.ones((4, 5), np.float32)], [[(3, 5)]], [[(3, 4)]], {"transB": 1}),
    "gemm_bias": Free("Gemm", [F2, F2, F1], [[(2, 3), (3, 4), (4,)]], [[(2, 3), (3, 4), (3,)], [(2, 3), (3, 4), (0,)]]),
    "einsum": Free(
        "Einsum", [F2, F2], [[(2, 3), (3, 4)]], [[(2, 3), (2, 4)]], {"equation": "ij,jk->ik"}
    ),
    "scatter_elements": Free(
        "ScatterElements", [F2, I2, F2], [[(3, 3), (2, 3), (2, 3)]], [[(3, 3), (2, 3), (2, 2)]]
    ),
    "scatter_nd": Free(
        "ScatterND", [F2, np.array([[1], [0]]), F2], [[(3, 4), (2, 4)]], [[(3, 4), (1, 4)], [(3, 4), (2, 3)]]
    ),
    "reverse_sequence": Free("ReverseSequence", [F3, I1], [[(3, 2, 4), (2,)]], [[(3, 2, 4), (1,)]]),
    "concat": Free("Concat", [F2, F2], [[(2, 3), (2, 4)]], [[(2, 3), (1, 4)]], {"axis": 1}),
    "where": Free("Where", [("b", 1), F2, F2], [[(3,), (2, 3), (2, 3)]], [[(2,), (2, 3), (2, 3)]]),
    "top_k": Free("TopK", [F1, ints(3)], [[(4,)]], [[(2,)]], {}, 2),
    "conv_groups": Free(
        "Conv", [F3, ("f", [-1, 2, 3])], [[(1, 4, 8), (6, 2, 3)]], [[(1, 4, 8), (5, 2, 3)]], {"group": 2}
    ),
    "conv_transpose_weights": Free(
        "ConvTranspose", [("f", [-1, 4, -1]), ("f", [-1, 2, 3])], [[(1, 4, 8), (4, 2, 3)]], [[(1, 4, 8), (2, 2, 3)]]
    ),
    "tile": Free("Tile", [F2, ("i", [2])], [[(2, 3), ints(2, 0)], [(0, 3), ints(2, 2)]], [[(2, 3), ints(-1, 1)]]),
    "space_to_depth": Free("SpaceToDepth", [F4], [[(1, 2, 4, 4)], [(1, 0, 4, 4)], [(0, 2, 4, 4)]], [[(1, 2, 3, 4)]],
                           {"blocksize": 2}),
    "depth_to_space": Free("DepthToSpace", [F4], [[(1, 4, 2, 2)], [(1, 4, 0, 2)]], [[(1, 3, 2, 2)]], {"blocksize": 2}),
    "dropout": Free(
        "Dropout", [F2, ("f", 0), ("b", 0)],
        [[(2, 3), np.array(0, np.float32), np.array(True)], [(0, 3), np.array(0.5, np.float32), np.array(False)]],
        [], opset=13,
    ),
    # Boxes must be inside the batch in onnxruntime: tests/ops/vision/test_max_roi_pool.py has what fits.
    "max_roi_pool": Free(
        "MaxRoiPool", [F4, F2], [],
        [[(1, 2, 5, 6), (3, 4)], [(0, 2, 5, 6), (3, 5)], [(1, 2, 0, 6), (3, 5)], [(1, 2, 5, 0), (3, 5)]],
        {"pooled_shape": [2, 3]},
    ),
    "arg_max": Free("ArgMax", [F2], [[(2, 3)]], [[(2, 0)]], {"axis": 1}),
    "group_normalization": Free(
        "GroupNormalization", [F3, F1, F1], [], [[(2, 4, 3), (4,), (2,)], [(2, 3, 3), (3,), (3,)]], {"num_groups": 2},
        opset=21,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_free_dims(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    model = case.build()
    onnx.save(model, tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    names = [output.name for output in model.graph.output]
    for number, values in enumerate(case.fits):
        feeds = case.feeds(values)
        expected = open_session(model, optimized=False, threads=1).run(None, feeds)
        results = onnxc_commands.run_arrays(shared_object, feeds, names, tmp_path / f"fits{number}")
        for output, reference in zip(names, expected, strict=True):
            assert mismatch(results[output], reference, 1e-5) is None, values
    for number, values in enumerate(case.refused):
        with pytest.raises(onnxc_commands.CommandFailure) as failure:
            onnxc_commands.run_arrays(shared_object, case.feeds(values), names, tmp_path / f"refused{number}")
        assert failure.value.code == 1, values
        assert "culprit" in failure.value.message or "expected" in failure.value.message, failure.value.message


def check(folder: Path, model: onnx.ModelProto, feeds: Mapping[str, Array]) -> None:
    onnx.save(model, folder / "model.onnx")
    compiled = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so")
    result = onnxc_commands.run_arrays(compiled, feeds, ["y"], folder)["y"]
    [expected] = open_session(model, optimized=False, threads=1).run(None, dict(feeds))
    assert mismatch(result, expected, 1e-5) is None


def network(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, Sequence[int | str]], constants: Mapping[str, Array]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "network",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
def test_depth_of_a_product_is_that_of_its_constant(tmp_path: Path, operator: str) -> None:
    """The classifier of a network whose sizes are free: what it flattens is a product of them."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node(operator, ["f", "w"], ["y"], name="fc"),
    ]
    rng = np.random.default_rng(0)
    constants = {"w": rng.integers(-3, 4, (36, 5)).astype(np.float32)}
    model = network(nodes, {"x": ["N", 3, "D", "H", "W"]}, constants)
    check(tmp_path, model, {"x": rng.integers(-3, 4, (2, 3, 4, 5, 6)).astype(np.float32)})


def test_scatter_into_a_concat_with_empty_parts(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Concat", ["nothing", "x", "nothing"], ["joined"], axis=0),
        helper.make_node("ScatterND", ["joined", "places", "updates"], ["y"]),
    ]
    constants = {"nothing": np.zeros((0, 3), np.float32), "places": np.array([[1], [3]])}
    model = network(nodes, {"x": [4, 3], "updates": [2, 3]}, constants)
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(4, 3), "updates": -np.ones((2, 3), np.float32)}
    check(tmp_path, model, feeds)


@pytest.mark.parametrize("size", [(0, 3), (2, 0)])
def test_tile_of_nothing(tmp_path: Path, size: tuple[int, int]) -> None:
    model = network([helper.make_node("Tile", ["x", "r"], ["y"])], {"x": list(size)}, {"r": ints(2, 3)})
    check(tmp_path, model, {"x": np.zeros(size, np.float32)})


def test_a_kernel_larger_than_its_input_warns(tmp_path: Path) -> None:
    node = helper.make_node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[3], strides=[2])
    onnx.save(network([node], {"x": [1, 1, 2]}, {}), tmp_path / "model.onnx")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(tmp_path / "model.onnx"), "-o", str(tmp_path / "model.so")]
    said = onnxc_commands.execute(command).stderr
    assert "'pool' (MaxPool): its output [1, 1, 0] is empty, as the kernel is larger than the input [1, 1, 2]" in said


FIXED: dict[str, tuple[str, list[Array], dict[str, Any]]] = {
    "gather_elements": ("GatherElements", [np.ones((2, 2), np.float32), np.zeros((2, 9), np.int64)], {}),
    "gather": ("Gather", [np.ones((0, 2), np.float32), np.zeros(2, np.int64)], {}),
    "pad_edge": ("Pad", [np.ones((0, 2), np.float32), ints(1, 0, 1, 0)], {"mode": "edge"}),
    "pad_value": ("Pad", [np.ones(2, np.float32), ints(1, 1), NOTHING], {}),
    "resize": ("Resize", [np.ones((0, 2), np.float32), NOTHING, NOTHING, ints(2, 2)], {}),
    "trilu": ("Trilu", [np.ones((2, 2), np.float32), ints()], {}),
    "one_hot": ("OneHot", [ints(1), ints(2), np.ones(1, np.float32)], {}),
    "range": ("Range", [ints(), np.array(2), np.array(1)], {}),
    "slice": ("Slice", [np.ones(2, np.float32), ints(1), ints(0), ints(0), ints(-(2**63))], {}),
    "conv_bias": ("Conv", [np.ones((1, 2, 4), np.float32), np.ones((3, 2, 1), np.float32), np.ones(1, np.float32)], {}),
    "resize_scale": ("Resize", [np.ones((2, 9), np.int8), NOTHING, np.array([1, 2**55], np.float32)], {}),
}


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("is_constant", [False, True], ids=["inputs", "constants"])
def test_fixed_dims(tmp_path: Path, name: str, is_constant: bool) -> None:
    """Values known to be wrong are refused when the model is compiled, even if the operator could be computed then."""
    operator, arrays, attributes = FIXED[name]
    names = [f"x{i}" for i in range(len(arrays))]
    given = 0 if is_constant else 1
    inputs = [
        helper.make_tensor_value_info(each, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for each, array in zip(names[:given], arrays[:given], strict=True)
    ]
    constants = [
        numpy_helper.from_array(array, each) for each, array in zip(names[given:], arrays[given:], strict=True)
    ]
    node = helper.make_node(operator, names, ["y"], name="culprit", **attributes)
    graph = helper.make_graph([node], "fixed", inputs, [onnx.ValueInfoProto(name="y")], constants)
    graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    assert failure.value.code == 1, failure.value.message
    assert "culprit" in failure.value.message
