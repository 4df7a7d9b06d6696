"""A folder that nnU-Net's training wrote, as compiled models."""

import hashlib
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxc import command
from onnxc.errors import OnnxcError


@dataclass(frozen=True)
class TrainedFolder:
    models: list[Path]  # a model.so for each fold
    patch_size: tuple[int, ...]
    allowed_mirroring_axes: tuple[int, ...] | None


def read(folder: Path, use_folds: Sequence[int | str] | None, checkpoint_name: str) -> TrainedFolder:
    """Reads plans.json, dataset.json and the folds' checkpoints; exports and compiles each fold that is not cached."""
    plans = _json(folder / "plans.json")
    dataset = _json(folder / "dataset.json")
    folds = [use_folds] if isinstance(use_folds, str) else use_folds
    if folds is None:
        found = (path.parent.name.removeprefix("fold_") for path in folder.glob(f"fold_*/{checkpoint_name}"))
        folds = sorted(name for name in found if name != "all")
    if not folds:
        raise OnnxcError(f"{folder} has no folder fold_N with {checkpoint_name}")
    models, patch_size, axes = [], (), None
    for fold in folds:
        path = folder / f"fold_{fold}" / checkpoint_name
        checkpoint = _load(path)
        configuration = _configuration(plans, checkpoint["init_args"]["configuration"])
        patch_size = tuple(configuration["patch_size"])
        axes = checkpoint.get("inference_allowed_mirroring_axes")
        models.append(_compiled(path, checkpoint["network_weights"], configuration, dataset))
    return TrainedFolder(models, patch_size, None if axes is None else tuple(axes))


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise OnnxcError(f"cannot read {path}: {error}") from error
    return content


def _load(path: Path) -> dict[str, Any]:
    import torch

    try:
        # nnU-Net's checkpoints hold more than tensors.
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise OnnxcError(f"cannot read the checkpoint {path}: {error}") from error
    missing = [key for key in ("network_weights", "init_args") if key not in checkpoint]
    if missing:
        raise OnnxcError(f"{path} is no checkpoint of nnU-Net v2: it has no {missing}")
    return checkpoint


def _configuration(plans: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A configuration of the plans with what it inherits."""
    configurations = plans["configurations"]
    visited: list[str] = []
    resolved: dict[str, Any] = {}
    current: str | None = name
    while current is not None:
        if current not in configurations or current in visited:
            raise OnnxcError(f"plans.json: the configuration {current!r} is missing or inherits from itself")
        visited.append(current)
        resolved = {**configurations[current], **resolved}
        current = configurations[current].get("inherits_from")
    if "architecture" not in resolved:
        raise OnnxcError(
            "plans.json is of an old nnU-Net and does not tell the architecture; plan the experiment again"
        )
    return resolved


def _channels(configuration: Mapping[str, Any], dataset: Mapping[str, Any]) -> tuple[int, int]:
    """Input channels, and classes or regions, as nnU-Net's LabelManager counts them."""
    labels = {name: value for name, value in dataset["labels"].items() if name != "ignore"}
    regions = [value for value in labels.values() if isinstance(value, list) and len(value) > 1]
    single = {int(v) for value in labels.values() for v in (value if isinstance(value, list) else [value])}
    classes = len(labels) - 1 if regions else len(single)
    inputs = len(dataset.get("modality", dataset.get("channel_names", ())))
    if configuration.get("previous_stage"):
        inputs += len(single - {0})  # the segmentation of the stage before, one-hot
    return inputs, classes


def _located(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise OnnxcError(f"the network needs {name}, which is not installed: {error}") from error


def _network(configuration: Mapping[str, Any], inputs: int, classes: int) -> Any:
    architecture = configuration["architecture"]
    arguments = dict(architecture["arch_kwargs"])
    for name in architecture["_kw_requires_import"]:
        if arguments[name] is not None:
            arguments[name] = _located(arguments[name])
    network_class = _located(architecture["network_class_name"])
    return network_class(input_channels=inputs, num_classes=classes, **{**arguments, "deep_supervision": False})


def _compiled(
    checkpoint: Path, weights: Mapping[str, Any], configuration: Mapping[str, Any], dataset: Mapping[str, Any]
) -> Path:
    content = hashlib.sha256(checkpoint.read_bytes())
    content.update(json.dumps([configuration, dataset["labels"]], sort_keys=True).encode())
    for fact in (command.version(), _cpu()):
        content.update(fact.encode())
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onnxc" / "nnunet"
    model = base / f"{content.hexdigest()[:32]}.so"
    if model.exists():
        return model
    import torch

    inputs, classes = _channels(configuration, dataset)
    network = _network(configuration, inputs, classes)
    network.load_state_dict(weights)
    network.eval()
    base.mkdir(parents=True, exist_ok=True)
    exported = model.with_suffix(f".{os.getpid()}.onnx")
    window = torch.zeros(1, inputs, *configuration["patch_size"])
    try:
        torch.onnx.export(network, (window,), str(exported), dynamo=True, external_data=False, verbose=False)
        command.execute(exported, model, [])  # which renames a whole file into place
    finally:
        exported.unlink(missing_ok=True)
    return model


def _cpu() -> str:
    """What tells this machine's instruction set from another's, where the cache is shared."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")
