"""Measures engines on one model: alternately, each time in a new process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BINARIES = Path(os.environ.get("ONNXC_BIN", "build/bin"))

Result = dict[str, Any]  # of one engine: the keys of engine.py, or "error" alone
Turns = dict[int, dict[str, list[Result]]]  # by number of threads and engine: a result of each round


@dataclass(frozen=True)
class Plan:
    """threads: how many each engine may use. seconds: of each measurement. rounds: how often all engines take turns.

    limit: seconds of a model after which no further round begins, and after which an engine's process is ended.
    """

    engines: tuple[str, ...]
    threads: tuple[int, ...]
    seconds: float
    rounds: int
    limit: float = 300.0


@dataclass(frozen=True)
class Compiled:
    """What onnxc made of a model."""

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


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def compile_model(folder: Path, shared_object: Path, options: tuple[str, ...] = ()) -> Compiled:
    """Raises subprocess.CalledProcessError, with onnxc's message as its stderr."""
    model = folder / "model.onnx"
    command = [str(BINARIES / "onnxc"), str(model), "-o", str(shared_object), "-q", *options]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, text=True)
    return Compiled(model, shared_object, 1e3 * (time.perf_counter() - start), shared_object.stat().st_size)


def reference_outputs(folder: Path, cache: Path) -> Path | None:
    """The file of the model's outputs in float64, computed once for an export; None where that cannot be had."""
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


def run_engine(engine: str, folder: Path, arguments: list[str], threads: int, limit: float) -> Result:
    command = [sys.executable, "-m", "tools.benchmark.engine", engine, str(folder), *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    command += ["--threads", str(threads)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit:.0f} s"}
    if done.returncode != 0:
        return {"error": last_line(done.stderr) or f"exit code {done.returncode}"}
    result: Result = json.loads(last_line(done.stdout))
    return result


def best(rounds: list[Result]) -> Result:
    """The round with the least time: other programs only ever add to one."""
    good = [each for each in rounds if "error" not in each]
    return min(good, key=lambda each: each["minimum_ms"]) if good else rounds[0]


def take_turns(folder: Path, plan: Plan, engines: Sequence[str], arguments: list[str], reference: Path | None) -> Turns:
    """Each round runs every engine with every number of threads: a machine's slow minutes fall on all of them."""
    turns: Turns = {threads: {engine: [] for engine in engines} for threads in plan.threads}
    end = time.perf_counter() + plan.limit
    for number in range(plan.rounds):
        if number > 0 and time.perf_counter() > end:
            break
        for threads, row in turns.items():
            for engine, results in row.items():
                # PyTorch's network has the export's shapes and other weights.
                wants_errors = number == 0 and reference is not None and engine != "pytorch"
                extra = ["--seconds", str(plan.seconds)] + (["--reference", str(reference)] if wants_errors else [])
                results.append(run_engine(engine, folder, arguments + extra, threads, plan.limit))
    return turns


def best_of(rounds: list[Result]) -> Result:
    """The best round, with the errors that the first measured."""
    result = dict(best(rounds))
    if "errors" in rounds[0]:
        result["errors"] = rounds[0]["errors"]
    return result


def measure_model(folder: Path, plan: Plan, output: Path) -> ModelResults:
    """`output`: a folder for the shared object and the reference."""
    results = ModelResults(folder.name)
    shared_object = output / "models" / f"{folder.name}.so"
    shared_object.parent.mkdir(parents=True, exist_ok=True)
    engines = list(plan.engines)
    if "onnxc" in engines:
        try:
            results.compiled = compile_model(folder, shared_object)
        except subprocess.CalledProcessError as error:
            results.compile_error = last_line(error.stderr)
            engines.remove("onnxc")
    reference = reference_outputs(folder, output / "float64")
    turns = take_turns(folder, plan, engines, ["--shared-object", str(shared_object)], reference)
    for threads, rounds in turns.items():
        row = {engine: best_of(rounds[engine]) for engine in engines}
        if results.compile_error:
            row["onnxc"] = {"error": results.compile_error}
        results.threads[threads] = {engine: row[engine] for engine in plan.engines}
    return results
