"""Measures engines on one model: what onnxc makes of it, its outputs in float64, and all engines in turn."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from models.quantize import quantize
from models.zoo import ALL_ROWS
from tools.benchmark.turns import Contestant, Plan, Result, last_line, take_turns
from tools.commands import BINARIES


@dataclass(frozen=True)
class Compiled:
    """The program that onnxc made of a model."""

    model: Path
    shared_object: Path
    compile_ms: float
    bytes: int


@dataclass
class ModelResults:
    """threads: the number of threads, then the engine."""

    model: str
    compiled: Compiled | None = None
    compile_error: str = ""
    threads: dict[int, dict[str, Result]] = field(default_factory=dict)


def compile_model(folder: Path, shared_object: Path, options: tuple[str, ...] = ()) -> Compiled:
    """Raises subprocess.CalledProcessError, with onnxc's message as its stderr."""
    model = folder / "model.onnx"
    command = [str(BINARIES / "onnxc"), str(model), "-o", str(shared_object), "-q", *options]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, text=True)
    return Compiled(model, shared_object, 1e3 * (time.perf_counter() - start), shared_object.stat().st_size)


def reference_outputs(folder: Path, cache: Path) -> Path | None:
    """The file of the model's outputs in float64, computed once for an export; None if that cannot be had."""
    stamp = json.loads((folder / "manifest.json").read_text())["stamp"]
    path = cache / f"{folder.name}-{stamp[:16]}.npz"
    if path.exists():
        return path
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    command = [sys.executable, "-m", "tools.benchmark.float64", str(folder), str(partial)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{folder.name}: no float64 reference: {last_line(done.stderr)}", file=sys.stderr)
        return None
    return partial.rename(path)


def quantized_folder(folder: Path, cache: Path) -> Path:
    """A copy of an export whose model has 8 bits: activations uint8, weights int8."""
    result = cache / folder.name
    result.mkdir(parents=True, exist_ok=True)
    manifest = (folder / "manifest.json").read_text()
    if not (result / "model.onnx").exists() or (result / "manifest.json").read_text() != manifest:
        quantize(ALL_ROWS[folder.name], "u8s8", result).rename(result / "model.onnx")
        for file in json.loads(manifest)["runs"][0]["inputs"].values():
            shutil.copy(folder / file, result / file)
        (result / "manifest.json").write_text(manifest)
    return result


def measure_model(folder: Path, plan: Plan, output: Path) -> ModelResults:
    """`output`: a folder for the shared object and the reference."""
    results = ModelResults(folder.name)
    reference = reference_outputs(folder, output / "float64")
    options: tuple[str, ...] = ()
    if plan.precision == "int8":
        folder = quantized_folder(folder, output / "int8")
    elif plan.precision != "float32":
        options = ("--precision", plan.precision)
    shared_object = output / "models" / f"{folder.name}.so"
    shared_object.parent.mkdir(parents=True, exist_ok=True)
    arguments: dict[str, list[str]] = {engine: [] for engine in plan.engines}
    if "onnxc" in arguments:
        try:
            results.compiled = compile_model(folder, shared_object, options)
            arguments["onnxc"] = ["--shared-object", str(shared_object)]
        except subprocess.CalledProcessError as error:
            results.compile_error = last_line(error.stderr)
            del arguments["onnxc"]
    if reference is not None:
        for engine in arguments.keys() - {"pytorch"}:  # its network has the export's shapes and other weights
            arguments[engine] += ["--reference", str(reference)]
    contestants = [Contestant(engine, engine, words) for engine, words in arguments.items()]
    for threads, row in take_turns(folder, contestants, plan).items():
        if results.compile_error:
            row["onnxc"] = {"error": results.compile_error}
        results.threads[threads] = {engine: row[engine] for engine in plan.engines}
    return results
