"""Exports test models and networks for a bundle, with weights that compress, and computes the right values."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

from models import weights
from models.export import SEED, export_onnx, graph_names, make_input
from models.zoo import ModelRow
from tools.commands import REPOSITORY
from tools.gpu_check.comparison import part_of, stride_of
from tools.gpu_check.manifest import Case, Value, case_of
from tools.gpu_check.networks.table import Network
from tools.gpu_check.weights import equalize, packed, repeat

LARGE_INPUT = 1 << 16
NORMALIZED = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.GroupNorm)


@dataclass(frozen=True)
class Export:
    """is_normalized: whether a normalisation over a sample divides by what it finds there."""

    model: Path
    inputs: list[str]
    outputs: list[str]
    is_normalized: bool
    cases: list[Case]


def sources_hash() -> str:
    """The hash of all that an export follows from."""
    folders = ("models", "models/networks", "tools/gpu_check/networks")
    files = [file for folder in folders for file in (REPOSITORY / folder).glob("*.py")]
    files += [Path(__file__).with_name(name) for name in ("exports.py", "weights.py", "comparison.py")]
    digest = hashlib.sha256(f"{torch.__version__} {onnx.__version__}".encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_made(folder: Path, stamp: str) -> bool:
    file = folder / "export.json"
    return file.exists() and json.loads(file.read_text())["stamp"] == stamp


def keep(made: Export, folder: Path, stamp: str) -> None:
    (folder / "export.json").write_text(json.dumps({**asdict(made), "model": made.model.name, "stamp": stamp}))


def kept(folder: Path) -> Export:
    content = json.loads((folder / "export.json").read_text())
    del content["stamp"]
    return Export(**{**content, "model": folder / content["model"], "cases": [*map(case_of, content["cases"])]})


def is_normalized(model: nn.Module) -> bool:
    return any(isinstance(each, NORMALIZED) for each in model.modules())


def checked_model(row: ModelRow, folder: Path, stamp: str) -> Export:
    """A model of the zoo with its inputs, and PyTorch's results in float32."""
    if is_made(folder, stamp):
        return kept(folder)
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(SEED)
    samples = [
        tuple(coarse(make_input(spec, row.dtype, generator)) for spec in specs)
        for specs in (row.inputs, *row.more_inputs)
    ]
    torch.manual_seed(SEED)
    model = repeat(weights.initialize(row.build(), SEED))
    if row.calibrated:
        weights.calibrate(model, [each.float() if each.is_floating_point() else each for each in samples[0]], SEED)
        equalize(model)
    model = model.to(row.dtype)
    export_onnx(row, model, samples[0], folder / "model.onnx")
    names = graph_names(folder / "model.onnx")
    model = model.float()
    cases = [case(model, sample, names, row.dtype, folder, index) for index, sample in enumerate(samples)]
    made = Export(folder / "model.onnx", *names, is_normalized(model), cases)
    keep(made, folder, stamp)
    return made


def coarse(sample: torch.Tensor) -> torch.Tensor:
    """A large input in steps of a quarter, which packs six times as well. The networks that have one are deep, so that
    all layers but the first see values of all bits."""
    return (sample * 4).round() / 4 if sample.is_floating_point() and sample.numel() > LARGE_INPUT else sample


def case(
    model: nn.Module,
    sample: tuple[torch.Tensor, ...],
    names: tuple[list[str], list[str]],
    dtype: torch.dtype,
    folder: Path,
    index: int,
) -> Case:
    """Writes the values of one run."""
    with torch.no_grad():
        result = model(*(each.float() if each.is_floating_point() else each for each in sample))
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    inputs = [
        Value(name, saved(tensor, folder / f"input_{index}_{place}.npy"), type_name(tensor.dtype), list(tensor.shape))
        for place, (name, tensor) in enumerate(zip(names[0], sample, strict=True))
    ]
    right = [
        output(name, tensor, dtype, folder / f"output_{index}_{place}.npy")
        for place, (name, tensor) in enumerate(zip(names[1], outputs, strict=True))
    ]
    return Case(inputs, right)


def output(name: str, tensor: torch.Tensor, dtype: torch.dtype, file: Path) -> Value:
    """The value to compare with. Results of float32 stand for those of the row's own type, which rounds them."""
    stride = stride_of(tensor.shape) if tensor.is_floating_point() else 1  # whether others are written would not show
    own = dtype if tensor.dtype == torch.float32 else tensor.dtype
    return Value(name, saved(part_of(tensor, stride), file), type_name(own), list(tensor.shape), stride)


def saved(tensor: torch.Tensor, file: Path) -> str:
    """The name of the file that has it."""
    of_numpy = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
    np.save(file, of_numpy.detach().contiguous().numpy())
    return file.name


def type_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def network(row: Network, folder: Path, stamp: str) -> Export:
    """A network to time, with its weights beside it, packed, in weights.npz."""
    if is_made(folder, stamp):
        return kept(folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    model = weights.initialize(row.build(), SEED)
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.uniform_(-0.1, 0.1)
    sample = torch.randn(row.shape)
    repeat(model, is_coarse=True)
    if has_statistics(model):
        equalize(weights.calibrate(model, [sample], SEED))
    np.savez(folder / "weights.npz", allow_pickle=False, **packed(model))
    export_onnx(ModelRow(row.name, row.build, (row.shape,)), model, (sample,), folder / "model.onnx")
    made = Export(folder / "model.onnx", *graph_names(folder / "model.onnx"), is_normalized(model), [])
    keep(made, folder, stamp)
    return made


def has_statistics(model: nn.Module) -> bool:
    return any(isinstance(each, nn.modules.batchnorm._BatchNorm) for each in model.modules())
