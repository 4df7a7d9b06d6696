"""ONNX's backend interface (onnx.backend.base), so that ONNX's own test runner, and other tools of it, run models here.

    import onnxc.backend

    rep = onnxc.backend.prepare(model, "CPU")    # or "HIP", "HIP:1"
    outputs = rep.run([x])

Needs the package onnx, which the rest of onnxc does not.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from onnxc.compiler import compile
from onnxc.errors import OnnxcError
from onnxc.session import Array, InferenceSession


class OnnxcBackendRep(BackendRep):
    """A compiled model."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs, a tuple in the order of the graph; also by name, as result["y"].

        inputs: a list in the order of the graph's inputs without initializers, a mapping from names, or one array.
        """
        names = [info.name for info in self.session.get_inputs()]
        if isinstance(inputs, Mapping):
            feed: Mapping[str, Any] = inputs
        else:
            values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            if len(values) > len(names):
                raise OnnxcError(f"{len(values)} inputs are given, and the model takes {len(names)}: {names}")
            feed = dict(zip(names, values, strict=False))  # the session names those that are missing
        outputs = [info.name for info in self.session.get_outputs()]
        return namedtupledict("Outputs", outputs)(*self.session.run(None, feed))


class OnnxcBackend(Backend):
    """Compiles models for this machine's CPU, or with a GPU's kernels for the devices "HIP" and "HIP:1"."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxcBackendRep:
        """Compiles a model. kwargs: further arguments of onnxc.compile. Raises CompileError with what is wrong."""
        with tempfile.TemporaryDirectory(prefix="onnxc-backend-") as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            return OnnxcBackendRep(compile(path, device=device.lower(), **kwargs))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        outputs: tuple[Any, ...] = cls.prepare(model, device, **kwargs).run(inputs)
        return outputs

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node on arrays, in the order of its inputs that are not left out.

        outputs_info: type and shape of each output; without it ONNX's shape inference must find the types.
        opset_version: of the node's domain; by default that which brought the operator's newest form.
        """
        opset = kwargs.pop("opset_version", None)
        names = list(dict.fromkeys(name for name in node.input if name))
        arrays: Sequence[Array] = [np.asarray(value) for value in inputs]
        if len(arrays) != len(names):
            raise OnnxcError(f"the node takes the inputs {names}, and {len(arrays)} arrays are given")
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays, strict=True)
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        for value, (dtype, shape) in zip(outputs, outputs_info or [], strict=False):
            value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(dtype), shape))
        newest = onnx.defs.get_schema(node.op_type, domain=node.domain).since_version if opset is None else opset
        opsets = [helper.make_opsetid(node.domain, newest)]
        graph = helper.make_graph([node], "node", given, outputs)
        model = helper.make_model(graph, opset_imports=opsets, ir_version=onnx.IR_VERSION)
        if outputs_info is None:
            model = onnx.shape_inference.infer_shapes(model)
        return cls.run_model(model, dict(zip(names, arrays, strict=True)), device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models can be compiled for it: "CPU", "HIP", "HIP:1"."""
        return device.partition(":")[0] in ("CPU", "HIP")


is_compatible = OnnxcBackend.is_compatible
prepare = OnnxcBackend.prepare
run_model = OnnxcBackend.run_model
run_node = OnnxcBackend.run_node
supports_device = OnnxcBackend.supports_device
