"""ONNX's backend interface (onnx.backend.base), so that ONNX's own test runner, and other tools of it, run models here.

    import onnx
    import onnxc.backend

    rep = onnxc.backend.prepare(onnx.load("model.onnx"), "CPU")    # or "HIP", "HIP:1"
    outputs = rep.run([x])

Needs the package onnx, which the rest of onnxc does not.
"""

import itertools
import re
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onnxc import packages

try:
    import onnx
    from onnx import helper, numpy_helper
    from onnx.backend.base import Backend, BackendRep, namedtupledict
except ModuleNotFoundError as error:
    raise packages.missing(error, "onnxc.backend", __name__ == "__main__") from None

from onnxc.arguments import refused
from onnxc.compiler import compile
from onnxc.errors import CompileError, OnnxcError, counted_are
from onnxc.session import Array, InferenceSession


class OnnxcBackendRep(BackendRep):
    """A compiled model."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs, a tuple in the order of the graph; also by name, as result["y"].

        inputs: a list in the order of the graph's inputs without initializers, a mapping from names, or one array.
        """
        feed = _named(inputs, [info.name for info in self.session.get_inputs()])
        outputs = [info.name for info in self.session.get_outputs()]
        return namedtupledict("Outputs", outputs)(*self.session.run(None, feed))


class OnnxcSequenceRep(BackendRep):
    """A model that takes or gives sequences or optionals.

    onnxc compiles a model for the tensors that its sequences hold. So it is compiled when a run tells them: once for
    each number of tensors, and their ranks. If a number depends on the values of inputs (the rounds of a loop, a
    split), also once for each of the values that the inputs of few whole numbers or truth values have.
    """

    def __init__(self, model: onnx.ModelProto, compile_model: Callable[[onnx.ModelProto], InferenceSession]) -> None:
        self._model, self._compile = model, compile_model
        constants = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value for value in model.graph.input if value.name not in constants]
        self._fixed: frozenset[str] = frozenset()  # the inputs whose values it is compiled for
        self._sessions: dict[Hashable, InferenceSession] = {}

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """As OnnxcBackendRep.run. A sequence is a list of arrays; an optional is what it holds, or None."""
        names = [value.name for value in self._inputs]
        feed = _named(inputs, names)
        missing, unknown = [name for name in names if name not in feed], [name for name in feed if name not in names]
        if missing or unknown:
            raise OnnxcError(f"the model takes the inputs {names}; missing: {missing}, unknown: {unknown}")
        try:
            session = self._session(feed)
        except CompileError:
            if self._fixed or not (candidates := frozenset(name for name in feed if _is_few_numbers(feed[name]))):
                raise
            self._fixed = candidates
            session = self._session(feed)
        given = _tensors(self._inputs, {name: value for name, value in feed.items() if name not in self._fixed})
        found = dict(zip((info.name for info in session.get_outputs()), session.run(None, given), strict=True))
        outputs = self._model.graph.output
        return namedtupledict("Outputs", [value.name for value in outputs])(*(_output(each, found) for each in outputs))

    def _session(self, feed: Mapping[str, Any]) -> InferenceSession:
        key = tuple(_structure(feed[value.name], value.name in self._fixed) for value in self._inputs)
        if key not in self._sessions:
            self._sessions[key] = self._compile(_of_tensors(self._model, self._inputs, feed, self._fixed))
        return self._sessions[key]


class OnnxcBackend(Backend):
    """Compiles models for this machine's CPU, or with a GPU's kernels for the devices "HIP" and "HIP:1"."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Compiles a model; one that takes or gives sequences or optionals when it is run.

        kwargs: further arguments of onnxc.compile. Raises CompileError with what is wrong, ArgumentError for an
        argument that cannot be done.
        """

        if not isinstance(model, onnx.ModelProto):
            raise refused("model", model, "an onnx.ModelProto")
        if not isinstance(device, str) or not cls.supports_device(device):
            raise refused("device", device, "'CPU', 'HIP' or 'HIP:1'")

        def compile_model(model: onnx.ModelProto) -> InferenceSession:
            with tempfile.TemporaryDirectory(prefix="onnxc-backend-") as folder:
                path = Path(folder) / "model.onnx"
                path.write_bytes(model.SerializeToString())
                return compile(path, device=device.lower(), **kwargs)

        if all(_is_tensor(value) for value in (*model.graph.input, *model.graph.output)):
            return OnnxcBackendRep(compile_model(model))
        return OnnxcSequenceRep(model, compile_model)

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
            raise OnnxcError(f"the node takes the inputs {names}, and {counted_are(len(arrays), 'array')} given")
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
        return re.fullmatch("CPU|HIP(:[0-9]{1,6})?", device) is not None


def _named(inputs: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """The inputs by name, as far as they are given."""
    if isinstance(inputs, Mapping):
        return inputs
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if len(values) > len(names):
        raise OnnxcError(f"{counted_are(len(values), 'input')} given, and the model takes {len(names)}: {names}")
    return dict(zip(names, values, strict=False))


def _is_tensor(value: onnx.ValueInfoProto) -> bool:
    return value.type.WhichOneof("value") not in ("sequence_type", "optional_type")


def _is_few_numbers(given: Any) -> bool:
    return isinstance(given, np.ndarray | np.generic) and given.dtype.kind in "iub" and given.size <= 64


def _structure(given: Any, is_fixed: bool) -> Hashable:
    """The properties of an input that a compile depends on."""
    if is_fixed:
        return np.shape(given), given.dtype.str, given.tobytes()
    if given is None:
        return None
    return tuple(np.ndim(each) for each in given) if isinstance(given, list | tuple) else np.ndim(given)


def _tensors(inputs: Sequence[onnx.ValueInfoProto], feed: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of the model that _of_tensors makes: the tensors of a sequence x are x[0], x[1], ..."""
    tensors: dict[str, Any] = {}
    for value in inputs:
        given = feed.get(value.name)
        if isinstance(given, list | tuple) and not _is_tensor(value):
            tensors.update({f"{value.name}[{index}]": each for index, each in enumerate(given)})
        elif given is not None:
            tensors[value.name] = given
    return tensors


def _of_tensors(
    model: onnx.ModelProto, inputs: Sequence[onnx.ValueInfoProto], feed: Mapping[str, Any], fixed: frozenset[str]
) -> onnx.ModelProto:
    """The model whose inputs are the tensors of its sequences and optionals; the values of those in `fixed` are its."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    del graph.input[:], graph.node[:]
    for value in inputs:
        name, kind, given = value.name, value.type, feed[value.name]
        if name in fixed:
            graph.initializer.append(numpy_helper.from_array(np.asarray(given), name))
            continue
        if _is_tensor(value):
            graph.input.append(value)
            continue
        if kind.WhichOneof("value") == "optional_type":
            kind = kind.optional_type.elem_type
            if given is None:
                graph.node.append(helper.make_node("Optional", [], [name], type=kind))
                continue
        if kind.WhichOneof("value") == "tensor_type":
            graph.input.append(_described(name, kind.tensor_type, given))
            continue
        element = kind.sequence_type.elem_type.tensor_type
        names = list(_tensors([value], feed))
        graph.input.extend(_described(each, element, array) for each, array in zip(names, given, strict=True))
        construct = helper.make_node("SequenceConstruct", names, [name])
        graph.node.append(
            construct if names else helper.make_node("SequenceEmpty", [], [name], dtype=element.elem_type)
        )
    graph.node.extend(model.graph.node)
    return result


def _described(name: str, kind: onnx.TypeProto.Tensor, given: Array) -> onnx.ValueInfoProto:
    """Dims without a number are each tensor's own, whatever they are called: those of a sequence need not agree."""
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]
    shape: list[int | None] = dims if kind.HasField("shape") else [None] * np.ndim(given)
    return helper.make_tensor_value_info(name, kind.elem_type, shape)


def _output(value: onnx.ValueInfoProto, found: Mapping[str, Array]) -> Array | list[Array]:
    """A sequence y is compiled as the outputs y[0], y[1], ..."""
    if value.name in found:
        return found[value.name]
    names = (f"{value.name}[{index}]" for index in itertools.count())
    return [found[name] for name in itertools.takewhile(found.__contains__, names)]


is_compatible = OnnxcBackend.is_compatible
prepare = OnnxcBackend.prepare
run_model = OnnxcBackend.run_model
run_node = OnnxcBackend.run_node
supports_device = OnnxcBackend.supports_device
