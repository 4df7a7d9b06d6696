"""The parts that programs written for onnxruntime use beside InferenceSession, with its names and meanings."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError, OnnxcError

Array = NDArray[Any]
Provider = str | tuple[str, Mapping[str, Any]]

CPU, HIP = "CPUExecutionProvider", "ROCMExecutionProvider"
_HIP_NAMES = {HIP, "MIGraphXExecutionProvider"}


class GraphOptimizationLevel(IntEnum):
    """Has no effect: a compile does all it can."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Has no effect: the steps of a run follow one another, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


@dataclass
class SessionOptions:
    """intra_op_num_threads is the threads of a run; 0 leaves it to the machine. The others have no effect.

    A session raises ArgumentError for a number of threads that cannot be.
    """

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    enable_mem_pattern: bool = True
    enable_cpu_mem_arena: bool = True
    log_severity_level: int = 2
    config_entries: dict[str, str] = field(default_factory=dict)

    def add_session_config_entry(self, key: str, value: str) -> None:
        expected = "a text, as of onnxruntime's entries"
        self.config_entries[arguments.text("key", key, expected)] = arguments.text("value", value, expected)

    def get_session_config_entry(self, key: str) -> str:
        """Raises ArgumentError for a key that was not added."""
        if not isinstance(key, str) or key not in self.config_entries:
            raise ArgumentError(f"key is {key!r}, and these entries were added: {list(self.config_entries)}")
        return self.config_entries[key]


@dataclass
class RunOptions:
    """Has no effect."""

    log_severity_level: int = 2
    run_tag: str = ""


@dataclass(frozen=True)
class ModelMetadata:
    """A model.so only has the compiler, and in custom_metadata_map what it wrote of the model."""

    producer_name: str
    custom_metadata_map: dict[str, str]
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    version: int = 0


def get_available_providers() -> list[str]:
    return [HIP, CPU]


def get_device() -> str:
    return "CPU"


def threads_of(options: Any) -> int:
    """The threads that a session's options, also onnxruntime's own, ask for."""
    if not hasattr(options, "intra_op_num_threads"):
        raise arguments.refused("sess_options", options, "onnxc.SessionOptions, or onnxruntime's")
    return arguments.count("sess_options.intra_op_num_threads", options.intra_op_num_threads)


def _provider_name(provider: Any) -> str:
    name = provider[0] if isinstance(provider, tuple) and len(provider) == 2 else provider
    return arguments.text("providers", name, "names, or pairs of a name and its options")


def device_of(
    providers: Sequence[Provider] | None, device: str, options: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """The device of the first provider that onnxc has; `device` if none is named. Others, such as CUDA, are passed
    over, as onnxruntime does with one that it lacks; a list of only such is an error. options: of each provider."""
    given = arguments.sequence("providers", () if providers is None else providers, "a list of names")
    names = [_provider_name(provider) for provider in given]
    expected = "a mapping for each provider"
    each = arguments.sequence("provider_options", () if options is None else options, expected)
    if options is not None and (len(each) != len(names) or not all(isinstance(one, Mapping) for one in each)):
        raise arguments.refused("provider_options", options, expected)
    for name in names:
        if name == CPU:
            return "cpu"
        if name in _HIP_NAMES:
            return "gpu" if device.startswith("cpu") else device
    if names:
        raise ArgumentError(f"providers: onnxc has none of {names}; it has {get_available_providers()}")
    return device


class IOBinding:
    """Inputs and outputs of a run that are given beforehand (InferenceSession.io_binding). On the host; for tensors on
    a GPU there is DLPack. Raises ArgumentError for names that the model does not have."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._inputs: dict[str, ArrayLike] = {}
        self._outputs: dict[str, Array | None] = {}

    def bind_cpu_input(self, name: str, array: ArrayLike) -> None:
        self._inputs[self._known(name, self._session.get_inputs())] = array

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0) -> None:
        if device_type != "cpu":
            raise ArgumentError(f"device_type is {device_type!r}, and outputs are bound on the 'cpu'")
        if device_id != 0:
            raise ArgumentError(f"device_id is {device_id!r}, and the cpu has the number 0")
        self._outputs[self._known(name, self._session.get_outputs())] = None

    @staticmethod
    def _known(name: Any, values: Sequence[Any]) -> str:
        known = [each.name for each in values]
        if name not in known:
            raise ArgumentError(f"name is {name!r}, expected one of {known}")
        return str(name)

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()

    def execute(self) -> None:
        names = list(self._outputs)
        for name, value in zip(names, self._session.run(names, self._inputs), strict=True):
            self._outputs[name] = value

    def copy_outputs_to_cpu(self) -> list[Array]:
        """In the order in which they were bound. Raises OnnxcError before a run."""
        values = [value for value in self._outputs.values() if value is not None]
        if len(values) != len(self._outputs):
            raise OnnxcError("the outputs have no values yet: call run_with_iobinding first")
        return [np.asarray(value) for value in values]


Callback = Callable[[list[Array] | None, Any, str], None]


class LikeOnnxruntime:
    """The methods of onnxruntime's InferenceSession that the others suffice for."""

    def get_providers(self) -> list[str]:
        """Keyed by onnxruntime's names: "CPUExecutionProvider", for a GPU "ROCMExecutionProvider" before it."""
        return [CPU] if self._device.startswith("cpu") else [HIP, CPU]

    def get_modelmeta(self) -> ModelMetadata:
        """The known facts of the model."""
        texts = {name: value if isinstance(value, str) else repr(value) for name, value in self.information.items()}
        return ModelMetadata("onnxc", texts)

    def io_binding(self) -> IOBinding:
        """Inputs and outputs that are given before a run."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """A run on what was bound; its outputs are there then."""
        if not isinstance(iobinding, IOBinding):
            raise arguments.refused("iobinding", iobinding, "what io_binding gave")
        iobinding.execute()

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, ArrayLike],
        callback: Callback,
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Calls callback(outputs, user_data, error) from another thread; `error` is empty, or `outputs` None."""
        arguments.function("callback", callback)

        def work() -> None:
            try:
                outputs = self.run(output_names, input_feed)
            except OnnxcError as error:
                callback(None, user_data, str(error))
            else:
                callback(outputs, user_data, "")

        threading.Thread(target=work).start()

    # The device of the class that derives from this one.
    _device: str
    information: Any

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, ArrayLike]) -> list[Array]:
        raise NotImplementedError
