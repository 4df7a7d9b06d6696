"""A model of some nodes compiled for the GPU and run on the simulator, which keeps a log of what was launched."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from models.tensor_files import Array
from tests import compare, onnxc_commands
from tests.ops.table import TOLERANCES

FLOAT16, BFLOAT16 = np.float16, ml_dtypes.bfloat16
Dims = tuple[int | str, ...]


def model(
    nodes: list[onnx.NodeProto], inputs: Mapping[str, tuple[Any, Dims]], constants: Mapping[str, Array]
) -> onnx.ModelProto:
    """The output of each node that no other reads is one of the model."""
    read = {name for node in nodes for name in node.input}
    outputs = [name for node in nodes for name in node.output if name not in read]
    dtype = next(iter(inputs.values()))[0]
    graph = helper.make_graph(
        nodes,
        "rows",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), dims)
            for name, (kind, dims) in inputs.items()
        ],
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)
            for name in outputs
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


class Compiled:
    """A model for the GPU, and the kernels that its runs have launched."""

    def __init__(self, proto: onnx.ModelProto, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "launches"
        self.outputs = [output.name for output in proto.graph.output]
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_LOG", str(self.log))
        onnx.save(proto, folder / "model.onnx")
        self.file = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")

    def run(self, **inputs: Array) -> dict[str, Array]:
        return onnxc_commands.run_arrays(self.file, inputs, self.outputs, self.folder / "run", "--device", "hip")

    def launches(self) -> list[str]:
        """The names of the kernels, without their numbers."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line)["kernel"].rstrip("0123456789") for line in lines]


def expect(actual: Array, expected: Array, tolerance: float | None = None) -> None:
    tolerance = TOLERANCES[expected.dtype] if tolerance is None else tolerance
    difference = compare.elementwise_mismatch(actual, expected, tolerance, tolerance / 10)
    assert difference is None, difference


def read_in_blocks(name: str, channels: int, rank: int, dtype: Any) -> tuple[onnx.NodeProto, Array]:
    """A convolution of several taps that gives what it reads, and its weights."""
    middle = np.zeros((channels, channels, 3, *[1] * (rank - 1)), dtype)
    middle[np.arange(channels), np.arange(channels), 1] = 1
    pads = ([1] + [0] * (rank - 1)) * 2
    return helper.make_node("Conv", [name, "middle"], ["y"], pads=pads), middle


def before_reader(launches: list[str], count: int) -> list[str]:
    """The kernels before the one of read_in_blocks, which may take two."""
    kernels = [kernel for kernel in launches if kernel != "nest"]
    assert kernels[count:] in (["kernel"], ["kernel", "second"]), launches
    return kernels[:count]
