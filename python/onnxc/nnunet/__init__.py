"""nnU-Net's sliding windows over compiled models, with the method names of nnUNetPredictor.

    predictor = onnxc.nnunet.Predictor()
    folder = "nnUNet_results/Dataset001/nnUNetTrainer__nnUNetPlans__3d_fullres"
    predictor.initialize_from_trained_model_folder(folder, None)
    logits = predictor.predict_logits_from_preprocessed_data(data)   # data: [channels, axes...], preprocessed

The same as nnU-Net's (2.8.1, inference/predict_from_raw_data.py and sliding_window_prediction.py) are exactly: the
steps, the Gaussian, the padding, the mean over mirrored windows and over folds. It differs in its sums: they are
float32, and nnU-Net adds half-precision numbers. Preprocessing, resampling to the original spacing and reading files
stay nnU-Net's.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnxc import arguments
from onnxc.errors import ArgumentError, OnnxcError
from onnxc.nnunet import trained_folder
from onnxc.session import InferenceSession
from onnxc.sliding_window import sessions_of, spatial_axes
from onnxc.volume import VolumeSummary, WindowSettings, run_volume

Array = NDArray[Any]


class Predictor:
    """Predicts with the folds of a trained nnU-Net, compiled.

    tile_step_size: the distance of windows, in windows, at most. use_gaussian: their middle counts most.
    use_mirroring: the mean over mirrored windows, along the axes that the training allows.
    progress: called with the windows that are done and their number. threads: of a run; None, 0 and -1 leave them to
    the machine.

    Raises ArgumentError for an argument that cannot be done.
    """

    def __init__(
        self,
        tile_step_size: float = 0.5,
        use_gaussian: bool = True,
        use_mirroring: bool = True,
        *,
        progress: Callable[[int, int], object] | None = None,
        threads: int | None = 0,
    ) -> None:
        expected = "more than 0, and at most 1"
        self.tile_step_size = arguments.real("tile_step_size", tile_step_size, expected)
        if not 0 < self.tile_step_size <= 1:
            raise arguments.refused("tile_step_size", tile_step_size, expected)
        self.use_gaussian = arguments.truth("use_gaussian", use_gaussian)
        self.use_mirroring = arguments.truth("use_mirroring", use_mirroring)
        self.progress = None if progress is None else arguments.function("progress", progress)
        self.threads = arguments.count("threads", threads)
        self.folds: list[InferenceSession] = []
        self.patch_size: tuple[int, ...] = ()
        self.allowed_mirroring_axes: tuple[int, ...] | None = None
        self.summary: VolumeSummary | None = None  # of the last image

    def initialize_from_trained_model_folder(
        self,
        model_training_output_dir: str | Path,
        use_folds: Sequence[int | str] | None,
        checkpoint_name: str = "checkpoint_final.pth",
    ) -> None:
        """Exports and compiles each fold of a folder that nnU-Net's training wrote; None: all that are there.

        The models are kept under ~/.cache/onnxc/nnunet by the checkpoint's content. The first time needs torch,
        onnxscript and the package of the network's class; later times need none of these and read no pickle.
        Checkpoints are pickles, which may run code when they are read: take them from people you trust.
        """
        folder = arguments.path("model_training_output_dir", model_training_output_dir)
        name = arguments.text("checkpoint_name", checkpoint_name, "the name of a file, such as checkpoint_final.pth")
        folds = trained_folder.read(folder, trained_folder.fold_names("use_folds", use_folds), name)
        models, last = [fold.model for fold in folds], folds[-1]
        self.initialize_from_models(models, last.patch_size, last.allowed_mirroring_axes)

    def initialize_from_models(
        self,
        models: Sequence[str | Path | InferenceSession],
        patch_size: Sequence[int],
        allowed_mirroring_axes: Sequence[int] | None = None,
    ) -> None:
        """Takes models that are exported already, a fold each: float32 [windows, channels, *patch_size]."""
        if not arguments.sequence("models", models, "a list of models, one a fold"):
            raise ArgumentError("models is an empty list: there is no fold to predict with")
        expected = "2 or 3 sizes of at least 1"
        sizes = arguments.sequence("patch_size", patch_size, expected)
        if len(sizes) not in (2, 3):
            raise arguments.refused("patch_size", patch_size, expected)
        self.patch_size = tuple(arguments.whole("patch_size", each, 1, expected) for each in sizes)
        self.allowed_mirroring_axes = None
        if allowed_mirroring_axes is not None:
            rank = len(self.patch_size)
            self.allowed_mirroring_axes = tuple(spatial_axes("allowed_mirroring_axes", allowed_mirroring_axes, rank))
        self.folds = sessions_of("models", models, self.threads)

    def predict_logits_from_preprocessed_data(self, data: Any) -> Any:
        """The logits, float32 [classes, axes...], of data [channels, axes...]: the mean of the folds'. A torch tensor
        gives one. A network of two axes runs over the slices of the first axis."""
        return self._predict(data, "values")

    def predict_labels_from_preprocessed_data(self, data: Any) -> Any:
        """The class of the largest logit, of the smallest unsigned type, [axes...]. The logits are never in memory as a
        whole. Not for training with regions, whose classes overlap, and only at the spacing of `data`."""
        return self._predict(data, "labels")[0]

    def _predict(self, data: Any, what: str) -> Any:
        if not self.folds:
            raise OnnxcError("the predictor has no model yet: call initialize_from_trained_model_folder first")
        torch = sys.modules.get("torch")
        is_tensor = torch is not None and isinstance(data, torch.Tensor)
        image = arguments.array("data", data.detach().cpu().numpy() if is_tensor else data)
        rank = len(self.patch_size)
        if image.ndim != 4 or rank not in (2, 3):
            raise ArgumentError(
                f"data has the shape {image.shape}, expected [channels, x, y, z]; the patch is {self.patch_size}"
            )
        outputs = self.folds[0].get_outputs()
        axes = (self.allowed_mirroring_axes or ()) if self.use_mirroring else ()
        settings = WindowSettings(
            window=self.patch_size,
            places="even",
            step=[self.tile_step_size] * rank,
            importance="gaussian-nnunet" if self.use_gaussian else "constant",
            mirrored_axes=axes,
            written={outputs[0].name: what},
        )
        # A network of two axes has no third one to blend along.
        images = [image] if rank == 3 else [image[:, i] for i in range(image.shape[1])]
        results = []
        for one in images:
            arrays, self.summary = run_volume(self.folds, one, settings, progress=self.progress)
            results.append(arrays[outputs[0].name])
        result = results[0] if rank == 3 else np.stack(results, axis=1)
        return torch.from_numpy(result) if is_tensor and torch is not None else result
