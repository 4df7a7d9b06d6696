"""Random networks: compositions of operators that no table of single operators holds.

A graph begins with one input of rank 2 to 5, any subset of whose dims is free, and grows by drawing operators that fit
the tensors there are. A tensor that nobody reads becomes an output, and now and then a tensor in the middle too. Graphs
of one operator set stand side by side in a model, so that clang's start is paid once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests.random.drawing import KINDS, RUNS, Dim, Drawing, Kind, Tensor, as_tensor, fixed
from tests.random.idioms import Idioms
from tests.random.layers import Layers
from tests.random.movement import Movement
from tests.random.pointwise import Pointwise
from tests.random.reductions import Reductions

OPSETS = tuple(range(11, 25))
# Names of what is drawn, and how often.
OPERATORS = {
    "convolution": 8, "transposed_convolution": 2, "pool": 2, "global_pool": 1, "upsample": 1, "normalization": 2,
    "product": 2, "product_of_two": 1, "attention": 1, "written_out": 3,
    "activation": 4, "function": 1, "with_constant": 2, "of_two": 4, "of_many": 1, "clip": 1, "slope": 1,
    "comparison": 1, "rounding": 1, "bits": 1, "through_another_type": 1, "classes": 1,
    "concat": 3, "split": 1, "cut": 1, "pad": 1, "turn": 1, "flatten": 1, "squeeze": 1, "tile": 1, "expand": 1,
    "gather": 1, "gather_elements": 1, "scatter": 1, "scatter_elements": 1, "depth_and_space": 1, "triangle": 1,
    "reverse": 1, "compress": 1,
    "reduction": 2, "squeeze_and_excite": 1, "place_of_largest": 1, "largest": 1, "running_sum": 1, "soft": 1,
    "hard": 1, "scaled": 1, "named_axes": 1, "count": 1, "hot": 1,
}  # fmt: skip
# Layers that have no integers, and what repeats integers until they overflow.
NOT_OF_INTEGERS = {
    "convolution", "transposed_convolution", "pool", "global_pool", "normalization", "slope", "hard", "hot", "rounding",
    "written_out",
}  # fmt: skip


@dataclass(frozen=True)
class RandomGraph:
    prefix: str
    kind: Kind
    whole: bool
    nodes: tuple[onnx.NodeProto, ...]
    values: dict[str, Array]  # constants of the graph's kind
    constants: dict[str, Array]
    dims: tuple[Dim, ...]  # of the input
    symbols: tuple[str | None, ...]  # of the dims that the model leaves open
    outputs: tuple[Tensor, ...]
    bound: int  # of the input's magnitude

    @property
    def input(self) -> str:
        return self.prefix + "x"


class Builder(Layers, Idioms, Pointwise, Movement, Reductions, Drawing):
    def begin(self) -> None:
        """The input: batch, channels and space."""
        rank = int(self.random.choice([2, 3, 4, 5], p=[0.1, 0.15, 0.3, 0.45]))
        longest = {2: 0, 3: 40, 4: 14, 5: 7}[rank]
        symbols = ["N", "C", "D", "H", "W"]
        sizes = [self.between(1, 3), self.one_of([1, 2, 3, 4, 5, 8, 16, 17])]
        sizes += [self.between(3, longest) for _ in range(rank - 2)]
        self.symbols: list[str | None] = []
        dims: list[Dim] = []
        same = self.chance(0.15) and rank >= 4  # the last two are one symbol
        for axis, size in enumerate(sizes):
            if same and axis == rank - 1:
                self.symbols.append(self.symbols[-1])
                dims.append(dims[-1])
                continue
            is_free = self.chance(0.1 if axis == 1 else 0.4)
            self.symbols.append(self.prefix + symbols[axis] if is_free else None)
            if is_free:
                changes = [0, self.between(1, 3), self.one_of([-1, 5])]
                if axis == 0 and self.chance(0.3):
                    changes[2] = -size  # a batch of nothing
                dims.append(tuple(max(size + change, 0 if axis == 0 else 1) for change in changes))
            else:
                dims.append(fixed(size))
        assert len(dims[0]) == RUNS
        self.bound = min(4, self.kind.largest)
        self.tensors.append(Tensor(self.prefix + "x", tuple(dims), self.bound))

    def grow(self, count: int, operators: Collection[str] = OPERATORS) -> None:
        names = [name for name in operators if not (self.kind.is_integer and name in NOT_OF_INTEGERS)]
        weight = np.array([OPERATORS[name] for name in names], float)
        for _ in range(40 * count):
            if len(self.nodes) >= count:
                break
            x = self.pick()
            assert x is not None
            getattr(self, str(self.random.choice(names, p=weight / weight.sum())))(x)

    def graph(self) -> RandomGraph:
        made = self.tensors[1:]
        outputs = [each for each in made if each.name in self.unread]
        outputs += [each for each in made if each not in outputs and self.below(8) == 0]
        outputs = outputs or made[-1:]  # what read the last may have been given up
        x = self.tensors[0]
        return RandomGraph(
            self.prefix, self.kind, self.whole, tuple(self.nodes), self.values, self.constants, x.dims,
            tuple(self.symbols), tuple({each.name: each for each in outputs}.values()), self.bound,
        )  # fmt: skip


def opset_of(group: int) -> int:
    return OPSETS[group * 5 % len(OPSETS)]


def random_graph(seed: int, opset: int) -> RandomGraph:
    random = np.random.default_rng([seed, 3])
    names = ["float32", "float32", "float16", "bfloat16", "int32", "int64"]
    choice = int(random.choice(6, p=[0.38, 0.42, 0.06, 0.04, 0.05, 0.05]))
    kind = KINDS[names[choice]]
    if kind.name == "bfloat16" and opset < 13:
        kind = KINDS["float16"]
    builder = Builder(seed, opset, kind, whole=choice != 0)
    builder.begin()
    builder.grow(3 + builder.below(10))
    return builder.graph()


def build_model(graphs: Sequence[RandomGraph], opset: int, *, as_type: Kind | None = None) -> onnx.ModelProto:
    """The graphs side by side; with `as_type`, those of a floating type with that one instead."""
    inputs, outputs, nodes, constants = [], [], [], []
    for graph in graphs:
        kind = as_type if as_type is not None and not graph.kind.is_integer else graph.kind
        dims = [symbol or dim[0] for symbol, dim in zip(graph.symbols, graph.dims, strict=True)]
        inputs.append(helper.make_tensor_value_info(graph.input, kind.onnx_type, dims))
        outputs += [
            helper.make_tensor_value_info(each.name, kind.onnx_type, [None] * each.rank) for each in graph.outputs
        ]
        nodes += [recast(node, graph.kind, kind) for node in graph.nodes]
        constants += [as_tensor(name, array, kind) for name, array in graph.values.items()]
        constants += [numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    made = helper.make_graph(nodes, "random", inputs, outputs, constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 19 else 10)


def recast(node: onnx.NodeProto, before: Kind, after: Kind) -> onnx.NodeProto:
    if before == after or node.op_type != "Cast" or node.attribute[0].i != before.onnx_type:
        return node
    other = onnx.NodeProto()
    other.CopyFrom(node)
    other.attribute[0].i = after.onnx_type
    return other


def feed(graph: RandomGraph, run: int) -> Array:
    """The input of a run, as float32 or the graph's integers."""
    random = np.random.default_rng([len(graph.nodes), run])
    dims = [dim[run] for dim in graph.dims]
    if graph.whole:
        return random.integers(-graph.bound, graph.bound + 1, dims).astype(
            graph.kind.name if graph.kind.is_integer else np.float32
        )
    return random.uniform(-graph.bound, graph.bound, dims).astype(np.float32)


FLOAT = KINDS["float32"]
DOUBLE = Kind("float64", TensorProto.DOUBLE, 2**50)
