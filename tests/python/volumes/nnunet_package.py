"""nnU-Net's own predictor. Its module imports readers of files and augmentation, which nothing here calls: what of
them is not installed stands in as an empty object."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch

from tests.python.volumes.networks import predictor


def load() -> ModuleType:
    while True:
        try:
            return importlib.import_module("nnunetv2.inference.predict_from_raw_data")
        except ModuleNotFoundError as error:
            name = error.name or ""
            # A part of nnU-Net itself must be there.
            if name.startswith(("nnunetv2", "torch", "scipy", "acvl_utils", "numpy")):
                raise
            sys.modules[name] = mock.MagicMock()


class Folds(torch.nn.Module):
    """A network whose parameters are an ONNX file, run by onnxruntime: what load_state_dict takes is the path."""

    def load_state_dict(self, state_dict: Any, *_: Any, **__: Any) -> Any:
        self.predict = predictor(state_dict)

    def forward(self, x: torch.Tensor) -> Any:
        return self.predict(x)


def nnunet_predictor(
    folds: list[Path], patch_size: tuple[int, ...], mirroring: tuple[int, ...] | None, step: float, gaussian: bool
) -> Any:
    """nnUNetPredictor as its own initialisation leaves it."""
    made = load().nnUNetPredictor(step, gaussian, mirroring is not None, device=torch.device("cpu"), allow_tqdm=False)
    made.network = Folds()
    made.list_of_parameters = folds
    made.configuration_manager = SimpleNamespace(patch_size=patch_size)
    made.label_manager = SimpleNamespace(num_segmentation_heads=4)
    made.allowed_mirroring_axes = mirroring
    return made


@contextmanager
def sums_in_float32() -> Iterator[None]:
    """nnU-Net's code with float32 in place of half precision, the only difference."""
    module = load()
    gaussian = partial(module.compute_gaussian, dtype=torch.float32)
    with mock.patch.object(torch, "half", torch.float32), mock.patch.object(module, "compute_gaussian", gaussian):
        yield
