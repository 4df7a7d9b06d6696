"""Random graphs of control flow around kernels: Loops, Scans and Ifs, in each other, whose states change places.

A graph works on tensors of one shape, its home: whatever a body does inside, states and results return to it. Weights
are small integers, so that most results are exact; if a loop's condition follows from data, that is integers and what
they are compared with lies half way between two.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array

T = TypeVar("T")
OPSET = 20
LARGEST = 8  # of a state's magnitude
MOST_NODES = 26
MOST_DEPTH = 3


@dataclass(frozen=True)
class Tensor:
    """A tensor of the home shape. `bound` is that of its magnitude; `whole` says that it holds integers."""

    name: str
    bound: float
    whole: bool


@dataclass(frozen=True)
class RandomLoops:
    """Nodes, inputs, outputs and constants, whose names begin with the prefix."""

    prefix: str
    nodes: tuple[onnx.NodeProto, ...]
    constants: tuple[onnx.TensorProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dims: tuple[int, ...]
    names: tuple[int | str, ...]  # of the dims; a string is one that the model leaves open


@dataclass
class Scope:
    """The tensors that the nodes of a graph or a subgraph see: its own and those around it."""

    tensors: list[Tensor]
    nodes: list[onnx.NodeProto]
    counter: str | None = None  # of the loop, an int64
    states: Sequence[Tensor] = ()  # of the loop

    def is_read(self, x: Tensor) -> bool:
        return any(x.name in node.input for node in self.nodes)


class Builder:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng([seed, 1])
        self.prefix = f"g{seed}_"
        self.constants: list[onnx.TensorProto] = []
        self.count = 0
        self.budget = int(self.random.integers(6, MOST_NODES))
        rank = int(self.random.choice([3, 4, 5], p=[0.15, 0.65, 0.2]))
        # In a kernel's one tile a step may read what it writes and be right.
        self.is_large = is_large = self.chance(0.4)
        shortest, longest = (
            {3: (60, 200), 4: (20, 44), 5: (8, 14)}[rank] if is_large else (3, {3: 24, 4: 13, 5: 6}[rank])
        )
        space = [self.between(shortest, longest) for _ in range(rank - 2)]
        self.is_square = rank >= 4 and self.chance(0.6)
        if self.is_square:
            space[-1] = space[-2]
        channels = self.one_of([1, 2, 2, 3, 3, 4, 4] if is_large else [1, 2, 3, 4, 8, 16, 17, 32])
        self.dims = (self.between(1, 2), channels, *space)
        self.is_free = [self.chance(0.15), False, *(self.chance(0.15) for _ in space)]
        if self.is_square:
            self.is_free[-1] = self.is_free[-2]
        axes = ["N", "C", *"DHW"[5 - rank :]]
        if self.is_square:
            axes[-1] = axes[-2]
        self.names = tuple(
            self.prefix + axis if is_free else size
            for axis, is_free, size in zip(axes, self.is_free, self.dims, strict=True)
        )
        self.kept: list[str] = []  # outputs of another shape
        self.scope = Scope([Tensor(self.prefix + name, 4, True) for name in ("x", "u")], [])
        self.depth = 0

    # ------------------------------------------------------------------------------------------------------- drawing

    def between(self, first: int, last: int) -> int:
        return int(self.random.integers(first, last + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.integers(len(choices)))]

    def pick(self, fits: Callable[[Tensor], bool] = lambda _: True) -> Tensor:
        """A tensor that is seen here; the later ones more often, and states."""
        candidates = [each for each in self.scope.tensors if fits(each)] or self.scope.tensors
        weight = np.arange(1, len(candidates) + 1, dtype=float) ** 1.5
        weight *= [4 if each in self.scope.states else 1 for each in candidates]
        return candidates[int(self.random.choice(len(candidates), p=weight / weight.sum()))]

    # --------------------------------------------------------------------------------------------------------- parts

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{self.prefix}{stem}{self.count}"

    def constant(self, array: Array) -> str:
        name = self.name("k")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def node(self, op_type: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        results = [self.name("t") for _ in range(outputs)]
        self.scope.nodes.append(helper.make_node(op_type, list(inputs), results, name=self.name("n"), **attributes))
        return results

    def keep(self, name: str, bound: float, whole: bool) -> Tensor:
        """A result of the home shape, made smaller if it has grown."""
        tensor = Tensor(name, bound, whole)
        if bound > 64:
            tensor = self.smaller(tensor)
        self.scope.tensors.append(tensor)
        return tensor

    def smaller(self, x: Tensor) -> Tensor:
        """Within what a state may have."""
        if x.bound <= LARGEST:
            return x
        if x.whole or self.chance(0.5):
            limits = [self.constant(np.array(limit, np.float32)) for limit in (-LARGEST, LARGEST)]
            return Tensor(self.node("Clip", [x.name, *limits])[0], LARGEST, x.whole)
        factor = self.constant(np.array(LARGEST / 2 ** np.ceil(np.log2(x.bound)), np.float32))
        return Tensor(self.node("Mul", [x.name, factor])[0], LARGEST, False)

    def weights(self, *dims: int) -> tuple[str, int]:
        """Few of -1 and 1 for each output, and how many."""
        fan_in = int(np.prod(dims[1:]))
        most = min(3, fan_in)
        values = np.zeros((dims[0], fan_in), np.float32)
        for row in values:
            row[self.random.choice(fan_in, most, replace=False)] = self.random.choice([-1, 1], most)
        return self.constant(values.reshape(dims)), most

    # --------------------------------------------------------------------------------------------------- operators

    def convolution(self, x: Tensor) -> None:
        spatial, channels = len(self.dims) - 2, self.dims[1]
        is_plain = self.is_large and self.chance(0.7)
        groups = 1 if is_plain else self.one_of([1, 1, 1, channels])
        kernel = [self.one_of([1, 3]) for _ in range(spatial)]
        if is_plain or self.chance(0.5):
            kernel = [3] * spatial
        dilation = self.one_of([1, 1, 1, 2])
        attributes: dict[str, Any] = {
            "pads": [dilation * (size // 2) for size in kernel] * 2, "dilations": [dilation] * spatial
        }  # fmt: skip
        if groups == 1 and not is_plain and self.chance(0.2):
            weights, growth = self.weights(channels, channels, *kernel)
            y = self.node("ConvTranspose", [x.name, weights], kernel_shape=kernel, **attributes)[0]
            # An input reaches as many outputs as it has weights, an output may be reached by all of a filter's.
            self.keep(y, x.bound * growth * channels, x.whole)
            return
        middle = channels if groups > 1 or is_plain else self.one_of([channels, channels, 2 * channels, 5])
        weights, growth = self.weights(middle, channels // groups, *kernel)
        inputs = [x.name, weights]
        bound = x.bound * growth
        if self.chance(0.4):
            inputs.append(self.constant(self.random.integers(-2, 3, middle).astype(np.float32)))
            bound += 2
        y = self.node("Conv", inputs, group=groups, kernel_shape=kernel, **attributes)[0]
        if middle != channels:
            if self.chance(0.5):
                y = self.node("Relu", [y])[0]
            weights, growth = self.weights(channels, middle, *[1] * spatial)
            y, bound = self.node("Conv", [y, weights])[0], bound * growth
        self.keep(y, bound, x.whole)

    def product(self, x: Tensor) -> None:
        """A product by a constant matrix, or of two states."""
        if self.is_square and self.chance(0.6):
            other = self.pick()
            self.keep(self.node("MatMul", [x.name, other.name])[0], x.bound * other.bound * self.dims[-1],
                      x.whole and other.whole)  # fmt: skip
        elif not self.is_free[-1]:
            weights, growth = self.weights(self.dims[-1], self.dims[-1])
            # A column may have more elements than a row.
            self.keep(self.node("MatMul", [x.name, weights])[0], x.bound * growth * self.dims[-1], x.whole)

    def attention(self, x: Tensor) -> None:
        if not self.is_square:
            return
        keys, values = self.pick(), self.pick()
        rank = len(self.dims)
        turned = self.node("Transpose", [keys.name], perm=[*range(rank - 2), rank - 1, rank - 2])[0]
        scores = self.node("MatMul", [x.name, turned])[0]
        scale = self.constant(np.array(1 / 64, np.float32))
        probabilities = self.node("Softmax", [self.node("Mul", [scores, scale])[0]])[0]
        self.keep(self.node("MatMul", [probabilities, values.name])[0], values.bound, False)

    def pool(self, x: Tensor) -> None:
        spatial = len(self.dims) - 2
        is_maximum = self.chance(0.6)
        attributes: dict[str, Any] = {"kernel_shape": [3] * spatial, "pads": [1] * (2 * spatial)}
        if self.chance(0.3) and all(size % 2 == 0 for size in self.dims[2:]) and not any(self.is_free):
            small = self.node("MaxPool", [x.name], kernel_shape=[2] * spatial, strides=[2] * spatial)[0]
            scales = self.constant(np.array([1, 1, *[2] * spatial], np.float32))
            modes: dict[str, Any] = {
                "mode": "nearest",
                "coordinate_transformation_mode": "asymmetric",
                "nearest_mode": "floor",
            }
            self.keep(self.node("Resize", [small, "", scales], **modes)[0], x.bound, x.whole)
            return
        y = self.node("MaxPool" if is_maximum else "AveragePool", [x.name], **attributes)[0]
        self.keep(y, x.bound, x.whole and is_maximum)

    def normalization(self, x: Tensor) -> None:
        """With an epsilon that nearly equal elements do not make large."""
        channels, last = self.dims[1], self.dims[-1]
        kind = self.between(0, 3)
        if kind == 0:
            self.keep(self.node("Softmax", [x.name], axis=self.one_of([-1, 1]))[0], 1, False)
        elif kind == 1 and not self.is_free[-1]:
            parameters = [self.constant(np.ones(last, np.float32)), self.constant(np.zeros(last, np.float32))]
            self.keep(self.node("LayerNormalization", [x.name, *parameters], epsilon=1.0)[0], LARGEST, False)
        elif kind == 2:
            parameters = [self.constant(self.random.integers(-1, 2, channels).astype(np.float32)) for _ in range(2)]
            self.keep(self.node("InstanceNormalization", [x.name, *parameters], epsilon=1.0)[0], 2 * LARGEST, False)
        else:
            axes = self.ints(*range(2, len(self.dims)))
            mean = self.node(self.one_of(["ReduceMean", "ReduceMax"]), [x.name, axes], keepdims=1)[0]
            self.keep(self.node("Sub", [x.name, mean])[0], 2 * x.bound, False)

    def elementwise(self, x: Tensor) -> None:
        if self.chance(0.35):
            op_type = self.one_of(["Relu", "Neg", "Abs", "Tanh", "Identity", "Identity"])
            self.keep(self.node(op_type, [x.name])[0], x.bound, x.whole and op_type != "Tanh")
            return
        if self.chance(0.3):
            dims = [self.dims[1], *[1] * (len(self.dims) - 2)]
            values = self.constant(self.random.integers(-2, 3, dims).astype(np.float32))
            op_type = self.one_of(["Add", "Mul", "Max"])
            self.keep(self.node(op_type, [x.name, values])[0], max(2 * x.bound, x.bound + 2), x.whole)
            return
        other = self.pick()
        op_type = self.one_of(["Add", "Add", "Sub", "Mul", "Max", "Min"])
        bound = {"Add": x.bound + other.bound, "Sub": x.bound + other.bound, "Mul": x.bound * other.bound}
        operands = [x.name, other.name][:: self.one_of([1, -1])]
        y = self.node(op_type, operands)[0]
        self.keep(y, bound.get(op_type, max(x.bound, other.bound)), x.whole and other.whole)

    def turned(self, x: Tensor) -> None:
        """The same elements in another order."""
        rank, channels = len(self.dims), self.dims[1]
        kind = self.between(0, 3)
        if kind == 0 and self.is_square:
            y = self.node("Transpose", [x.name], perm=[*range(rank - 2), rank - 1, rank - 2])[0]
        elif kind == 1 and channels > 1:
            first = self.between(1, channels - 1)
            parts = self.node("Split", [x.name, self.ints(first, channels - first)], 2, axis=1)
            if self.chance(0.5):
                parts[0] = self.node("Neg", parts[:1])[0]
            y = self.node("Concat", parts[::-1], axis=1)[0]
        elif kind == 2 and not any(self.is_free):
            flat = self.node("Reshape", [x.name, self.ints(int(np.prod(self.dims[:2])), -1)])[0]
            if self.chance(0.6):
                flat = self.node("Transpose", [flat], perm=[1, 0])[0]
            y = self.node("Reshape", [flat, self.ints(*self.dims)])[0]
        else:
            flat = self.node("Reshape", [x.name, self.ints(-1)])[0]
            y = self.node("Reshape", [flat, self.node("Shape", [x.name])[0]])[0]
        self.keep(y, x.bound, x.whole)

    # ------------------------------------------------------------------------------------------------- control flow

    @contextmanager
    def inside(self) -> Iterator[Scope]:
        """A subgraph, which sees what is here."""
        outer, self.scope = self.scope, Scope([*self.scope.tensors], [], self.scope.counter, self.scope.states)
        self.depth += 1
        yield self.scope
        self.scope = outer
        self.depth -= 1

    def value(self, name: str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        """The outputs of a subgraph. A Scan asks for shapes, a Loop of no round gives others if it has none."""
        return helper.make_tensor_value_info(name, kind, self.names if kind == TensorProto.FLOAT else ())

    def result(self, name: str) -> str:
        """An output of a subgraph: made there, and given once."""
        return self.node("Identity", [name])[0]

    def truth(self) -> str:
        """A condition that a run decides: an input, or the largest of integers, or the number of a round."""
        kind = self.between(0, 2)
        if kind == 1 and self.scope.counter is not None:
            return self.node("Less", [self.scope.counter, self.ints_of_rank_0(self.between(0, 3))])[0]
        whole = [each for each in self.scope.tensors if each.whole]
        if kind == 2 and whole:
            largest = self.node("ReduceMax", [self.one_of(whole).name], keepdims=0)[0]
            return self.node("Less", [largest, self.constant(np.array(self.between(1, 9) + 0.5, np.float32))])[0]
        return self.node("Identity", [self.prefix + "c"])[0]

    def ints_of_rank_0(self, value: int) -> str:
        return self.constant(np.array(value, np.int64))

    def branch(self, scope: Scope, count: int) -> tuple[onnx.GraphProto, list[Tensor]]:
        self.grow(self.between(0, 3))
        chosen = [self.pick() for _ in range(count)]
        names = [self.result(each.name) for each in chosen]
        return helper.make_graph(scope.nodes, self.name("branch"), [], [self.value(each) for each in names]), chosen

    def choose(self) -> None:
        condition, count = self.truth(), self.between(1, 2)
        with self.inside() as scope:
            one, given = self.branch(scope, count)
        with self.inside() as scope:
            other, instead = self.branch(scope, count)
        names = self.node("If", [condition], count, then_branch=one, else_branch=other)
        for name, a, b in zip(names, given, instead, strict=True):
            self.keep(name, max(a.bound, b.bound), a.whole and b.whole)

    def begin_states(self) -> tuple[list[Tensor], list[Tensor]]:
        """The initial states, and the states as a round sees them. Two may begin as the same."""
        initial = [self.smaller(self.pick()) for _ in range(self.between(1, 3))]
        return initial, [Tensor(self.name("s"), LARGEST, each.whole) for each in initial]

    def next_states(self, states: Sequence[Tensor]) -> list[str]:
        """A state stays, takes over another, or what a round has made; some share it."""
        own = [each for each in self.scope.tensors if each not in states]
        results: list[Tensor] = []
        for state in states:
            fits = [each for each in own if each.whole or not state.whole]
            kind = self.random.random()
            others = [each for each in states if each.whole or not state.whole]
            if results and kind < 0.1 and (results[-1].whole or not state.whole):
                chosen = results[-1]
            elif kind < 0.35 or not fits:
                chosen = self.one_of(others)
            else:
                unread = [each for each in fits if not self.scope.is_read(each)]
                chosen = unread[-1] if unread and self.chance(0.7) else fits[-self.between(1, min(3, len(fits)))]
            results.append(self.smaller(chosen))
        # An output may not be an input, nor given twice.
        seen: set[str] = {each.name for each in states}
        names = []
        for each in results:
            is_made_here = any(each.name in node.output for node in self.scope.nodes)
            names.append(each.name if is_made_here and each.name not in seen else self.result(each.name))
            seen.add(names[-1])
        return names

    def collected(self, names: Sequence[str]) -> None:
        """The values that the rounds have collected come home, as their maximum or 0; or they are an output."""
        for name in names:
            if any(self.is_free):
                self.kept.append(name)
                continue
            zeros = self.node("Sub", [self.prefix + "x", self.prefix + "x"])[0]
            with_zeros = self.node("Concat", [self.node("Unsqueeze", [zeros, self.ints(0)])[0], name], axis=0)[0]
            self.keep(self.node("ReduceMax", [with_zeros, self.ints(0)], keepdims=0)[0], LARGEST, False)

    def most_collected(self) -> int:
        """If it does not know the shape of a round, onnxruntime gives shape [0] for no round: that cannot come home."""
        return 0 if any(self.is_free) and self.depth else 2

    def loop(self) -> None:
        initial, states = self.begin_states()
        count = self.prefix + self.one_of(["n", "m"]) if self.chance(0.6) else self.ints_of_rank_0(self.between(0, 3))
        first_condition = "" if self.chance(0.5) else self.truth()
        collected = self.between(0, self.most_collected())
        with self.inside() as scope:
            number, keep = self.name("i"), self.name("go")
            scope.tensors += states
            scope.counter, scope.states = number, states
            self.grow(self.between(1, 5))
            kind = self.between(0, 2)
            condition = self.truth() if kind == 0 else self.node("Identity", [keep])[0]
            scans = [self.result(self.smaller(self.pick()).name) for _ in range(collected)]
            outputs = [*self.next_states(states), *scans]
            body = helper.make_graph(
                scope.nodes,
                self.name("body"),
                [self.value(number, TensorProto.INT64), self.value(keep, TensorProto.BOOL),
                 *(self.value(each.name) for each in states)],
                [self.value(condition, TensorProto.BOOL), *(self.value(each) for each in outputs)],
            )  # fmt: skip
        results = self.node("Loop", [count, first_condition, *(each.name for each in initial)], len(outputs), body=body)
        for name, state in zip(results, states, strict=False):
            self.scope.tensors.append(replace(state, name=name))
        self.collected(results[len(states) :])

    def scan(self) -> None:
        initial, states = self.begin_states()
        parts = [self.smaller(self.pick()) for _ in range(self.between(1, 3))]
        stacked = [self.node("Unsqueeze", [each.name, self.ints(0)])[0] for each in parts]
        sequence = self.node("Concat", stacked, axis=0)[0]
        collected = self.between(0, self.most_collected())
        element = Tensor(self.name("e"), LARGEST, all(each.whole for each in parts))
        with self.inside() as scope:
            scope.tensors += [*states, element]
            scope.counter, scope.states = None, states
            self.grow(self.between(1, 4))
            scans = [self.result(self.smaller(self.pick()).name) for _ in range(collected)]
            outputs = [*self.next_states([*states, element])[: len(states)], *scans]
            body = helper.make_graph(
                scope.nodes, self.name("body"), [self.value(each.name) for each in (*states, element)],
                [self.value(each) for each in outputs],
            )  # fmt: skip
        attributes: dict[str, Any] = {"scan_input_directions": [self.between(0, 1)]}
        if collected:
            attributes["scan_output_directions"] = [self.between(0, 1) for _ in range(collected)]
        inputs = [*(each.name for each in initial), sequence]
        results = self.node("Scan", inputs, len(outputs), body=body, num_scan_inputs=1, **attributes)
        for name, state in zip(results, states, strict=False):
            self.scope.tensors.append(replace(state, name=name))
        self.collected(results[len(states) :])

    # ------------------------------------------------------------------------------------------------------- graph

    def grow(self, count: int) -> None:
        operators = [
            *[self.convolution] * (8 if self.is_large else 4),
            *[self.product] * 3,
            self.attention,
            *[self.pool] * 2,
            self.normalization,
            *[self.elementwise] * 4,
            *[self.turned] * 2,
        ]
        for _ in range(count):
            if self.depth < MOST_DEPTH and self.budget > 0 and self.chance(0.25 if self.depth else 0.5):
                self.budget -= 3
                self.one_of([self.loop, self.loop, self.scan, self.choose])()
            else:
                self.budget -= 1
                self.one_of(operators)(self.pick())

    def graph(self) -> RandomLoops:
        self.grow(self.between(1, 3))
        self.one_of([self.loop, self.scan])()
        self.grow(self.between(0, 2))
        last = [*dict.fromkeys(each.name for each in self.scope.tensors[2:])][-4:]
        return RandomLoops(
            self.prefix,
            tuple(self.scope.nodes),
            tuple(self.constants),
            tuple(self.prefix + name for name in ("x", "u", "n", "m", "c")),
            (*last, *self.kept),
            self.dims,
            self.names,
        )


def random_loops(seed: int) -> RandomLoops:
    return Builder(seed).graph()


def build_model(graphs: Sequence[RandomLoops]) -> onnx.ModelProto:
    """The graphs side by side."""
    inputs = []
    for graph in graphs:
        kinds = [*[(TensorProto.FLOAT, graph.names)] * 2, *[(TensorProto.INT64, ())] * 2, (TensorProto.BOOL, ())]
        inputs += [
            helper.make_tensor_value_info(name, kind, dims)
            for name, (kind, dims) in zip(graph.inputs, kinds, strict=True)
        ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for graph in graphs for name in graph.outputs
    ]
    nodes = [node for graph in graphs for node in graph.nodes]
    constants = [constant for graph in graphs for constant in graph.constants]
    made = helper.make_graph(nodes, "random_loops", inputs, outputs, constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def feeds(graph: RandomLoops, run: int) -> dict[str, Array]:
    """Another size of what is free in each run, other counts and another condition."""
    random = np.random.default_rng([len(graph.prefix), run])
    grown = {name: run for name in graph.names if isinstance(name, str)}
    dims = [size + grown.get(name, 0) if isinstance(name, str) else size
            for size, name in zip(graph.dims, graph.names, strict=True)]  # fmt: skip
    x, u = (random.integers(-4, 5, dims).astype(np.float32) for _ in range(2))
    counts = [np.array(count, np.int64) for count in ((2, 3), (0, 1), (3, 2))[run % 3]]
    return dict(zip(graph.inputs, (x, u, *counts, np.array(run % 2 == 0)), strict=True))
