"""A model over whole volumes, in the manner of MONAI's SlidingWindowInferer."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError
from onnxc.memory import torch_values
from onnxc.session import InferenceSession
from onnxc.volume import ResultAxis, VolumeSummary, WindowSettings, run_volume

Array = NDArray[Any]
Progress = Callable[[int, int], object]


class SlidingWindow:
    """Runs a model over volumes in windows that overlap, and blends what it gives.

    The semantics are those of monai.inferers.SlidingWindowInferer, number by number: the places of windows, the
    importance of their voxels, the padding of a volume that is smaller than the window, outputs of another resolution.

        window = onnxc.SlidingWindow("segment.so", roi_size=(96, 96, 96), overlap=0.5, mode="gaussian")
        y = window(x)                    # x: [batch, channels, axes...], a numpy array or a torch tensor

    model: a model.so or model.onnx, a session, or several of them, whose values are averaged. It takes windows as
        float32 [windows, channels, axes...].
    roi_size: the window's sizes, a number or one for each spatial axis; None, 0 and -1: the volume's own.
    overlap: of neighbouring windows, 0 to below 1, a number or one an axis.
    mode: "constant" or "gaussian", the importance of a window's voxels; sigma_scale is the Gaussian's sigma in windows.
    padding_mode: "constant" (with cval), "reflect", "replicate" or "circular".
    sw_batch_size: windows in a run; None, 0 and -1: one, or up to eight smaller than 64^3 if the model takes them; on a
        GPU as many as four of 96^3 have voxels.
    output: what is made of the blended values: "values", "softmax", "sigmoid" or "labels" (their argmax, of the
        smallest unsigned type, with one channel; of one channel, if it is above 0); for models of several outputs also
        a mapping of their names to these or "nothing".
    mirror_axes: spatial axes along which every window runs mirrored too, in all combinations, averaged.
    fixed: the inputs that are the same for each window, by name.
    slab_axis: the axis along which finished slices leave memory; None and -1: the one that needs least.
    progress: called with the windows that are done and their number, for each image; True: tqdm's bar, if tqdm is
        installed.
    threads: of sessions that are opened here.
    sw_device: the device of the windows, which the sessions decide: None, or their device ("cuda" is PyTorch's name of
    "gpu").
    device: of the result: None, the input's own, or "cpu".
    cache_roi_weight_map, cpu_thresh, buffer_steps, buffer_dim: MONAI's, without an effect on the result: none here.
    with_coord: False, since a compiled model takes no coordinates of windows.

    Raises ArgumentError, a ValueError, for each of these that cannot be done.
    """

    def __init__(
        self,
        model: str | Path | InferenceSession | Sequence[str | Path | InferenceSession],
        roi_size: Sequence[int | None] | int | None,
        overlap: Sequence[float] | float = 0.25,
        mode: str = "constant",
        sigma_scale: Sequence[float] | float = 0.125,
        padding_mode: str = "constant",
        sw_batch_size: int | None = None,
        cval: float = 0.0,
        *,
        output: str | Mapping[str, str] = "values",
        mirror_axes: Sequence[int] = (),
        fixed: Mapping[str, Array] | None = None,
        slab_axis: int | None = None,
        progress: Progress | bool | None = None,
        threads: int | None = 0,
        sw_device: Any = None,
        device: Any = None,
        cache_roi_weight_map: bool = False,
        cpu_thresh: int | None = None,
        buffer_steps: int | None = None,
        buffer_dim: int = -1,
        with_coord: bool = False,
    ) -> None:
        if arguments.truth("with_coord", with_coord):
            raise ArgumentError(
                "with_coord is True, and a compiled model takes no coordinates of windows: leave it out"
            )
        if device is not None and _kind_and_number("device", device) != ("cpu", 0):
            raise ArgumentError(
                f"device is {str(device)!r}, and results come to the CPU: expected 'cpu', or None, which takes "
                "them to the input's device"
            )
        _check_monais_own(cache_roi_weight_map, cpu_thresh, buffer_steps, buffer_dim)
        self.sessions = sessions_of("model", model, threads)
        _check_sw_device(sw_device, self.sessions)
        self.device = device
        self.fixed = dict(arguments.mapping("fixed", {} if fixed is None else fixed, "arrays"))
        self.rank = _rank(self.sessions[0], self.fixed)
        self.fixed = {name: arguments.array(f"fixed[{name!r}]", value) for name, value in self.fixed.items()}
        self.roi_size = [arguments.count("roi_size", each) for each in _per_axis("roi_size", roi_size, self.rank)]
        self.overlap = _numbers("overlap", overlap, self.rank, lambda each: 0 <= each < 1, "0 or more, and below 1")
        self.mode = _choice("mode", mode, ("constant", "gaussian"))
        self.sigma_scale = _numbers("sigma_scale", sigma_scale, self.rank, lambda each: each > 0, "more than 0")
        self.padding_mode = _choice("padding_mode", padding_mode, ("constant", "reflect", "replicate", "circular"))
        self.sw_batch_size = arguments.count("sw_batch_size", sw_batch_size)
        self.cval = arguments.real("cval", cval)
        self.mirror_axes = spatial_axes("mirror_axes", mirror_axes, self.rank)
        self.slab_axis = _slab_axis(slab_axis, self.rank)
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise arguments.refused("progress", progress, "a function, or True for tqdm's bar")
        self.progress = progress
        self.output = _written(output, [info.name for info in self.sessions[0].get_outputs()])
        self.summary: VolumeSummary | None = None  # of the last image

    def __call__(self, inputs: Any, network: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The outputs over a batch of volumes, [batch, channels, axes...]: one array, or a tuple if the model has
        several outputs. They are torch tensors, on the CPU or the input's device, for torch tensors, and MONAI's
        MetaTensor with the input's meta data. The affine of an output of another resolution is that of its own voxels,
        which MONAI's inferer leaves as the input's.

        network: what MONAI's evaluators hand to an inferer. The compiled model runs in its place.

        Raises ArgumentError for an array of other axes, RunError for windows that the model does not take; its text
        names the nearest that fit.
        """
        if args or kwargs:
            raise ArgumentError(
                "a compiled model takes no further arguments: give inputs that are the same for each window "
                "as SlidingWindow(fixed=...)"
            )
        volume = torch_values.numbers("inputs", inputs)
        if volume.ndim < 3 or volume.ndim > 5:
            raise ArgumentError(
                f"inputs: a batch of volumes is [batch, channels, 1 to 3 axes], found the shape {volume.shape}"
            )
        self._check_axes(volume)
        if volume.shape[0] == 0:
            raise ArgumentError("inputs: the batch has no volume")
        settings = self._settings()
        images = []
        axes: Mapping[str, Sequence[ResultAxis]] = {}
        for image in volume:
            with told(self.progress, "window") as progress:
                outputs, self.summary = run_volume(self.sessions, image, settings, self.fixed, progress)
            images.append(outputs)
            axes = self.summary.axes
        results = [
            np.stack([image[name] for image in images]) if len(images) > 1 else images[0][name][None]
            for name in images[0]
        ]
        converted = [
            _like(inputs, result, self.device, axes[name]) for name, result in zip(images[0], results, strict=True)
        ]
        return converted[0] if len(converted) == 1 else tuple(converted)

    def _check_axes(self, volume: Array) -> None:
        for info in self.sessions[0].get_inputs():
            if info.name in self.fixed or volume.ndim == len(info.shape):
                continue
            hint = ": add those that are missing, as array[None, None]" if volume.ndim < len(info.shape) else ""
            raise ArgumentError(
                f"inputs: the array has the shape {volume.shape}, {volume.ndim} axes, and the model's input "
                f"{info.name!r} has {len(info.shape)}: expected [batch, channels, axes...] with "
                f"{len(info.shape) - 2} spatial axes{hint}"
            )

    def _settings(self) -> WindowSettings:
        return WindowSettings(
            window=self.roi_size,
            overlap=self.overlap,
            importance=self.mode,
            sigma_scale=self.sigma_scale,
            padding=self.padding_mode,
            padding_value=self.cval,
            batch=self.sw_batch_size,
            mirrored_axes=self.mirror_axes,
            slab_axis=self.slab_axis,
            written=self.output,
        )


def sessions_of(name: str, models: Any, threads: int | None) -> list[InferenceSession]:
    """A session for each model; `name` is that of the argument."""
    arguments.count("threads", threads)
    several = isinstance(models, Sequence) and not isinstance(models, str | bytes)
    found = list(models) if several else [models]
    if not found:
        raise ArgumentError(f"{name} is an empty list: a sliding window needs a model")
    return [
        each if isinstance(each, InferenceSession) else InferenceSession(arguments.path(name, each), threads=threads)
        for each in found
    ]


def _check_monais_own(cache_roi_weight_map: Any, cpu_thresh: Any, buffer_steps: Any, buffer_dim: Any) -> None:
    arguments.truth("cache_roi_weight_map", cache_roi_weight_map)
    arguments.count("cpu_thresh", cpu_thresh)
    arguments.count("buffer_steps", buffer_steps)
    arguments.whole("buffer_dim", buffer_dim, -1, "a spatial axis, or -1")


def _numbers(name: str, value: Any, rank: int, is_right: Callable[[float], bool], expected: str) -> list[float]:
    """One for each axis."""
    values = [arguments.real(name, each, expected) for each in _per_axis(name, value, rank)]
    if not all(map(is_right, values)):
        raise arguments.refused(name, values, expected)
    return values


def spatial_axes(name: str, value: Any, rank: int) -> list[int]:
    """Counted from the first."""
    expected = f"spatial axes from {-rank} to {rank - 1}"
    axes = [arguments.whole(name, each, -rank, expected) for each in arguments.sequence(name, value, expected)]
    if any(axis >= rank for axis in axes):
        raise arguments.refused(name, value, expected)
    return [axis % rank for axis in axes]


def _slab_axis(value: Any, rank: int) -> int:
    expected = f"0 to {rank - 1}; or None or -1, which leave it to onnxc"
    axis = -1 if value is None else arguments.whole("slab_axis", value, -1, expected)
    if axis >= rank:
        raise ArgumentError(f"slab_axis is {axis}, and a window has {rank} spatial axes: expected {expected}")
    return axis


def _rank(session: InferenceSession, fixed: Mapping[str, Array]) -> int:
    """The number of spatial axes, of the one input that is cut into windows."""
    inputs = session.get_inputs()
    names = [info.name for info in inputs]
    if unknown := [name for name in fixed if name not in names]:
        raise ArgumentError(f"fixed has {unknown}, and the model takes the inputs {names}")
    windowed = [info for info in inputs if info.name not in fixed]
    if len(windowed) != 1:
        found = [info.name for info in windowed]
        raise ArgumentError(f"one input is cut into windows, and these are not fixed: {found}; expected one of {names}")
    rank = len(windowed[0].shape) - 2
    if not 1 <= rank <= 3:
        raise ArgumentError(
            f"the model's input {windowed[0].name!r} has {rank + 2} axes, expected [windows, channels, 1 to 3 axes]"
        )
    return rank


def _written(output: str | Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The result made of each output."""
    is_one = not isinstance(output, Mapping)
    made = dict.fromkeys(names, output) if is_one else dict(arguments.mapping("output", output, "what is made of it"))
    if unknown := [name for name in made if name not in names]:
        raise ArgumentError(f"output has {unknown}, and the model gives the outputs {list(names)}")
    if all(what == "nothing" for what in made.values()):
        raise ArgumentError(f"output is {output!r}, by which nothing is written of {list(names)}")
    kinds = ("values", "softmax", "sigmoid", "labels", "nothing")
    return {name: _choice("output", what, kinds) for name, what in made.items()}


def _kind_and_number(name: str, device: Any) -> tuple[str, int]:
    """Parses "cpu", "gpu:1" or a torch.device, which calls any GPU "cuda"."""
    found = re.fullmatch(r"(cpu|gpu|hip|cuda)(?::([0-9]{1,6}))?", str(device))
    if found is None:
        raise arguments.refused(name, device, "None, 'cpu', 'gpu:1' or a torch.device")
    return "cpu" if found[1] == "cpu" else "gpu", int(found[2] or 0)


def _check_sw_device(sw_device: Any, sessions: Sequence[InferenceSession]) -> None:
    for session in sessions:
        found = ("cpu", 0) if session.device_index is None else ("gpu", session.device_index)
        if sw_device is not None and _kind_and_number("sw_device", sw_device) != found:
            name = "cpu" if session.device_index is None else f"gpu:{session.device_index}"
            raise ArgumentError(
                f"sw_device is {str(sw_device)!r}, and the model runs on {name!r}: leave sw_device out, or give the "
                'model as onnxc.InferenceSession(model, device="gpu")'
            )


@contextmanager
def told(progress: Progress | bool | None, unit: str) -> Iterator[Progress | None]:
    """The function that is called with what is done and its number: the caller's, tqdm's bar for True if tqdm is
    installed, or none."""
    if not isinstance(progress, bool) or not progress:
        yield progress or None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    with tqdm(unit=unit) as bar:

        def tell(done: int, number: int) -> None:
            bar.total = number
            bar.update(done - bar.n)

        yield tell


def _choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    # MONAI's own constants are strings with a value.
    text = str(getattr(value, "value", value)).lower()
    if text not in known:
        raise ArgumentError(f"{name} is {value!r}, expected one of {', '.join(known)}")
    return text


def _per_axis(name: str, value: Any, rank: int) -> list[Any]:
    """A number for each axis."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        return [value] * rank
    if len(value) != rank:
        raise ArgumentError(
            f"{name} has {len(value)} numbers, and a window {rank} spatial axes: give one for each, or one number "
            "for all"
        )
    return list(value)


def moved_affine(affine: Any, axes: Sequence[ResultAxis]) -> Any:
    """The affine of an image, a matrix of numpy or torch, for the voxels of a result."""
    moved = np.eye(affine.shape[-1])
    for index, axis in enumerate(axes[: affine.shape[-1] - 1]):
        moved[index, index], moved[index, -1] = axis.step, axis.origin
    if torch_values.is_tensor(affine):
        return affine @ sys.modules["torch"].from_numpy(moved).to(affine)
    return affine @ moved


def _like(values: Any, result: Array, device: Any, axes: Sequence[ResultAxis]) -> Any:
    """The result as torch and MONAI have it if `values` is theirs; on the device of `values` if it is None."""
    if not torch_values.is_tensor(values):
        return result
    tensor = sys.modules["torch"].from_numpy(result).to(values.device if device is None else device)
    if hasattr(values, "copy_meta_from"):
        tensor = type(values)(tensor)
        tensor.copy_meta_from(values, copy_attr=False)
        if any(axis != ResultAxis() for axis in axes):
            tensor.affine = moved_affine(tensor.affine, axes)
    return tensor
