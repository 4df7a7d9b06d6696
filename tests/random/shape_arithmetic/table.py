"""Every operator of one numeric input, over sizes: integers and fractions of both signs, and what reads the result."""

from collections.abc import Callable
from functools import partial

import numpy as np

from tests.random.drawing import RUNS
from tests.random.shape_arithmetic.builder import INTEGER, Input, ShapeDrawing
from tests.random.shape_arithmetic.evaluation import Unfit, Value
from tests.random.shape_arithmetic.graphs import Drawn, results_of_onnxruntime
from tests.random.shape_arithmetic.operators import Schema

# Dims of the input in each run: small, around powers of two and ten, and squares.
DIMS = ((4, 10, 16), (9, 7, 1), (2, 3, 12))
ATTEMPTS = 36
LARGEST = 20
FLOAT = np.dtype(np.float32)
MOST_AXES = 4


class Table(ShapeDrawing):
    """The row of an operator."""

    def begin(self) -> None:
        arrays = tuple(np.ones([dim[run] for dim in DIMS], np.float32) for run in range(RUNS))
        given = Input(f"{self.prefix}x0", DIMS, arrays)
        self.inputs.append(given)
        self.known[given.name] = Value(given.name, arrays)

    def sizes(self, divisor: float | None, sign: int) -> Value:
        """The sizes, as they are or divided."""
        value = self.apply("Shape", [self.inputs[0].name])
        if divisor is not None:
            value = self.as_type(value, FLOAT)
            value = self.apply("Div", [value.name, self.constant(np.array(divisor, np.float32))])
        return value if sign > 0 else self.apply("Neg", [value.name])

    def row(self, schema: Schema) -> int:
        """For how many kinds of numbers onnxruntime runs the operator."""
        return sum(self.holds(schema, divisor, sign) for divisor in (None, 4.0, 3.0) for sign in (1, -1))

    def holds(self, schema: Schema, divisor: float | None, sign: int) -> bool:
        """Tries other attributes and more axes, until onnxruntime runs it."""
        for attempt in range(ATTEMPTS):
            made = self.attempt(partial(self.cell, schema, divisor, sign, attempt))
            if made is not None:
                self.attempt(partial(self.read, made))
                return True
        return False

    def cell(self, schema: Schema, divisor: float | None, sign: int, attempt: int) -> Value:
        """All sizes in one to four axes, then one of them, then that as a scalar."""
        value = self.sizes(divisor, sign)
        axes, round_ = attempt % MOST_AXES, attempt // MOST_AXES % 3
        if round_ > 0:
            place = self.constant(np.zeros([1] if round_ == 1 else [], np.int64))
            value = self.apply("Gather", [value.name, place], axis=0)
        if axes > 0:
            value = self.axes_of("Unsqueeze", value.name, list(range(axes)))
        return self.draw_of(schema, value)[0]

    def read(self, value: Value) -> Value:
        """A tensor whose two sizes are the result's first and last number."""
        if value.least_size == 0 or not all(np.isfinite(array.astype(np.float64)).all() for array in value.arrays):
            raise Unfit("no sizes")
        flat = self.apply("Reshape", [self.as_type(value, FLOAT).name, self.ints(-1)])
        ends = self.apply("Gather", [flat.name, self.ints(0, -1)], axis=0)
        least = self.apply("Abs", [ends.name])
        most = self.apply("Min", [least.name, self.constant(np.array(LARGEST, np.float32))])
        return self.apply("ConstantOfShape", [self.as_type(most, INTEGER).name])


def table(opset: int, schemas: list[Schema], progress: Callable[[str, int], None]) -> list[Drawn]:
    """The rows of these operators. `progress` is told for how many kinds of numbers each was drawn."""
    rows = []
    for number, schema in enumerate(schemas):
        row = Table(number, opset)
        row.prefix = f"{schema.name}_"
        row.begin()
        count = row.row(schema)
        progress(schema.name, count)
        if count == 0:
            continue
        graph = row.graph()
        expected = results_of_onnxruntime(graph)
        assert expected is not None, f"onnxruntime refuses the row of {schema.name}"
        rows.append(Drawn(graph, expected))
    return rows
