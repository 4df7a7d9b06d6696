"""Models on the simulator whose sizes only a run knows."""

from collections.abc import Sequence
from pathlib import Path

import onnx

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import Case, build_model, case_prefix


def compile_for_any_size(cases: Sequence[Case], folder: Path, *options: str) -> Path:
    """The cases side by side; the batch and what else is not a channel may be anything, for each input by itself."""
    model = build_model(cases, {one: one.expected for one in cases if one.expected is not None})
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        node = cases[int(value.name[1 : value.name.index("_")])].nodes[0].op_type
        known = {"MatMul": {1, 3} if len(dims) == 4 else set(), "Gemm": {1}}.get(node, {1})
        if node == "MatMul" and value.name.endswith("1"):
            known = {1, 2, 3}
        # The matrices of a product share their batch.
        owner = "" if node == "MatMul" else value.name
        for axis in set(range(len(dims))) - known:
            dims[axis].dim_param = f"{owner}N{axis}"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    onnx.save(model, folder / "model.onnx")
    return onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip", *options)


def run(shared_object: Path, cases: Sequence[Case], folder: Path) -> list[Array]:
    """The first output of each case."""
    inputs = {case_prefix(i) + name: array for i, one in enumerate(cases) for name, array in one.inputs.items()}
    outputs = [case_prefix(i) + one.outputs[0] for i, one in enumerate(cases)]
    results = onnxc_commands.run_arrays(shared_object, inputs, outputs, folder / "run", "--device", "hip")
    return [results[name] for name in outputs]
