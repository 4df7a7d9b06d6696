"""Convolutions in bricks of voxels (kernels/hip/gemm/halo_gemm.h) within models for Hopper: their source runs on the
host, against onnx's reference in float64."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.codegen.hip.gpu_model import model
from tests.models.test_gpu import plans
from tests.models.test_nvidia_gate import BRICK, with_moments
from tools.host_blocks import build_kernels

pytestmark = pytest.mark.usefixtures("commands")

HOPPER = ("--target", "gpu", "--gpu-arch", "sm_90a", "--march", "x86-64-v3")
SAME = {"pads": [1] * 6}


@dataclass
class Graph:
    """Integers of float16, so that sums are exact; `dims` are those that the model declares."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    dims: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def numbers(self, *shape: int) -> Array:
        return self.random.integers(-2, 3, shape).astype(np.float16)

    def convolution(self, x: str, name: str, weights: tuple[int, ...], **attributes: Any) -> str:
        self.constants[f"{name}_w"] = self.numbers(*weights)
        self.constants[f"{name}_b"] = self.numbers(weights[0])
        self.nodes.append(helper.make_node("Conv", [x, f"{name}_w", f"{name}_b"], [name], **attributes))
        return name

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def proto(self) -> onnx.ModelProto:
        inputs = {name: (array.dtype, self.dims.get(name, array.shape)) for name, array in self.inputs.items()}
        return model(self.nodes, inputs, self.constants)


def reference(graph: Graph) -> dict[str, Array]:
    """Each node by PyTorch in float64."""
    import torch

    values = {name: torch.from_numpy(a.astype(np.float64)) for name, a in {**graph.constants, **graph.inputs}.items()}
    for node in graph.nodes:
        x = [values[name] for name in node.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Conv":
            pads = attributes.get("pads", [0] * 6)
            begin, end = pads[:3], pads[3:]
            padded = torch.nn.functional.pad(
                x[0], [p for pair in zip(reversed(begin), reversed(end), strict=True) for p in pair]
            )
            y = torch.nn.functional.conv3d(
                padded, x[1], x[2], dilation=attributes.get("dilations", 1), groups=attributes.get("group", 1)
            )
        elif node.op_type == "InstanceNormalization":
            y = torch.nn.functional.instance_norm(x[0], weight=x[1], bias=x[2], eps=attributes["epsilon"])
        else:
            functions: dict[str, Callable[..., torch.Tensor]] = {
                "Relu": torch.relu,
                "Add": torch.add,
                "Concat": lambda *parts: torch.cat(parts, 1),
            }
            y = functions[node.op_type](*x)
        values[node.output[0]] = y
    return {name: value.numpy() for name, value in values.items()}


def run(graph: Graph, folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[dict[str, Array], str]:
    """The outputs, and the source of the kernels."""
    proto = graph.proto()
    onnx.save(proto, folder / "model.onnx")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.cpp", *HOPPER, *options, "--emit", "source")
    source = folder / "model.cpp.device.hip"
    build_kernels(source, "sm_90a", folder / "kernels.so")
    shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *HOPPER, *options)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "CUDA_STAND_IN_KERNELS", str(folder / "kernels.so"))
    outputs = [output.name for output in proto.graph.output]
    results = onnxc_commands.run_arrays(shared_object, graph.inputs, outputs, folder / "run", "--device", "gpu")
    return results, source.read_text()


def in_bricks(source: str) -> int:
    return sum(bool(BRICK.search(plan)) for plan in plans(source).values())


def test_operands_and_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of whole blocks, a batch, parts of a concatenation, a residual sum, dilations, and a result in rows."""
    graph = Graph()
    graph.inputs["x"] = graph.numbers(2, 32, 4, 9, 8)
    a = graph.convolution("x", "a", (32, 32, 3, 3, 3), **SAME)
    b = graph.convolution("x", "b", (32, 16, 1, 3, 3), group=2, pads=[0, 1, 1, 0, 1, 1])
    both = graph.add("Concat", [graph.add("Relu", [a], "r"), b], "both", axis=1)
    c = graph.convolution(both, "c", (32, 64, 1, 3, 3), dilations=[1, 1, 2], pads=[0, 1, 2, 0, 1, 2])
    graph.add("Add", [c, a], "y")
    results, source = run(graph, tmp_path, monkeypatch)
    assert in_bricks(source) >= 2
    expected = reference(graph)["y"]
    # Tensors between are rounded to float16.
    np.testing.assert_allclose(results["y"], expected, rtol=0, atol=2e-3 * np.abs(expected).max())


def test_sizes_that_a_run_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = [word for name in "dhw" for word in ("--dim", f"{name}=1..64")]
    for number, size in enumerate(((3, 5, 7), (5, 8, 9))):
        graph = Graph()
        graph.inputs["x"] = graph.numbers(1, 64, *size)
        graph.dims["x"] = (1, 64, "d", "h", "w")
        graph.convolution("x", "y", (40, 64, 3, 3, 3), **SAME)
        folder = tmp_path / str(number)
        folder.mkdir()
        results, source = run(graph, folder, monkeypatch, *options)
        assert in_bricks(source) == 1
        np.testing.assert_array_equal(results["y"], reference(graph)["y"].astype(np.float16))


@pytest.mark.parametrize(("size", "has_whole_bricks"), [((8, 16, 16), True), ((8, 16, 20), False)])
def test_normalised_results(
    size: tuple[int, int, int], has_whole_bricks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statistics of each brick are a part of the line's, if all bricks are whole."""
    graph = Graph()
    graph.inputs["x"] = graph.numbers(1, 32, *size)
    h = graph.convolution("x", "h", (32, 32, 1, 3, 3), pads=[0, 1, 1, 0, 1, 1])
    graph.constants |= {"scale": graph.numbers(32), "shift": graph.numbers(32)}
    graph.add("InstanceNormalization", [h, "scale", "shift"], "n", epsilon=1e-5)
    graph.convolution("n", "y", (32, 32, 1, 3, 3), pads=[0, 1, 1, 0, 1, 1])
    results, source = run(graph, tmp_path, monkeypatch)
    assert in_bricks(source) == 2
    assert bool(with_moments(source)) == has_whole_bricks
    expected = reference(graph)["y"]
    np.testing.assert_allclose(results["y"], expected, rtol=0, atol=5e-3 * np.abs(expected).max())


def test_a_brick_is_named_in_the_report(tmp_path: Path) -> None:
    graph = Graph()
    graph.inputs["x"] = graph.numbers(1, 64, 16, 64, 64)
    graph.convolution("x", "y", (64, 64, 3, 3, 3), **SAME)
    onnx.save(graph.proto(), tmp_path / "model.onnx")
    text = onnxc_commands.execute(
        [str(onnxc_commands.BINARIES / "onnxc"), str(tmp_path / "model.onnx"), *HOPPER, "--report"]
    ).stdout
    assert re.search(r"conv 3x3x3 64->64 float16 tile \d+x\d+ of \d+x\d+x8 voxels", text)
