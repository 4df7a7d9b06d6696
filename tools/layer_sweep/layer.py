"""A row of the sweep: a layer of a family, with a value for each of its parameters.

A family's rows are its first values, each other value beside the first values of the others, and what a seed draws. A
builder gives None for values that do not go together.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.operator_timing import Array, Operator

Parameters = dict[str, Any]
Builder = Callable[["Values", Parameters], Operator | None]


class Values:
    """Inputs of a layer, the same whenever it is built."""

    def __init__(self, name: str) -> None:
        self._random = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, *shape: int, dtype: Any = np.float32) -> Array:
        return self._random.standard_normal(shape).astype(dtype)

    def positive(self, *shape: int, dtype: Any = np.float32) -> Array:
        return (self._random.random(shape) + 0.5).astype(dtype)

    def whole(self, least: int, most: int, *shape: int, dtype: Any = np.int64) -> Array:
        return self._random.integers(least, most, shape).astype(dtype)


@dataclass(frozen=True)
class Layer:
    name: str
    operator: Operator
    has_free_dims: bool = False


@dataclass(frozen=True)
class Family:
    name: str
    build: Builder
    parameters: dict[str, Sequence[Any]]

    def layer(self, parameters: Parameters) -> Layer | None:
        """`free` is every family's: whether the dims of the inputs are known."""
        first = {key: values[0] for key, values in self.parameters.items()}
        chosen = {**first, "free": False, **parameters}
        words = [f"{key}={text(value)}" for key, value in chosen.items() if value != first.get(key, False)]
        name = " ".join([self.name, *words])
        operator = self.build(Values(name), chosen)
        return Layer(name, operator, bool(chosen["free"])) if operator is not None else None

    def first_layer(self) -> Layer:
        layer = self.layer({})
        assert layer is not None, self.name
        return layer

    def rows(self) -> Iterator[Layer]:
        yield self.first_layer()
        for key, values in [*self.parameters.items(), ("free", (False, True))]:
            for value in values[1:]:
                if layer := self.layer({key: value}):
                    yield layer

    def draw(self, random: np.random.Generator) -> Layer | None:
        drawn = {key: values[int(random.integers(len(values)))] for key, values in self.parameters.items()}
        return self.layer({**drawn, "free": bool(random.random() < 0.25)})


def text(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(getattr(value, "__name__", value))


def extents(p: Parameters) -> tuple[int, ...]:
    """A volume of so many voxels, all extents different if that is asked."""
    rank, voxels = p["rank"], p["voxels"]
    one = max(2, round(voxels ** (1 / rank)))
    return tuple(one + (axis if p.get("odd") else 0) for axis in range(rank))
