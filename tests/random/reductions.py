"""Operators that sum, count, order and normalise along axes, drawn."""

import numpy as np
from onnx import TensorProto

from tests.random.drawing import RUNS, Dim, Drawing, Tensor, fixed, is_fixed
from tests.random.movement import replaced

EXACT = ["ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1"]
OTHERS = ["ReduceMean", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceMean", "ReduceLogSum"]


class Reductions(Drawing):
    def length(self, x: Tensor, axes: list[int]) -> int:
        """The number of reduced elements, in the run in which it is largest."""
        return max(int(np.prod([x.dims[axis][run] for axis in axes])) for run in range(RUNS))

    def reduction(self, x: Tensor) -> None:
        if x.rank == 0:
            return
        axes = sorted(self.random.choice(x.rank, self.between(1, min(3, x.rank)), replace=False).tolist())
        if min(min(x.dims[axis]) for axis in axes) < 1:
            return
        op_type = self.one_of(EXACT if self.whole else EXACT + OTHERS * 2)
        if self.kind.is_integer and op_type == "ReduceL1" and self.kind.name == "int64":
            op_type = "ReduceSum"
        length = self.length(x, axes)
        squares = op_type in ("ReduceSumSquare", "ReduceL2")
        sums = op_type in ("ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceL2")
        if sums:
            x = self.bounded(x, max(1, min(8 if squares else 64, self.kind.largest / (2 * length))))
            if x.bound * length > self.kind.largest:
                return
        bound = x.bound * (x.bound if squares else 1) * length if sums else x.bound + np.log(length + 1)
        name = x.name
        if op_type == "ReduceLogSum":
            name = self.raw("Add", [self.raw("Abs", [name])[0], self.value(0.5)])[0]
        keepdims = self.below(2)
        inputs, attributes = self.attribute_or_input("axes", axes, 13 if op_type == "ReduceSum" else 18)
        dims: list[Dim] = [fixed(1) if i in axes else dim for i, dim in enumerate(x.dims) if keepdims or i not in axes]
        y = self.node(op_type, [name, *inputs], dims, bound, exact=x.exact, keepdims=keepdims, **attributes)
        if keepdims and self.chance(0.6):  # a gate
            self.node("Add", [x.name, y.name], x.dims, x.bound + y.bound, exact=x.exact)

    def squeeze_and_excite(self, x: Tensor) -> None:
        if self.whole or x.rank < 3 or min(min(dim) for dim in x.space) < 1:
            return
        inputs, attributes = self.attribute_or_input("axes", list(range(2, x.rank)), 18)
        mean = self.raw("ReduceMean", [x.name, *inputs], keepdims=1, **attributes)[0]
        gate = self.raw(self.one_of(["Sigmoid", "HardSigmoid"]), [mean])[0]
        self.node("Mul", [x.name, gate], x.dims, x.bound)

    def place_of_largest(self, x: Tensor) -> None:
        if not self.whole or x.rank == 0 or self.kind.name in ("bfloat16", "float16", "int64"):
            return
        axis = self.below(x.rank)
        if min(x.dims[axis]) < 1:
            return
        x = self.settled(x)
        last = {"select_last_index": self.below(2)} if self.opset >= 12 else {}
        op_type = self.one_of(["ArgMax", "ArgMin"])
        place = self.raw(op_type, [x.name], axis=axis, keepdims=1, **last)[0]
        self.keep(Tensor(self.cast(place), replaced(x.dims, axis, fixed(1)), max(x.dims[axis])))

    def largest(self, x: Tensor) -> None:
        if not self.whole or x.rank == 0 or self.kind.name in ("bfloat16", "float16", "int32"):
            return
        axis = self.below(x.rank)
        if min(x.dims[axis]) < 1:
            return
        x = self.settled(x)
        k = self.between(1, min(x.dims[axis]))
        values, places = self.raw("TopK", [x.name, self.ints(k)], 2, axis=axis, largest=self.below(2))
        self.keep(Tensor(values, replaced(x.dims, axis, fixed(k)), x.bound))
        if self.kind.name == "float32":
            self.keep(Tensor(self.cast(places), replaced(x.dims, axis, fixed(k)), max(x.dims[axis])))

    def running_sum(self, x: Tensor) -> None:
        if x.rank == 0 or self.kind.name in ("bfloat16", "float16"):
            return
        axis = self.below(x.rank)
        if min(x.dims[axis]) < 1:
            return
        x = self.bounded(x, 16)
        place = self.constant(np.array(axis, np.int64))
        flags = {"exclusive": self.below(2), "reverse": self.below(2)}
        self.node("CumSum", [x.name, place], x.dims, x.bound * max(x.dims[axis]), exact=x.exact, **flags)

    def soft(self, x: Tensor) -> None:
        if self.whole or x.rank < 1 or min(min(dim) for dim in x.dims) < 1:
            return
        op_type = self.one_of(["Softmax", "Softmax", "LogSoftmax"])
        axis = self.below(x.rank)
        self.node(op_type, [x.name], x.dims, 1 if op_type == "Softmax" else 2 * x.bound + 10, axis=axis)

    def hard(self, x: Tensor) -> None:
        if not self.whole or self.kind.name != "float32" or x.rank == 0 or min(min(dim) for dim in x.dims) < 1:
            return
        self.node("Hardmax", [self.settled(x).name], x.dims, 1, axis=self.below(x.rank))

    def scaled(self, x: Tensor) -> None:
        """Normalisations that have no parameters."""
        if self.whole or x.rank < 3 or min(min(dim) for dim in x.dims) < 2:
            return
        kind = self.below(3)
        shifted = self.raw("Add", [x.name, self.value(2.0)])[0]
        if kind == 0:
            self.node("LpNormalization", [shifted], x.dims, 1, axis=self.below(x.rank), p=2)
        elif kind == 1 and x.rank == 4:
            self.node("LRN", [x.name], x.dims, x.bound, size=self.one_of([1, 3, 5]), alpha=0.01, bias=1.0)
        else:
            self.node("MeanVarianceNormalization", [x.name], x.dims, 10, axes=[0, *range(2, x.rank)])

    def named_axes(self, x: Tensor) -> None:
        """Einsum over the last axis, or of it with channels."""
        if self.opset < 12 or x.rank < 2 or self.kind.name in ("float16", "bfloat16"):
            return
        if not is_fixed(x.dims[-1]) or not 0 < x.dims[-1][0] <= 32:
            return
        letters = "abcde"[: x.rank]
        depth, width = x.dims[-1][0], self.between(1, 6)
        x = self.bounded(x, 8)
        weights, _ = self.weights(depth, width)
        growth = float(np.abs(self.values[weights]).sum(0).max())
        equation = f"{letters},{letters[-1]}z->z{letters[:-1]}"
        dims = [fixed(width), *x.dims[:-1]]
        self.node("Einsum", [x.name, weights], dims, x.bound * growth, exact=x.exact, equation=equation)

    def count(self, x: Tensor) -> None:
        """A size, as a number that is added."""
        if self.kind.largest < 10_000 or x.rank == 0:
            return
        size = self.raw("Size", [x.name])[0]
        small = self.raw("Mod", [size, self.constant(np.array(7, np.int64))])[0]
        self.node("Add", [x.name, self.cast(small)], x.dims, x.bound + 7, exact=x.exact)

    def hot(self, x: Tensor) -> None:
        """Classes as vectors of 0 and 1."""
        if not self.whole or self.kind.name != "float32" or x.rank > 3 or x.rank == 0:
            return
        x = self.bounded(self.settled(x), 4)
        places = self.raw("Cast", [x.name], to=TensorProto.INT64)[0]
        hot = self.raw("OneHot", [places, self.constant(np.array(5, np.int64)), self.value([0, 1])], axis=-1)[0]
        self.keep(Tensor(hot, (*x.dims, fixed(5)), 1))
