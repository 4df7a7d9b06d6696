"""Whole volumes: onnxc's windows beside MONAI's SlidingWindowInferer with onnxruntime and with OpenVINO.

All segment the same volume with the same network into labels, in turns of some windows each, in processes that stay
alive, until each has finished `rounds` volumes. The next turn is always that of the engine with the fewest windows
done: all go through the volume together, and see the machine at every speed.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.benchmark.machine import describe_machine
from tools.benchmark.turns import EngineError, EngineProcess, Result, last_line
from tools.benchmark.volume_engine import ENGINES, sizes
from tools.commands import BINARIES

FILTERS = (32, 64, 128, 256, 320, 320)  # nnU-Net's for windows of this size
EXPORT = Path(__file__).with_name("volume_network.py")


@dataclass(frozen=True)
class Job:
    """The segmented input: a volume of so many voxels, in windows of so many, into so many classes."""

    volume: tuple[int, ...] = (512, 512, 304)
    window: tuple[int, ...] = (96, 96, 96)
    overlap: float = 0.5
    classes: int = 14
    filters: tuple[int, ...] = FILTERS

    def network(self) -> str:
        return f"dynunet-{self.classes}-{'x'.join(map(str, self.window))}-{'-'.join(map(str, self.filters))}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("--group volumes, which is measured only when it is named")
    job = Job()
    text = functools.partial(str.join, "x")
    group.add_argument(
        "--volume", type=sizes, default=job.volume, help=f"voxels (default {text(map(str, job.volume))})"
    )
    group.add_argument(
        "--window", type=sizes, default=job.window, help=f"voxels (default {text(map(str, job.window))})"
    )
    group.add_argument("--overlap", type=float, default=job.overlap, help="of windows (default %(default)s)")
    group.add_argument("--classes", type=int, default=job.classes, help="(default %(default)s)")
    group.add_argument("--filters", type=sizes, default=job.filters, help="channels of the DynUNet's stages, as 32x64")


def job_of(arguments: argparse.Namespace) -> Job:
    return Job(arguments.volume, arguments.window, arguments.overlap, arguments.classes, arguments.filters)


def export(job: Job, folder: Path) -> Path:
    """The network as an ONNX file; exported in a process of its own, once."""
    model = folder / f"{job.network()}.onnx"
    if not model.exists():
        partial = folder / "partial" / model.name
        partial.parent.mkdir(parents=True, exist_ok=True)
        words = [str(job.classes), "x".join(map(str, job.window)), "x".join(map(str, job.filters)), str(partial)]
        subprocess.run([sys.executable, str(EXPORT), *words], check=True, capture_output=True, text=True)
        for file in partial.parent.iterdir():
            file.rename(folder / file.name)
    return model


def go_together(engines: Sequence[str], take_turn: Callable[[str], tuple[int, int] | None], rounds: int) -> None:
    """Gives each next turn to the engine that has done least, until each has finished `rounds` volumes.

    take_turn: what the engine has done then, volumes and windows of the next one; None when it has failed.
    """
    done = dict.fromkeys(engines, (0, 0))
    while behind := [engine for engine, progress in done.items() if progress < (rounds, 0)]:
        engine = min(behind, key=lambda name: done[name])
        progress = take_turn(engine)
        if progress is None:
            del done[engine]
        else:
            done[engine] = progress


def measure(job: Job, engines: Sequence[str], threads: int, seconds: float, rounds: int, output: Path) -> Result:
    """For each engine: version, seconds and network_seconds of each volume, added_mib; or error.

    seconds: of each turn, which ends with a window. Raises subprocess.CalledProcessError when a command fails.
    """
    folder = output / "volumes"
    folder.mkdir(parents=True, exist_ok=True)
    model = export(job, folder)
    shared_object = folder / f"{job.network()}.so"
    subprocess.run(
        [str(BINARIES / "onnxc"), str(model), "-o", str(shared_object), "-q"],
        check=True,
        capture_output=True,
        text=True,
    )
    size, window = ("x".join(map(str, numbers)) for numbers in (job.volume, job.window))
    results: Result = {}
    processes: dict[str, EngineProcess] = {}
    for engine in engines:
        labels = folder / f"labels-{engine}.npy"
        labels.unlink(missing_ok=True)
        words = [engine, str(model), "--shared-object", str(shared_object), "--volume", size, "--window", window]
        words += ["--overlap", str(job.overlap), "--labels", str(labels)]
        processes[engine] = EngineProcess("tools.benchmark.volume_engine", words, threads, limit=3600)

    def ask(engine: str, question: Callable[[EngineProcess], Result]) -> Result:
        """The answer, which is kept; of one that fails, only why."""
        try:
            results[engine] = results.get(engine, {}) | question(processes[engine])
        except EngineError as error:
            results[engine] = {"error": str(error)}
            processes.pop(engine).close()
        found = results[engine]
        assert isinstance(found, dict)
        return found

    def take_turn(engine: str) -> tuple[int, int] | None:
        found = ask(engine, lambda process: process.take_turn(seconds))
        if "error" in found:
            return None
        progress = len(found["volumes"]), found["windows"]
        print(f"{engine}: {progress[0]} volumes and {progress[1]} windows", file=sys.stderr, flush=True)
        return progress

    try:
        for engine in engines:
            ask(engine, lambda process: process.answer())
        go_together(list(processes), take_turn, rounds)
        for engine in list(processes):
            ask(engine, lambda process: process.finish())
    finally:
        for process in processes.values():
            process.close()
    ours = folder / "labels-onnxc.npy"
    for engine in processes:
        if "onnxc" in processes:
            theirs = np.load(folder / f"labels-{engine}.npy")
            results[engine]["equal_labels"] = float(np.mean(np.load(ours) == theirs))
    return results


def table(job: Job, results: Result) -> str:
    voxels = np.prod(job.volume)
    mean = {
        engine: np.mean([volume["seconds"] for volume in result["volumes"]])
        for engine, result in results.items()
        if "error" not in result
    }
    lines = [
        "| engine | seconds | million voxels/s | onnxc is | outside the network | GiB above weights | equal labels |",
        "| - | - | - | - | - | - | - |",
    ]
    for engine, result in results.items():
        if "error" in result:
            lines.append(f"| {engine} | failed: {result['error']} | | | | | |")
            continue
        network = np.mean([volume["network_seconds"] for volume in result["volumes"]])
        ratio = f"{mean[engine] / mean['onnxc']:.2f} times as fast" if "onnxc" in mean and engine != "onnxc" else ""
        equal = f"{100 * result['equal_labels']:.4f}%" if "equal_labels" in result else ""
        lines.append(
            f"| {engine} {result['version']} | {mean[engine]:.1f} | {voxels / mean[engine] / 1e6:.3f} | {ratio} "
            f"| {100 * (1 - network / mean[engine]):.1f}% | {result['added_mib'] / 1024:.2f} | {equal} |"
        )
    return "\n".join(lines)


def main(arguments: argparse.Namespace) -> None:
    job = job_of(arguments)
    engines = [engine for engine in ENGINES if not arguments.engines or engine.split("+")[-1] in arguments.engines]
    output: Path = arguments.output
    everything: dict[str, Any] = {"machine": describe_machine(), "job": vars(job), "threads": {}}
    print(", ".join(f"{key}: {value}" for key, value in everything["machine"].items()), flush=True)
    for threads in arguments.threads:
        try:
            results = measure(job, engines, threads, arguments.seconds or 10.0, arguments.rounds or 1, output)
        except subprocess.CalledProcessError as error:
            sys.exit(f"make bench: {last_line(error.stderr or '') or error}")
        everything["threads"][threads] = results
        size, window = ("x".join(map(str, numbers)) for numbers in (job.volume, job.window))
        title = (
            f"{size} voxels, DynUNet of {len(job.filters)} stages, {job.classes} classes, windows {window}, overlap "
            f"{job.overlap}, labels out, {threads} thread{'s' if threads > 1 else ''}"
        )
        print(f"\n{title}\n\n{table(job, results)}", flush=True)
        everything["load_after"] = f"{os.getloadavg()[0]:.1f}"
        (output / "volumes.json").write_text(json.dumps(everything, indent=1, default=str))
        if not arguments.no_pictures:
            from tools.benchmark import pictures  # here, since it needs matplotlib

            pictures.draw_volumes(results, title, output / f"volumes-{threads}.png")
    print(f"\nwritten: {output}/volumes.json" + ("" if arguments.no_pictures else ", volumes-*.png"))
