"""A model of float16 or bfloat16 that computes in float32, with the inputs and outputs that it had.

before: x: float16 ─ Conv(float16) ─> y: float16
after:  x: float16 ─ Cast ─ Conv(float32) ─ Cast ─> y: float16

Constants, types and the type attributes of nodes change, in subgraphs and functions too; each input and output of the
model keeps its type by a Cast. Values that were rounded, or overflowed, in 16 bits no longer are. Needs onnx.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT = onnx.TensorProto.FLOAT
NARROW = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
# Attributes that name an element type.
TYPE_ATTRIBUTES = {"to", "dtype", "output_dtype", "output_datatype"}


def has_narrow_types(model: onnx.ModelProto) -> bool:
    """Whether the model names one of these types anywhere: in constants, values or attributes."""
    return any(_type_of(part) in NARROW for part in _typed_parts(model))


def in_float32(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, which must hold its external data, in float32; it is left as it was."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    constants = {tensor.name for tensor in model.graph.initializer}
    types = {value.name: value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output)}
    narrow = {name: kind for name, kind in types.items() if kind in NARROW and name not in constants}
    names = _names(model.graph)
    renamed = {}
    for name in narrow:
        renamed[name] = f"{name}_float32"
        while renamed[name] in names:
            renamed[name] += "_"
    for part in _typed_parts(result):
        if _type_of(part) in NARROW:
            _widen(part)
    inputs = {value.name for value in model.graph.input} - constants
    _rename(result.graph, renamed)
    given, taken = [], []
    for value in result.graph.input:
        if value.name in narrow and value.name in inputs:
            value.type.tensor_type.elem_type = narrow[value.name]
            given.append(helper.make_node("Cast", [value.name], [renamed[value.name]], to=FLOAT))
    for value in result.graph.output:
        if value.name in narrow:
            value.type.tensor_type.elem_type = narrow[value.name]
            if value.name not in inputs:
                taken.append(helper.make_node("Cast", [renamed[value.name]], [value.name], to=narrow[value.name]))
    nodes = [*given, *result.graph.node, *taken]
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    return result


# ------------------------------------------------------------------------------------------------------------- types

Typed = Any  # a TensorProto, an AttributeProto, or the tensor of a TypeProto


def _typed_parts(model: onnx.ModelProto) -> Iterator[Typed]:
    """Each part of the model that names the type of elements."""
    yield from _parts_of_graph(model.graph)
    for function in model.functions:
        yield from _parts_of_nodes(function.node)
        for value in function.value_info:
            yield from _parts_of_type(value.type)


def _parts_of_graph(graph: onnx.GraphProto) -> Iterator[Typed]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield from _parts_of_type(value.type)
    yield from _parts_of_nodes(graph.node)


def _parts_of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[Typed]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in TYPE_ATTRIBUTES:
                yield attribute
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                yield attribute.sparse_tensor.values
            yield from attribute.tensors
            yield from _parts_of_type(attribute.tp)
        for graph in _subgraphs(node):
            yield from _parts_of_graph(graph)


def _parts_of_type(kind: onnx.TypeProto) -> Iterator[Typed]:
    held = kind.WhichOneof("value")
    if held in ("sequence_type", "optional_type"):
        yield from _parts_of_type(getattr(kind, held).elem_type)
    elif held in ("tensor_type", "sparse_tensor_type"):
        yield getattr(kind, held)


def _type_of(part: Typed) -> int:
    if isinstance(part, onnx.TensorProto):
        return int(part.data_type)
    return int(part.i if isinstance(part, onnx.AttributeProto) else part.elem_type)


def _widen(part: Typed) -> None:
    if isinstance(part, onnx.TensorProto):
        part.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(part).astype(np.float32), part.name))
    elif isinstance(part, onnx.AttributeProto):
        part.i = FLOAT
    else:
        part.elem_type = FLOAT


# ------------------------------------------------------------------------------------------------------------- names


def _subgraphs(node: onnx.NodeProto) -> Iterable[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _names(graph: onnx.GraphProto) -> set[str]:
    names = {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    for node in graph.node:
        names.update(node.input, node.output, *(_names(inner) for inner in _subgraphs(node)))
    return names


def _rename(graph: onnx.GraphProto, renamed: dict[str, str]) -> None:
    """The places at which values are made and read, in subgraphs too; not the graph's own inputs and outputs."""
    for tensor in graph.initializer:
        tensor.name = renamed.get(tensor.name, tensor.name)
    for value in graph.value_info:
        value.name = renamed.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
        for inner in _subgraphs(node):
            _rename(inner, renamed)
            for value in inner.output:
                value.name = renamed.get(value.name, value.name)
