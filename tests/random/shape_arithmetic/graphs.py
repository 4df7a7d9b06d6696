"""A random graph of shape arithmetic by its number, with what onnxruntime computes of it at each run's sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import onnx
from onnx import helper, numpy_helper

from models.tensor_files import Array
from tests.onnxruntime_sessions import open_session
from tests.random.drawing import RUNS, is_fixed
from tests.random.shape_arithmetic.builder import ShapeGraph
from tests.random.shape_arithmetic.consumers import Consumers

FREE, MIXED = "free", "mixed"
Form = str | int  # FREE, MIXED, or the run whose sizes are known


@dataclass(frozen=True)
class Drawn:
    graph: ShapeGraph
    expected: tuple[dict[str, Array], ...]  # in each run, by the output's name


def random_arithmetic(seed: int, opset: int) -> Drawn:
    """Drawn again if onnxruntime refuses the whole, though it has run each node."""
    for attempt in range(50):
        builder = Consumers(seed, opset, attempt)
        builder.begin()
        for _ in range(3 + builder.below(8)):
            builder.draw_operator()
            if builder.chance(0.3):
                builder.draw_consumer()
        builder.draw_consumer()
        graph = builder.graph()
        expected = results_of_onnxruntime(graph)
        if expected is not None:
            return Drawn(graph, expected)
    raise AssertionError(f"seed {seed}: onnxruntime refuses 50 graphs")


def results_of_onnxruntime(graph: ShapeGraph) -> tuple[dict[str, Array], ...] | None:
    if not graph.outputs:
        return None
    names = [output.name for output in graph.outputs]
    try:
        session = open_session(build_model([graph], FREE), optimized=False, threads=1)
        return tuple(dict(zip(names, session.run(names, feeds([graph], run)), strict=True)) for run in range(RUNS))
    except Exception:  # of whatever type
        return None


def feeds(graphs: Sequence[ShapeGraph], run: int) -> dict[str, Array]:
    return {given.name: given.arrays[run] for graph in graphs for given in graph.inputs}


def runs_of(form: Form) -> Sequence[int]:
    """Those whose sizes a form takes."""
    return [form] if isinstance(form, int) else range(RUNS)


def declared_dims(given_name: str, dims: Sequence[tuple[int, ...]], form: Form) -> list[int | str]:
    if isinstance(form, int):
        return [dim[form] for dim in dims]
    return [dim[0] if form == MIXED and is_fixed(dim) else f"{given_name}_d{axis}" for axis, dim in enumerate(dims)]


def build_model(graphs: Sequence[ShapeGraph], form: Form) -> onnx.ModelProto:
    """The graphs side by side. All dims are free, or those whose size changes, or none."""
    opset = graphs[0].opset
    inputs = [
        helper.make_tensor_value_info(
            given.name, helper.np_dtype_to_tensor_dtype(given.arrays[0].dtype),
            declared_dims(given.name, given.dims, form),
        )
        for graph in graphs for given in graph.inputs
    ]  # fmt: skip
    outputs = [
        helper.make_tensor_value_info(
            output.name, helper.np_dtype_to_tensor_dtype(output.dtype), [None] * output.rank
        )
        for graph in graphs for output in graph.outputs
    ]  # fmt: skip
    constants = [numpy_helper.from_array(array, name) for graph in graphs for name, array in graph.constants.items()]
    nodes = [node for graph in graphs for node in graph.nodes]
    made = helper.make_graph(nodes, "sizes", inputs, outputs, constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 19 else 10)
