"""The tools for drawing random graphs: tensors that know their dims in every run, and a builder of nodes.

A graph is drawn for several runs at once, whose sizes differ if its input's dims are free: a tensor's dim is a tuple,
its size in each run. So two dims are equal if they are equal in all runs, whatever the model can prove.

Half of the graphs are whole: every value is an integer, small enough that float32 (or float16, or bfloat16) holds it
and all sums on the way, so that results must be equal whatever the order of a sum. Winograd's transforms round, so that
what they give is near an integer; Round makes it one before an operator that would jump.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array

T = TypeVar("T")
Dim = tuple[int, ...]  # its size in each run

RUNS = 3
LARGEST_TENSOR = 8_000  # elements, in any run
SMALL = 8  # what values that have grown are clipped to


@dataclass(frozen=True)
class Kind:
    """The element type of a graph's values."""

    name: str
    onnx_type: int
    largest: int  # of integers and sums of integers that it holds exactly
    is_integer: bool = False


KINDS = {
    "float32": Kind("float32", TensorProto.FLOAT, 2**22),
    "float16": Kind("float16", TensorProto.FLOAT16, 2**10),
    "bfloat16": Kind("bfloat16", TensorProto.BFLOAT16, 2**7),
    "int32": Kind("int32", TensorProto.INT32, 2**28, True),
    "int64": Kind("int64", TensorProto.INT64, 2**40, True),
}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph's kind. `bound` is that of its magnitude; `exact` says that a whole graph's rounding has
    not touched it."""

    name: str
    dims: tuple[Dim, ...]
    bound: float
    exact: bool = True

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def space(self) -> tuple[Dim, ...]:
        return self.dims[2:]

    @property
    def size(self) -> int:
        return largest_size(self.dims)


def fixed(size: int) -> Dim:
    return (int(size),) * RUNS


def is_fixed(dim: Dim) -> bool:
    return len(set(dim)) == 1


def of_each(compute: Callable[..., int], *dims: Dim) -> Dim:
    """The same arithmetic in every run."""
    return tuple(int(compute(*sizes)) for sizes in zip(*dims, strict=True))


def largest_size(dims: Sequence[Dim]) -> int:
    return max(int(np.prod([dim[run] for dim in dims], dtype=np.int64)) for run in range(RUNS))


class Drawing:
    """Nodes and constants, as they are drawn. Names begin with the prefix, so that graphs can stand side by side."""

    def __init__(self, seed: int, opset: int, kind: Kind, *, whole: bool) -> None:
        self.random = np.random.default_rng([seed, 7])
        self.prefix = f"g{seed}_"
        self.opset = opset
        self.kind = kind
        self.whole = whole
        self.tensors: list[Tensor] = []
        self.nodes: list[onnx.NodeProto] = []
        # Those of the graph's kind are kept apart, as another kind may be asked of the same graph.
        self.values: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        self.unread: set[str] = set()
        self.shared: dict[tuple[int, ...], str] = {}

    # ------------------------------------------------------------------------------------------------------ drawing

    def below(self, end: int) -> int:
        return int(self.random.integers(end))

    def between(self, first: int, last: int) -> int:
        return int(self.random.integers(first, last + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def pick(self, fits: Callable[[Tensor], bool] = lambda _: True) -> Tensor | None:
        """The later ones more often."""
        candidates = [each for each in self.tensors if fits(each)]
        if not candidates:
            return None
        weight = np.arange(1, len(candidates) + 1, dtype=float) ** 2
        return candidates[int(self.random.choice(len(candidates), p=weight / weight.sum()))]

    # -------------------------------------------------------------------------------------------------------- parts

    def name(self, stem: str) -> str:
        return f"{self.prefix}{stem}{len(self.nodes) + len(self.values) + len(self.constants)}"

    def value(self, array: Array | Sequence[float] | float) -> str:
        """A constant of the graph's kind."""
        name = self.name("v")
        self.values[name] = np.asarray(array, np.float32)
        return name

    def constant(self, array: Array) -> str:
        name = self.name("c")
        self.constants[name] = array
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def weights(self, *dims: int) -> tuple[str, float]:
        """Weights whose first axis is the outputs', and by how much they let a magnitude grow. Sometimes those that a
        layer before has."""
        if dims in self.shared and self.chance(0.3):
            name = self.shared[dims]
            return name, float(np.abs(self.values[name]).reshape(dims[0], -1).sum(1).max(initial=0))
        fan_in = int(np.prod(dims[1:]))
        if self.whole:
            values = np.zeros((dims[0], fan_in), np.float32)
            for row in values:
                places = self.random.choice(fan_in, min(4, fan_in), replace=False)
                row[places] = self.random.choice([-2, -1, 1, 1], len(places))
        else:
            values = (self.random.standard_normal((dims[0], fan_in)) / np.sqrt(max(1, fan_in))).astype(np.float32)
        name = self.value(values.reshape(dims))
        self.shared[dims] = name
        return name, float(np.abs(values).sum(1).max(initial=0))

    def numbers(self, *dims: int, largest: int = 2) -> str:
        """Values of both signs."""
        if self.whole:
            return self.value(self.random.integers(-largest, largest + 1, dims).astype(np.float32))
        return self.value(self.random.uniform(-largest, largest, dims).astype(np.float32))

    def attribute_or_input(self, name: str, values: Sequence[int], since: int) -> tuple[list[str], dict[str, Any]]:
        """An attribute that became an input in this version."""
        if self.opset >= since:
            return [self.ints(*values)], {}
        return [], {name: list(values)}

    def raw(self, op_type: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """A node whose results are not kept as tensors."""
        number = len(self.nodes)
        names = [f"{self.prefix}t{number}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=f"{self.prefix}n{number}", **attributes))
        self.unread.difference_update(inputs)
        return names

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        dims: Sequence[Dim],
        bound: float,
        *,
        exact: bool = True,
        **attributes: Any,
    ) -> Tensor:
        """A node of one result, which is kept."""
        return self.keep(Tensor(self.raw(op_type, inputs, **attributes)[0], tuple(dims), bound, exact))

    def keep(self, tensor: Tensor) -> Tensor:
        """The tensor, made smaller if it has grown."""
        self.unread.add(tensor.name)
        if tensor.bound > min(4096, self.kind.largest) and not (self.kind.is_integer and self.opset < 12):
            limits = [self.value(-SMALL), self.value(SMALL)]
            [name] = self.raw("Clip", [tensor.name, *limits])
            tensor = replace(tensor, name=name, bound=SMALL)
            self.unread.add(name)
        self.tensors.append(tensor)
        return tensor

    def bounded(self, x: Tensor, largest: float) -> Tensor:
        """Within a magnitude, for what would let it grow too far."""
        if x.bound <= largest:
            return x
        if self.kind.is_integer and self.opset < 12:
            [name] = self.raw("Mod", [x.name, self.value(max(2, int(largest)))])
            return replace(x, name=name, bound=largest)
        [name] = self.raw("Clip", [x.name, self.value(-int(largest)), self.value(int(largest))])
        return replace(x, name=name, bound=largest)

    def settled(self, x: Tensor) -> Tensor:
        """For an operator that jumps: in a whole graph the integers themselves."""
        if x.exact or self.kind.is_integer:
            return x
        return replace(x, name=self.raw("Round", [x.name])[0], exact=True)

    def cast(self, name: str) -> str:
        """To the graph's kind."""
        return self.raw("Cast", [name], to=self.kind.onnx_type)[0]


def as_tensor(name: str, array: Array, kind: Kind) -> onnx.TensorProto:
    """A constant of the graph's kind."""
    if kind.name == "bfloat16":
        return helper.make_tensor(name, TensorProto.BFLOAT16, array.shape, array.astype(np.float32).reshape(-1))
    return numpy_helper.from_array(array.astype(kind.name), name)
