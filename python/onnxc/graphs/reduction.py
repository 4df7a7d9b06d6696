"""How onnxc.reduce makes a model smaller: the forms in which nodes can be left out, and the search among them.

A node that is left out becomes, for those that read it, one of

    an input of the model, with the value that onnxruntime computes; dims that were free stay free
    another tensor of the same type and shape, which it was computed from: the node is bypassed
    a constant of the recorded value

and an If becomes the branch that it takes. The second form keeps what is computed of sizes while a model is compiled,
which an input would hide. The search ends when no single node can be left out in any of these forms.
"""

import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from onnxc import reference
from onnxc.graphs.subgraphs import names_read, nodes_of_branch, with_names, with_smaller_subgraph

Array = NDArray[Any]
Feeds = dict[str, Array]
Test = Callable[[onnx.ModelProto, Feeds], str | None]
Candidate = tuple[onnx.ModelProto, Feeds]

# How far back a node is bypassed, in nodes, and by how many tensors this is tried.
FARTHEST, MOST_SOURCES = 6, 3


def without_dims(value: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    """Values of the same type and rank."""
    result = copy.deepcopy(value)
    for dim in result.type.tensor_type.shape.dim:
        dim.Clear()
    return result


class Part:
    """The rest of a model, its inputs' values, and those of its tensors, as far as onnxruntime knows them."""

    def __init__(self, model: onnx.ModelProto, feeds: Feeds, values: Feeds | None = None) -> None:
        self.model = model
        self.feeds = feeds
        self.nodes = list(model.graph.node)
        self.initializers = {each.name: each for each in model.graph.initializer}
        self.inputs = {each.name: each for each in model.graph.input}
        self.outputs = {each.name: each for each in model.graph.output}
        self.values = values_of(model, feeds) if values is None else values
        self.inferred = inferred_shapes(model)
        self.producers = {name: node for node in self.nodes for name in node.output if name}

    # ------------------------------------------------------------------------------------------------ a part of it

    def built(
        self,
        nodes: Sequence[onnx.NodeProto],
        *,
        kept_outputs: Collection[str],
        constants: Collection[str] = (),
        recorded_dims: bool = False,
        declared: bool = True,
    ) -> Candidate | None:
        """The model of these nodes. Among the tensors that they read and none of them makes, these become constants,
        others inputs.

        recorded_dims: an input that is new has the dims of its recorded value, if nothing else is known of them.
        declared: outputs keep their declared dims.
        """
        made = {name for node in nodes for name in node.output if name}
        read = dict.fromkeys(name for node in nodes for name in sorted(names_read(node)))
        given = [name for name in read if name not in made]
        new_constants = [
            numpy_helper.from_array(self.values[name], name)
            for name in given
            if name in constants and name in self.values
        ]
        old = [self.initializers[name] for name in given if name in self.initializers]
        named = {each.name for each in (*new_constants, *old)}
        inputs = [self.inputs.get(name) or self.input_for(name, recorded_dims) for name in given if name not in named]
        results = [
            name for node in nodes for name in node.output if name and (name in kept_outputs or name not in read)
        ]
        outputs = [self.output_for(name, declared) for name in results]
        kept_inputs = [each for each in inputs if each is not None]
        if not outputs or len(kept_inputs) < len(inputs):
            return None
        graph = helper.make_graph(
            nodes, "reduced", kept_inputs, outputs, [*old, *new_constants],
            value_info=[each for each in self.model.graph.value_info if each.name in made and declared],
        )  # fmt: skip
        model = helper.make_model(
            graph,
            opset_imports=self.model.opset_import,
            ir_version=self.model.ir_version,
            functions=self.model.functions,
        )
        return model, {each.name: self.values[each.name] for each in kept_inputs if each.name in self.values}

    def output_for(self, name: str, declared: bool) -> onnx.ValueInfoProto:
        """How a result is declared. If nobody knows the type, since the model is refused, any will do."""
        known = self.outputs.get(name)
        if known is not None and known.type.WhichOneof("value"):
            return known if declared else without_dims(known)
        if name in self.values:
            value = self.values[name]
            return helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
            )
        any_type = next((each.type.tensor_type.elem_type for each in self.outputs.values()), onnx.TensorProto.FLOAT)
        return self.inferred.get(name) or helper.make_tensor_value_info(name, any_type, None)

    def input_for(self, name: str, recorded_dims: bool) -> onnx.ValueInfoProto | None:
        """A tensor as an input. A dim is free unless it is known to be one number in every run."""
        value, info = self.values.get(name), self.inferred.get(name)
        if value is None:
            return info if info is not None and info.type.tensor_type.HasField("shape") else None
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        dims: list[int | str] = list(value.shape)
        if self.has_free_dims and not recorded_dims:
            dims = [self.free_dim(name, axis, info) for axis in range(value.ndim)]
        return helper.make_tensor_value_info(name, kind, dims)

    @property
    def has_free_dims(self) -> bool:
        return any(
            not dim.HasField("dim_value") or dim.dim_value < 0
            for each in self.inputs.values()
            for dim in each.type.tensor_type.shape.dim
        )

    def free_dim(self, name: str, axis: int, info: onnx.ValueInfoProto | None) -> int | str:
        """The number or symbol that ONNX infers for a dim, or a symbol of its own."""
        size = self.values[name].shape[axis]
        inferred = info.type.tensor_type.shape.dim if info is not None else []
        if axis < len(inferred):
            dim = inferred[axis]
            if dim.HasField("dim_value") and dim.dim_value == size:
                return int(size)
            if dim.dim_param and self.sizes_of(dim.dim_param) == {size}:
                return str(dim.dim_param)
        return f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{axis}"

    def sizes_of(self, symbol: str) -> set[int]:
        """Those that a symbol has in the inputs."""
        return {
            self.feeds[name].shape[axis]
            for name, each in self.inputs.items()
            for axis, dim in enumerate(each.type.tensor_type.shape.dim)
            if dim.dim_param == symbol and name in self.feeds
        }

    # ----------------------------------------------------------------------------------------- the forms without nodes

    def candidates(self, start: int, count: int) -> Iterator[tuple["Candidate", bool]]:
        """The model without some nodes, in each form; and whether the values of those that stay are the same."""
        dropped = self.nodes[start : start + count]
        rest = [*self.nodes[:start], *self.nodes[start + count :]]
        lost = {name for node in dropped for name in node.output if name}
        outputs = self.outputs.keys() - lost
        forms: list[tuple[Candidate | None, bool]] = [(self.built(rest, kept_outputs=outputs), True)]
        forms += [(self.bypassed(rest, lost, names), False) for names in self.bypasses(dropped)]
        forms.append((self.built(rest, kept_outputs=outputs, constants=lost), True))
        forms.append((self.built(rest, kept_outputs=outputs, recorded_dims=True), True))
        if count == 1:
            forms += [(form, False) for form in self.inlined(start)]
        yield from ((form, same) for form, same in forms if form is not None)

    def bypassed(
        self, rest: Sequence[onnx.NodeProto], lost: Collection[str], names: Mapping[str, str]
    ) -> Candidate | None:
        """Its readers read the tensors of these names instead, which are results if the lost ones were."""
        kept = (self.outputs.keys() - lost) | {names[name] for name in names if name in self.outputs}
        return self.built([with_names(node, names) for node in rest], kept_outputs=kept, declared=False)

    def bypasses(self, dropped: Sequence[onnx.NodeProto]) -> list[dict[str, str]]:
        """For what the others read of these nodes, tensors of the same type and shape that they were computed from."""
        lost = {name for node in dropped for name in node.output if name}
        rest = [node for node in self.nodes if not lost & set(node.output)]
        read = {name for node in rest for name in names_read(node)} | self.outputs.keys()
        sources = {name: self.sources(name, lost) for name in sorted(lost & read)}
        most = max((len(each) for each in sources.values()), default=0)
        if not sources or not all(sources.values()):
            return []
        return [{name: each[min(i, len(each) - 1)] for name, each in sources.items()} for i in range(most)]

    def sources(self, name: str, lost: Collection[str]) -> list[str]:
        """The nearest tensors that a tensor was computed from, of its type and shape, and that are not lost."""
        found: list[str] = []
        level, seen = [name], {name}
        value = self.values.get(name)
        for _ in range(FARTHEST + len(lost)):
            nodes = [self.producers[each] for each in level if each in self.producers]
            names = [each for node in nodes for each in (*node.input, *sorted(names_read(node))) if each]
            level = [each for each in dict.fromkeys(names) if each not in seen]
            seen |= set(level)
            found += [each for each in level if each not in lost and self.is_alike(each, value)]
            if not level or len(found) >= MOST_SOURCES:
                break
        return found[:MOST_SOURCES]

    def is_alike(self, name: str, value: Array | None) -> bool:
        other = self.values.get(name)
        if other is None and name in self.initializers:
            other = numpy_helper.to_array(self.initializers[name])
        return value is not None and other is not None and value.dtype == other.dtype and value.shape == other.shape

    # ------------------------------------------------------------------------------------------------- within a node

    def inlined(self, place: int) -> Iterator[Candidate]:
        """An If as one of its branches, first that which it takes, and a node with less in its subgraphs."""
        node = self.nodes[place]
        before, after = self.nodes[:place], self.nodes[place + 1 :]
        for branch in self.branches(node):
            inner, constants = nodes_of_branch(branch, node.output)
            form = self.built([*before, *constants, *inner, *after], kept_outputs=self.outputs.keys(), declared=False)
            if form is not None:
                yield form
        for smaller in with_smaller_subgraph(node):
            form = self.built([*before, smaller, *after], kept_outputs=self.outputs.keys(), declared=False)
            if form is not None:
                yield form

    def branches(self, node: onnx.NodeProto) -> list[onnx.GraphProto]:
        """Those of an If, first the one that it takes."""
        if node.op_type != "If":
            return []
        condition = self.values.get(node.input[0])
        is_else = condition is not None and condition.size == 1 and not condition.reshape(-1)[0]
        graphs = {each.name: each.g for each in node.attribute}
        return [
            graphs[name] for name in (["else_branch", "then_branch"] if is_else else ["then_branch", "else_branch"])
        ]


# -------------------------------------------------------------------------------------------------- what is known of it


def values_of(model: onnx.ModelProto, feeds: Feeds) -> Feeds:
    """Those of every tensor. For a model that onnxruntime refuses, those of the nodes that it runs one by one."""
    made = [name for node in model.graph.node for name in node.output if name]
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    try:
        every = reference.with_outputs(model, [*made, *(each.name for each in model.graph.output)])
        return {**constants, **feeds, **reference.compute(reference.open_session(every), feeds)}
    except Exception:  # onnxruntime's have no class in common
        known = {**constants, **feeds}
        for node in model.graph.node:
            known |= values_of_node(model, node, known)
        return known


def values_of_node(model: onnx.ModelProto, node: onnx.NodeProto, known: Feeds) -> Feeds:
    """The outputs of a node; nothing if it is not run, or if its inputs are not known."""
    read = sorted(names_read(node))
    if not all(name in known for name in read):
        return {}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(known[name].dtype), known[name].shape)
        for name in read
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    alone = helper.make_model(
        graph, opset_imports=model.opset_import, ir_version=model.ir_version, functions=model.functions
    )
    try:
        return reference.compute(reference.open_session(alone), {name: known[name] for name in read})
    except Exception:
        return {}


def inferred_shapes(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """ONNX's facts about the tensors, as far as they go."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # of whatever type
        return {}
    return {each.name: each for each in (*inferred.graph.value_info, *inferred.graph.output)}


# ----------------------------------------------------------------------------------------------------------- the search


class Search:
    """Leaves nodes out as long as the model fails in the same way."""

    def __init__(self, failure: Test, is_same: Callable[[str], bool]) -> None:
        self.failure = failure
        self.is_same = is_same
        self.last = ""
        self.tried: set[bytes] = set()  # models that do not fail so

    def fails(self, candidate: Candidate) -> bool:
        model, feeds = candidate
        key = model.SerializeToString(deterministic=True)
        if key in self.tried:
            return False
        try:
            found = self.failure(model, feeds)
        except Exception:  # the rest is not a model
            found = None
        if found is not None and self.is_same(found):
            self.last = found
            return True
        self.tried.add(key)
        return False

    def without_each(self, part: Part, count: int) -> Part:
        """Tries to leave out so many nodes at a time, the last ones first."""
        end = len(part.nodes)
        while end > 0:
            start = max(0, end - count)
            smaller = self.first_that_fails(part, start, end - start)
            if smaller is None:
                end = start
                continue
            are_gone = len(smaller.nodes) <= len(part.nodes) - (end - start)
            part = smaller
            end = start if are_gone else min(end, len(part.nodes))
        return part

    def first_that_fails(self, part: Part, start: int, count: int) -> Part | None:
        for candidate, are_values_known in part.candidates(start, count):
            if self.fails(candidate):
                return Part(*candidate, part.values if are_values_known else None)
        return None

    def least(self, part: Part) -> Part:
        """Cuts by halves, quarters and so on; at last each node by itself, until none can be left out."""
        count = max(1, len(part.nodes) // 2)
        while True:
            before = part
            part = self.without_each(part, count)
            if part is before and count == 1:
                return part
            if part is before:
                count = max(1, count // 2)
            count = max(1, min(count, len(part.nodes) // 2))
