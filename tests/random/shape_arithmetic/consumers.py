"""Nodes that read sizes which a model computes: their result has these sizes, or depends on them otherwise."""

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.random.drawing import RUNS
from tests.random.shape_arithmetic.builder import INTEGER, ShapeDrawing
from tests.random.shape_arithmetic.evaluation import Unfit, Value, is_float

FLOAT = np.dtype(np.float32)
LONGEST = 12  # of a size that a consumer is given
SCALES = [0.5, 0.7, 0.9, 1.1, 1.4, 1.5, 1.9, 2.0, 2.3, 1 / 3]
COORDINATES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


class Consumers(ShapeDrawing):
    def data(self, *, least_rank: int = 1, most_rank: int = 4, floats: bool = False) -> Value:
        """A tensor that is not empty in any run."""

        def fits(value: Value) -> bool:
            return (
                least_rank <= value.rank <= most_rank
                and value.least_size > 0
                and value.dtype.name in (("float32",) if floats else ("float32", "int64"))
                and max(array.size for array in value.arrays) <= 500
            )

        return self.draw_value(fits)

    def draw_consumer(self) -> None:
        draw = self.one_of(CONSUMERS)
        for _ in range(10):
            if self.attempt(lambda: self.consume(draw)) is not None:
                return

    def consume(self, draw: Callable[["Consumers"], list[Value]]) -> list[Value]:
        """The sizes of its result may be computed with again."""
        made = draw(self)
        if self.chance(0.4):
            self.sizes_of(made[0].name)
        return made

    # ------------------------------------------------------------------------------------------------- tensors by size

    def constant_of_shape(self) -> list[Value]:
        sizes = self.vector([(0, LONGEST)] * self.between(1, 3))
        kind, number = self.one_of([(TensorProto.FLOAT, 1.5), (TensorProto.INT64, 3), (TensorProto.BOOL, 1)])
        return [self.apply("ConstantOfShape", [sizes.name], value=helper.make_tensor("value", kind, [1], [number]))]

    def expand(self) -> list[Value]:
        sizes = self.vector([(1, LONGEST)] * self.between(1, 3))
        return [self.apply("Expand", [self.value_of_one().name, sizes.name])]

    def value_of_one(self) -> Value:
        """One number, which can be broadcast."""
        if self.chance(0.5):
            return self.known[self.constant(np.array(2.5, np.float32))]
        return self.number()

    def range_of(self) -> list[Value]:
        """A part or all of it may be computed, in integers or floats."""
        limit = self.as_scalar(self.number())
        if limit.dtype.name not in ("int64", "int32", "float32", "float64"):
            limit = self.as_type(limit, INTEGER)
        start = self.known[self.constant(np.array(self.between(-3, 3), limit.dtype))]
        if self.chance(0.3):
            start = self.as_type(self.as_scalar(self.number()), limit.dtype)
        steps = [1, 1, 2, -1, 3] if not is_float(limit.arrays[0]) else [1, 0.5, 0.7, -1.5, 1.1]
        step = self.constant(np.array(self.one_of(steps), limit.dtype))
        return [self.apply("Range", [start.name, limit.name, step])]

    def eye(self) -> list[Value]:
        sizes = self.vector([(1, LONGEST)] * 2)
        zeros = self.apply("ConstantOfShape", [sizes.name])
        return [self.apply("EyeLike", [zeros.name], k=self.between(-2, 2))]

    def one_hot(self) -> list[Value]:
        places = self.as_type(self.data(most_rank=2), INTEGER)
        depth = self.size(1, LONGEST)
        values = self.constant(np.array([0, 1], np.float32))
        return [self.apply("OneHot", [places.name, depth.name, values], axis=-1)]

    # ------------------------------------------------------------------------------------------------ another shape

    def reshape(self) -> list[Value]:
        """Two sizes, whose product the tensor has, in another order, in one axis, or one of them inferred."""
        sizes = [self.as_vector(self.size(1, LONGEST)) for _ in range(2)]
        shape = self.apply("Concat", [each.name for each in sizes], axis=0)
        data = self.apply("Expand", [self.value_of_one().name, shape.name])
        product = self.apply("Mul", [each.name for each in sizes])
        inferred = self.known[self.ints(-1)]
        one, other = sizes
        targets = [
            [other, one],
            [product],
            [inferred],
            [other, inferred],
            [inferred, one],
            [one, self.known[self.ints(1)], other],
        ]
        target = self.one_of(targets)
        names = [each.name for each in target]
        to = names[0] if len(names) == 1 else self.apply("Concat", names, axis=0).name
        return [self.apply("Reshape", [data.name, to])]

    def reshape_data(self) -> list[Value]:
        """A tensor by sizes of its own, or by what divides them."""
        data = self.data()
        shape = self.apply("Shape", [data.name])
        parts = [self.apply("Gather", [shape.name, self.ints(axis)], axis=0) for axis in range(data.rank)]
        self.random.shuffle(parts)
        if len(parts) > 1 and self.chance(0.5):
            parts = [self.apply("Mul", [parts[0].name, parts[1].name]), *parts[2:]]
        names = [self.ints(-1) if i == 0 and self.chance(0.4) else part.name for i, part in enumerate(parts)]
        target = self.apply("Concat", names, axis=0)
        return [self.apply("Reshape", [data.name, target.name])]

    def tile(self) -> list[Value]:
        data = self.data(most_rank=3)
        return [self.apply("Tile", [data.name, self.vector([(0, 3)] * data.rank).name])]

    def pad(self) -> list[Value]:
        data = self.data(most_rank=3)
        mode = self.one_of(["constant", "constant", "edge", "reflect"])
        most = 4 if mode != "reflect" else min(min(array.shape) for array in data.arrays) - 1
        if most < 0:
            raise Unfit("nothing to reflect")
        pads = self.vector([(0, min(4, most))] * (2 * data.rank))
        if data.dtype != FLOAT:
            data = self.as_type(data, FLOAT)
        return [self.apply("Pad", [data.name, pads.name], mode=mode)]

    def cut(self) -> list[Value]:
        """From and to places that a model computes, which may lie beyond the axis, by a constant step."""
        data = self.data()
        axis = self.below(data.rank)
        start = self.as_vector(self.size(-LONGEST, LONGEST)) if self.chance(0.6) else self.known[self.ints(0)]
        end = self.as_vector(self.size(-LONGEST, 2 * LONGEST))
        step = self.one_of([1, 1, 2, -1])
        return [self.apply("Slice", [data.name, start.name, end.name, self.ints(axis), self.ints(step)])]

    def center_crop_pad(self) -> list[Value]:
        if self.opset < 18:
            raise Unfit("its version")
        data = self.data(most_rank=3)
        return [self.apply("CenterCropPad", [data.name, self.vector([(1, LONGEST)] * data.rank).name])]

    def split(self) -> list[Value]:
        """A computed number of elements, and the rest."""
        data = self.data()
        axis = self.below(data.rank)
        length = self.apply("Gather", [self.apply("Shape", [data.name]).name, self.ints(axis)], axis=0)
        first = self.apply("Min", [self.as_vector(self.size(0, LONGEST)).name, length.name])
        rest = self.apply("Sub", [length.name, first.name])
        parts = self.apply("Concat", [first.name, rest.name], axis=0)
        if self.opset < 13:
            raise Unfit("its version")
        return self.apply_all("Split", [data.name, parts.name], 2, axis=axis)

    def largest(self) -> list[Value]:
        data = self.data()
        axis = self.below(data.rank)
        least = min(array.shape[axis] for array in data.arrays)
        count = self.as_vector(self.size(0, least))
        return self.apply_all("TopK", [data.name, count.name], 2, axis=axis, largest=self.below(2))

    def resize(self) -> list[Value]:
        """Resizes by scales that are constants or computed, or by sizes."""
        data = self.data(floats=True)
        mode = self.one_of(["nearest", "linear", "linear"])
        # A place may lie half way between two, so that roundings decide which is nearest: then all numbers are one.
        if mode == "nearest":
            shape = self.apply("Shape", [data.name])
            data = self.apply("Expand", [self.constant(np.array([1.5], np.float32)), shape.name])
        coordinates = self.one_of(COORDINATES)
        empty = self.constant(np.zeros(0, np.float32)) if self.opset < 13 else ""
        given: dict[str, str] = {"mode": mode, "coordinate_transformation_mode": coordinates}
        if self.chance(0.4):
            sizes = self.vector([(1, LONGEST)] * data.rank)
            no_scales = self.constant(np.zeros(0, np.float32)) if self.opset < 13 else ""
            return [self.apply("Resize", [data.name, empty, no_scales, sizes.name], **given)]
        return [self.apply("Resize", [data.name, empty, self.scales(data).name], **given)]

    def scales(self, data: Value) -> Value:
        if self.chance(0.5):
            numbers = [self.one_of(SCALES) if self.chance(0.6) else 1.0 for _ in range(data.rank)]
            return self.known[self.constant(np.array(numbers, np.float32))]
        shape = self.as_type(self.apply("Shape", [data.name]), FLOAT)
        wanted = self.as_type(self.vector([(1, LONGEST)] * data.rank), FLOAT)
        return self.apply("Div", [wanted.name, shape.name])

    # ---------------------------------------------------------------------------------------------------- control flow

    def condition(self) -> Value:
        """A comparison of two numbers."""
        one, other = self.as_scalar(self.number()), self.number()
        if one.dtype.name not in ("int64", "int32", "float32", "float64"):
            one = self.as_type(one, INTEGER)
        other = self.as_scalar(self.as_type(other, one.dtype))
        if self.chance(0.5):
            limit = one.arrays[self.below(RUNS)] + self.between(-1, 1)
            other = self.known[self.constant(np.asarray(limit, one.dtype))]
        return self.apply(self.one_of(["Less", "Greater", "Equal"]), [one.name, other.name])

    def branch(self) -> list[Value]:
        """Tensors of one rank, whose sizes may differ."""
        data = self.data()
        condition = self.condition()
        number = len(self.nodes)
        graphs = [self.body_of_branch(data, f"{self.prefix}b{number}_{side}") for side in range(2)]
        return [self.apply("If", [condition.name], then_branch=graphs[0], else_branch=graphs[1])]

    def body_of_branch(self, data: Value, name: str) -> onnx.GraphProto:
        kind = self.below(4)
        if kind == 0:
            node = helper.make_node("Neg", [data.name], [name])
        elif kind == 1:
            node = helper.make_node("Add", [data.name, data.name], [name])
        elif kind == 2:
            node = helper.make_node("Concat", [data.name, data.name], [name], axis=0)
        else:
            node = helper.make_node("Slice", [data.name, self.ints(0), self.as_vector(self.size(1, 4)).name], [name])
        result = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), [None] * data.rank)
        return helper.make_graph([node], name, [], [result])

    def loop(self) -> list[Value]:
        """So many rounds; a number is carried, and collected from each."""
        count = self.as_scalar(self.size(0, 6))
        start = self.as_scalar(self.as_type(self.number(), INTEGER))
        if not start.within(-100, 100):
            raise Unfit("numbers too large")
        step = self.as_scalar(self.as_type(self.number(), INTEGER)) if self.chance(0.5) else None
        if step is not None and not step.within(-20, 20):
            raise Unfit("numbers too large")
        number = len(self.nodes)
        names = [f"{self.prefix}l{number}_{part}" for part in ("round", "go", "carried", "going", "next", "kept")]
        added = step.name if step is not None else names[0]
        nodes = [
            helper.make_node("Identity", [names[1]], [names[3]]),
            helper.make_node(self.one_of(["Add", "Sub", "Max"]), [names[2], added], [names[4]]),
            helper.make_node("Mul", [names[4], names[0]], [names[5]]),
        ]
        kinds = [
            TensorProto.INT64,
            TensorProto.BOOL,
            TensorProto.INT64,
            TensorProto.BOOL,
            TensorProto.INT64,
            TensorProto.INT64,
        ]
        infos = [helper.make_tensor_value_info(name, kind, []) for name, kind in zip(names, kinds, strict=True)]
        body = helper.make_graph(nodes, names[0], infos[:3], infos[3:])
        return self.apply_all("Loop", [count.name, "", start.name], 2, body=body)


CONSUMERS: list[Callable[[Consumers], list[Value]]] = [
    Consumers.constant_of_shape, Consumers.expand, Consumers.range_of, Consumers.eye, Consumers.one_hot,
    Consumers.reshape, Consumers.reshape_data, Consumers.tile, Consumers.pad, Consumers.cut, Consumers.center_crop_pad,
    Consumers.split, Consumers.largest, Consumers.resize, Consumers.branch, Consumers.loop,
]  # fmt: skip
