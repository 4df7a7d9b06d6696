"""Operators that exporters write in several nodes, drawn: passes look for them in every type that a graph has."""

import math

import numpy as np

from tests.random.drawing import LARGEST_TENSOR, RUNS, Drawing, Tensor, fixed, is_fixed, largest_size


class Idioms(Drawing):
    def written_out(self, x: Tensor) -> None:
        if not self.whole:
            self.one_of([self.gelu, self.swish, self.root_mean_square, self.grouped_instances, self.scores])(x)

    def gelu(self, x: Tensor) -> None:
        """Written with its error function, and the half in any place."""
        x = self.bounded(x, 32)
        root = self.value(math.sqrt(2))
        scaled = self.raw("Div", [x.name, root])[0]
        if self.chance(0.3):
            scaled = self.raw("Mul", [x.name, self.value(math.sqrt(0.5))])[0]
        sum_ = self.raw("Add", [self.raw("Erf", [scaled])[0], self.value(1.0)])[0]
        half = self.value(0.5)
        if self.chance(0.5):
            halved = self.raw("Mul", [x.name, half])[0]
            self.node("Mul", [sum_, halved], x.dims, x.bound)
        else:
            self.node("Mul", [self.raw("Mul", [x.name, sum_])[0], half], x.dims, x.bound)

    def swish(self, x: Tensor) -> None:
        self.node("Mul", [x.name, self.raw("Sigmoid", [x.name])[0]], x.dims, x.bound)

    def root_mean_square(self, x: Tensor) -> None:
        if x.rank < 2 or not is_fixed(x.dims[-1]) or self.opset < 13:
            return
        x = self.bounded(x, 16)
        square = self.raw("Mul", [x.name, x.name])[0]
        axes, attributes = self.attribute_or_input("axes", [-1], 18)
        mean = self.raw("ReduceMean", [square, *axes], **attributes)[0]
        root = self.raw("Sqrt", [self.raw("Add", [mean, self.value(0.5)])[0]])[0]
        scaled = self.raw("Div", [x.name, root])[0]
        self.node("Mul", [scaled, self.numbers(x.dims[-1][0])], x.dims, 30)

    def grouped_instances(self, x: Tensor) -> None:
        """A normalisation of groups of channels, as one of instances."""
        if x.rank < 3 or not is_fixed(x.dims[1]):
            return
        channels = x.dims[1][0]
        count = self.one_of([each for each in (1, 2, 4, channels) if channels % each == 0])
        if min(channels // count * int(np.prod([dim[run] for dim in x.space])) for run in range(RUNS)) < 5:
            return
        if not all(is_fixed(dim) for dim in x.dims[1:]) or min(x.dims[0]) == 0:
            return
        grouped = self.raw("Reshape", [x.name, self.ints(0, count, -1)])[0]
        parameters = [self.value(np.ones(count, np.float32)), self.value(np.zeros(count, np.float32))]
        normalized = self.raw("InstanceNormalization", [grouped, *parameters], epsilon=0.5)[0]
        back = self.raw("Reshape", [normalized, self.ints(0, channels, *(dim[0] for dim in x.space))])[0]
        ones = [1] * len(x.space)
        scaled = self.raw("Mul", [back, self.numbers(channels, *ones)])[0]
        self.node("Add", [scaled, self.numbers(channels, *ones)], x.dims, 30)

    def scores(self, x: Tensor) -> None:
        """Attention with scaled operands and a mask. Its rows may hide every key: the guard makes them zero."""
        if x.rank < 3 or not is_fixed(x.dims[-2]) or min(x.dims[-1]) < 1 or x.dims[-2][0] < 1:
            return
        if largest_size([*x.dims[:-1], x.dims[-2]]) > LARGEST_TENSOR:
            return
        x = self.bounded(x, 8)
        turned = self.raw("Transpose", [x.name], perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])[0]
        scale = self.value(0.2)
        queries = self.raw("Mul", [x.name, scale])[0]
        keys = self.raw("Mul", [turned, scale])[0] if self.chance(0.7) else turned
        scores = self.raw("MatMul", [queries, keys])[0]
        length = x.dims[-2][0]
        mask = np.where(self.random.random((length, length)) < 0.3, -np.inf, 0).astype(np.float32)
        mask[self.below(length)] = 0 if self.chance(0.5) else -np.inf
        guard = self.below(3)
        if guard == 0:  # no row hides every key
            mask[:, 0] = 0
        bias = self.value(mask if self.chance(0.8) else np.zeros_like(mask))
        masked = self.raw("Add", [scores, bias])[0]
        weights = self.raw("Softmax", [masked], axis=x.rank - 1)[0]
        zero = self.value(0.0)
        if guard == 1 and self.opset >= 13:
            weights = self.raw("Where", [self.raw("IsNaN", [weights])[0], zero, weights])[0]
        elif guard != 0:
            axes, attributes = self.attribute_or_input("axes", [-1], 18)
            largest = self.raw("ReduceMax", [bias, *axes], **attributes)[0]
            hidden = self.raw("Equal", [largest, self.value(-np.inf)])[0]
            weights = self.raw("Where", [hidden, zero, weights])[0]
        self.node("MatMul", [weights, x.name], [*x.dims[:-2], fixed(length), x.dims[-1]], x.bound)
