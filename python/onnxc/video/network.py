"""The graphs of a decoder or an encoder, run on one chunk of one tile."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments, dtypes
from onnxc.errors import ArgumentError
from onnxc.session import InferenceSession, ValueInfo
from onnxc.video import settings
from onnxc.video.caches import Caches
from onnxc.video.declared_dims import fits, size_of, symbols_of, text_of

Array = NDArray[Any]


class Graph:
    """One entry of a model: its input of frames, its output of frames, its caches and what is the same for all runs."""

    def __init__(self, session: InferenceSession, caches: Mapping[str, str], fixed: Mapping[str, Any]) -> None:
        self.session = session
        inputs = {info.name: info for info in session.get_inputs()}
        self.caches = {name: inputs[name] for name in caches if name in inputs}
        self.fixed = {name: value for name, value in fixed.items() if name in inputs}
        others = [info for name, info in inputs.items() if name not in caches and name not in fixed]
        self.input = self._only(others, "inputs", "caches and fixed", inputs)
        outputs = {info.name: info for info in session.get_outputs()}
        left = [info for name, info in outputs.items() if name not in caches.values()]
        self.output = self._only(left, "outputs", "caches", outputs)
        for info in (self.input, self.output):
            if len(info.shape) != 5:
                raise ArgumentError(
                    f"{info.name!r} of the entry {session.entry!r} has {len(info.shape)} axes, expected [1, channels, "
                    "frames, height, width]"
                )

    def _only(self, found: list[ValueInfo], kind: str, listed: str, known: Mapping[str, ValueInfo]) -> ValueInfo:
        if len(found) == 1:
            return found[0]
        names = [info.name for info in found]
        raise ArgumentError(
            f"one of the {kind} of the entry {self.session.entry!r} is the video, and these are not in {listed}: "
            f"{names}; expected one of {list(known)}"
        )

    @property
    def channels(self) -> int | str:
        return self.input.shape[1]

    def frames_of(self, count: int) -> int | None:
        """The frames that it declares to make of so many; None if they do not follow."""
        return self.made(2, count)

    def made(self, axis: int, size: int) -> int | None:
        """The size of the output along an axis that it declares for the input's; None if it does not follow."""
        return size_of(self.output.shape[axis], symbols_of([self.input.shape[axis]], [size]))

    def run(self, values: Array, caches: Caches) -> Array:
        """The output for [channels, frames, height, width], as float32."""
        shape = (1, *values.shape)
        self._check(shape)
        symbols = symbols_of(self.input.shape, shape)
        dtype = dtypes.NUMPY_TYPES[dtypes.number_of(self.input.type)]
        inputs = {self.input.name: values[None].astype(dtype, copy=False)}
        results = self.session.run_tensors({**inputs, **self.fixed, **caches.inputs(self.caches, symbols)})
        caches.keep(results)
        return np.array(results[self.output.name].numpy()[0], np.float32)

    def _check(self, shape: tuple[int, ...]) -> None:
        if fits(shape, self.input.shape, symbols_of(self.input.shape, shape)):
            return
        raise ArgumentError(
            f"the entry {self.session.entry!r} takes {self.input.name!r} of the dims {text_of(self.input.shape)}, and "
            f"a chunk of a tile has {text_of(shape)}: export it with dynamic frames, height and width, or choose "
            "chunk and tile so that all are alike"
        )


class Network:
    """The graph that runs on each chunk, and the one for the first if it is another."""

    def __init__(
        self,
        session: InferenceSession,
        first: InferenceSession | None,
        caches: Mapping[str, str],
        fixed: Mapping[str, Any],
    ) -> None:
        sessions = [session] if first is None else [session, first]
        _check_names("fixed", fixed, "inputs", [info.name for each in sessions for info in each.get_inputs()])
        _check_names("caches", caches, "inputs", [info.name for info in session.get_inputs()])
        _check_names("caches", caches.values(), "outputs", [info.name for info in session.get_outputs()])
        self.caches = dict(caches)
        fixed = {name: arguments.array(f"fixed[{name!r}]", value) for name, value in fixed.items()}
        self.later = Graph(session, caches, fixed)
        self.first = self.later if first is None else Graph(first, caches, fixed)
        self._check_caches()
        self._check_states()

    def _check_caches(self) -> None:
        outputs = {info.name: info for info in self.later.session.get_outputs()}
        for name, output in self.caches.items():
            before, after = outputs[output], self.later.caches[name]
            if before.type != after.type or len(before.shape) != len(after.shape):
                raise ArgumentError(
                    f"caches: the output {output!r} is {before.type} {text_of(before.shape)}, and the input {name!r} "
                    f"that it becomes is {after.type} {text_of(after.shape)}"
                )

    def _check_states(self) -> None:
        first, later = self.first.session, self.later.session
        if first.states and first._states_use is not later._states_use:
            raise ArgumentError(
                f"first: the session of {first.entry!r} has states of its own, and that of {later.entry!r} would find "
                "nothing in its: open one with states_of= the other, or give the name of the entry"
            )

    @property
    def has_states(self) -> bool:
        """Whether the model holds caches itself, which are those of one tile."""
        return bool(self.later.session.states)

    @property
    def is_streaming(self) -> bool:
        """Whether a chunk depends on those before it."""
        return bool(self.caches) or self.has_states

    def new_caches(self) -> Caches:
        """Those of a tile before its first run."""
        return Caches(self.caches, self.later.session if self.has_states else None)

    def run(self, values: Array, caches: Caches) -> Array:
        graph = self.first if caches.is_new else self.later
        if not self.has_states:
            return graph.run(values, caches)
        with self.later.session._states_use.lock:  # else another thread's run could be the first after the zeros
            return graph.run(values, caches)


def _check_names(argument: str, names: Any, kind: str, known: list[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise ArgumentError(f"{argument} has {unknown}, and the model's {kind} are {known}")


def network_of(
    model: Any, entry: str | None, first: Any, caches: Any, fixed: Any, threads: int | None, device: str
) -> Network:
    """The arguments of a decoder and an encoder that name graphs and their values, checked."""
    pairs = arguments.mapping("caches", {} if caches is None else caches, "names of outputs")
    for name, output in pairs.items():
        arguments.text(f"caches[{name!r}]", output, "the name of an output")
    session = settings.opened("model", model, entry, threads, device)
    if first is not None and not pairs and not session.states:
        raise ArgumentError("first: a graph for the first chunk needs caches for the later ones, and there are none")
    if first is not None and not isinstance(first, InferenceSession):
        name = arguments.text("first", first, "the name of an entry, or a session")
        first = settings.opened("model", model, name, threads, device, states_of=session if session.states else None)
    return Network(session, first, pairs, arguments.mapping("fixed", {} if fixed is None else fixed, "arrays"))
