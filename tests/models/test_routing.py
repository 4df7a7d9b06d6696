"""Routing to experts with every mixture of known and unknown dims (iree-org/iree#21028, #21038, #21039).

Tokens are routed to the experts that their indices name. The table of gates [T, E] is written by ScatterElements, by
ScatterND over a column of coordinates, and as a sum of one-hot rows; a fourth graph sums a repeated range along either
axis. The compiler they were found in was right with all dims known and with none known, and wrong in between. So each
of T tokens, K chosen experts, E experts and width D is known or not, in all 16 ways, side by side in one model.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from models.export import to_array
from models.tensor_files import Array
from onnxc.session import InferenceSession
from tests import onnxc_commands

TOKENS = (1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 4096, 5, 0)
CHOSEN = (2, 3, 4, 1)
EXPERTS = (4, 8, 64, 128, 5)
WIDTHS = (3, 1, 17, 8)
KNOWN = {"T": 33, "K": 2, "E": 8, "D": 5}

TYPES: dict[str, tuple[int, Any, torch.dtype]] = {
    "float32": (TensorProto.FLOAT, np.float32, torch.float32),
    "float16": (TensorProto.FLOAT16, np.float16, torch.float16),
    "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16, torch.bfloat16),
}
INDEX_TYPES = {"int64": (TensorProto.INT64, np.int64), "int32": (TensorProto.INT32, np.int32)}
RESULTS = ("elements", "nd", "one_hot", "sum_tokens", "sum_chosen")
Known = tuple[bool, ...]  # of T, K, E and D
COMBINATIONS: list[Known] = list(itertools.product((False, True), repeat=len(KNOWN)))
# All known, none known, the mixture that was found wrong (K known), and one other.
FEW_COMBINATIONS: list[Known] = [
    (True, True, True, True),
    (False, False, False, False),
    (False, True, False, False),
    (False, True, True, False),
]


class GraphWriter:
    """The nodes of one combination; every value gets its prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{self.prefix}v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=f"{output}_{operator}", **attributes))
        return output

    def named(self, operator: str, name: str, *inputs: str, **attributes: Any) -> None:
        self.node(operator, *inputs, **attributes)
        self.nodes[-1].output[0] = self.prefix + name

    def integers(self, *values: int) -> str:
        return self.node("Constant", value_ints=list(values))

    def scalar(self, value: int) -> str:
        return self.node("Constant", value_int=value)

    def dim(self, value: str, axis: int) -> str:
        """The size of an axis, as a vector of one."""
        return self.node("Shape", value, start=axis, end=axis + 1)


def write_routing(graph: GraphWriter, dtype: int) -> None:
    idx, gate, bank = (graph.prefix + name for name in ("idx", "gate", "bank"))
    tokens, chosen = graph.dim(idx, 0), graph.dim(idx, 1)
    experts, width = graph.dim(bank, 0), graph.dim(bank, 1)
    zero = helper.make_tensor("zero", dtype, [1], [0.0])
    table = graph.node("ConstantOfShape", graph.node("Concat", tokens, experts, axis=0), value=zero)
    column, none = graph.integers(-1, 1), graph.integers(0)

    scattered = graph.node("ScatterElements", table, idx, gate, axis=1)
    graph.named("Transpose", "elements", graph.node("Transpose", scattered, perm=[1, 0]), perm=[1, 0])

    count = graph.node("Squeeze", tokens, none)
    numbers = graph.node("Range", graph.scalar(0), count, graph.scalar(1))
    repeated = graph.node("Expand", graph.node("Unsqueeze", numbers, graph.integers(1)), graph.node("Shape", idx))
    places = graph.node("Cast", graph.node("Reshape", idx, column), to=TensorProto.INT64)
    coordinates = graph.node("Concat", graph.node("Reshape", repeated, column), places, axis=1)
    graph.named("ScatterND", "nd", table, coordinates, graph.node("Reshape", gate, graph.integers(-1)))

    one_hot = graph.node("OneHot", idx, experts, graph.integers(0, 1), axis=-1)
    weighted = graph.node(
        "Mul", graph.node("Cast", one_hot, to=dtype), graph.node("Unsqueeze", gate, graph.integers(-1))
    )
    graph.named("ReduceSum", "one_hot", weighted, graph.integers(1), keepdims=0)

    small = graph.node("Mod", numbers, graph.scalar(4))
    rows = graph.node("Expand", graph.node("Unsqueeze", small, none), graph.node("Concat", chosen, tokens, axis=0))
    flat = graph.node("Reshape", rows, column)
    wide = graph.node("Expand", flat, graph.node("Concat", graph.node("Shape", flat, end=1), width, axis=0))
    floating = graph.node("Cast", wide, to=dtype)
    cube = graph.node("Reshape", floating, graph.node("Concat", chosen, tokens, width, axis=0))
    graph.named("ReduceSum", "sum_tokens", cube, graph.integers(1), keepdims=0)
    graph.named("ReduceSum", "sum_chosen", cube, none, keepdims=0)


def prefix_of(known: Known) -> str:
    return "".join(name if is_known else name.lower() for name, is_known in zip(KNOWN, known, strict=True)) + "_"


def build_model(dtype: int, index_type: int, combinations: Sequence[Known]) -> onnx.ModelProto:
    nodes, inputs, outputs = [], [], []
    for known in combinations:
        prefix = prefix_of(known)
        dims: dict[str, int | str] = {
            name: KNOWN[name] if is_known else prefix + name for name, is_known in zip(KNOWN, known, strict=True)
        }
        graph = GraphWriter(prefix)
        write_routing(graph, dtype)
        nodes += graph.nodes
        for name, kind, axes in (("idx", index_type, "TK"), ("gate", dtype, "TK"), ("bank", dtype, "ED")):
            inputs.append(helper.make_tensor_value_info(prefix + name, kind, [dims[axis] for axis in axes]))
        outputs += [helper.make_tensor_value_info(prefix + name, dtype, [None, None]) for name in RESULTS]
    graph_proto = helper.make_graph(nodes, "routing", inputs, outputs)
    return helper.make_model(graph_proto, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def feed_of(sizes: dict[str, int], dtype: Any, index_dtype: Any) -> dict[str, Array]:
    """Indices that are different within a token, and gates that are small integers and their quarters."""
    generator = np.random.default_rng(list(sizes.values()))
    shuffled = generator.permuted(np.tile(np.arange(sizes["E"]), (sizes["T"], 1)), axis=1)
    gate = generator.integers(1, 16, (sizes["T"], sizes["K"])) / 4
    return {
        "idx": np.ascontiguousarray(shuffled[:, : sizes["K"]]).astype(index_dtype),
        "gate": gate.astype(dtype),
        "bank": np.zeros((sizes["E"], sizes["D"]), dtype),
    }


def torch_results(feed: dict[str, Array], sizes: dict[str, int], dtype: torch.dtype) -> dict[str, Array]:
    idx = torch.from_numpy(feed["idx"].astype(np.int64))
    gate = torch.from_numpy(feed["gate"].astype(np.float32)).to(dtype)
    table = torch.zeros(sizes["T"], sizes["E"], dtype=dtype).scatter_(1, idx, gate)
    cube = (torch.arange(sizes["T"]) % 4).view(1, -1, 1).expand(sizes["K"], -1, sizes["D"]).double()
    sums = (to_array(cube.sum(dim=axis).to(dtype)) for axis in (1, 0))
    return dict(zip(RESULTS, (*[to_array(table)] * 3, *sums), strict=True))


def run_sizes() -> list[dict[str, int]]:
    """T takes every value of its list; the others follow at their own pace."""
    return [
        {
            "T": tokens,
            "K": CHOSEN[i % len(CHOSEN)],
            "E": EXPERTS[i % len(EXPERTS)],
            "D": WIDTHS[(i // 2) % len(WIDTHS)],
        }
        for i, tokens in enumerate(TOKENS)
    ]


def case_of(
    free: dict[str, int], type_name: str, index_name: str, combinations: Sequence[Known] = COMBINATIONS
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The inputs of the combinations if unknown dims have these sizes, and what is expected of them."""
    _, dtype, torch_type = TYPES[type_name]
    feed: dict[str, Array] = {}
    expected: dict[str, Array] = {}
    for known in combinations:
        sizes = {name: KNOWN[name] if is_known else free[name] for name, is_known in zip(KNOWN, known, strict=True)}
        sizes["E"] = max(sizes["E"], sizes["K"])
        part = feed_of(sizes, dtype, INDEX_TYPES[index_name][1])
        feed |= {prefix_of(known) + name: array for name, array in part.items()}
        results = torch_results(part, sizes, torch_type)
        expected |= {prefix_of(known) + name: array for name, array in results.items()}
    return feed, expected


def differs(result: Array, expected: Array) -> bool:
    return result.shape != expected.shape or not np.array_equal(result.astype(np.float64), expected.astype(np.float64))


def save_model(type_name: str, index_name: str, folder: Path, combinations: Sequence[Known] = COMBINATIONS) -> Path:
    onnx.save(build_model(TYPES[type_name][0], INDEX_TYPES[index_name][0], combinations), folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("index_name", ["int64", pytest.param("int32", marks=[pytest.mark.slow])])
def test_routing(type_name: str, index_name: str, tmp_path: Path) -> None:
    shared_object = onnxc_commands.compile_model(save_model(type_name, index_name, tmp_path), tmp_path / "model.so")
    failures = []
    with InferenceSession(shared_object) as session:
        for free in run_sizes():
            feed, expected = case_of(free, type_name, index_name)
            for (name, reference), result in zip(expected.items(), session.run(list(expected), feed), strict=True):
                if differs(result, reference):
                    failures.append(f"{name} with {free}")
    assert not failures, failures


def gpu_failures(type_name: str, index_name: str, combinations: Sequence[Known], folder: Path) -> list[str]:
    """On the simulator, on which most tokens of the list would take long."""
    model = save_model(type_name, index_name, folder, combinations)
    shared_object = onnxc_commands.compile_model(model, folder / "model.so", "--target", "hip")
    failures = []
    for free in (sizes for sizes in run_sizes() if sizes["T"] in (0, 1, 3, 33, 65)):
        feed, expected = case_of(free, type_name, index_name, combinations)
        run = folder / f"run_{free['T']}"
        results = onnxc_commands.run_arrays(shared_object, feed, list(expected), run, "--device", "hip")
        failures += [f"{name} with {free}" for name in expected if differs(results[name], expected[name])]
    return failures


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("type_name", "index_name"), [("float32", "int64"), ("bfloat16", "int32")])
def test_routing_on_the_gpu(type_name: str, index_name: str, tmp_path: Path) -> None:
    failures = gpu_failures(type_name, index_name, FEW_COMBINATIONS, tmp_path)
    assert not failures, failures


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("type_name", "index_name"), itertools.product(TYPES, INDEX_TYPES))
def test_every_combination_on_the_gpu(type_name: str, index_name: str, tmp_path: Path) -> None:
    failures = gpu_failures(type_name, index_name, COMBINATIONS, tmp_path)
    assert not failures, failures
