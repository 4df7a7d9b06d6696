"""A folder that nnU-Net's training wrote, as compiled models."""

import hashlib
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxc import arguments, command
from onnxc.errors import ArgumentError, OnnxcError
from onnxc.input_files import check_outputs
from onnxc.packages import required
from onnxc.version import VERSION


@dataclass(frozen=True)
class Fold:
    """A fold's network as a model.so, and what its checkpoint and plans say about its windows."""

    model: Path
    patch_size: tuple[int, ...]
    allowed_mirroring_axes: tuple[int, ...] | None


def read(folder: Path, use_folds: Sequence[int | str] | None, checkpoint_name: str) -> list[Fold]:
    """The folds of a folder. Each one that the cache lacks is exported and compiled, which needs torch; what the cache
    has is opened without it, and without unpickling the checkpoint."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onnxc" / "nnunet"
    folds = []
    for checkpoint in checkpoints(folder, use_folds, checkpoint_name):
        key = _key(folder, checkpoint)
        record = cache / f"{key}.json"
        fold = _kept(cache / f"{key}.so", record)
        if fold is None:
            fold = compile_fold(folder, checkpoint, cache / f"{key}.so")
            facts = {"patch_size": fold.patch_size, "allowed_mirroring_axes": fold.allowed_mirroring_axes}
            temporary = record.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps(facts))
            temporary.replace(record)
        folds.append(fold)
    return folds


def fold_names(name: str, folds: Any) -> list[int | str] | None:
    """The folds that the argument of that name asks for."""
    if folds is None or isinstance(folds, str):
        return None if folds is None else [folds]
    names = arguments.sequence(name, folds, "numbers of folds, or 'all'")
    if not names:
        raise ArgumentError(f"{name} is an empty list; None takes all folds that are there")
    return [each if isinstance(each, str) else arguments.whole(name, each, 0, "numbers of folds") for each in names]


def checkpoints(folder: Path, use_folds: Sequence[int | str] | None, checkpoint_name: str) -> list[Path]:
    """The checkpoint of each fold; None: of all folds that are there."""
    folds = [use_folds] if isinstance(use_folds, str) else use_folds
    if folds is None:
        found = (path.parent.name.removeprefix("fold_") for path in folder.glob(f"fold_*/{checkpoint_name}"))
        folds = sorted(name for name in found if name != "all")
    _json(folder / "plans.json")
    if not folds:
        raise OnnxcError(f"{folder} has no folder fold_N with {checkpoint_name}")
    return [folder / f"fold_{fold}" / checkpoint_name for fold in folds]


def _key(folder: Path, checkpoint: Path) -> str:
    """The facts that a compiled fold depends on."""
    content = hashlib.sha256()
    for path in (checkpoint, folder / "plans.json", folder / "dataset.json"):
        try:
            content.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError as error:
            what = "the checkpoint " if path == checkpoint else ""
            raise OnnxcError(f"cannot read {what}{path}: {error}") from error
    for fact in (VERSION, _cpu()):
        content.update(fact.encode())
    return content.hexdigest()[:32]


def _kept(model: Path, record: Path) -> Fold | None:
    try:
        facts = json.loads(record.read_text())
    except (OSError, ValueError):
        return None
    return _fold(model, facts["patch_size"], facts["allowed_mirroring_axes"]) if model.exists() else None


def _fold(model: Path, patch_size: Sequence[int], axes: Sequence[int] | None) -> Fold:
    return Fold(model, tuple(patch_size), None if axes is None else tuple(axes))


def compile_fold(folder: Path, checkpoint: Path, model: Path) -> Fold:
    """Exports the network of a fold with free batch and sizes, and compiles it to `model`."""
    files = (checkpoint, folder / "plans.json", folder / "dataset.json")
    check_outputs([("-o", model)], (("FOLDER", file) for file in files))
    plans, dataset = _json(folder / "plans.json"), _json(folder / "dataset.json")
    content = _load(checkpoint)
    configuration = _configuration(plans, content["init_args"]["configuration"])
    inputs, classes = _channels(configuration, dataset)
    network = _network(configuration, inputs, classes)
    network.load_state_dict(content["network_weights"])
    arguments.made_folder("the folder of the models", model.parent)
    exported = model.with_suffix(f".{os.getpid()}.onnx")
    try:
        _export(network.eval(), inputs, configuration["patch_size"], exported)
        command.execute([exported], model, [])  # which renames a whole file into place
    finally:
        exported.unlink(missing_ok=True)
    return _fold(model, configuration["patch_size"], content.get("inference_allowed_mirroring_axes"))


def _export(network: Any, inputs: int, patch_size: Sequence[int], path: Path) -> None:
    """An example batch of 2 keeps the exporter from writing the number 1 into the file."""
    import torch

    required("onnxscript", "the export of a network")
    free = {0: "N", **dict(enumerate("DHW"[-len(patch_size) :], 2))}
    window = torch.zeros(2, inputs, *patch_size)
    torch.onnx.export(
        network, (window,), str(path), dynamo=True, dynamic_shapes=[free], external_data=False, verbose=False
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise OnnxcError(f"cannot read {path}: {error}") from error
    return content


def _load(path: Path) -> dict[str, Any]:
    torch = required("torch", "a fold that is not compiled yet")
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


def _cpu() -> str:
    """The mark that tells this machine's instruction set from another's, if the cache is shared."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")
