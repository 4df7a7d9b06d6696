"""A model that is ready to run, in the manner of onnxruntime's InferenceSession."""

import ctypes
import json
import os
import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnxc import abi, arguments, command, dtypes, library, strings
from onnxc.compatibility import LikeOnnxruntime, Provider, RunOptions, SessionOptions, device_of, threads_of
from onnxc.errors import ArgumentError, OnnxcError, RunError
from onnxc.memory import dlpack, states, tensor_run

Array = NDArray[Any]

DEVICES = {"cpu": 0, "gpu": 1, "hip": 1, "cuda": 1}


@dataclass(frozen=True)
class ValueInfo:
    """An input or an output: its dims are integers, or expressions of the inputs' symbols such as "2*D + 1"."""

    name: str
    shape: list[int | str]
    type: str


class InferenceSession(LikeOnnxruntime):
    """Runs a model.so; or a model.onnx or its bytes, which are compiled first if onnxc.cache has no result.

    sess_options, providers, provider_options: as onnxruntime has them (onnxc.compatibility); a provider chooses the
        device, and intra_op_num_threads the threads.
    threads: how many a run may use; None, 0 and -1 leave it to ONNXC_THREADS, OMP_NUM_THREADS or the machine.
    device: "cpu"; or "gpu" or "gpu:1" (the GPU of that number), for a model compiled with --target gpu or cpu,gpu.
        "cuda" and "hip", as PyTorch and AMD say, are names for "gpu".
    entry: the graph to run, of a model that was compiled from several; the first if None. Sessions of all entries
        of one file share its weights.
    hip_graph: the kernels of a run are launched as one graph of HIP or CUDA, captured by the first run with its
        dims; for models of many short kernels.
    states_of: a session of the same file, such as one of another entry, on the same device: this one shares its states,
        those of equal name. A session that is pickled has states of its own.

    Runs of one session follow one another, from whatever thread they come; several sessions run at the same time.
    A session is pickled as its path, or its bytes, and opens it again.

    Raises ArgumentError for an argument that cannot be done, CompileError with the compiler's message, RunError for a
    device that is not there, and OnnxcError for a file that cannot be read.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        threads: int | None = 0,
        device: str = "cpu",
        entry: str | None = None,
        hip_graph: bool = False,
        states_of: "InferenceSession | None" = None,
    ) -> None:
        model = path_or_bytes
        if not isinstance(model, bytes):
            model = arguments.path("path_or_bytes", model)
        if entry is not None:
            entry = arguments.text("entry", entry, "the name of a graph, or None")
        device = device_of(providers, checked_device(device), provider_options)
        threads = arguments.count("threads", threads)
        check_graph(device, hip_graph)
        if sess_options is not None:
            threads = threads or threads_of(sess_options)
        if isinstance(model, Path) and library.is_shared_object(model):
            self._library = library.load(model)
        else:
            self._library = command.compile_and_load(model, command.target_options(device))
        self._source = model.absolute() if isinstance(model, Path) else model
        self._open(threads, device, entry, hip_graph, states_of)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise TypeError("a session of onnxc.compile without output= has no file that another process could open")
        return _open_again, (self._source, self._threads, self._device, self._entry, self._hip_graph)

    @classmethod
    def of_library(
        cls, loaded: ctypes.CDLL, threads: int, device: str, entry: str | None, hip_graph: bool
    ) -> "InferenceSession":
        """One of a library that is loaded; the arguments are those of a session, checked."""
        session = cls.__new__(cls)
        session._library = loaded
        session._source = None
        session._open(threads, device, entry, hip_graph)
        return session

    def _open(
        self,
        threads: int,
        device: str,
        entry: str | None,
        hip_graph: bool,
        states_of: "InferenceSession | None" = None,
    ) -> None:
        kind, index = _device(device)
        self._threads, self._device, self._entry, self._hip_graph = threads, device, entry, hip_graph
        self._api = library.table_of(self._library, entry)
        self._lock = threading.Lock()
        self._inputs = [_value_info(self._api.input(i)) for i in range(self._api.input_count)]
        self._outputs = [_value_info(self._api.output(i)) for i in range(self._api.output_count)]
        self._states = states.infos(self._api, _value_info)
        instance = abi.Instance()
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        options = abi.Options(
            struct_size=ctypes.sizeof(abi.Options),
            flags=abi.HIP_GRAPH if hip_graph else 0,
            threads=threads,
            device=kind,
            device_index=index,
            states_of=states.instance_of(states_of, self._library),
        )
        status = self._api.create(ctypes.byref(options), ctypes.byref(instance), error, abi.ERROR_SIZE)
        if status == abi.INVALID_ARGUMENT:
            raise ArgumentError(error.value.decode(errors="replace"))
        if status != abi.OK:
            raise RunError(error.value.decode(errors="replace"), status)
        self._instance = instance
        self._states_use: states.Use = states.Use() if states_of is None else states_of._states_use
        self.device_index = index if kind == DEVICES["gpu"] else None
        self.place = (_dlpack_device(self._api, instance), index) if kind == DEVICES["gpu"] else (dlpack.CPU, 0)
        self.close = weakref.finalize(self, _close, self._api, instance, self._library._handle)

    def __enter__(self) -> "InferenceSession":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def get_inputs(self) -> list[ValueInfo]:
        """In the order of the model."""
        return list(self._inputs)

    def get_outputs(self) -> list[ValueInfo]:
        """In the order of the model."""
        return list(self._outputs)

    @property
    def information(self) -> dict[str, Any]:
        """The compiler's record of the model: its hash, the options, the rules for the inputs' dims."""
        self._check_open()
        content: dict[str, Any] = json.loads(self._api.information)
        return content

    @property
    def entry(self) -> str:
        """The name of the graph that runs."""
        self._check_open()
        return library.names_of([self._api])[0]

    @property
    def entries(self) -> list[str]:
        """The names of all graphs of the file, the first one first."""
        self._check_open()
        return library.names_of(library.entries_of(self._api))

    def symbol_values(self) -> dict[str, int]:
        """The sizes that the symbolic dims of the inputs had in the last run, by the names that the model has."""
        self._check_open()
        count = self._api.symbol_count
        values = (ctypes.c_int64 * max(1, count))()
        with self._lock:
            status = self._api.symbol_values(self._instance, values)
            if status != abi.OK:
                raise RunError((self._api.last_error(self._instance) or b"").decode(errors="replace"), status)
        rules = [rule for rule in self.information.get("rules", []) if "*n" in rule]
        return dict(_named_size(self._api.symbol(i).decode(), values[i], rules) for i in range(count))

    @property
    def states(self) -> list[str]:
        """The names of what a run finds as the run before left it, of a model compiled with --state; they are neither
        inputs nor outputs."""
        return [info.name for info in self._states]

    def get_states(self) -> list[ValueInfo]:
        """In the order of --state."""
        return list(self._states)

    def get_state(self, name: str) -> Array:
        """A copy of a state: zeros before the first run. Raises RunError if its dims follow from the inputs' and no run
        has given them."""
        return states.get(self, name)

    def set_state(self, name: str, values: ArrayLike) -> None:
        """Sets a state. It must have the type of the state, and the dims that the next run gives it."""
        states.set(self, name, values)

    def reset_states(self) -> None:
        """Makes all states zero, those of sessions that share them too."""
        states.reset(self)

    @property
    def threads(self) -> int:
        """How many threads a run may use."""
        self._check_open()
        return int(self._api.threads(self._instance))

    @property
    def captured_graphs(self) -> int:
        """How many HIP graphs the runs have captured: as many as there were dims, or none if the host decides."""
        self._check_open()
        is_known = self._api.table_size > abi.Api.captured_graphs.offset
        return int(self._api.captured_graphs(self._instance)) if is_known else 0

    _source: Path | bytes | None

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, ArrayLike],
        run_options: RunOptions | None = None,
        *,
        out: Mapping[str, Array] | None = None,
    ) -> list[Array]:
        """The named outputs, or all of them for None, as new arrays; strings as arrays of str (dtype object).

        Strings are given as arrays of str or bytes, of numpy's dtype object, "U" or "S".

        out: arrays that the outputs of these names are written to, and which are given back for them: writable,
            row-major, of the output's type and of the dims that it has in this run.

        Raises RunError, naming the input or output and the dim, for values that the model does not take or give; no
        array is converted to another type silently. ArgumentError for an unknown name, a value that is not an array of
        such elements, and an array in `out` that cannot be written as it is.
        """
        self._check_open()
        wanted = self._output_indices("output_names", output_names)
        given = self._given_outputs({} if out is None else out)
        arrays = [_dense(name, input_feed[name]) for name in self._checked_names("input_feed", input_feed)]
        texts = {
            index: strings.Memory(array, f"input {self._inputs[index].name!r}")
            for index, array in enumerate(arrays)
            if strings.holds(array)
        }
        memory = [
            texts[index].elements if index in texts else dtypes.packed(array) for index, array in enumerate(arrays)
        ]
        results: dict[int, Array] = {}
        shapes: dict[int, Sequence[int]] = {}

        def allocate(
            context: int | None, output: int, dtype: int, rank: int, dims: "ctypes._Pointer[ctypes.c_int64]", size: int
        ) -> int | None:
            try:
                shapes[output] = dims[:rank]
                results[output] = array = _empty(dtype, shapes[output], size)
            except (MemoryError, KeyError):
                return None
            return array.ctypes.data

        def read_strings() -> None:
            for index, array in results.items():
                if array.dtype == strings.ELEMENT:
                    results[index] = strings.array_of(array, shapes[index])

        roles = [f"input {info.name!r}" for info in self._inputs]
        inputs = (abi.Value * len(arrays))(*map(_value, roles, arrays, memory))
        outputs = (abi.Value * len(self._outputs))()
        for index in range(len(self._outputs)):
            outputs[index].dtype = self._api.output(index).contents.dtype
        for index, array in given.items():
            outputs[index] = _value(f"output {self._outputs[index].name!r}", array, array)
        options = abi.RunOptions(
            struct_size=ctypes.sizeof(abi.RunOptions), allocate_output=abi.AllocateOutput(allocate)
        )
        self.call_run(inputs, outputs, options, read_strings)
        return [given[i] if i in given else self._unpacked(i, results[i], shapes[i]) for i in wanted]

    def run_tensors(
        self,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        *,
        stream: Any = None,
        wait: bool = True,
    ) -> dict[str, Any]:
        """All outputs by name, from tensors of any library that has DLPack: numpy, PyTorch, CuPy.

        inputs: on the host or on the session's GPU; none is copied if its elements are dense and row-major, but for
            those of a GPU that do not begin at a multiple of 16 bytes.
        outputs: tensors or arrays that the outputs of these names are written to; each of the others becomes a new
            onnxc.Tensor, on the device of the session. torch.from_dlpack(tensor) and tensor.numpy() take it.
        stream: of the GPU, to run in: a hipStream_t or CUstream as a number, or a stream of PyTorch or CuPy; the
            default stream without one.
        wait: False returns when the run is enqueued, as long as all values are on the GPU. Tensors that are given must
            then live until the stream has come past the run.

        Raises RunError and ArgumentError as run() does, OnnxcError for a tensor that cannot be taken as it is.
        """
        self._check_open()
        given = dict(arguments.mapping("outputs", {} if outputs is None else outputs, "tensors"))
        self._output_indices("outputs", list(given))
        self._checked_names("inputs", inputs)
        arguments.truth("wait", wait)
        return tensor_run.run(self, inputs, given, stream, wait)

    def call_run(
        self, inputs: Any, outputs: Any, options: abi.RunOptions, before_the_next: Callable[[], None] | None = None
    ) -> None:
        """Runs on values of the ABI, in the order of the model's. Raises RunError."""
        with self._lock:
            status = self._api.run(self._instance, inputs, len(inputs), outputs, len(outputs), ctypes.byref(options))
            if status != abi.OK:
                message = self._api.last_error(self._instance) or self._api.status_text(status) or b""
                raise RunError(message.decode(errors="replace"), status)
            if before_the_next is not None:
                before_the_next()

    def _given_outputs(self, out: Mapping[str, Array]) -> dict[int, Array]:
        arguments.mapping("out", out, "arrays")
        given = dict(zip(self._output_indices("out", list(out)), out.values(), strict=True))
        for index, array in given.items():
            what = f"out: the array for the output {self._outputs[index].name!r}"
            if not isinstance(array, np.ndarray):
                raise ArgumentError(f"{what} must be a numpy array, found {type(array).__name__}")
            if _is_in_another_form(self._api.output(index).contents.dtype):
                raise ArgumentError(f"{what}: strings and elements of less than a byte are given only as new arrays")
            if not (array.flags.writeable and array.flags.c_contiguous and array.flags.aligned):
                raise ArgumentError(f"{what} must be writable, row-major and aligned")
        return given

    def _unpacked(self, output: int, array: Array, shape: Sequence[int]) -> Array:
        kind = dtypes.NUMPY_TYPES.get(self._api.output(output).contents.dtype)
        return dtypes.unpacked(array, kind, shape) if kind in dtypes.PACKED_BITS else array

    def _check_open(self) -> None:
        if not self.close.alive:
            raise OnnxcError("the session is closed")

    def _checked_names(self, argument: str, feed: Mapping[str, ArrayLike]) -> list[str]:
        arguments.mapping(argument, feed, "the model's inputs")
        names = [info.name for info in self._inputs]
        missing = [name for name in names if name not in feed]
        unknown = [name for name in feed if name not in names]
        if missing or unknown:
            raise ArgumentError(
                f"{argument}: the model takes the inputs {names}; missing: {missing}, unknown: {unknown}"
            )
        return names

    def _output_indices(self, argument: str, names: Sequence[str] | None) -> list[int]:
        known = [info.name for info in self._outputs]
        if names is None:
            return list(range(len(known)))
        names = arguments.texts(argument, names, "names of outputs")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ArgumentError(f"{argument}: the model gives the outputs {known}; unknown: {unknown}")
        return [known.index(name) for name in names]


def _named_size(symbol: str, value: int, rules: Sequence[str]) -> tuple[str, int]:
    """The dim that a symbol stands for: if only multiples are legal, the model counts them, as "D//16" with the rule "D
    = 16*n", or "D = 16*n + 15"."""
    name, _, divisor = symbol.rpartition("//")
    for rule in rules:
        found = re.match(rf"{re.escape(name)} = {re.escape(divisor)}\*n(?: \+ (\d+))?(?:,|$)", rule)
        if name and found:
            return name, int(divisor) * value + int(found[1] or 0)
    return symbol, value


def _open_again(
    source: Path | bytes, threads: int, device: str, entry: str | None, hip_graph: bool
) -> InferenceSession:
    return InferenceSession(source, threads=threads, device=device, entry=entry, hip_graph=hip_graph)


def _device(text: str) -> tuple[int, int]:
    """The ABI's kind and number of a device such as "gpu:1"."""
    kind, _, index = checked_device(text).partition(":")
    return DEVICES[kind], int(index or 0)


def checked_device(device: Any) -> str:
    if not isinstance(device, str) or not re.fullmatch(r"(cpu|gpu|hip|cuda)(:[0-9]{1,6})?", device):
        raise arguments.refused("device", device, '"cpu", "gpu" or, by number, "gpu:1"')
    return device


def _dlpack_device(api: Any, instance: Any) -> int:
    """DLPack's type of the GPU that an instance runs on; those of older models are AMD's."""
    has_name = api.table_size >= abi.Api.instance_architecture.offset + abi.Api.instance_architecture.size
    architecture = api.instance_architecture(instance) if has_name else b""
    return dlpack.CUDA if architecture.startswith(b"sm_") else dlpack.ROCM


def check_graph(device: str, hip_graph: Any) -> None:
    if arguments.truth("hip_graph", hip_graph) and device.startswith("cpu"):
        raise ArgumentError(
            "hip_graph: a graph is asked for, and the model is to run on the CPU; give device='gpu' as well"
        )


def _close(api: Any, instance: ctypes.c_void_p, handle: int) -> None:
    api.destroy(instance)
    library.unload(handle)


def _value_info(pointer: Any) -> ValueInfo:
    info = pointer.contents
    texts = [info.dims[i].decode() for i in range(info.rank)]
    shape: list[int | str] = [int(text) if text.lstrip("-").isdigit() else text for text in texts]
    return ValueInfo(info.name.decode(), shape, dtypes.type_name(info.dtype))


def _dense(name: str, values: ArrayLike) -> Array:
    """Row-major, aligned and in this machine's byte order; a copy only when `values` is not."""
    array = arguments.array(f"input {name!r}", values)
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"]).reshape(array.shape)


def _is_in_another_form(dtype: int) -> bool:
    """Whether elements of a type are not in a caller's memory as in numpy's."""
    return dtype == strings.NUMBER or dtypes.NUMPY_TYPES[dtype] in dtypes.PACKED_BITS


def _empty(dtype: int, shape: Sequence[int], size: int) -> Array:
    """Memory for an output of `size` bytes, in the form that the ABI has it."""
    if dtype == strings.NUMBER:
        return np.empty(size // strings.ELEMENT.itemsize, strings.ELEMENT)
    kind = dtypes.NUMPY_TYPES[dtype]
    return np.empty(size, np.uint8) if kind in dtypes.PACKED_BITS else np.empty(shape, kind)


def _value(role: str, array: Array, memory: Array) -> abi.Value:
    """The array as the ABI's value; its memory in the ABI's form must outlive it."""
    number = strings.NUMBER if memory.dtype == strings.ELEMENT else dtypes.NUMBERS.get(array.dtype)
    if number is None:
        raise ArgumentError(f"{role}: arrays of numpy type {array.dtype} cannot be given to a model")
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    return abi.Value(dtype=number, rank=array.ndim, dims=dims, data=memory.ctypes.data, bytes=memory.nbytes)
