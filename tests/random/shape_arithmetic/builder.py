"""Random shape arithmetic: what is computed of sizes by any operator, in chains and DAGs, and what reads it.

A graph has one or two inputs; only their sizes need matter. It begins with their Shape and Size and grows by drawing an
operator and values for it, which onnxruntime evaluates at once at each run's sizes: what it refuses, what is not
determined or grows too large is drawn again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import helper

from models.tensor_files import Array
from tests.random.drawing import KINDS, RUNS, Dim, Drawing, fixed
from tests.random.shape_arithmetic.evaluation import Unfit, Value, evaluate
from tests.random.shape_arithmetic.operators import (
    FRACTIONS,
    TYPE_WEIGHT,
    TYPES,
    Option,
    Schema,
    attributes,
    numeric_operators,
)

T = TypeVar("T")
INTEGER = np.dtype(np.int64)


@dataclass(frozen=True)
class Input:
    name: str
    dims: tuple[Dim, ...]
    arrays: tuple[Array, ...]  # in each run


@dataclass(frozen=True)
class ShapeGraph:
    prefix: str
    opset: int
    nodes: tuple[onnx.NodeProto, ...]
    constants: dict[str, Array]
    inputs: tuple[Input, ...]
    outputs: tuple[Value, ...]


class ShapeDrawing(Drawing):
    """Values and nodes as they are drawn. A node that does not fit raises Unfit; `attempt` forgets what it had made."""

    def __init__(self, seed: int, opset: int, attempt: int = 0) -> None:
        super().__init__(seed, opset, KINDS["float32"], whole=True)
        self.random = np.random.default_rng([seed, 11, attempt])
        self.known: dict[str, Value] = {}  # every value and constant
        self.pool: list[Value] = []  # what is drawn from
        self.inputs: list[Input] = []
        self.operators = numeric_operators(opset)

    def attempt(self, draw: Callable[[], T]) -> T | None:
        nodes, constants, pool = len(self.nodes), dict(self.constants), len(self.pool)
        known, unread = dict(self.known), set(self.unread)
        try:
            return draw()
        except Unfit:
            del self.nodes[nodes:], self.pool[pool:]
            self.constants, self.known, self.unread = constants, known, unread
            return None

    # -------------------------------------------------------------------------------------------------------- parts

    def constant(self, array: Array) -> str:
        name = super().constant(array)
        self.known[name] = Value(name, (array,) * RUNS)
        return name

    def apply_all(self, op_type: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[Value]:
        """A node's results, which are drawn from if they hold numbers."""
        self.check_copies(op_type, inputs)
        self.check_rank(op_type, inputs, attributes)
        self.check_parts(op_type, inputs, attributes)
        names = self.raw(op_type, inputs, outputs, **attributes)
        made = evaluate(self.nodes[-1], self.known, self.opset)
        self.known |= {each.name: each for each in made}
        self.unread |= set(names)
        self.pool += made
        return made

    def check_copies(self, op_type: str, inputs: Sequence[str]) -> None:
        """A size that is computed, and 0 in some run only, copies a dim there: onnxc refuses such a run."""
        if op_type != "Reshape" or inputs[1] in self.constants:
            return
        if any((array == 0).any() for array in self.known[inputs[1]].arrays):
            raise Unfit("a computed size of 0")

    def check_rank(self, op_type: str, inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
        """Squeeze without axes leaves out those of one element: onnxc refuses a rank that only a run decides."""
        if op_type != "Squeeze" or len(inputs) > 1 or "axes" in attributes:
            return
        if any(1 in array.shape for array in self.known[inputs[0]].arrays):
            raise Unfit("a rank that sizes decide")

    def check_parts(self, op_type: str, inputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
        """Since version 18 Split is told its parts or their number; onnxruntime asks for it only of some graphs."""
        if op_type == "Split" and self.opset >= 18 and len(inputs) == 1 and "num_outputs" not in attributes:
            raise Unfit("nothing says into how many parts")

    def apply(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> Value:
        return self.apply_all(op_type, inputs, **attributes)[0]

    def draw_value(self, fits: Callable[[Value], bool] = lambda _: True) -> Value:
        """The later ones more often."""
        candidates = [each for each in self.pool if fits(each)]
        if not candidates:
            raise Unfit("nothing to draw from")
        weight = np.arange(1, len(candidates) + 1, dtype=float) ** 1.5
        return candidates[int(self.random.choice(len(candidates), p=weight / weight.sum()))]

    def as_type(self, value: Value, dtype: np.dtype[Any]) -> Value:
        if value.dtype == dtype:
            return value
        return self.apply("Cast", [value.name], to=helper.np_dtype_to_tensor_dtype(dtype))

    def axes_of(self, op_type: str, name: str, axes: list[int], since: int = 13) -> Value:
        """An operator whose axes became an input in a version."""
        extra, attributes = self.attribute_or_input("axes", axes, since)
        return self.apply(op_type, [name, *extra], **attributes)

    # ------------------------------------------------------------------------------------------------------ the sizes

    def begin(self) -> None:
        for number in range(2 if self.chance(0.3) else 1):
            rank = self.between(1, 4)
            dims = tuple(self.draw_dim({1: 25, 2: 16, 3: 10, 4: 7}[rank]) for _ in range(rank))
            arrays = tuple(
                self.random.integers(-4, 5, [dim[run] for dim in dims]).astype(np.float32) for run in range(RUNS)
            )
            given = Input(f"{self.prefix}x{number}", dims, arrays)
            self.inputs.append(given)
            self.known[given.name] = Value(given.name, arrays)
            self.pool.append(self.known[given.name])
        for given in self.inputs:
            self.sizes_of(given.name)

    def draw_dim(self, longest: int) -> Dim:
        """Fixed, or another size in each run; tens are where products by fractions jump."""
        size = self.between(1, longest)
        if self.chance(0.3):
            return fixed(size)
        return (size, *(self.one_of([self.between(1, longest), min(10, longest)]) for _ in range(RUNS - 1)))

    def sizes_of(self, name: str) -> None:
        """All, some or one of the sizes of a tensor."""
        rank = self.known[name].rank
        if self.chance(0.15):
            self.apply("Size", [name])
        if rank > 0 and self.opset >= 15 and self.chance(0.2):
            self.apply("Shape", [name], start=self.between(-rank, rank - 1))
            return
        shape = self.apply("Shape", [name])
        if rank > 0 and self.chance(0.5):
            place = self.constant(np.array(self.below(rank), np.int64))
            self.apply("Gather", [shape.name, place], axis=0)
        if rank > 1 and self.chance(0.3):
            first = self.below(rank - 1)
            self.apply("Slice", [shape.name, self.ints(first), self.ints(self.between(first + 1, rank))])

    # ---------------------------------------------------------------------------------------------- any operator

    def draw_operator(self) -> None:
        """One of the schemas', and values of the types that it takes."""
        schema = self.one_of(self.operators)
        for _ in range(10):
            if self.attempt(lambda: self.draw_of(schema)) is not None:
                return

    def draw_of(self, schema: Schema, first: Value | None = None) -> list[Value]:
        types: dict[str, np.dtype[Any]] = {}
        inputs: list[str] = []
        for number, parameter in enumerate(schema.inputs):
            if parameter.option == Option.Optional and not self.chance(0.25):
                inputs.append("")
                continue
            count = self.between(1, 3) if parameter.option == Option.Variadic else 1
            for _ in range(count):
                value = first if first is not None and not inputs else self.draw_input(number)
                value = self.in_allowed_type(value, parameter, types)
                inputs.append(value.name)
        while not inputs[-1]:
            inputs.pop()
        drawn = attributes(self, schema, self.known[inputs[0]].rank)
        return self.apply_all(schema.name, inputs, drawn.get("num_outputs", max(1, schema.min_output)), **drawn)

    def draw_input(self, number: int) -> Value:
        """From the pool, perhaps with more axes; a parameter after the first is often a constant."""
        if number > 0 and self.chance(0.5):
            return self.known[self.constant(self.draw_constant())]
        value = self.draw_value()
        if self.chance(0.2):
            rank = self.between(value.rank, max(4, value.rank))
            if rank > value.rank:
                value = self.axes_of("Unsqueeze", value.name, list(range(rank - value.rank)))
        return value

    def draw_constant(self) -> Array:
        dims = [self.between(1, 3)] if self.chance(0.6) else []
        if self.chance(0.4):
            return self.random.choice(FRACTIONS, dims).astype(np.float32)
        return np.asarray(self.random.integers(-2, 5, dims), np.int64)

    def in_allowed_type(self, value: Value, parameter: Any, types: dict[str, np.dtype[Any]]) -> Value:
        """Parameters of one type variable have one type."""
        allowed = [TYPES[name] for name in sorted(parameter.types) if name in TYPES]
        if not allowed:
            raise Unfit("its type")
        chosen = types.get(parameter.type_str)
        if chosen is None:
            chosen = value.dtype
            if chosen not in allowed or self.chance(0.15):
                weight = np.array([TYPE_WEIGHT.get(each.name, 0.3) for each in allowed], float)
                chosen = allowed[int(self.random.choice(len(allowed), p=weight / weight.sum()))]
            types[parameter.type_str] = chosen
        return self.as_type(value, chosen)

    # ------------------------------------------------------------------------------------------------------- sizes

    def number(self) -> Value:
        """One number of the pool, of shape [1] or []."""
        value = self.draw_value(lambda each: each.least_size > 0)
        if all(array.size == 1 for array in value.arrays) and value.rank <= 1:
            return value
        if value.rank != 1:
            value = self.apply("Reshape", [value.name, self.ints(-1)])
        if self.chance(0.3) and value.dtype.kind != "b":
            op_type, since = self.one_of([("ReduceSum", 13), ("ReduceMax", 18), ("ReduceMin", 18)])
            return self.axes_of(op_type, value.name, [0], since)
        place = self.below(value.least_size)
        place_shape = [1] if self.chance(0.5) else []
        return self.apply("Gather", [value.name, self.constant(np.full(place_shape, place, np.int64))], axis=0)

    def size(self, low: int, high: int) -> Value:
        """A number of int64, of shape [1] or [], that lies within these in every run."""
        value = self.as_type(self.number(), INTEGER)
        return value if value.within(low, high) else self.brought_within(value, low, high)

    def brought_within(self, value: Value, low: int, high: int) -> Value:
        way = self.below(3)
        if way == 0 and high > low:
            value = self.apply("Mod", [value.name, self.constant(np.array(high - low + 1, np.int64))])
            return self.apply("Add", [value.name, self.constant(np.array(low, np.int64))]) if low else value
        if way == 1:
            value = self.apply("Abs", [value.name])
        if self.opset >= 12 and self.chance(0.5):
            return self.apply("Clip", [value.name, *(self.constant(np.array(each, np.int64)) for each in (low, high))])
        least = self.apply("Max", [value.name, self.constant(np.array(low, np.int64))])
        return self.apply("Min", [least.name, self.constant(np.array(high, np.int64))])

    def as_scalar(self, value: Value) -> Value:
        return value if value.rank == 0 else self.axes_of("Squeeze", value.name, [0])

    def as_vector(self, value: Value) -> Value:
        return value if value.rank == 1 else self.axes_of("Unsqueeze", value.name, [0])

    def vector(self, bounds: Sequence[tuple[int, int]]) -> Value:
        """As many numbers of int64 as there are bounds, each within its own."""
        parts = [self.as_vector(self.part(*each)) for each in bounds]
        return parts[0] if len(parts) == 1 else self.apply("Concat", [each.name for each in parts], axis=0)

    def part(self, low: int, high: int) -> Value:
        """A number of a vector; sometimes a constant."""
        if self.chance(0.2):
            return self.known[self.constant(np.array([self.between(low, high)], np.int64))]
        return self.size(low, high)

    # -------------------------------------------------------------------------------------------------------- result

    def graph(self) -> ShapeGraph:
        made = [value for value in self.pool if value.name not in {each.name for each in self.inputs}]
        outputs = [value for value in made if value.name in self.unread]
        outputs += [value for value in made if value not in outputs and self.below(8) == 0]
        return ShapeGraph(
            self.prefix, self.opset, tuple(self.nodes), self.constants, tuple(self.inputs),
            tuple({each.name: each for each in outputs or made[-1:]}.values()),
        )  # fmt: skip
