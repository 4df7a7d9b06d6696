"""The caches of a decoder: outputs of one run that are inputs of the next, or states that the model holds itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from onnxc import dtypes
from onnxc.errors import OnnxcError
from onnxc.session import InferenceSession, ValueInfo
from onnxc.video.declared_dims import fits, size_of, text_of


class Caches:
    """Those of one tile. The only place that knows where they lie: in the tensors that the runs make, on the device of
    the session, or in the session.

    pairs: the input of the next run for each output of the last.
    session: holds states, which begin as zeros with the first run; None if it has none. So no other tile may run until
        this one is done.
    """

    def __init__(self, pairs: Mapping[str, str], session: InferenceSession | None = None) -> None:
        self._pairs = pairs
        self._session = session
        self._user = object()
        self._values: dict[str, Any] = {}
        self.is_new = True

    def inputs(self, infos: Mapping[str, ValueInfo], symbols: Mapping[str, int]) -> dict[str, Any]:
        """The values of the inputs in `infos`: those of the run before, at first zeros.

        symbols: the sizes that the latents give to the model's dims.
        """
        if self._session is not None:
            self._check_states(self._session)
        return {name: self._value(info, symbols) for name, info in infos.items()}

    def _check_states(self, session: InferenceSession) -> None:
        use = session._states_use
        if self.is_new:
            session.reset_states()
            use.user = self._user
        elif use.user is not self._user:
            raise OnnxcError(
                "another video has begun, and the model holds the caches of one (--state): end this one before, or "
                "give each a session of its own"
            )

    def keep(self, outputs: Mapping[str, Any]) -> None:
        """Takes those outputs of a run that are caches."""
        self.is_new = False
        self._values.update({name: outputs[output] for name, output in self._pairs.items() if output in outputs})

    def _value(self, info: ValueInfo, symbols: Mapping[str, int]) -> Any:
        if info.name not in self._values:
            return zeros(info, symbols)
        value = self._values[info.name]
        if not fits(value.shape, info.shape, symbols):
            raise OnnxcError(
                f"caches: the run before gave {self._pairs[info.name]!r} with the dims {text_of(value.shape)}, and the "
                f"input {info.name!r} takes {text_of(info.shape)}: {sizes_text(symbols)}"
            )
        return value


def zeros(info: ValueInfo, symbols: Mapping[str, int]) -> Any:
    """A cache before the first run."""
    shape = [size_of(dim, symbols) for dim in info.shape]
    unknown = [str(dim) for dim, size in zip(info.shape, shape, strict=True) if size is None]
    if unknown:
        raise OnnxcError(
            f"caches: the size {unknown[0]!r} of {info.name!r} does not follow from the latents, so that its zeros at "
            "first are of no known shape: give a graph for the first chunk as first="
        )
    return np.zeros([size or 0 for size in shape], dtypes.NUMPY_TYPES[dtypes.number_of(info.type)])


def sizes_text(symbols: Mapping[str, int]) -> str:
    return "with " + ", ".join(f"{name} = {size}" for name, size in symbols.items())
