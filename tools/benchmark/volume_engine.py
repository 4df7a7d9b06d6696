"""One engine segments a volume in windows, again and again, in a process of its own and in turns.

    echo "turn 5.0" | python -m tools.benchmark.volume_engine onnxc network.onnx --volume 64x64x48 ...

It answers in JSON objects, a line each. When the network is loaded: version. To "turn SECONDS", which ends at the next
window's end or with the volume: windows of this volume that are done, and volumes, a list of those that it has finished
so far: seconds, network_seconds (inside of the engine's runs; waiting for a turn counts nowhere). At the end of its
input: added_mib, the most memory that the process held beyond what Python, the imported packages and the network's
weights take.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tools.benchmark.engine import answer, memory_mib, version

Array = np.ndarray[Any, np.dtype[Any]]


class TheEnd(Exception):
    """Nobody asks for a further turn."""


@dataclass
class Turns:
    """The clock of the work: it stands while others have their turn."""

    volumes: list[dict[str, float]] = field(default_factory=list)
    windows: int = 0
    waited: float = 0.0
    end: float = 0.0

    def now(self) -> float:
        return time.perf_counter() - self.waited

    def wait(self) -> None:
        start = time.perf_counter()
        line = sys.stdin.readline()
        if not line:
            raise TheEnd
        self.waited += time.perf_counter() - start
        self.end = self.now() + float(line.split()[1])

    def hand_over(self) -> None:
        answer({"windows": self.windows, "volumes": self.volumes})
        self.wait()

    def window_is_done(self) -> None:
        self.windows += 1
        if self.now() >= self.end:
            self.hand_over()


@dataclass(frozen=True)
class Settings:
    model: Path
    shared_object: Path
    dims: tuple[int, ...]
    window: tuple[int, ...]
    overlap: float
    threads: int


# Segments the volume: its labels, and the seconds inside of the network.
Segment = Callable[[Array], tuple[Array, float]]


def load_onnxc(settings: Settings, turns: Turns) -> Segment:
    import onnxc

    window = onnxc.SlidingWindow(
        settings.shared_object,
        settings.window,
        settings.overlap,
        "gaussian",
        output="labels",
        progress=lambda done, windows: turns.window_is_done(),
        threads=settings.threads,
    )

    def segment(volume: Array) -> tuple[Array, float]:
        labels = window(volume[None, None])[0, 0]
        assert window.summary is not None
        return labels, window.summary.network_seconds

    return segment


def through_monai(settings: Settings, turns: Turns, run: Callable[[Array], Array]) -> Segment:
    """MONAI's inferer, with the importance computed once, and its argmax; the sums stay on the CPU."""
    import torch
    from monai.inferers import SlidingWindowInferer

    torch.set_num_threads(settings.threads)
    network_seconds = 0.0
    inferer = SlidingWindowInferer(
        settings.window, 1, settings.overlap, "gaussian", cache_roi_weight_map=True, progress=False
    )

    def predict(x: torch.Tensor) -> torch.Tensor:
        nonlocal network_seconds
        if network_seconds > 0:  # what MONAI does with a window comes after this function
            turns.window_is_done()
        start = turns.now()
        y = torch.from_numpy(run(x.numpy()))
        network_seconds += turns.now() - start
        return y

    @torch.inference_mode()
    def segment(volume: Array) -> tuple[Array, float]:
        nonlocal network_seconds
        network_seconds = 0.0
        values = inferer(torch.from_numpy(volume)[None, None], predict)
        labels: Array = values.argmax(1)[0].to(torch.uint8).numpy()
        return labels, network_seconds

    return segment


def load_onnxruntime(settings: Settings, turns: Turns) -> Segment:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(settings.model, options, providers=["CPUExecutionProvider"])
    [name] = [value.name for value in session.get_inputs()]
    return through_monai(settings, turns, lambda x: session.run(None, {name: np.ascontiguousarray(x)})[0])


def load_openvino(settings: Settings, turns: Turns) -> Segment:
    import openvino

    # Without the hint it computes in bfloat16 if the machine has the instructions.
    hints = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": settings.threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = openvino.Core().compile_model(settings.model, "CPU", hints).create_infer_request()
    # Its output is overwritten by the next run, when MONAI has added it.
    return through_monai(
        settings,
        turns,
        lambda x: request.infer([np.ascontiguousarray(x)], share_inputs=True, share_outputs=True)[0],
    )


ENGINES: dict[str, tuple[str, Callable[[Settings, Turns], Segment]]] = {
    "onnxc": ("onnxc", load_onnxc),
    "monai+onnxruntime": ("onnxruntime", load_onnxruntime),
    "monai+openvino": ("openvino", load_openvino),
}


def sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x"))


def phantom(dims: tuple[int, ...]) -> Array:
    """A volume of smooth structure and noise, float32."""
    generator = np.random.default_rng(0)
    volume = generator.standard_normal(dims, dtype=np.float32) * np.float32(0.3)
    for axis, size in enumerate(dims):
        wave = np.sin(np.arange(size, dtype=np.float32) * np.float32(0.05 * (axis + 1)))
        volume += wave.reshape([-1 if i == axis else 1 for i in range(len(dims))])
    return volume


def weight_mib(model: Path) -> float:
    import onnx

    data = model.with_name(model.name + ".data")
    tensors = onnx.load(model, load_external_data=False).graph.initializer
    inside = sum(len(tensor.raw_data) for tensor in tensors)
    return (inside + (data.stat().st_size if data.exists() else 0)) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shared-object", type=Path, default=Path("model.so"))
    parser.add_argument("--volume", type=sizes, required=True)
    parser.add_argument("--window", type=sizes, required=True)
    parser.add_argument("--overlap", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--labels", type=Path, required=True, help="where the labels of the first volume go (.npy)")
    arguments = parser.parse_args()

    settings = Settings(
        arguments.model,
        arguments.shared_object,
        arguments.volume,
        arguments.window,
        arguments.overlap,
        arguments.threads,
    )
    weights = weight_mib(settings.model)
    package, load = ENGINES[arguments.engine]
    if arguments.engine != "onnxc":
        import monai.inferers  # noqa: F401 (what packages hold is not the engine's)
    held_mib = memory_mib("VmRSS")
    turns = Turns()
    segment = load(settings, turns)
    volume = phantom(settings.dims)
    answer({"version": version(package)})
    try:
        turns.wait()
        while True:
            turns.windows = 0
            start = turns.now()
            labels, network_seconds = segment(volume)
            turns.volumes.append({"seconds": turns.now() - start, "network_seconds": network_seconds})
            if len(turns.volumes) == 1:
                np.save(arguments.labels, labels)
            turns.hand_over()
    except TheEnd:
        answer({"added_mib": memory_mib("VmHWM") - held_mib - weights})


if __name__ == "__main__":
    main()
