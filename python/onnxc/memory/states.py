"""The states of a session, through the C ABI."""

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnxc import abi, arguments, dtypes
from onnxc.errors import ArgumentError, RunError

Info = TypeVar("Info")


class Session(Protocol):
    """The members that they need of a session."""

    _api: Any
    _instance: Any
    _lock: Any
    _library: ctypes.CDLL

    def _check_open(self) -> None: ...


class Use:
    """Who uses the states of all sessions that share them: `user` made them zero, and goes on from its own runs.

    lock: held from a look at the user to the end of the run.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.user: object = None


def infos(api: Any, info_of: Callable[[Any], Info]) -> list[Info]:
    """The states' names, types and shapes. A model of an older onnxc has no states."""
    if api.table_size <= abi.Api.reset_states.offset:
        return []
    return [info_of(api.state(i)) for i in range(api.state_count)]


def instance_of(other: Session | None, library: ctypes.CDLL) -> Any:
    """The instance whose states a session of this library is to share; None for its own."""
    if other is None:
        return None
    if not hasattr(other, "_check_open"):
        raise arguments.refused("states_of", other, "a session of the same file, or None")
    other._check_open()
    if other._library._handle != library._handle:
        raise ArgumentError("states_of is a session of another file; states are shared by the graphs of one model.so")
    return other._instance


def get(session: Session, name: str) -> NDArray[Any]:
    """See InferenceSession.get_state."""
    index, info = _find(session, name)
    dims = (ctypes.c_int64 * max(1, info.rank))()
    _call(session, session._api.state_dims, index, dims)
    shape = dims[: info.rank]
    kind = dtypes.NUMPY_TYPES[info.dtype]
    array = dtypes.packed(np.zeros(shape, kind)) if kind in dtypes.PACKED_BITS else np.zeros(shape, kind)
    _call(session, session._api.get_state, index, ctypes.byref(_value(info.dtype, shape, array)))
    return dtypes.unpacked(array, kind, shape) if kind in dtypes.PACKED_BITS else array


def set(session: Session, name: str, values: ArrayLike) -> None:
    """See InferenceSession.set_state."""
    index, info = _find(session, name)
    array = arguments.array("values", values)
    if array.dtype != dtypes.NUMPY_TYPES[info.dtype]:
        expected = dtypes.type_name(info.dtype)
        raise ArgumentError(f"values: expected elements of {expected} for {name!r}, found numpy's {array.dtype}")
    memory = dtypes.packed(np.require(array, array.dtype, ["C", "A"]))
    _call(session, session._api.set_state, index, ctypes.byref(_value(info.dtype, array.shape, memory)))


def reset(session: Session) -> None:
    """See InferenceSession.reset_states."""
    session._check_open()
    if session._api.table_size > abi.Api.reset_states.offset:
        _call(session, session._api.reset_states)


def _find(session: Session, name: str) -> tuple[int, Any]:
    session._check_open()
    known = infos(session._api, lambda pointer: pointer.contents)
    names = [info.name.decode() for info in known]
    if name not in names:
        raise arguments.refused("name", name, f"one of the model's states {names}")
    return names.index(name), known[names.index(name)]


def _call(session: Session, function: Any, *given: Any) -> None:
    with session._lock:
        status = function(session._instance, *given)
        if status == abi.OK:
            return
        message = session._api.last_error(session._instance) or session._api.status_text(status) or b""
        raise RunError(message.decode(errors="replace"), status)


def _value(dtype: int, shape: Any, memory: NDArray[Any]) -> abi.Value:
    """It points into the memory, which must outlive it."""
    dims = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    return abi.Value(dtype=dtype, rank=len(shape), dims=dims, data=memory.ctypes.data, bytes=memory.nbytes)
