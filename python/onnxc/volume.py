"""One image through one or several models, in windows: run_volume of the C ABI (onnxc_volume.h) on numpy arrays."""

import ctypes
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import abi, dtypes, volume_abi
from onnxc.errors import OnnxcError, RunError
from onnxc.session import InferenceSession

Array = NDArray[Any]

# The types that the runtime reads without a copy.
SCAN_TYPES = {np.dtype(name) for name in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", "?")}


@dataclass(frozen=True)
class WindowSettings:
    """How a volume is cut into windows and put together. Sequences have one number for each spatial axis."""

    window: Sequence[int]  # 0: the volume's size
    places: str = "scan"  # or "even"
    overlap: Sequence[float] | None = None  # of "scan"
    step: Sequence[float] | None = None  # of "even", in windows
    importance: str = "constant"  # or "gaussian", "gaussian-nnunet"
    sigma_scale: Sequence[float] | None = None
    padding: str = "constant"  # or "reflect", "replicate", "circular"
    padding_value: float = 0.0
    batch: int = 0
    mirrored_axes: Sequence[int] = ()
    slab_axis: int = -1  # -1: the one that needs least memory
    written: Mapping[str, str] = field(default_factory=dict)  # of each output, by name; others: nothing


@dataclass(frozen=True)
class ResultAxis:
    """The places of an output's voxels along an axis: voxel j at origin + j * step of the image's voxels."""

    step: float = 1.0
    origin: float = 0.0


@dataclass(frozen=True)
class VolumeSummary:
    """The outcome of a run over a volume.

    runs: windows times mirrorings times models. nan_voxels: elements of the image that are NaN. working_bytes: the
    runtime's memory besides that of the models' instances. network_seconds: the part of seconds inside the models.
    axes: of each output that is written, by name.
    """

    windows: int
    runs: int
    nan_voxels: int
    working_bytes: int
    seconds: float
    network_seconds: float
    axes: Mapping[str, Sequence[ResultAxis]]


def run_volume(
    sessions: Sequence[InferenceSession],
    image: Array,
    settings: WindowSettings,
    fixed: Mapping[str, Array] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[dict[str, Array], VolumeSummary]:
    """The outputs over an image of [channels, axes...], by name: float32 [channels, axes...], and labels, of the
    smallest unsigned type that holds them, [1, axes...].

    sessions: models of the same interface; their values are averaged.
    fixed: the inputs that are the same for every window.
    progress: called with the windows that are done and their number. An exception of it ends the run, Ctrl-C too.

    Raises RunError with the runtime's text.
    """
    first, *others = sessions
    given = fixed or {}
    windowed = [info.name for info in first.get_inputs() if info.name not in given]
    if len(windowed) != 1:
        raise OnnxcError(f"one input is cut into windows, and these are not fixed: {windowed}")
    call = _Call(first, others, image, settings, given, progress)
    with ExitStack() as stack:
        # In one order, so that two calls on the same sessions do not wait for each other.
        for session in sorted({id(s): s for s in sessions}.values(), key=id):
            session._check_open()
            stack.enter_context(session._lock)
        return call.run()


class _Call:
    """The structures of one call, kept alive while it runs."""

    def __init__(
        self,
        session: InferenceSession,
        others: Sequence[InferenceSession],
        image: Array,
        settings: WindowSettings,
        fixed: Mapping[str, Array],
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._session = session
        self._settings = settings
        self._progress = progress
        self._raised: BaseException | None = None
        self._kept: list[object] = []  # what the structures point to
        rank = image.ndim - 1
        self._rank = rank
        image = _readable(image)
        api = session._api
        infos = session.get_inputs()
        inputs = (volume_abi.Input * len(infos))()
        for index, info in enumerate(infos):
            inputs[index] = self._fixed(fixed[info.name]) if info.name in fixed else self._scan(image)
        self._outputs = (volume_abi.Output * api.output_count)()
        for index, output in enumerate(session.get_outputs()):
            self._outputs[index].what = volume_abi.WRITTEN[settings.written.get(output.name, "nothing")]
        members = (volume_abi.Member * max(1, len(others)))()
        for index, other in enumerate(others):
            members[index].api = ctypes.addressof(other._api)
            members[index].instance = other._instance
        self._kept += [image, inputs, members, others]
        self.volume = volume_abi.Volume(
            struct_size=ctypes.sizeof(volume_abi.Volume),
            rank=rank,
            places=volume_abi.PLACES[settings.places],
            importance=volume_abi.IMPORTANCE[settings.importance],
            padding=volume_abi.PADDING[settings.padding],
            dims=self._integers(image.shape[1:]),
            window=self._integers(self._per_axis(settings.window, "window")),
            overlap=self._doubles(settings.overlap, "overlap"),
            step=self._doubles(settings.step, "step"),
            sigma_scale=self._doubles(settings.sigma_scale, "sigma_scale"),
            padding_value=settings.padding_value,
            batch=settings.batch,
            mirrored_axes=sum(1 << axis for axis in set(settings.mirrored_axes)),
            slab_axis=settings.slab_axis,
            inputs=inputs,
            outputs=self._outputs,
            members=members,
            member_count=len(others),
            progress=volume_abi.Progress(self._tell),
        )

    def run(self) -> tuple[dict[str, Array], VolumeSummary]:
        arrays, axes = self._allocate(), self._axes()
        result = volume_abi.Result(struct_size=ctypes.sizeof(volume_abi.Result))
        api, instance = self._session._api, self._session._instance
        status = api.run_volume(instance, ctypes.addressof(self.volume), ctypes.addressof(result))
        if self._raised is not None:
            raise self._raised
        self._check(status)
        if result.nan_voxels > 0:
            warnings.warn(f"{result.nan_voxels} voxels of the volume are NaN", RuntimeWarning, stacklevel=4)
        facts = {name: getattr(result, name) for name in VolumeSummary.__dataclass_fields__ if name != "axes"}
        return arrays, VolumeSummary(**facts, axes=axes)

    def _output_dims(self, volume: Any) -> list[list[int]]:
        """For each output: the channels, then the axes."""
        api, instance = self._session._api, self._session._instance
        count = api.output_count
        places = [(ctypes.c_int64 * (1 + self._rank))() for _ in range(count)]
        pointers = (ctypes.POINTER(ctypes.c_int64) * count)(
            *(ctypes.cast(place, ctypes.POINTER(ctypes.c_int64)) for place in places)
        )
        self._check(api.volume_output_dims(instance, ctypes.addressof(volume), pointers))
        return [list(place) for place in places]

    def _axes(self) -> dict[str, list[ResultAxis]]:
        """Follows the formula of onnxc_volume.h. The formula for a window is that for a volume of its size."""
        image = self.volume.dims[: self._rank]
        window = [size or own for size, own in zip(self._settings.window, image, strict=True)]
        one_window = volume_abi.Volume.from_buffer_copy(self.volume)
        one_window.dims = self._integers(window)
        made = self._output_dims(one_window)
        return {
            info.name: [_result_axis(*sizes) for sizes in zip(image, window, made[index][1:], strict=True)]
            for index, info in enumerate(self._session.get_outputs())
            if self._outputs[index].what != volume_abi.WRITTEN["nothing"]
        }

    def _allocate(self) -> dict[str, Array]:
        places = self._output_dims(self.volume)
        arrays: dict[str, Array] = {}
        for index, info in enumerate(self._session.get_outputs()):
            output = self._outputs[index]
            if output.what == volume_abi.WRITTEN["nothing"]:
                continue
            dtype: np.dtype[Any] = np.dtype(np.float32)
            if output.what == volume_abi.WRITTEN["labels"]:
                classes = info.shape[1]
                dtype = np.dtype(np.uint8 if isinstance(classes, int) and classes <= 256 else np.uint16)
            array: Array = np.empty(places[index], dtype)
            output.dtype = dtypes.NUMBERS[dtype]
            output.data = array.ctypes.data
            output.bytes = array.nbytes
            arrays[info.name] = array
        return arrays

    def _check(self, status: int) -> None:
        if status != abi.OK:
            api = self._session._api
            message = api.last_error(self._session._instance) or api.status_text(status) or b""
            raise RunError(message.decode(errors="replace"), status)

    def _tell(self, _: int | None, done: int, windows: int) -> int:
        try:
            if self._progress is not None:
                self._progress(done, windows)
        except BaseException as error:  # KeyboardInterrupt too: no exception passes through C
            self._raised = error
            return 1
        return 0

    def _scan(self, image: Array) -> volume_abi.Input:
        strides = [stride // image.itemsize for stride in image.strides]
        last = sum((size - 1) * stride for size, stride in zip(image.shape, strides, strict=True))
        return volume_abi.Input(
            dtype=dtypes.NUMBERS[image.dtype],
            channels=image.shape[0],
            data=image.ctypes.data,
            strides=self._integers(strides),
            bytes=(last + 1) * image.itemsize,
        )

    def _fixed(self, values: Array) -> volume_abi.Input:
        array = np.require(values, values.dtype.newbyteorder("="), ["C", "A"])
        dims = self._integers(array.shape)
        value = abi.Value(
            dtype=dtypes.NUMBERS[array.dtype],
            rank=array.ndim,
            dims=dims,
            data=array.ctypes.data,
            bytes=array.nbytes,
        )
        self._kept += [array, value]
        return volume_abi.Input(fixed=ctypes.pointer(value))

    def _per_axis(self, values: Sequence[Any], name: str) -> Sequence[Any]:
        if len(values) != self._rank:
            raise OnnxcError(f"{name} has {len(values)} numbers, and the volume {self._rank} spatial axes")
        return values

    def _integers(self, values: Sequence[int]) -> Any:
        array = (ctypes.c_int64 * max(1, len(values)))(*values)
        self._kept.append(array)
        return array

    def _doubles(self, values: Sequence[float] | None, name: str) -> Any:
        if values is None:
            return None
        array = (ctypes.c_double * self._rank)(*self._per_axis(values, name))
        self._kept.append(array)
        return array


def _result_axis(image: int, window: int, made: int) -> ResultAxis:
    """For an axis along which the image and the window have so many voxels, and the model makes others of a window."""
    zoom = made / window
    padded = max(window - image, 0) // 2
    return ResultAxis(1 / zoom, (round(padded * zoom) + 0.5) / zoom - 0.5 - padded)


def _readable(image: Array) -> Array:
    """The image as the runtime reads it: a copy only of types and strides that it does not take."""
    if image.dtype not in SCAN_TYPES:
        image = image.astype(np.float32)
    is_strided = all(stride >= 0 and stride % image.itemsize == 0 for stride in image.strides)
    if not is_strided or not image.flags.aligned:
        image = np.ascontiguousarray(image)
    return image
