"""The shapes that onnxc infers, of every tensor of every model, against two oracles: those that onnxruntime meets as it
runs, and those that ONNX's own shape inference finds."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models import tensor_files
from models.export import Run, export
from models.zoo import ROWS, ModelRow
from tests import onnxc_commands
from tests.onnxruntime_sessions import open_session

# Models whose tensors, all kept, take much memory and time, besides those whose export already does.
LARGE = {"r3d_18", "unet3d"}
LARGEST_DIM = 4096


def every_tensor(model: Path, run: Run) -> dict[str, tuple[int, ...]]:
    """The dims of each value that onnxruntime computes, without optimizations, in one run."""
    content = onnx.load(model)
    names = [name for node in content.graph.node for name in node.output if name]
    del content.graph.output[:]
    content.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = open_session(content, optimized=False)
    feeds = {name: tensor_files.load(path) for name, path in run.inputs.items()}
    return {name: np.shape(value) for name, value in zip(names, session.run(names, feeds), strict=True)}


def symbols_in(dim: int | str) -> set[str]:
    return set() if isinstance(dim, int) else set(re.findall(r"[A-Za-z_]\w*", dim)) - {"min", "max"}


def symbols_of(inputs: list[dict[str, Any]], run: Run) -> dict[str, int]:
    """The sizes of the symbols, from those dims of inputs that are expressions of one symbol."""
    values: dict[str, int] = {}
    for described in inputs:
        shape = tensor_files.load(run.inputs[described["name"]]).shape
        for dim, size in zip(described["dims"], shape, strict=True):
            if isinstance(dim, int):
                assert dim == size, described
                continue
            [symbol] = symbols_in(dim)
            fitting = [value for value in range(LARGEST_DIM) if evaluate(dim, {symbol: value}) == size]
            values[symbol] = fitting[0]
    return values


def evaluate(dim: int | str, symbols: dict[str, int]) -> int:
    """A dim is an expression in Python's syntax over the symbols."""
    return dim if isinstance(dim, int) else int(eval(dim, {"min": min, "max": max}, dict(symbols)))


def known_to_onnx(model: Path) -> dict[str, list[int | None]]:
    """The results of ONNX's shape inference for each value: the dims that it has a number for."""
    content = onnx.load(model)
    del content.graph.value_info[:]  # it would be believed
    inferred = onnx.shape_inference.infer_shapes(content, data_prop=True)
    shapes = {}
    for value in (*inferred.graph.value_info, *inferred.graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            shapes[value.name] = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return shapes


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name, marks=[pytest.mark.slow] if row.slow else []) for name, row in ROWS.items()]
)
def test_never_less_exact_than_onnx(row: ModelRow, tmp_path: Path) -> None:
    """Every number that ONNX finds is ours too, and no dim but those of dynamic inputs stays unknown."""
    exported = export(row)
    dump = onnxc_commands.dump_shapes(exported.model, tmp_path / "shapes.json")
    tensors = [tensor for node in dump["nodes"] for tensor in node["outputs"] if tensor is not None]
    symbols = {name for tensor in dump["inputs"] for dim in tensor["dims"] for name in symbols_in(dim)}
    shapes = known_to_onnx(exported.model)
    assert tensors
    for tensor in tensors:
        assert {name for dim in tensor["dims"] for name in symbols_in(dim)} <= symbols, tensor
        known = shapes.get(tensor["name"])
        if known is None:
            continue
        assert len(known) == len(tensor["dims"]), tensor
        for theirs, ours in zip(known, tensor["dims"], strict=True):
            assert theirs is None or theirs == ours, f"{tensor}, and ONNX says {known}"
    # Shapes in which ours says more: symbols that ONNX has no expression for, and dims that follow from values.
    more = [tensor["name"] for tensor in tensors if None in shapes.get(tensor["name"], [None])]
    print(f"{row.name}: of {len(tensors)} tensors, {len(more)} have dims that ONNX gives no number")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=name, marks=[pytest.mark.slow] if row.slow or name in LARGE else [])
        for name, row in ROWS.items()
        if row.onnxruntime
    ],
)
def test_every_inferred_shape(row: ModelRow, tmp_path: Path) -> None:
    exported = export(row)
    dump = onnxc_commands.dump_shapes(exported.model, tmp_path / "shapes.json")
    assert dump["stop"] is None
    tensors = [tensor for node in dump["nodes"] for tensor in node["outputs"]]
    for run in exported.runs:
        symbols = symbols_of(dump["inputs"], run)
        actual = every_tensor(exported.model, run)
        compared = [tensor for tensor in tensors if tensor["name"] in actual]
        assert len(compared) >= len(run.outputs)
        for tensor in compared:
            inferred = tuple(evaluate(dim, symbols) for dim in tensor["dims"])
            assert inferred == actual[tensor["name"]], f"{tensor} with {symbols}"
