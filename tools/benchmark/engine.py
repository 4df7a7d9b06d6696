"""One engine runs one model in a process of its own, in turns: a line to standard input asks for one.

    echo "turn 3.0" | python -m tools.benchmark.engine onnxruntime build/models/r3d_18 --threads 2

It answers in JSON objects, a line each. When the model is loaded: version; load_ms (from the file to an executor that
is ready); first_ms (the first run). To "turn SECONDS": minimum_ms, latency_ms (median) and number of the iterations;
other_cores, how many cores other programs kept busy meanwhile. At the end of its input: peak_mib, the most memory that
the process held, and added_mib, what it held beyond Python, numpy and the inputs; errors, the largest difference of
each output from the reference over the reference's largest magnitude, when one is given.
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WARM_UP_SECONDS = 0.05  # and one run at least: other engines had the caches

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]
Run = Callable[[], Sequence[Array]]


@dataclass(frozen=True)
class Task:
    """folder: of the exported model. shared_object: what onnxc made of it."""

    folder: Path
    shared_object: Path
    feeds: Feeds
    threads: int

    @property
    def model(self) -> str:
        return str(self.folder / "model.onnx")


def load_onnxc(task: Task) -> Run:
    import onnxc

    session = onnxc.InferenceSession(task.shared_object, threads=task.threads)
    return lambda: session.run(None, task.feeds)


def onnxruntime_options(task: Task) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def load_onnxruntime(task: Task) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(task.model, onnxruntime_options(task), providers=["CPUExecutionProvider"])
    return lambda: session.run(None, task.feeds)


def load_onnxc_in_onnxruntime(task: Task) -> Run:
    """onnxc as onnxruntime's execution provider; a first load compiles."""
    import onnxruntime

    import onnxc

    onnxruntime.register_execution_provider_library("onnxc", onnxc.ep_path())
    options = onnxruntime_options(task)
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "OnnxcExecutionProvider"]
    options.add_provider_for_devices(devices, {})
    session = onnxruntime.InferenceSession(task.model, options)
    return lambda: session.run(None, task.feeds)


def load_openvino(task: Task) -> Run:
    return open_openvino(task, {"INFERENCE_PRECISION_HINT": "f32"})


def load_openvino_default(task: Task) -> Run:
    """In bfloat16 if the machine has the instructions."""
    return open_openvino(task, {})


def open_openvino(task: Task, precision: dict[str, str]) -> Run:
    import openvino

    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": task.threads,
        **precision,
    }
    compiled = openvino.Core().compile_model(task.model, "CPU", settings)
    request = compiled.create_infer_request()
    # A port has the names of all values that are the same to OpenVINO.
    feeds = [next(value for name, value in task.feeds.items() if name in port.names) for port in compiled.inputs]

    def run() -> Sequence[Array]:
        results = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [results[port] for port in compiled.outputs]

    return run


def load_pytorch(task: Task) -> Run:
    """The network the model was exported from, as PyTorch runs it, in the faster of its two memory formats."""
    import torch

    from models import weights
    from models.export import SEED
    from models.zoo import ALL_ROWS

    torch.set_num_threads(task.threads)
    network = weights.initialize(ALL_ROWS[task.folder.name].build(), SEED)
    inputs = [torch.from_numpy(value) for value in task.feeds.values()]

    @torch.inference_mode()
    def run() -> Sequence[Array]:
        result = network(*inputs)
        return [tensor.numpy() for tensor in (result if isinstance(result, (tuple, list)) else (result,))]

    def set_format(memory_format: torch.memory_format) -> None:
        inputs[:] = [tensor.contiguous(memory_format=memory_format) for tensor in inputs]
        with torch.no_grad():
            for weight in network.parameters():
                if weight.ndim == 5:
                    weight.data = weight.data.contiguous(memory_format=memory_format)

    def seconds_of_second_run() -> float:
        run()
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    contiguous = seconds_of_second_run()
    if all(tensor.ndim == 5 for tensor in inputs):
        set_format(torch.channels_last_3d)
        if seconds_of_second_run() > contiguous:
            set_format(torch.contiguous_format)
    return run


@dataclass(frozen=True)
class Engine:
    package: str
    load: Callable[[Task], Run]


ENGINES = {
    "onnxc": Engine("onnxc", load_onnxc),
    "onnxruntime": Engine("onnxruntime", load_onnxruntime),
    "onnxruntime+onnxc": Engine("onnxruntime", load_onnxc_in_onnxruntime),
    "openvino": Engine("openvino", load_openvino),
    "openvino-default": Engine("openvino", load_openvino_default),
    "pytorch": Engine("torch", load_pytorch),
}


def version(package: str) -> str:
    if package == "onnxc":
        import onnxc

        return onnxc.__version__
    return importlib.metadata.version(package)


def read_feeds(folder: Path) -> Feeds:
    manifest = json.loads((folder / "manifest.json").read_text())
    return {name: np.load(folder / file) for name, file in manifest["runs"][0]["inputs"].items()}


def random_feeds(folder: Path, dims: Sequence[int]) -> Feeds:
    """An input of other dims than the export's, for a model that has only one."""
    [name] = read_feeds(folder)
    return {name: np.random.default_rng(0).standard_normal(tuple(dims), dtype=np.float32)}


def memory_mib(key: str) -> float:
    """VmRSS, what the process holds now, or VmHWM, the most that it ever held. (getrusage counts its parent in.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


def milliseconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def latencies_of(run: Run, seconds: float) -> list[float]:
    """In ms, after a warm-up; one at least."""
    end = time.perf_counter() + WARM_UP_SECONDS
    milliseconds(run)
    while time.perf_counter() < end:
        run()
    latencies: list[float] = []
    end = time.perf_counter() + seconds
    while not latencies or time.perf_counter() < end:
        latencies.append(milliseconds(run))
    return latencies


def busy_seconds() -> float:
    """Ticks of all cores together, since the machine started: user, nice, system, interrupts and what the host took."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = [int(field) for field in fields]
    return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")


def errors(outputs: Sequence[Array], reference: Path) -> list[float]:
    """For each output: the largest difference from the float64 reference over the reference's largest magnitude."""
    expected = np.load(reference)
    pairs = zip(outputs, (expected[key] for key in expected.files), strict=True)
    return [float(np.max(np.abs(mine.astype(np.float64) - its)) / np.max(np.abs(its))) for mine, its in pairs]


def take_turn(run: Run, seconds: float) -> dict[str, Any]:
    start, busy, own = time.perf_counter(), busy_seconds(), time.process_time()
    latencies = latencies_of(run, seconds)
    other_seconds = (busy_seconds() - busy) - (time.process_time() - own)
    return {
        "latency_ms": statistics.median(latencies),
        "minimum_ms": min(latencies),
        "iterations": len(latencies),
        "other_cores": max(0.0, other_seconds / (time.perf_counter() - start)),
    }


def answer(result: dict[str, Any]) -> None:
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shared-object", type=Path, default=Path("model.so"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dims", type=int, nargs="+", help="of a random input in place of the export's")
    parser.add_argument("--reference", type=Path, help="outputs in float64 (.npz)")
    arguments = parser.parse_args()

    engine = ENGINES[arguments.engine]
    feeds = random_feeds(arguments.folder, arguments.dims) if arguments.dims else read_feeds(arguments.folder)
    task = Task(arguments.folder, arguments.shared_object, feeds, arguments.threads)
    held_mib = memory_mib("VmRSS")
    start = time.perf_counter()
    run = engine.load(task)
    load_ms = 1e3 * (time.perf_counter() - start)
    answer({"version": version(engine.package), "load_ms": load_ms, "first_ms": milliseconds(run)})
    for line in sys.stdin:
        _, seconds = line.split()
        answer(take_turn(run, float(seconds)))
    peak_mib = memory_mib("VmHWM")
    final: dict[str, Any] = {"peak_mib": peak_mib, "added_mib": peak_mib - held_mib}
    if arguments.reference is not None:
        final["errors"] = errors(run(), arguments.reference)
    answer(final)


if __name__ == "__main__":
    main()
