"""A run whose values are tensors of any library, on the host or on a GPU."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from onnxc import abi, dtypes, tensor
from onnxc.arguments import refused
from onnxc.errors import ArgumentError, OnnxcError, RunError
from onnxc.memory import dlpack
from onnxc.tensor import Tensor


class ValueInfo(Protocol):
    """An input or an output of a model."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


class Runner(Protocol):
    """The members that it needs of a session."""

    device_index: int | None
    """Of its GPU; None for the CPU."""

    place: tuple[int, int]
    """DLPack's type and number of its device."""

    def get_inputs(self) -> Sequence[ValueInfo]: ...
    def get_outputs(self) -> Sequence[ValueInfo]: ...
    def call_run(self, inputs: Any, outputs: Any, options: abi.RunOptions) -> None: ...


def run(
    session: Runner, inputs: Mapping[str, Any], outputs: Mapping[str, Any], stream: Any, wait: bool
) -> dict[str, Any]:
    """See InferenceSession.run_tensors."""
    device = session.device_index
    handle = stream_handle(stream)
    for name, is_given in (("stream", stream is not None), ("wait", not wait)):
        if device is None and is_given:
            raise ArgumentError(f"{name}: a run on the CPU has no stream and is always waited for")
    taken = [_taken(session, "input", info.name, inputs[info.name], handle) for info in session.get_inputs()]
    given = {name: _taken(session, "output", name, value, handle) for name, value in outputs.items()}
    output_names = [info.name for info in session.get_outputs()]
    made: dict[str, Tensor] = {}
    failures: list[BaseException] = []

    def allocate(
        context: int | None, output: int, dtype: int, rank: int, dims: "ctypes._Pointer[ctypes.c_int64]", size: int
    ) -> int | None:
        try:
            made[output_names[output]] = result = tensor.empty(dtype, tuple(dims[:rank]), session.place)
        except (MemoryError, KeyError, OnnxcError) as failure:
            failures.append(failure)
            return None
        return result.address

    options = abi.RunOptions(
        struct_size=ctypes.sizeof(abi.RunOptions),
        flags=abi.ENQUEUE if device is not None and handle == 0 and not wait else 0,
        allocate_output=abi.AllocateOutput(allocate),
        stream=handle or None,
    )
    results = [
        given[info.name].value()
        if info.name in given
        else abi.Value(dtype=dtypes.number_of(info.type), device=int(device is not None))
        for info in session.get_outputs()
    ]
    try:
        session.call_run(
            (abi.Value * len(taken))(*(value.value() for value in taken)), (abi.Value * len(results))(*results), options
        )
    except RunError as error:
        raise error from (failures[0] if failures else None)
    if device is not None:
        for result in [*given.values(), *made.values()]:
            if result.is_on_gpu:
                result.written_in(handle, taken)
                if wait:
                    result.wait()
    return {name: outputs[name] if name in outputs else made[name] for name in output_names}


def _taken(session: Runner, role: str, name: str, value: Any, stream: int) -> Tensor:
    what = f"{role} {name!r}"
    result = tensor.taken(value, what, stream, role == "output")
    if result.is_on_gpu and session.device_index is not None and result.__dlpack_device__() != session.place:
        kind, number = session.place
        raise OnnxcError(f"{what} is on {result.device}, and the session runs on {dlpack.GPU_NAMES[kind]}:{number}")
    return result


def stream_handle(stream: Any) -> int:
    """A stream's hipStream_t or CUstream as a number; PyTorch's and CuPy's are taken. 0 and None: the default one."""
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    if isinstance(stream, ctypes.c_void_p):
        return stream.value or 0
    raise refused("stream", stream, "a hipStream_t or CUstream as a number, or a stream of PyTorch or CuPy")
