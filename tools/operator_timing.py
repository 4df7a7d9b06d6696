"""Models of one node, and their times beside onnxruntime's: one process, one thread each, in turns, the least times."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper

import onnxc

Array = NDArray[Any]


@dataclass(frozen=True)
class Operator:
    """One node. Inputs are of the model; constants follow them, and one without an array is left out.

    followers: operators of one input after it, in a chain.
    dims: the names of an input's dims if they are free, and those that are known all the same.
    """

    type: str
    inputs: dict[str, Array]
    constants: dict[str, Array | None] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 20
    attributes: dict[str, Any] = field(default_factory=dict)
    followers: tuple[str, ...] = ()
    dims: Mapping[str, Sequence[str | int]] = field(default_factory=dict)

    def model(self, has_free_dims: bool) -> onnx.ModelProto:
        def info(name: str, array: Array) -> onnx.ValueInfoProto:
            dims: Sequence[str | int] = array.shape
            if has_free_dims:
                dims = self.dims.get(name, [f"{name}{axis}" for axis in range(array.ndim)])
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims)

        names = [*self.inputs, *(name if array is not None else "" for name, array in self.constants.items())]
        outputs = [f"y{i}" for i in range(self.outputs)]
        nodes = [helper.make_node(self.type, names, outputs, **self.attributes)]
        for number, follower in enumerate(self.followers):
            nodes.append(helper.make_node(follower, nodes[-1].output[:1], [f"f{number}"]))
        graph = helper.make_graph(
            nodes,
            "operator",
            [info(name, array) for name, array in self.inputs.items()],
            [helper.make_empty_tensor_value_info(name) for name in [*nodes[-1].output[:1], *outputs[1:]]],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items() if array is not None],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


@dataclass(frozen=True)
class Times:
    """The least of each, in ms."""

    onnxc: float
    onnxruntime: float


class PeerRefusesError(Exception):
    """onnxruntime has no kernel for an operator."""


class Pair:
    """One operator in both engines. `run` gives the outputs of onnxc and of onnxruntime."""

    def __init__(self, operator: Operator, has_free_dims: bool) -> None:
        self.operator = operator
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "operator.onnx"
            onnx.save(operator.model(has_free_dims), path)
            try:
                peer = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                peer.run(None, operator.inputs)
            except Exception as error:
                raise PeerRefusesError(str(error)) from error
            model = onnxc.compile(path, threads=1)
        self._runs: Sequence[Callable[[], Any]] = (
            lambda: model.run(None, operator.inputs),
            lambda: peer.run(None, operator.inputs),
        )

    def check_shapes(self) -> None:
        for got, wanted in zip(*self.run(), strict=True):
            if got.shape != wanted.shape:
                raise AssertionError(f"{self.operator.type}: {got.shape} for {wanted.shape}")

    def run(self) -> tuple[Sequence[Array], Sequence[Array]]:
        return self._runs[0](), self._runs[1]()

    def measure(self, turns: int, seconds: float) -> Times:
        """In so many turns at least, and for so long at least."""
        least = [float("inf")] * 2
        end = time.perf_counter() + seconds
        while turns > 0 or time.perf_counter() < end:
            turns -= 1
            for which, run in enumerate(self._runs):
                begin = time.perf_counter()
                run()
                least[which] = min(least[which], time.perf_counter() - begin)
        return Times(1e3 * least[0], 1e3 * least[1])


def measure(operator: Operator, has_free_dims: bool, seconds: float) -> Times:
    pair = Pair(operator, has_free_dims)
    pair.check_shapes()
    return pair.measure(1, seconds)
