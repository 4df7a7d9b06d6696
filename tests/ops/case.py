"""Operator cases: a small graph with its inputs, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from models.tensor_files import Array

DEFAULT_OPSET = 20


@dataclass(frozen=True)
class Constant:
    """An input that is an initializer of the model, not an input of the graph."""

    values: Array


@dataclass(frozen=True)
class Node:
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""


@dataclass(frozen=True, eq=False)
class Case:
    """A graph of few nodes, on given inputs.

    expected: the outputs; None asks onnxruntime or, if that lacks the operator's version, ONNX's own evaluator.
    tolerance: of each float element, relative to its own magnitude and, a tenth of it, to the largest; 0 is equality;
        None takes the type's usual one.
    unknown: the inputs of the graph whose dims the compiler is not told.
    slow: left to the complete test run.
    domain_version: of the operator sets beside ONNX's own; one for all cases of a table.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: Mapping[str, Array]
    constants: Mapping[str, Array]
    outputs: tuple[str, ...]
    opset: int = DEFAULT_OPSET
    expected: tuple[Array, ...] | None = None
    tolerance: float | None = None
    unknown: frozenset[str] = frozenset()
    slow: bool = False
    domain_version: int = 1

    @property
    def domains(self) -> list[str]:
        return sorted({node.domain for node in self.nodes} - {""})


def case(
    op_type: str,
    *inputs: Array | Constant | None,
    name: str = "",
    opset: int = DEFAULT_OPSET,
    domain: str = "",
    outputs: int = 1,
    expected: Sequence[Array] | None = None,
    tolerance: float | None = None,
    slow: bool = False,
    domain_version: int = 1,
    **attributes: Any,
) -> Case:
    """A case of one node. An input of None is left out. The name is put after operator and opset."""
    names = tuple("" if value is None else f"x{i}" for i, value in enumerate(inputs))
    results = tuple(f"y{i}" for i in range(outputs))
    return Case(
        name=" ".join(filter(None, (f"{op_type}-{opset}", name))),
        nodes=(Node(op_type, names, results, attributes, domain),),
        inputs={f"x{i}": value for i, value in enumerate(inputs) if isinstance(value, np.ndarray)},
        constants={f"x{i}": value.values for i, value in enumerate(inputs) if isinstance(value, Constant)},
        outputs=results,
        opset=opset,
        expected=None if expected is None else tuple(expected),
        tolerance=tolerance,
        slow=slow,
        domain_version=domain_version,
    )


def with_unknown_dims(one: Case, *known: str) -> Case:
    """The case with inputs of whose dims the compiler is told nothing, but for those named."""
    return replace(one, name=f"{one.name} of unknown dims", unknown=frozenset(one.inputs) - set(known))


# (operator, "inputs by space", "outputs by space", attributes)
NodeText = tuple[str, str, str] | tuple[str, str, str, dict[str, Any]]


def graph_case(
    name: str,
    nodes: Sequence[NodeText],
    inputs: Mapping[str, Array],
    constants: Mapping[str, Array],
    outputs: Sequence[str] = ("y",),
    **settings: Any,
) -> Case:
    """A case of several nodes."""
    return Case(
        name=name,
        nodes=tuple(
            Node(node[0], _names(node[1]), _names(node[2]), node[3] if len(node) > 3 else {}) for node in nodes
        ),
        inputs=inputs,
        constants=constants,
        outputs=tuple(outputs),
        **settings,
    )


def _names(text: str) -> tuple[str, ...]:
    """Two spaces in a row stand around an input that is left out."""
    return tuple(text.split(" ")) if text else ()


def ints(*values: int) -> Constant:
    """A constant vector of int64: axes, pads, shapes."""
    return Constant(np.array(values, np.int64))


def constant(values: Any, dtype: Any = np.float32) -> Constant:
    return Constant(np.array(values, dtype))


def build_model(cases: Sequence[Case], expected: Mapping[Case, Sequence[Array]]) -> onnx.ModelProto:
    """One model that holds every case, side by side; the values of case i have the prefix `c<i>_`.

    All cases have the same opset, and of other domains the same version. `expected` gives the types and shapes of the
    outputs.
    """
    nodes, inputs, initializers, outputs = [], [], [], []
    for index, one in enumerate(cases):
        prefix = case_prefix(index)
        for position, node in enumerate(one.nodes):
            nodes.append(
                helper.make_node(
                    node.op_type,
                    [value and prefix + value for value in node.inputs],
                    [value and prefix + value for value in node.outputs],
                    name=f"{prefix}{node.op_type}_{position}",
                    domain=node.domain,
                    **node.attributes,
                )
            )
        inputs += [
            (value_info_of_rank if name in one.unknown else value_info)(prefix + name, array)
            for name, array in one.inputs.items()
        ]
        initializers += [numpy_helper.from_array(array, prefix + name) for name, array in one.constants.items()]
        describe = value_info_of_rank if one.unknown else value_info
        outputs += [describe(prefix + name, array) for name, array in zip(one.outputs, expected[one], strict=True)]
    domains = sorted({domain for one in cases for domain in one.domains})
    others = [helper.make_opsetid(domain, cases[0].domain_version) for domain in domains]
    opsets = [helper.make_opsetid("", cases[0].opset), *others]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def case_prefix(index: int) -> str:
    return f"c{index}_"


def value_info(name: str, array: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def value_info_of_rank(name: str, array: Array) -> onnx.ValueInfoProto:
    """The type and the rank, with dims that have no name: any two may or may not be equal."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim)


def random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Normally distributed floats; integers of -9..9, or 0..9 for an unsigned type; booleans."""
    generator = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return generator.integers(0, 2, shape).astype(kind)
    if np.issubdtype(kind, np.unsignedinteger):
        return generator.integers(0, 10, shape).astype(kind)
    if np.issubdtype(kind, np.signedinteger):
        return generator.integers(-9, 10, shape).astype(kind)
    return generator.standard_normal(shape).astype(kind)


def small_integers(*shape: int, dtype: Any = np.float32, seed: int = 0, low: int = -4, high: int = 4) -> Array:
    """Integers low..high as numbers of `dtype`: sums of their products are exact in any order."""
    return np.random.default_rng([seed, *shape]).integers(low, high + 1, shape).astype(dtype)


FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
REAL = (*FLOATS, *SIGNED, *UNSIGNED)


def type_id(dtype: Any) -> str:
    return np.dtype(dtype).name
