"""Small networks of windows, as ONNX files with random weights, and onnxruntime as what computes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Predictor = Callable[[torch.Tensor], Any]


def convolution(
    name: str, source: str, channels: tuple[int, int], rank: int, stride: int = 1, seed: int = 0
) -> tuple[onnx.NodeProto, list[onnx.TensorProto]]:
    """A convolution of 3 taps (of `stride` taps if it strides), named by its output."""
    taps = 3 if stride == 1 else stride
    generator = np.random.default_rng([seed, *map(ord, name)])
    scale = 1.0 / np.sqrt(channels[0] * taps**rank)
    weights = generator.normal(0, scale, (channels[1], channels[0], *[taps] * rank)).astype(np.float32)
    bias = generator.normal(0, 0.1, channels[1]).astype(np.float32)
    pads = [1 if stride == 1 else 0] * (2 * rank)
    node = helper.make_node(
        "Conv",
        [source, f"{name}.w", f"{name}.b"],
        [name],
        strides=[stride] * rank,
        pads=pads,
        kernel_shape=[taps] * rank,
    )
    return node, [numpy_helper.from_array(weights, f"{name}.w"), numpy_helper.from_array(bias, f"{name}.b")]


def save_network(
    path: Path, heads: tuple[str, ...], rank: int = 3, channels: int = 2, classes: int = 4, seed: int = 0
) -> Path:
    """x [N, channels, axes...] through two convolutions to the heads, in this order.

    "full": [N, classes, axes...]. "half" and "quarter": 3 channels at a half and a quarter of the resolution.
    "twice": 2 channels at the double.
    """
    layers = [convolution("first", "x", (channels, 8), rank, seed=seed)]
    nodes = [layers[0][0], helper.make_node("Relu", ["first"], ["features"])]
    weights = layers[0][1]
    axes = ["D", "H", "W"][-rank:]
    outputs = []
    for head in heads:
        strides, width = {"full": (1, classes), "half": (2, 3), "quarter": (4, 3), "twice": (1, 2)}[head]
        node, tensors = convolution(
            f"{head}.layer" if head == "twice" else head, "features", (8, width), rank, strides, seed
        )
        nodes.append(node)
        weights = weights + tensors
        if head == "twice":
            weights = [*weights, numpy_helper.from_array(np.array([1, 1, *[2] * rank], np.float32), "scales")]
            nodes.append(helper.make_node("Resize", ["twice.layer", "", "scales"], ["twice"], mode="nearest"))
        dims: list[str | int] = ["N", width, *(f"{head}{axis}" for axis in axes)]
        outputs.append(helper.make_tensor_value_info(head, TensorProto.FLOAT, dims))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, *axes])]
    graph = helper.make_graph(nodes, "windows", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def predictor(path: Path) -> Predictor:
    """The file's network as MONAI calls one: by onnxruntime, a tensor for one head and a tuple for several."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def predict(x: torch.Tensor) -> Any:
        results = [torch.from_numpy(value) for value in session.run(None, {"x": x.numpy()})]
        return results[0] if len(results) == 1 else tuple(results)

    return predict


def volume(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.float32]:
    """Smooth structure and noise: labels of neighbouring voxels differ in some places and agree in others."""
    generator = np.random.default_rng(seed)
    waves = np.zeros(shape, np.float32)
    for axis, size in enumerate(shape):
        wave = np.sin(np.arange(size) * generator.uniform(0.1, 0.7) + generator.uniform(0, 6))
        waves += wave.reshape([-1 if i == axis else 1 for i in range(len(shape))]).astype(np.float32)
    return waves + generator.normal(0, 0.3, shape).astype(np.float32)


# The extent that a network makes of an axis of n voxels, by its name.
RESAMPLING = {"halves": (2, 2, 2), "odd": (2, 1, 3), "twice": (0.5, 0.5, 0.5)}
RAMP = (1.0, 7.0, -3.0)  # what a voxel further along each axis is more


def save_resampling(path: Path, name: str) -> Path:
    """x [N, 1, D, H, W] to y of another resolution: means of boxes, or linear between voxels whose corners meet. Over a
    ramp each value tells the place of its voxel in x, as long as windows begin at multiples of the boxes. A window of
    "twice" must be the whole volume: values at its edges are not linear."""
    steps = RESAMPLING[name]
    if name == "twice":
        scales = numpy_helper.from_array(np.array([1, 1, *(1 / step for step in steps)], np.float32), "scales")
        modes = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
        node, constants = helper.make_node("Resize", ["x", "", "scales"], ["y"], **modes), [scales]
    else:
        node, constants = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=steps, strides=steps), []
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, "D", "H", "W"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1, "d", "h", "w"])]
    graph = helper.make_graph([node], name, inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def ramp(shape: tuple[int, ...]) -> NDArray[np.float32]:
    places = np.moveaxis(np.indices(shape), 0, -1)
    return np.asarray(places @ np.array(RAMP), np.float32)


def assert_places(values: NDArray[Any], to_scan: NDArray[np.float64], margin: int) -> None:
    """Asserts that the voxels of a result over a ramp lie at the places that the matrix says, among the scan's voxels;
    but for those of the margin, which may have seen padding."""
    places = np.moveaxis(np.indices(values.shape), 0, -1) @ to_scan[:3, :3].T + to_scan[:3, 3]
    inner = tuple(slice(margin, size - margin) for size in values.shape)
    assert values[inner].size > 0
    np.testing.assert_allclose(values[inner], (places @ np.array(RAMP))[inner], rtol=0, atol=1e-3)
