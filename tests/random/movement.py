"""Operators that move elements, drawn."""

from typing import Any

import numpy as np

from tests.random.drawing import LARGEST_TENSOR, Dim, Drawing, Tensor, fixed, is_fixed, largest_size, of_each


def replaced(dims: tuple[Dim, ...], axis: int, dim: Dim) -> tuple[Dim, ...]:
    return (*dims[:axis], dim, *dims[axis + 1 :])


class Movement(Drawing):
    def concat(self, x: Tensor) -> None:
        if x.rank < 1:
            return
        axis = 1 if x.rank > 1 and self.chance(0.7) else self.below(x.rank)

        def fits(y: Tensor) -> bool:
            return y.rank == x.rank and all(y.dims[i] == x.dims[i] for i in range(x.rank) if i != axis)

        others = [self.pick(fits) for _ in range(self.between(1, 3))]
        parts = [x, *(other for other in others if other is not None)]
        extent = of_each(lambda *sizes: sum(sizes), *(part.dims[axis] for part in parts))
        dims = replaced(x.dims, axis, extent)
        if largest_size(dims) > LARGEST_TENSOR or max(extent) > 64:
            return
        exact = all(part.exact for part in parts)
        bound = max(part.bound for part in parts)
        self.node("Concat", [part.name for part in parts], dims, bound, exact=exact, axis=axis - self.below(2) * x.rank)

    def split(self, x: Tensor) -> None:
        axes = [axis for axis in range(x.rank) if is_fixed(x.dims[axis]) and x.dims[axis][0] >= 2]
        if not axes:
            return
        axis = self.one_of(axes)
        size = x.dims[axis][0]
        first = self.between(1, size - 1)
        sizes = [first, size - first] if self.chance(0.7) else [first, 0, size - first]
        inputs, attributes = self.attribute_or_input("split", sizes, 13)
        names = self.raw("Split", [x.name, *inputs], len(sizes), axis=axis, **attributes)
        for name, part in zip(names, sizes, strict=True):
            if part:
                self.keep(Tensor(name, replaced(x.dims, axis, fixed(part)), x.bound, x.exact))

    def cut(self, x: Tensor) -> None:
        """Drops elements from an axis, counted from either end, or every second one, backwards."""
        if x.rank == 0:
            return
        axis = self.below(x.rank)
        if min(x.dims[axis]) < 4:
            return
        start, end, step = self.one_of(
            [(1, -1, 1), (0, -2, 1), (0, 2**31, 2), (-1, -(2**31), -1), (2, 2**31, 1), (-1, -(2**31), -2), (-3, 99, 1)]
        )
        dim = of_each(lambda size: len(range(size)[slice(start, end, step)]), x.dims[axis])
        slices = [self.ints(number) for number in (start, end, axis, step)]
        self.node("Slice", [x.name, *slices], replaced(x.dims, axis, dim), x.bound, exact=x.exact)

    def pad(self, x: Tensor) -> None:
        if x.rank == 0 or min(min(dim) for dim in x.dims) < 3:
            return
        modes = ["constant", "constant", "reflect", "edge", *(["wrap"] if self.opset >= 19 else [])]
        mode = self.one_of(modes)
        pads = [self.below(3) if axis >= min(2, x.rank - 1) else 0 for axis in range(x.rank)] * 2
        pads = [pad if self.chance(0.7) else 0 for pad in pads]
        if mode == "constant" and self.chance(0.3):
            pads[-1] = -1
        dims = [
            of_each(lambda size, a=a, b=b: size + a + b, dim)
            for dim, a, b in zip(x.dims, pads[: x.rank], pads[x.rank :], strict=True)
        ]
        if largest_size(dims) > LARGEST_TENSOR:
            return
        inputs = [x.name, self.ints(*pads)]
        if mode == "constant" and self.chance(0.5):
            inputs.append(self.value(3))
        self.node("Pad", inputs, dims, max(x.bound, 3), exact=x.exact, mode=mode)

    def turn(self, x: Tensor) -> None:
        if x.rank == 0:
            return
        order = [int(axis) for axis in self.random.permutation(x.rank)]
        if x.rank > 2 and self.chance(0.5):  # batch stays
            order = [0, *(1 + int(axis) for axis in self.random.permutation(x.rank - 1))]
        dims = [x.dims[axis] for axis in order]
        self.node("Transpose", [x.name], dims, x.bound, exact=x.exact, perm=order)

    def flatten(self, x: Tensor) -> None:
        """To two or three axes, and back to what Shape says."""
        if x.rank < 3:
            return
        if self.chance(0.3):
            axis = self.between(1, x.rank - 1)
            product: Any = lambda *sizes: int(np.prod(sizes, dtype=np.int64))  # noqa: E731
            dims = [of_each(product, *x.dims[:axis]), of_each(product, *x.dims[axis:])]
            self.node("Flatten", [x.name], dims, x.bound, exact=x.exact, axis=axis)
            return
        if min(min(dim) for dim in x.dims) < 1:
            return
        shape = self.raw("Shape", [x.name])[0]
        last = of_each(lambda *sizes: int(np.prod(sizes)), *x.dims[2:])
        flat = self.raw("Reshape", [x.name, self.ints(0, 0, -1)])[0]
        middle = self.keep(Tensor(flat, (*x.dims[:2], last), x.bound, x.exact))
        doubled = self.raw("Add", [middle.name, middle.name])[0]
        self.node("Reshape", [doubled, shape], x.dims, 2 * x.bound, exact=x.exact)

    def squeeze(self, x: Tensor) -> None:
        """An axis of one, put in and perhaps taken out."""
        axis = self.between(0, x.rank)
        if x.rank >= 5:
            return
        inputs, attributes = self.attribute_or_input("axes", [axis], 13)
        dims = (*x.dims[:axis], fixed(1), *x.dims[axis:])
        y = self.node("Unsqueeze", [x.name, *inputs], dims, x.bound, exact=x.exact, **attributes)
        if self.chance(0.6):
            inputs, attributes = self.attribute_or_input("axes", [axis - (x.rank + 1)], 13)
            self.node("Squeeze", [y.name, *inputs], x.dims, x.bound, exact=x.exact, **attributes)

    def tile(self, x: Tensor) -> None:
        repeats = [self.one_of([1, 1, 2]) for _ in x.dims]
        dims = [of_each(lambda size, r=r: size * r, dim) for dim, r in zip(x.dims, repeats, strict=True)]
        if largest_size(dims) <= LARGEST_TENSOR and x.rank:
            self.node("Tile", [x.name, self.ints(*repeats)], dims, x.bound, exact=x.exact)

    def expand(self, x: Tensor) -> None:
        """A mean, a part or a constant broadcast to the shape of another tensor."""
        if x.rank == 0 or min(x.dims[-1]) < 1:
            return
        slices = [self.ints(number) for number in (0, 1, x.rank - 1)]
        part = self.raw("Slice", [x.name, *slices])[0]
        shape = self.raw("Shape", [x.name])[0]
        self.node("Expand", [part, shape], x.dims, x.bound, exact=x.exact)

    def gather(self, x: Tensor) -> None:
        if x.rank == 0:
            return
        axis = self.below(x.rank)
        least = min(x.dims[axis])
        if least < 1:
            return
        count = self.between(1, 5)
        places = self.ints(*(self.between(-least, least - 1) for _ in range(count)))
        if self.chance(0.25) and x.rank > 1:
            one = self.constant(np.array(self.between(0, least - 1), np.int64))
            dims = (*x.dims[:axis], *x.dims[axis + 1 :])
            self.node("Gather", [x.name, one], dims, x.bound, exact=x.exact, axis=axis)
        else:
            self.node(
                "Gather", [x.name, places], replaced(x.dims, axis, fixed(count)), x.bound, exact=x.exact, axis=axis
            )

    def gather_elements(self, x: Tensor) -> None:
        if x.rank == 0 or x.rank > 3 or not all(is_fixed(dim) for dim in x.dims) or x.size == 0:
            return
        axis, shape = self.below(x.rank), [dim[0] for dim in x.dims]
        shape[axis] = self.between(1, 6)
        size = x.dims[axis][0]
        places = self.constant(self.random.integers(-size, size, shape).astype(np.int64))
        dims = [fixed(each) for each in shape]
        self.node("GatherElements", [x.name, places], dims, x.bound, exact=x.exact, axis=axis)

    def scatter(self, x: Tensor) -> None:
        """Rows of the first axis are written anew."""
        if x.rank < 2 or x.rank > 4 or min(x.dims[0]) < 2 or not all(is_fixed(dim) for dim in x.dims[1:]):
            return
        if x.size == 0 or self.kind.name in ("float16", "bfloat16"):
            return
        rows = self.constant(np.array([[1], [0]], np.int64))
        updates = self.numbers(2, *(dim[0] for dim in x.dims[1:]))
        self.node("ScatterND", [x.name, rows, updates], x.dims, max(x.bound, 2), exact=x.exact)

    def scatter_elements(self, x: Tensor) -> None:
        if x.rank == 0 or x.rank > 3 or not all(is_fixed(dim) for dim in x.dims) or x.size == 0:
            return
        if self.kind.name in ("float16", "bfloat16"):
            return
        axis, shape = self.below(x.rank), [dim[0] for dim in x.dims]
        order = np.argsort(self.random.random(shape), axis)  # every place once
        take = self.between(1, shape[axis])
        places = np.take(order, np.arange(take), axis).astype(np.int64)
        updates = self.numbers(*places.shape)
        inputs = [x.name, self.constant(places), updates]
        self.node("ScatterElements", inputs, x.dims, max(x.bound, 2), exact=x.exact, axis=axis)

    def depth_and_space(self, x: Tensor) -> None:
        if x.rank != 4 or self.kind.is_integer or self.kind.name in ("float16", "bfloat16"):
            return
        if all(size % 2 == 0 for dim in x.space for size in dim):
            space = [of_each(lambda size: size // 2, dim) for dim in x.space]
            dims = [x.dims[0], of_each(lambda size: 4 * size, x.dims[1]), *space]
            self.node("SpaceToDepth", [x.name], dims, x.bound, exact=x.exact, blocksize=2)
        elif all(size % 4 == 0 for size in x.dims[1]) and 4 * x.size <= 4 * LARGEST_TENSOR:
            space = [of_each(lambda size: size * 2, dim) for dim in x.space]
            dims = [x.dims[0], of_each(lambda size: size // 4, x.dims[1]), *space]
            mode = self.one_of(["DCR", "CRD"])
            self.node("DepthToSpace", [x.name], dims, x.bound, exact=x.exact, blocksize=2, mode=mode)

    def triangle(self, x: Tensor) -> None:
        if self.opset < 14 or x.rank < 2 or self.kind.name in ("float16", "bfloat16", "int32"):
            return
        k = self.constant(np.array(self.between(-2, 2), np.int64))
        self.node("Trilu", [x.name, k], x.dims, x.bound, exact=x.exact, upper=self.below(2))

    def reverse(self, x: Tensor) -> None:
        if self.kind.name != "float32" or x.rank < 2 or not is_fixed(x.dims[0]) or min(x.dims[1]) < 1:
            return
        lengths = self.ints(*(self.between(1, min(x.dims[1])) for _ in range(x.dims[0][0])))
        self.node("ReverseSequence", [x.name, lengths], x.dims, x.bound, exact=x.exact, batch_axis=0, time_axis=1)

    def compress(self, x: Tensor) -> None:
        if x.rank == 0 or self.kind.name in ("float16", "bfloat16"):
            return
        axis = self.below(x.rank)
        if not is_fixed(x.dims[axis]) or not 2 <= x.dims[axis][0] <= 16:
            return
        kept = self.random.random(x.dims[axis][0]) < 0.6
        kept[0] = True
        dims = replaced(x.dims, axis, fixed(int(kept.sum())))
        self.node("Compress", [x.name, self.constant(kept)], dims, x.bound, exact=x.exact, axis=axis)
