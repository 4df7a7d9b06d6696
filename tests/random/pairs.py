"""Pairs: a computation drawn at random, written in two ways that ONNX says are the same.

Which results must be equal to the bit, for any values or only for exact ones, is a property of the pair:

- A pair of SAME_ARITHMETIC computes each element by the same operations in the same order, on the same numbers, and
  moves elements about in one of its forms. Such are functions of one element between transposes, weights that are
  shared or copied, maxima. Its results are equal to the bit for any values.
- A pair of ANOTHER_ORDER sums the same products in another order, or by another kernel. A convolution whose filters are
  computed in two parts may be given to another kernel than the whole, and padding that is a node of its own takes the
  tile at the border another way. Float addition is not associative, so its results are equal to the bit if no addition
  rounds, as with small integers; with others they are near.

Integers are followed by Round, since Winograd's transforms give numbers near integers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tests.random.drawing import KINDS, LARGEST_TENSOR, Tensor, is_fixed, largest_size
from tests.random.layers import window
from tests.random.random_graphs import Builder, RandomGraph


class Equality(Enum):
    SAME_ARITHMETIC = "to the bit for any values"
    ANOTHER_ORDER = "to the bit for exact values"


@dataclass(frozen=True)
class Pair:
    """The graph has two outputs, one of each form."""

    name: str
    graph: RandomGraph
    equality: Equality

    @property
    def is_to_the_bit(self) -> bool:
        return self.graph.whole or self.equality is Equality.SAME_ARITHMETIC


UNARY = ["Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Erf", "Softplus", "Elu", "LeakyRelu", "HardSigmoid", "Sin", "Exp"]
EXACT_UNARY = ["Relu", "Neg", "Abs", "Sign"]


class PairBuilder(Builder):
    """Each method draws both forms of a pair from x and gives their names; nothing if x does not fit."""

    def same(self, first: str, second: str) -> tuple[str, str, Equality]:
        return first, second, Equality.SAME_ARITHMETIC

    def reordered(self, first: str, second: str) -> tuple[str, str, Equality]:
        return first, second, Equality.ANOTHER_ORDER

    def filters(self, x: Tensor, *, groups: int = 1, least: int = 1) -> tuple[list[int], str, int]:
        """A kernel, weights and how many filters they are."""
        channels = x.dims[1][0]
        kernel = [3] * len(x.space) if self.chance(0.5) else [self.one_of([1, 2, 3, 4, 5]) for _ in x.space]
        count = groups * self.between(least, 20 if groups == 1 else 3)
        weights, _ = self.weights(count, channels // groups, *kernel)
        return kernel, weights, count

    def part(self, name: str, axis: int, first: int, end: int) -> str:
        """A new constant: elements of a constant along an axis."""
        return self.value(np.take(self.values[name], np.arange(first, end), axis))

    def has_channels(self, x: Tensor) -> bool:
        return x.rank >= 3 and is_fixed(x.dims[1]) and not self.kind.is_integer

    # ------------------------------------------------------------------------------------------------ convolutions

    def padded_convolution(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """Conv with pads, and Pad before a Conv without."""
        if not self.has_channels(x):
            return None
        kernel, weights, count = self.filters(x)
        strides, dilations = [self.one_of([1, 1, 2]) for _ in x.space], [self.one_of([1, 1, 2]) for _ in x.space]
        pads = [self.below(3) for _ in range(2 * len(x.space))]
        half = len(x.space)
        space = [
            window(*each) for each in zip(x.space, kernel, strides, dilations, pads[:half], pads[half:], strict=True)
        ]
        fits = [dim for dim in space if dim is not None]
        if len(fits) < len(space) or largest_size([x.dims[0], (count,) * len(x.dims[0]), *fits]) > LARGEST_TENSOR:
            return None
        attributes: dict[str, Any] = {"strides": strides, "dilations": dilations}
        whole = self.raw("Conv", [x.name, weights], pads=pads, **attributes)[0]
        padded = self.raw("Pad", [x.name, self.ints(0, 0, *pads[:half], 0, 0, *pads[half:])])[0]
        return self.reordered(whole, self.raw("Conv", [padded, weights], **attributes)[0])

    def split_filters(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """All filters, and two convolutions whose outputs are joined."""
        if not self.has_channels(x):
            return None
        kernel, weights, count = self.filters(x, least=2)
        first = self.between(1, count - 1)
        pads = [(k - 1) // 2 for k in kernel] + [k // 2 for k in kernel]
        whole = self.raw("Conv", [x.name, weights], pads=pads)[0]
        parts = [
            self.raw("Conv", [x.name, self.part(weights, 0, *bounds)], pads=pads)[0]
            for bounds in ((0, first), (first, count))
        ]
        return self.reordered(whole, self.raw("Concat", parts, axis=1)[0])

    def split_channels(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """All input channels, and the sum of two convolutions over parts of them."""
        if not self.has_channels(x) or x.dims[1][0] < 2:
            return None
        kernel, weights, _ = self.filters(x)
        channels = x.dims[1][0]
        first = self.between(1, channels - 1)
        pads = [(k - 1) // 2 for k in kernel] + [k // 2 for k in kernel]
        whole = self.raw("Conv", [x.name, weights], pads=pads)[0]
        inputs, attributes = self.attribute_or_input("split", [first, channels - first], 13)
        parts = self.raw("Split", [x.name, *inputs], 2, axis=1, **attributes)
        sums = [
            self.raw("Conv", [part, self.part(weights, 1, *bounds)], pads=pads)[0]
            for part, bounds in zip(parts, ((0, first), (first, channels)), strict=True)
        ]
        return self.reordered(whole, self.raw("Add", sums)[0])

    def groups(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A convolution of groups, and one for each group."""
        if not self.has_channels(x) or x.dims[1][0] < 2:
            return None
        channels = x.dims[1][0]
        groups = self.one_of([g for g in range(2, channels + 1) if channels % g == 0])
        if groups > 8:
            return None
        kernel, weights, count = self.filters(x, groups=groups)
        pads = [(k - 1) // 2 for k in kernel] + [k // 2 for k in kernel]
        whole = self.raw("Conv", [x.name, weights], pads=pads, group=groups)[0]
        inputs, attributes = self.attribute_or_input("split", [channels // groups] * groups, 13)
        parts = self.raw("Split", [x.name, *inputs], groups, axis=1, **attributes)
        each = count // groups
        results = [
            self.raw("Conv", [part, self.part(weights, 0, i * each, (i + 1) * each)], pads=pads)[0]
            for i, part in enumerate(parts)
        ]
        return self.reordered(whole, self.raw("Concat", results, axis=1)[0])

    def strided(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A stride, and every second of all outputs."""
        if not self.has_channels(x) or min(min(dim) for dim in x.space) < 1:
            return None
        kernel, weights, count = self.filters(x)
        if largest_size([x.dims[0], (count,) * len(x.dims[0]), *x.space]) > LARGEST_TENSOR:
            return None
        pads = [(k - 1) // 2 for k in kernel] + [k // 2 for k in kernel]
        strides = [self.one_of([1, 2, 3]) for _ in x.space]
        whole = self.raw("Conv", [x.name, weights], pads=pads, strides=strides)[0]
        dense = self.raw("Conv", [x.name, weights], pads=pads)[0]
        axes = list(range(2, x.rank))
        ends = [self.ints(*([number] * len(axes))) for number in (0, 2**31)]
        return self.reordered(whole, self.raw("Slice", [dense, *ends, self.ints(*axes), self.ints(*strides)])[0])

    def one_tap(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A convolution of one tap, and the matrix product that it is."""
        if not self.has_channels(x):
            return None
        weights, _ = self.weights(self.between(1, 20), x.dims[1][0], *[1] * len(x.space))
        matrix = self.value(self.values[weights].reshape(self.values[weights].shape[:2]).T)
        last = [0, *range(2, x.rank), 1]
        turned = self.raw("MatMul", [self.raw("Transpose", [x.name], perm=last)[0], matrix])[0]
        first = [0, x.rank - 1, *range(1, x.rank - 1)]
        return self.reordered(self.raw("Conv", [x.name, weights])[0], self.raw("Transpose", [turned], perm=first)[0])

    def shared_weights(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A layer twice, with one constant and with two of the same elements."""
        if not self.has_channels(x) or not 1 <= x.dims[1][0] <= 16:
            return None
        channels = x.dims[1][0]
        kernel = [self.one_of([1, 3]) for _ in x.space]
        weights, growth = self.weights(channels, channels, *kernel)
        if growth**2 * x.bound > self.kind.largest / 4:
            return None
        pads = [(k - 1) // 2 for k in kernel] * 2

        def twice(second: str) -> str:
            middle = self.raw("Relu", self.raw("Conv", [x.name, weights], pads=pads))
            return self.raw("Conv", [*middle, second], pads=pads)[0]

        return self.same(twice(weights), twice(self.value(self.values[weights])))

    # ---------------------------------------------------------------------------------------------------- products

    def split_columns(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A product with a matrix, and with two parts of it."""
        if x.rank < 2 or not is_fixed(x.dims[-1]) or not 0 < x.dims[-1][0] <= 64:
            return None
        width = self.between(2, 40)
        matrix, _ = self.weights(x.dims[-1][0], width)
        first = self.between(1, width - 1)
        parts = [
            self.raw("MatMul", [x.name, self.part(matrix, 1, *bounds)])[0] for bounds in ((0, first), (first, width))
        ]
        return self.reordered(self.raw("MatMul", [x.name, matrix])[0], self.raw("Concat", parts, axis=x.rank - 1)[0])

    # ---------------------------------------------------------------------------------------------- what only moves

    def order(self, rank: int) -> list[int]:
        return [int(axis) for axis in self.random.permutation(rank)]

    def turned_function(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A function of each element, and the same between a Transpose and its inverse."""
        function = self.one_of(EXACT_UNARY if self.whole else UNARY)
        order = self.order(x.rank)
        inverse = [int(axis) for axis in np.argsort(order)]
        turned = self.raw(function, self.raw("Transpose", [x.name], perm=order))
        return self.same(self.raw(function, [x.name])[0], self.raw("Transpose", turned, perm=inverse)[0])

    def turned_operands(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """An operator of two tensors, and the same of both transposed."""
        op_type = self.one_of(["Add", "Sub", "Mul"])
        other = self.raw("Neg", [x.name])[0] if self.chance(0.5) else self.numbers(*[1] * x.rank)
        order = self.order(x.rank)
        inverse = [int(axis) for axis in np.argsort(order)]
        turned = [self.raw("Transpose", [name], perm=order)[0] for name in (x.name, other)]
        return self.same(
            self.raw(op_type, [x.name, other])[0],
            self.raw("Transpose", self.raw(op_type, turned), perm=inverse)[0],
        )

    def flat_function(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A function of each element of a tensor, and of the same elements in one row."""
        if x.rank == 0:
            return None
        function = self.one_of(EXACT_UNARY if self.whole else UNARY)
        flat = self.raw(function, self.raw("Reshape", [x.name, self.ints(-1)]))
        shape = self.raw("Shape", [x.name])[0]
        return self.same(self.raw(function, [x.name])[0], self.raw("Reshape", [*flat, shape])[0])

    def function_of_parts(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A function of each element, and of two parts that are joined again."""
        axes = [axis for axis in range(x.rank) if is_fixed(x.dims[axis]) and x.dims[axis][0] >= 2]
        if not axes:
            return None
        axis = self.one_of(axes)
        first = self.between(1, x.dims[axis][0] - 1)
        inputs, attributes = self.attribute_or_input("split", [first, x.dims[axis][0] - first], 13)
        parts = self.raw("Split", [x.name, *inputs], 2, axis=axis, **attributes)
        function = self.one_of(EXACT_UNARY if self.whole else UNARY)
        results = [self.raw(function, [part])[0] for part in parts]
        return self.same(self.raw(function, [x.name])[0], self.raw("Concat", results, axis=axis)[0])

    def padded_pool(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """MaxPool with pads, and Pad by what is less than any element."""
        if x.rank < 3 or min(min(dim) for dim in x.space) < 1 or self.kind.is_integer:
            return None
        kernel, strides = [self.one_of([2, 3]) for _ in x.space], [self.one_of([1, 2]) for _ in x.space]
        half = len(x.space)
        pads = [self.below(2) for _ in range(2 * half)]
        if None in [window(d, k, s, 1, a, b) for d, k, s, a, b in
                    zip(x.space, kernel, strides, pads[:half], pads[half:], strict=True)]:  # fmt: skip
            return None
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
        low = self.value(-1000)
        padded = self.raw("Pad", [x.name, self.ints(0, 0, *pads[:half], 0, 0, *pads[half:]), low])[0]
        return self.same(
            self.raw("MaxPool", [x.name], pads=pads, **attributes)[0], self.raw("MaxPool", [padded], **attributes)[0]
        )

    def two_maxima(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A maximum along two axes, and one after the other."""
        if x.rank < 2 or min(min(dim) for dim in x.dims) < 1:
            return None
        axes = sorted(int(axis) for axis in self.random.choice(x.rank, 2, replace=False))

        def largest(name: str, *along: int) -> str:
            inputs, attributes = self.attribute_or_input("axes", list(along), 18)
            return self.raw("ReduceMax", [name, *inputs], keepdims=1, **attributes)[0]

        return self.same(largest(x.name, *axes), largest(largest(x.name, axes[1]), axes[0]))

    def two_sums(self, x: Tensor) -> tuple[str, str, Equality] | None:
        """A sum along two axes, and one after the other."""
        if x.rank < 2 or min(min(dim) for dim in x.dims) < 1:
            return None
        axes = sorted(int(axis) for axis in self.random.choice(x.rank, 2, replace=False))
        if x.bound * self.length(x, axes) > self.kind.largest:
            return None

        def total(name: str, *along: int) -> str:
            inputs, attributes = self.attribute_or_input("axes", list(along), 13)
            return self.raw("ReduceSum", [name, *inputs], keepdims=1, **attributes)[0]

        return self.reordered(total(x.name, *axes), total(total(x.name, axes[1]), axes[0]))


Draw = Callable[[PairBuilder, Tensor], tuple[str, str, Equality] | None]
PAIRS: list[Draw] = [
    PairBuilder.padded_convolution, PairBuilder.split_filters, PairBuilder.split_channels, PairBuilder.groups,
    PairBuilder.strided, PairBuilder.one_tap, PairBuilder.shared_weights, PairBuilder.split_columns,
    PairBuilder.turned_function, PairBuilder.turned_operands, PairBuilder.flat_function, PairBuilder.function_of_parts,
    PairBuilder.padded_pool, PairBuilder.two_maxima, PairBuilder.two_sums,
]  # fmt: skip
BEHIND = ["Relu", "Neg", "Abs", "Identity"]


def random_pair(seed: int, opset: int) -> Pair:
    """The pairs take turns; exact values two times in three."""
    draw = PAIRS[seed % len(PAIRS)]
    attempt = 0
    while True:
        builder = PairBuilder(seed, opset, KINDS["float32"], whole=seed // len(PAIRS) % 3 != 2)
        builder.random = np.random.default_rng([seed, 11, attempt])
        attempt += 1
        builder.begin()
        drawn = draw(builder, builder.tensors[0])
        if drawn is not None:
            return finished(builder, draw.__name__, drawn)


def finished(builder: PairBuilder, name: str, drawn: tuple[str, str, Equality]) -> Pair:
    """Something after both forms that changes no bit but the sign, so that it is fused; Round after integers."""
    behind = builder.one_of(BEHIND)
    ends = [builder.raw(behind, [form])[0] for form in drawn[:2]]
    if builder.whole:
        ends = [builder.raw("Round", [end])[0] for end in ends]
    x = builder.tensors[0]
    outputs = tuple(Tensor(end, x.dims, 0) for end in ends)  # of x's rank, which is all that the model says of them
    graph = RandomGraph(
        builder.prefix, builder.kind, builder.whole, tuple(builder.nodes), builder.values, builder.constants, x.dims,
        tuple(builder.symbols), outputs, builder.bound,
    )  # fmt: skip
    return Pair(name, graph, drawn[2])
