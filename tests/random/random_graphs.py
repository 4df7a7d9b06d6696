"""Random small networks: compositions of operators that no table of single operators holds.

A graph begins with one input [N, C, space...] of rank 3 to 5, of which any subset of dims is free, and grows by drawing
operators that fit the tensors there are: convolutions, pools, normalisations, activations, sums of branches, Concat,
Split, Slice, Pad, Resize, Transpose, reductions that are broadcast back, Softmax over flattened space. What nobody
reads becomes an output, and now and then a tensor in the middle too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.models.tensor_files import Array

OPSET = 20
LARGEST_TENSOR = 10_000  # elements, at the size the graph is drawn for


@dataclass(frozen=True)
class Tensor:
    name: str
    dims: tuple[int, ...]  # at the size the graph is drawn for

    @property
    def channels(self) -> int:
        return self.dims[1]

    @property
    def space(self) -> tuple[int, ...]:
        return self.dims[2:]


@dataclass(frozen=True)
class RandomGraph:
    model: onnx.ModelProto
    dims: tuple[int, ...]  # of the input, at the size the graph is drawn for
    free: tuple[bool, ...]  # which of them the model leaves open


class Builder:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        rank = int(self.random.choice([3, 4, 5], p=[0.2, 0.3, 0.5]))
        longest = {3: 40, 4: 14, 5: 6}[rank]
        space = tuple(int(self.random.integers(4, longest + 1)) for _ in range(rank - 2))
        self.input = Tensor(
            "x", (int(self.random.integers(1, 3)), int(self.random.choice([1, 2, 3, 5, 16, 20])), *space)
        )
        self.tensors = [self.input]
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.unread = {self.input.name}

    # ------------------------------------------------------------------------------------------------------- parts

    def constant(self, array: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *dims: int) -> str:
        """Of a size that keeps the magnitude of what they are multiplied with."""
        fan_in = max(1, int(np.prod(dims[1:])))
        return self.constant((self.random.standard_normal(dims) / np.sqrt(fan_in)).astype(np.float32))

    def node(self, op_type: str, inputs: Sequence[str], *dims: tuple[int, ...], **attributes: object) -> list[Tensor]:
        """A node whose outputs have these dims."""
        number = len(self.nodes)
        outputs = [Tensor(f"t{number}_{i}", tuple(int(dim) for dim in each)) for i, each in enumerate(dims)]
        self.nodes.append(
            helper.make_node(op_type, list(inputs), [each.name for each in outputs], name=f"n{number}", **attributes)
        )
        self.unread.difference_update(inputs)
        self.unread.update(each.name for each in outputs)
        return outputs

    def keep(self, tensors: Sequence[Tensor]) -> None:
        self.tensors += tensors

    def pick(self, fits: Callable[[Tensor], bool] = lambda _: True) -> Tensor | None:
        """A tensor with batch, channels and space; the later ones more often."""
        candidates = [each for each in self.tensors if fits(each)]
        if not candidates:
            return None
        weight = np.arange(1, len(candidates) + 1, dtype=float) ** 2
        return candidates[int(self.random.choice(len(candidates), p=weight / weight.sum()))]

    def below(self, end: int) -> int:
        return int(self.random.integers(end))

    # --------------------------------------------------------------------------------------------------- operators

    def convolution(self, x: Tensor) -> None:
        spatial = len(x.space)
        groups = int(self.random.choice([g for g in (1, 1, 2, x.channels) if x.channels % g == 0]))
        filters = groups * int(self.random.integers(1, 20 if groups == 1 else 3))
        kernel = [int(self.random.choice([1, 2, 3])) for _ in range(spatial)]
        strides = [int(self.random.choice([1, 1, 2])) for _ in range(spatial)]
        dilations = [int(self.random.choice([1, 1, 2])) for _ in range(spatial)]
        pads = [self.below(3) for _ in range(2 * spatial)]
        extents = [
            size + pads[i] + pads[spatial + i] - dilations[i] * (kernel[i] - 1) - 1 for i, size in enumerate(x.space)
        ]
        if min(extents) < 0:
            return
        space = [extent // stride + 1 for extent, stride in zip(extents, strides, strict=True)]
        inputs = [x.name, self.weights(filters, x.channels // groups, *kernel)]
        if self.below(2):
            inputs.append(self.weights(filters))
        self.keep(
            self.node(
                "Conv",
                inputs,
                (x.dims[0], filters, *space),
                group=groups,
                kernel_shape=kernel,
                strides=strides,
                dilations=dilations,
                pads=pads,
            )
        )

    def transposed_convolution(self, x: Tensor) -> None:
        spatial, filters = len(x.space), 1 + self.below(12)
        space = [2 * size for size in x.space]
        if x.dims[0] * filters * np.prod(space) > LARGEST_TENSOR:
            return
        weights = self.weights(x.channels, filters, *[2] * spatial)
        attributes = {"kernel_shape": [2] * spatial, "strides": [2] * spatial}
        self.keep(self.node("ConvTranspose", [x.name, weights], (x.dims[0], filters, *space), **attributes))

    def pool(self, x: Tensor) -> None:
        kernel = [min(size, int(self.random.choice([1, 2, 3]))) for size in x.space]
        strides = [int(self.random.choice([1, 2])) for _ in x.space]
        space = [(size - k) // stride + 1 for size, k, stride in zip(x.space, kernel, strides, strict=True)]
        op_type = str(self.random.choice(["MaxPool", "AveragePool"]))
        self.keep(self.node(op_type, [x.name], (*x.dims[:2], *space), kernel_shape=kernel, strides=strides))

    def normalization(self, x: Tensor) -> None:
        scale, shift = self.weights(x.channels), self.weights(x.channels)
        if self.below(2):
            mean, variance = (
                self.weights(x.channels),
                self.constant(self.random.uniform(0.5, 2, x.channels).astype("f")),
            )
            self.keep(self.node("BatchNormalization", [x.name, scale, shift, mean, variance], x.dims))
        elif np.prod(x.space) > 4:
            self.keep(self.node("InstanceNormalization", [x.name, scale, shift], x.dims))

    def activation(self, x: Tensor) -> None:
        op_type = str(self.random.choice(["Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "Elu", "Abs", "Neg"]))
        self.keep(self.node(op_type, [x.name], x.dims))

    def with_constant(self, x: Tensor) -> None:
        dims = [x.channels if axis == 1 else 1 for axis in range(len(x.dims))]
        op_type = str(self.random.choice(["Add", "Mul", "Sub", "Max"]))
        operands = [x.name, self.weights(*dims[self.below(2) :])]
        self.keep(self.node(op_type, operands[:: 1 if self.below(2) else -1], x.dims))

    def of_two(self, x: Tensor) -> None:
        other = self.pick(lambda y: y.dims == x.dims)
        assert other is not None
        op_type = str(self.random.choice(["Add", "Sub", "Mul", "Min"]))
        self.keep(self.node(op_type, [x.name, other.name], x.dims))

    def concat(self, x: Tensor) -> None:
        others = [self.pick(lambda y: (y.dims[0], y.space) == (x.dims[0], x.space)) for _ in range(1 + self.below(2))]
        parts = [x, *(other for other in others if other is not None)]
        channels = sum(part.channels for part in parts)
        if channels <= 48:
            self.keep(self.node("Concat", [part.name for part in parts], (x.dims[0], channels, *x.space), axis=1))

    def split(self, x: Tensor) -> None:
        if x.channels < 2:
            return
        first = 1 + self.below(x.channels - 1)
        sizes = [first, x.channels - first]
        dims = [(x.dims[0], size, *x.space) for size in sizes]
        self.keep(self.node("Split", [x.name, self.constant(np.array(sizes))], *dims, axis=1))

    def cut(self, x: Tensor) -> None:
        """Drops elements from one axis of space, counted from either end, or every second one."""
        axis = 2 + self.below(len(x.space))
        size = x.dims[axis]
        if size < 4:
            return
        start, end, step = [(1, -1, 1), (0, -2, 1), (0, 2**31, 2), (-1, -(2**31), -1), (2, 2**31, 1)][self.below(5)]
        result = len(range(size)[slice(start, end, step)])
        slices = [self.constant(np.array([value])) for value in (start, end, axis, step)]
        self.keep(self.node("Slice", [x.name, *slices], (*x.dims[:axis], result, *x.dims[axis + 1 :])))

    def pad(self, x: Tensor) -> None:
        mode = str(self.random.choice(["constant", "reflect", "edge"]))
        widths = [0, 0, *(self.below(min(3, size)) for size in x.space)]
        dims = tuple(size + 2 * width for size, width in zip(x.dims, widths, strict=True))
        if np.prod(dims) <= LARGEST_TENSOR:
            self.keep(self.node("Pad", [x.name, self.constant(np.array(widths * 2))], dims, mode=mode))

    def upsample(self, x: Tensor) -> None:
        dims = (*x.dims[:2], *(2 * size for size in x.space))
        if np.prod(dims) > LARGEST_TENSOR:
            return
        scales = self.constant(np.array([1, 1, *[2] * len(x.space)], np.float32))
        mode = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        if self.below(2):
            mode = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
        self.keep(self.node("Resize", [x.name, "", scales], dims, **mode))

    def swap_axes(self, x: Tensor) -> None:
        """Exchanges two axes of space, or channels with one of them."""
        first, second = sorted(self.random.choice(np.arange(1, len(x.dims)), 2, replace=False).tolist())
        if x.dims[second] > 48:
            return
        order = list(range(len(x.dims)))
        order[first], order[second] = order[second], order[first]
        self.keep(self.node("Transpose", [x.name], tuple(x.dims[axis] for axis in order), perm=order))

    def squeeze_and_excite(self, x: Tensor) -> None:
        axes = self.constant(np.arange(2, len(x.dims)))
        mean_dims = (*x.dims[:2], *[1] * len(x.space))
        [mean] = self.node("ReduceMean", [x.name, axes], mean_dims, keepdims=1)
        [gate] = self.node("Sigmoid", [mean.name], mean_dims)
        self.keep(self.node("Mul", [x.name, gate.name], x.dims))

    def softmax_of_space(self, x: Tensor) -> None:
        """Flattens space, and brings it back by the sizes that Shape gives."""
        flat_dims = (*x.dims[:2], int(np.prod(x.space)))
        [sizes] = self.node("Shape", [x.name], (len(x.dims),))
        [flat] = self.node("Reshape", [x.name, self.constant(np.array([0, 0, -1]))], flat_dims)
        [soft] = self.node("Softmax", [flat.name], flat_dims, axis=int(self.random.choice([1, 2])))
        self.keep(self.node("Reshape", [soft.name, sizes.name], x.dims))

    def channel_mix(self, x: Tensor) -> None:
        """A product over channels, which are last for it."""
        last = len(x.dims) - 1
        forth, back = [0, *range(2, last + 1), 1], [0, last, *range(1, last)]
        filters = 1 + self.below(20)
        [moved] = self.node("Transpose", [x.name], tuple(x.dims[axis] for axis in forth), perm=forth)
        dims = (x.dims[0], *x.space, filters)
        [mixed] = self.node("MatMul", [moved.name, self.weights(x.channels, filters)], dims)
        self.keep(self.node("Transpose", [mixed.name], (x.dims[0], filters, *x.space), perm=back))

    # ------------------------------------------------------------------------------------------------------- graph

    def grow(self, count: int) -> None:
        operators = [
            *[self.convolution] * 5,
            *[self.activation] * 2,
            self.transposed_convolution,
            self.pool,
            self.normalization,
            self.with_constant,
            *[self.of_two] * 2,
            *[self.concat] * 2,
            self.split,
            self.cut,
            self.pad,
            self.upsample,
            self.swap_axes,
            self.squeeze_and_excite,
            self.softmax_of_space,
            self.channel_mix,
        ]
        while len(self.nodes) < count:
            x = self.pick(lambda tensor: bool(np.prod(tensor.dims) <= LARGEST_TENSOR))
            assert x is not None
            operators[self.below(len(operators))](x)

    def graph(self) -> RandomGraph:
        free = tuple(bool(self.below(2)) for _ in self.input.dims)
        names = ["N", "C", "D", "H", "W"]
        # A convolution's channels are its weights': only batch and space can be free.
        free = (free[0], False, *free[2:])
        shape = [names[axis] if free[axis] else size for axis, size in enumerate(self.input.dims)]
        outputs = [each for each in self.tensors if each.name in self.unread and each is not self.input]
        middle = [each for each in self.tensors[1:] if each not in outputs and self.below(6) == 0]
        rank_only = [
            helper.make_tensor_value_info(each.name, TensorProto.FLOAT, [None] * len(each.dims))
            for each in outputs + middle
        ]
        graph = helper.make_graph(
            self.nodes,
            "random",
            [helper.make_tensor_value_info(self.input.name, TensorProto.FLOAT, shape)],
            rank_only,
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        return RandomGraph(model, self.input.dims, free)


def random_graph(seed: int) -> RandomGraph:
    builder = Builder(seed)
    builder.grow(4 + builder.below(14))
    return builder.graph()


def sizes_of(graph: RandomGraph, seed: int) -> list[tuple[int, ...]]:
    """The size that the graph is drawn for, and others that differ in its free dims: larger and smaller ones."""
    random = np.random.default_rng(seed)
    sizes = [graph.dims]
    for change in (1, -1, 3):
        other = [
            size + change + int(random.integers(2)) if is_free else size
            for size, is_free in zip(graph.dims, graph.free, strict=True)
        ]
        sizes.append(tuple(max(1, size) for size in other))
    return sizes if any(graph.free) else sizes[:1]
