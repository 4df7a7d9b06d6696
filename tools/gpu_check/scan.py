"""A whole scan in windows, from host to host: the runtime's, and MONAI's inferer in plain PyTorch."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

import onnxc
from tools.gpu_check.devices import Device
from tools.gpu_check.engine import Engine
from tools.gpu_check.kinds import KINDS
from tools.gpu_check.manifest import Scan, TimedNetwork
from tools.gpu_check.results import MEASURED, RIGHT, WRONG, Result
from tools.gpu_check.target import Target
from tools.gpu_check.times import FORMATS, Timed, in_format, measure, use_tf32

PART = "scan"
REPEATS = 2
# The part of voxels whose label is PyTorch's in float32; less only if PyTorch's own of that type has less as well.
LEAST_EQUAL = 0.999
SIGMA = 0.125  # of a window

Predictor = Callable[[torch.Tensor], torch.Tensor]


def volume(dims: Sequence[int]) -> torch.Tensor:
    """Smooth, with some noise: [1, 1, dims], on the host."""
    torch.manual_seed(3)
    coarse = torch.randn(1, 1, *(max(2, size // 16) for size in dims))
    smooth = F.interpolate(coarse, size=tuple(dims), mode="trilinear")
    return smooth + 0.1 * torch.randn(smooth.shape)


def places(dims: Sequence[int], window: Sequence[int], overlap: float) -> list[tuple[int, ...]]:
    """The windows' first voxels, in the order and at the places of MONAI's inferer."""
    starts = []
    for size, side in zip(dims, window, strict=True):
        step = side if side == size else max(1, int(side * (1 - overlap)))
        count = math.ceil(max(0, size - side) / step) + 1
        starts.append([min(index * step, size - side) for index in range(count)])
    return list(product(*starts))


def importance(window: Sequence[int], device: Device, dtype: torch.dtype) -> torch.Tensor:
    """MONAI's Gaussian."""
    weights = torch.ones((), device=device.name)
    for side in window:
        x = torch.arange(-(side - 1) / 2, (side - 1) / 2 + 1, device=device.name)
        weights = weights.unsqueeze(-1) * torch.exp(x**2 / (-2 * (SIGMA * side) ** 2))
    return weights.clamp(min=max(float(weights.min()), 1e-3)).to(dtype)


def labels(predict: Predictor, image: torch.Tensor, scan: Scan, device: Device, dtype: torch.dtype) -> torch.Tensor:
    """From the host to labels on the host. The volume is at least as large as the window."""
    x = image.to(device.name).to(dtype)
    weights = importance(scan.window, device, dtype)
    windows = [
        tuple(slice(start, start + side) for start, side in zip(place, scan.window, strict=True))
        for place in places(scan.dims, scan.window, scan.overlap)
    ]
    blended, total = torch.zeros(0), torch.zeros(tuple(scan.dims), dtype=dtype, device=device.name)
    for window in windows:
        total[window] += weights
    for first in range(0, len(windows), scan.batch):
        some = windows[first : first + scan.batch]
        values = predict(torch.cat([x[(slice(None), slice(None), *window)] for window in some]))
        if blended.numel() == 0:
            blended = torch.zeros((values.shape[1], *scan.dims), dtype=dtype, device=device.name)
        for window, value in zip(some, values, strict=True):
            blended[(slice(None), *window)] += value * weights
    return (blended / total).argmax(dim=0).to(torch.uint8).cpu()


class ScanCheck:
    def __init__(
        self, scan: Scan, network: TimedNetwork, kind: str, folder: Path, target: Target, device: Device
    ) -> None:
        self.scan, self.kind, self.target, self.device = scan, kind, target, device
        self.timed = Timed(PART, network, kind, folder, target, device)
        self.model = folder / f"{kind}.so"
        self.image = volume(scan.dims)

    def result(self, what: str, status: str, text: str = "", **values: object) -> Result:
        return Result(PART, self.scan.network, self.kind, what, status, text, dict(values))


def seconds(function: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return sorted(times)


def check(scan: ScanCheck) -> Iterator[Result]:
    """The labels are compared when all three are there; PyTorch in float32 takes longest, and runs once."""
    mine, summary = ours(scan)
    yield summary
    with torch.inference_mode():
        use_tf32(KINDS[scan.kind].tf32)
        found: list[torch.Tensor] = []
        for name, memory_format in FORMATS.items():
            module, x = in_format(scan.timed, memory_format)
            run = partial(labels, module, scan.image, scan.scan, scan.device, x.dtype)
            found.clear()
            peak = scan.device.peak_bytes(lambda run=run: found.append(run()))  # type: ignore[misc]
            times = seconds(run)
            yield scan.result(f"torch eager {name}", MEASURED, best_s=times[0], most_s=times[-1], peak_bytes=peak)
        use_tf32(False)
        right = labels(scan.timed.module(), scan.image, scan.scan, scan.device, torch.float32)
    equal, their_equal = (float((each == right).double().mean()) for each in (mine, *found))
    text = "" if equal >= min(LEAST_EQUAL, their_equal) else f"{100 * equal:.3f}% of the labels are those of float32"
    yield scan.result("labels", WRONG if text else RIGHT, text, equal=equal, torch_equal=their_equal)


def ours(scan: ScanCheck) -> tuple[torch.Tensor, Result]:
    """With the GPU's memory that is taken from the session's start on, and the part of the time in which the network,
    launched by itself, would not be at work."""
    free = [scan.device.free_bytes()]
    engine = Engine(scan.model, scan.target, scan.device)
    window = onnxc.SlidingWindow(
        engine.session, tuple(scan.scan.window), scan.scan.overlap, "gaussian", sw_batch_size=scan.scan.batch,
        output="labels", progress=lambda done, windows: free.append(scan.device.free_bytes()),
    )  # fmt: skip
    image = scan.image.numpy()
    found = torch.from_numpy(np.array(window(image)))[0, 0]
    window.progress = None
    times = seconds(lambda: window(image))
    outside = max(0.0, 1 - network_seconds(scan, engine) / times[0])
    return found, scan.result(
        "onnxc", MEASURED, best_s=times[0], most_s=times[-1], outside_network=outside, peak_bytes=free[0] - min(free)
    )


def network_seconds(scan: ScanCheck, engine: Engine) -> float:
    """The network's time for all windows, in the batch that it was exported with."""
    inputs = {scan.timed.network.input: scan.timed.x}
    outputs = engine.run(inputs)
    batch = measure(scan.device, lambda: engine.run(inputs, outputs, wait=False))
    windows = len(places(scan.scan.dims, scan.scan.window, scan.scan.overlap))
    return 1e-3 * batch.best * windows / scan.timed.x.shape[0]
