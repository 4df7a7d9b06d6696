"""The tensors that nodes read from outside of their subgraphs, and nodes with less in these, for
onnxc.graphs.reduction."""

import copy
from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import helper


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [
        graph
        for attribute in node.attribute
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
    ]


def names_read(node: onnx.NodeProto) -> set[str]:
    """Those of the graph around it that a node reads, in its subgraphs too."""
    read = {name for name in node.input if name}
    for graph in subgraphs(node):
        made = {value.name for value in (*graph.input, *graph.initializer)}
        for inner in graph.node:
            read |= names_read(inner) - made
            made |= set(inner.output)
        read |= {value.name for value in graph.output} - made
    return read


def with_names(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """The node, which reads others in place of these names; ONNX lets no subgraph use a name a second time."""
    if not names_read(node) & names.keys():
        return node
    renamed = copy.deepcopy(node)
    renamed.input[:] = [names.get(name, name) for name in node.input]
    for graph in subgraphs(renamed):
        inner = [with_names(each, names) for each in graph.node]
        del graph.node[:]
        graph.node.extend(inner)
        for value in graph.output:
            value.name = names.get(value.name, value.name)
    return renamed


def nodes_of_branch(
    branch: onnx.GraphProto, outputs: Sequence[str]
) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """A branch's nodes, whose results have the names of the If's, and its constants as nodes."""
    constants = [
        helper.make_node("Constant", [], [each.name], name=f"{each.name}_constant", value=each)
        for each in branch.initializer
    ]
    copies = [
        helper.make_node("Identity", [value.name], [name], name=f"{name}_copy")
        for value, name in zip(branch.output, outputs, strict=True)
        if name
    ]
    return [*branch.node, *copies], constants


def with_smaller_subgraph(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """The node without one of those of its subgraphs, which each of its inputs replaces in turn."""
    for number, graph in enumerate(subgraphs(node)):
        for place, inner in enumerate(graph.node):
            for nodes in [*less_of(list(graph.node), place, graph), *deeper(list(graph.node), place, inner)]:
                smaller = copy.deepcopy(node)
                into = subgraphs(smaller)[number]
                del into.node[:]
                into.node.extend(nodes)
                yield smaller


def less_of(nodes: list[onnx.NodeProto], place: int, graph: onnx.GraphProto) -> Iterator[list[onnx.NodeProto]]:
    """Without a node, whose readers read one of its inputs instead."""
    inner, rest = nodes[place], [*nodes[:place], *nodes[place + 1 :]]
    results = {value.name for value in graph.output}
    given = [name for name in inner.output if name in results]
    if not any(set(inner.output) & names_read(node) for node in rest) and not given:
        yield rest
        return
    for source in dict.fromkeys(name for name in inner.input if name):
        if not given:
            yield [with_names(node, dict.fromkeys(inner.output, source)) for node in rest]
        elif source not in results and any(source in node.output for node in rest):
            yield [made_under(node, {source: given[0]}) for node in rest]
        elif inner.op_type != "Identity":
            copies = [helper.make_node("Identity", [source], [name], name=inner.name) for name in given]
            yield [*nodes[:place], *copies, *nodes[place + 1 :]]


def made_under(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """The node with other names for these tensors, also if it makes them."""
    renamed = copy.deepcopy(with_names(node, names))
    renamed.output[:] = [names.get(name, name) for name in node.output]
    return renamed


def deeper(nodes: list[onnx.NodeProto], place: int, inner: onnx.NodeProto) -> Iterator[list[onnx.NodeProto]]:
    for smaller in with_smaller_subgraph(inner):
        yield [*nodes[:place], smaller, *nodes[place + 1 :]]
