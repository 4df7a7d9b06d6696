"""Runs an ONNX model in float64, as the reference for the error of the engines.

    python -m tools.benchmark.float64 build/models/r3d_18 reference.npz

Every float32 of the model becomes a float64 (weights keep their values), and ONNX's reference evaluator runs it. Its
convolutions, pools and resizes take minutes on a volume, so PyTorch's, in float64 too, stand in for them.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_resize import Resize as ReferenceResize

Array = np.ndarray[Any, np.dtype[Any]]
FUNCTIONS = torch.nn.functional


def to_tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def pad(x: Array, pads: Sequence[int] | None, value: float = 0.0) -> torch.Tensor:
    """`pads` in ONNX's order: the begin of each spatial axis, then their ends."""
    tensor = to_tensor(x)
    if not pads or not any(pads):
        return tensor
    axes = len(pads) // 2
    return FUNCTIONS.pad(tensor, [pads[end + axis] for axis in reversed(range(axes)) for end in (0, axes)], value=value)


def check_auto_pad(auto_pad: str | None) -> None:
    if auto_pad not in (None, "NOTSET"):
        raise NotImplementedError(f"auto_pad {auto_pad} in the float64 reference")


class Conv(OpRun):
    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=1, kernel_shape=None, pads=None, strides=None):  # type: ignore[no-untyped-def]
        check_auto_pad(auto_pad)
        function = (FUNCTIONS.conv1d, FUNCTIONS.conv2d, FUNCTIONS.conv3d)[x.ndim - 3]
        bias = None if b is None else to_tensor(b)
        result = function(pad(x, pads), to_tensor(w), bias, strides or 1, 0, dilations or 1, group or 1)
        return (result.numpy(),)


class ConvTranspose(OpRun):
    def _run(  # type: ignore[no-untyped-def]
        self,
        x,
        w,
        b=None,
        auto_pad=None,
        dilations=None,
        group=1,
        kernel_shape=None,
        output_padding=None,
        output_shape=None,
        pads=None,
        strides=None,
    ):
        check_auto_pad(auto_pad)
        axes = x.ndim - 2
        pads = list(pads or [0] * 2 * axes)
        if output_shape or pads[:axes] != pads[axes:]:
            raise NotImplementedError("output_shape or asymmetric pads in the float64 reference")
        function = (FUNCTIONS.conv_transpose1d, FUNCTIONS.conv_transpose2d, FUNCTIONS.conv_transpose3d)[axes - 1]
        bias = None if b is None else to_tensor(b)
        extra = output_padding or 0
        result = function(
            to_tensor(x), to_tensor(w), bias, strides or 1, pads[:axes], extra, group or 1, dilations or 1
        )
        return (result.numpy(),)


class MaxPool(OpRun):
    def _run(  # type: ignore[no-untyped-def]
        self, x, auto_pad=None, ceil_mode=0, dilations=None, kernel_shape=None, pads=None, storage_order=0, strides=None
    ):
        check_auto_pad(auto_pad)
        if ceil_mode and any(pads or ()):
            raise NotImplementedError("ceil_mode with pads in the float64 reference")
        function = (FUNCTIONS.max_pool1d, FUNCTIONS.max_pool2d, FUNCTIONS.max_pool3d)[x.ndim - 3]
        padded = pad(x, pads, -np.inf)
        return (function(padded, kernel_shape, strides or 1, 0, dilations or 1, bool(ceil_mode)).numpy(),)


class Resize(OpRun):
    """PyTorch's trilinear interpolation if it means the same, else the evaluator's own."""

    def _run(self, x, roi=None, scales=None, sizes=None, **attributes):  # type: ignore[no-untyped-def]
        linear = attributes.get("mode") == "linear" and x.ndim == 5 and not attributes.get("axes")
        center = attributes.get("coordinate_transformation_mode") in ("half_pixel", "pytorch_half_pixel")
        if linear and center and not attributes.get("antialias"):
            shape = sizes if sizes is not None and len(sizes) else np.floor(np.array(x.shape) * scales)
            size = [int(extent) for extent in shape[2:]]
            return (FUNCTIONS.interpolate(to_tensor(x), size=size, mode="trilinear").numpy(),)
        return ReferenceResize._run(self, x, roi, scales, sizes, **attributes)


def attribute_tensors(nodes: Sequence[onnx.NodeProto]) -> Iterator[TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from attribute_tensors(attribute.g.node)


def widen(model: onnx.ModelProto) -> None:
    """Makes every float32 of the model a float64."""
    graph = model.graph
    nodes = [*graph.node, *(node for function in model.functions for node in function.node)]
    for tensor in [*graph.initializer, *attribute_tensors(nodes)]:
        if tensor.data_type == TensorProto.FLOAT:
            wide = numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)
            tensor.CopyFrom(wide)
    for node in nodes:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]


def run_float64(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of the model, in the graph's order. The model is changed: `widen`."""
    widen(model)
    wide = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in feeds.items()}
    operators: list[type[OpRun]] = [Conv, ConvTranspose, MaxPool, Resize]
    with torch.inference_mode():
        outputs: list[Array] = ReferenceEvaluator(model, new_ops=operators).run(None, wide)
    for output in outputs:
        if output.dtype == np.float32:
            raise RuntimeError("an output is still float32: some node of the model does not follow its inputs' type")
    return outputs


def run_exported(folder: Path) -> list[Array]:
    """`run_float64` of the exported model in `folder` on its first inputs."""
    manifest = json.loads((folder / "manifest.json").read_text())
    feeds = {name: np.load(folder / file) for name, file in manifest["runs"][0]["inputs"].items()}
    return run_float64(onnx.load(folder / "model.onnx"), feeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    outputs = run_exported(arguments.folder)
    named: dict[str, Any] = {f"output_{index}": output for index, output in enumerate(outputs)}
    np.savez(arguments.output, **named)


if __name__ == "__main__":
    main()
