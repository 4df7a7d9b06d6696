"""Exports test models through PyTorch into build/models/NAME, with inputs and PyTorch's outputs beside.

    python -m models.export NAME... | --all | --fast | --list

A folder holds model.onnx and manifest.json, which names the files of each run's inputs and outputs. It is made anew
only when its stamp, a hash of the defining sources and of PyTorch's version, no longer matches.
"""

import argparse
import hashlib
import json
import logging
import os
import shutil
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import torch
from torch import nn

from models import tensor_files, weights
from models.zoo import ALL_ROWS, ROWS, InputSpec, Integers, ModelRow

REPOSITORY = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("ONNXC_MODELS", REPOSITORY / "build" / "models"))
SEED = 20250304
PROTOBUF_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Run:
    """The files of one run, by the model's own names, in its order."""

    inputs: dict[str, Path]
    outputs: dict[str, Path]


@dataclass(frozen=True)
class ExportedModel:
    row: ModelRow
    model: Path
    runs: tuple[Run, ...]


def stamp(row: ModelRow) -> str:
    """A hash of all that an export depends on: the sources of this folder's shared parts and of the row's family."""
    here = Path(__file__).parent
    family = sys.modules[row.build.__module__].__file__
    assert family is not None
    digest = hashlib.sha256()
    for source in (here / "export.py", here / "weights.py", here / "tensor_files.py", Path(family)):
        digest.update(source.read_bytes())
    settings = (
        row.inputs,
        row.more_inputs,
        row.exporter,
        str(row.dtype),
        str(row.dynamic_shapes),
        row.optimized,
        row.calibrated,
    )
    digest.update(repr((settings, torch.__version__, onnx.__version__)).encode())
    return digest.hexdigest()


def make_input(spec: InputSpec, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    if isinstance(spec, Integers):
        return torch.randint(spec.low, spec.high + 1, spec.shape, generator=generator)
    return torch.randn(spec, generator=generator).to(dtype)


def make_model(row: ModelRow, inputs: tuple[torch.Tensor, ...]) -> nn.Module:
    torch.manual_seed(SEED)
    model = weights.initialize(row.build(), SEED)
    if row.calibrated:
        weights.calibrate(model, [x.float() if x.is_floating_point() else x for x in inputs], SEED)
    return model.to(row.dtype)


def stored(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """In the type of the row, if it is of float32."""
    return tensor.to(dtype) if tensor.dtype == torch.float32 else tensor


def to_array(tensor: torch.Tensor) -> tensor_files.Array:
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        array: tensor_files.Array = tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    else:
        array = tensor.numpy()
    return array


def export_onnx(row: ModelRow, model: nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> None:
    """Writes the model; its tensors go to one file beside it only when a single file could not hold them."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it speaks of torchvision in every export
    size = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if row.exporter == "legacy":
            torch.onnx.export(model, inputs, str(path), dynamo=False, opset_version=17)
        else:
            torch.onnx.export(
                model,
                inputs,
                str(path),
                dynamo=True,
                dynamic_shapes=row.dynamic_shapes,
                optimize=row.optimized,
                external_data=size > PROTOBUF_LIMIT,
                verbose=False,
            )


def graph_names(path: Path) -> tuple[list[str], list[str]]:
    graph = onnx.load(path, load_external_data=False).graph
    initializers = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in initializers], [
        value.name for value in graph.output
    ]


def export(row: ModelRow) -> ExportedModel:
    """The exported model of `row`, made now unless the cache holds it."""
    folder = CACHE / row.name
    manifest = folder / "manifest.json"
    wanted = stamp(row)
    if not manifest.exists() or json.loads(manifest.read_text())["stamp"] != wanted:
        write_export(row, folder, wanted)
    content = json.loads(manifest.read_text())
    runs = tuple(
        Run(*({name: folder / file for name, file in run[key].items()} for key in ("inputs", "outputs")))
        for run in content["runs"]
    )
    return ExportedModel(row, folder / "model.onnx", runs)


def write_export(row: ModelRow, folder: Path, wanted: str) -> None:
    generator = torch.Generator().manual_seed(SEED)
    samples = [
        tuple(make_input(spec, row.dtype, generator) for spec in specs) for specs in (row.inputs, *row.more_inputs)
    ]
    model = make_model(row, samples[0])
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    export_onnx(row, model, samples[0], temporary / "model.onnx")
    # The reference of a 16-bit model is float32 with its rounded weights and inputs: exact beside 16 bits, and PyTorch
    # has no fast convolution of float16 on a CPU.
    reference = model.float()
    input_names, output_names = graph_names(temporary / "model.onnx")
    runs = []
    for index, inputs in enumerate(samples):
        place = temporary / f"run_{index}" if index else temporary
        place.mkdir(exist_ok=True)
        with torch.no_grad():
            result = reference(*(x.float() if x.is_floating_point() else x for x in inputs))
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        run = {}
        for key, names, tensors in (("inputs", input_names, inputs), ("outputs", output_names, outputs)):
            stem = key.removesuffix("s")
            run[key] = {
                name: str(
                    tensor_files.save(to_array(stored(tensor, row.dtype)), place / f"{stem}_{i}").relative_to(temporary)
                )
                for i, (name, tensor) in enumerate(zip(names, tensors, strict=True))
            }
        runs.append(run)
    (temporary / "manifest.json").write_text(json.dumps({"stamp": wanted, "runs": runs}, indent=1))
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)


def describe(exported: ExportedModel) -> str:
    magnitudes = []
    for path in exported.runs[0].outputs.values():
        values = tensor_files.load(path).astype(np.float64)
        magnitudes.append(float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0)))
    size = exported.model.stat().st_size / 1e6
    return f"{size:8.2f} MB  largest outputs {' '.join(f'{value:.3g}' for value in magnitudes)}"


def export_and_describe(name: str) -> tuple[bool, str]:
    """Whether the model was exported, and what to print of it: one that cannot be must not hide the others."""
    start = time.monotonic()
    try:
        exported = export(ALL_ROWS[name])
    except Exception as error:
        return False, f"FAILED: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return True, f"{time.monotonic() - start:6.1f} s {describe(exported)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Exports test models into build/models.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--all", action="store_true", help="every model")
    group.add_argument("--fast", action="store_true", help="every model that is not marked slow")
    group.add_argument("--list", action="store_true", help="print the names")
    options = parser.parse_args()
    if options.list:
        print("\n".join(ALL_ROWS))
        return
    unknown = sorted(set(options.names) - set(ALL_ROWS))
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; --list prints them all")
    names = options.names or [name for name, row in ROWS.items() if options.all or (options.fast and not row.slow)]
    if not names:
        parser.error("name a model, or give --all, --fast or --list")
    failed = []
    # PyTorch's exporter runs on one core. Each process starts anew: one forked off PyTorch's threads may hang.
    workers = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        for name, (is_exported, text) in zip(names, pool.map(export_and_describe, names), strict=True):
            print(f"{name:28} {text}", flush=True)
            if not is_exported:
                failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
