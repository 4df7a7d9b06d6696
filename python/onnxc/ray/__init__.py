"""Volumes on several machines, by Ray Data: the callable class of Dataset.map_batches, whose actors hold the model.

    scans = ray.data.from_items([{"path": str(path)} for path in paths])
    done = scans.map_batches(
        onnxc.ray.SegmentVolumes,
        fn_constructor_args=("seg.so", 96),
        fn_constructor_kwargs={"folder": "out", "overlap": 0.5, "mode": "gaussian", "output": "labels"},
        batch_size=1, num_cpus=8, compute=ray.data.ActorPoolStrategy(size=4),
    )
    for row in done.iter_rows():
        print(row["path"], row["output"] or row["error"])

Ray deals the scans out, restarts workers that died and gives their scans to others. Nothing here needs Ray.
"""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError, OnnxcError
from onnxc.input_files import check_outputs
from onnxc.ray import scan_file
from onnxc.session import InferenceSession
from onnxc.sliding_window import SlidingWindow

Array = NDArray[Any]


class SegmentVolumes:
    """Runs a model over the volumes of a batch, in windows.

    model, roi_size and the arguments of `window`: those of onnxc.SlidingWindow. A model.so is mapped: all actors of a
        machine share the pages of its weights. A run has the threads that Ray gives the actor (num_cpus), unless
        `threads` says otherwise.
    folder: the folder for results of files, under the scans' names, which must differ; None: results are a column of
    arrays.
    prepare: what is done to each image of [channels, axes...] before, such as a clip of its intensities.

    A batch has the column "path", of NIfTI or .npy files, or "volume", of arrays [channels, axes...]. Its other columns
    stay. New ones are "output", the path of a result or the result itself, [channels, axes...], and "error": what was
    wrong with a scan, "" if nothing was. A scan that has an error has the output "", or no voxels.

    Raises ArgumentError for an argument that cannot be done.
    """

    def __init__(
        self,
        model: str | Path | InferenceSession | Sequence[str | Path | InferenceSession],
        roi_size: Sequence[int | None] | int | None,
        *,
        folder: str | Path | None = None,
        prepare: Callable[[Array], Array] | None = None,
        **window: Any,
    ) -> None:
        if unknown := [name for name in window if name not in inspect.signature(SlidingWindow).parameters]:
            raise ArgumentError(f"{unknown[0]} is not an argument of onnxc.SlidingWindow")
        self.folder = None if folder is None else arguments.path("folder", folder)
        self.prepare = None if prepare is None else arguments.function("prepare", prepare)
        self.window = SlidingWindow(model, roi_size, **window)
        written = [name for name, what in self.window.output.items() if what != "nothing"]
        if len(written) != 1:
            raise ArgumentError(f"output: a volume has one result here, and these outputs are asked for: {written}")
        fixed = self.window.fixed
        [image] = [info for info in self.window.sessions[0].get_inputs() if info.name not in fixed]
        self.rank = len(image.shape) - 2

    def __call__(self, batch: dict[str, Array]) -> dict[str, Array]:
        columns = [name for name in ("path", "volume") if name in batch]
        if len(columns) != 1:
            raise OnnxcError(f"a batch has one of the columns 'path' and 'volume', and this one has {sorted(batch)}")
        [column] = columns
        outputs, errors = [], []
        for item in batch[column]:
            try:
                output = self._of_file(Path(item)) if column == "path" else self._segment(item)
                error = ""
            except OnnxcError as refusal:
                output = "" if self._writes(column) else np.zeros([0] * (1 + self.rank), np.float32)
                error = str(refusal)
            outputs.append(output)
            errors.append(error)
        kept = {name: values for name, values in batch.items() if name != "volume"}
        return {**kept, "output": _column(outputs), "error": _column(errors)}

    def _writes(self, column: str) -> bool:
        return column == "path" and self.folder is not None

    def _of_file(self, path: Path) -> Any:
        if self.folder is None:
            return self._segment(scan_file.read(path, self.rank).image)
        target = self.folder / path.name
        models = [session._source for session in self.window.sessions]
        inputs = [("path", path), *(("model", model) for model in models if isinstance(model, Path))]
        check_outputs([("folder", target)], inputs)
        scan = scan_file.read(path, self.rank)
        result = self._segment(scan.image)
        arguments.made_folder("folder", self.folder)
        summary = self.window.summary
        axes = [] if summary is None else next(iter(summary.axes.values()))
        scan_file.write(target, result, scan, axes)
        return str(target)

    def _segment(self, image: Array) -> Array:
        result: Array = self.window((image if self.prepare is None else self.prepare(image))[None])[0]
        return result


def _column(values: list[Any]) -> Array:
    """One object a row, whatever its shape."""
    column = np.empty(len(values), object)
    for row, value in enumerate(values):
        column[row] = value
    return column
