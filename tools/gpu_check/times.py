"""The times of a network in one product kind: the compiled model, and PyTorch with the same weights."""

import contextlib
import copy
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from tools.gpu_check.comparison import mismatch, whole
from tools.gpu_check.devices import Device, Function
from tools.gpu_check.engine import Engine
from tools.gpu_check.kinds import KINDS
from tools.gpu_check.manifest import TimedNetwork
from tools.gpu_check.networks.table import NETWORKS
from tools.gpu_check.results import MEASURED, RIGHT, WRONG, Result
from tools.gpu_check.target import Target
from tools.gpu_check.weights import load

WARM_UP, REPEATS = 3, 7
REPEAT_MS = 30.0
MOST_RUNS = 50
FORMATS = {"ncdhw": torch.contiguous_format, "ndhwc": torch.channels_last_3d}
COMPILED_FORMAT = "ndhwc"


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one run, over `repeats` groups of `runs`. spread: from the least to the most, of the least."""

    best: float
    median: float
    spread: float
    repeats: int
    runs: int


def measure(device: Device, function: Function) -> Timing:
    for _ in range(WARM_UP):
        function()
    device.synchronize()
    once = max(device.milliseconds(function, 1), 1e-3)
    runs = max(1, min(MOST_RUNS, round(REPEAT_MS / once)))
    times = sorted(device.milliseconds(function, runs) / runs for _ in range(REPEATS))
    return Timing(times[0], times[REPEATS // 2], times[-1] / times[0] - 1, REPEATS, runs)


class Timed:
    """A network in one product kind. part: of the check that asks. folder: of its files, unpacked."""

    def __init__(
        self, part: str, network: TimedNetwork, kind: str, folder: Path, target: Target, device: Device
    ) -> None:
        self.part, self.network, self.kind, self.folder = part, network, kind, folder
        self.row = NETWORKS[network.name]
        self.target, self.device = target, device
        torch.manual_seed(1)
        self.x = torch.randn(self.row.shape).to(device.name)

    def module(self) -> nn.Module:
        """In float32, with the weights of the compiled model."""
        return module_of(self.row.name, self.folder / "weights.npz", self.device.name)

    def result(self, what: str, status: str, text: str = "", **values: object) -> Result:
        return Result(self.part, self.row.name, self.kind, what, status, text, dict(values))

    def timed(self, what: str, function: Function, **values: object) -> Result:
        return self.result(what, MEASURED, "", **asdict(measure(self.device, function)), **values)


@functools.cache
def module_of(name: str, weights: Path, device: str) -> nn.Module:
    """One for all product kinds: to make it takes seconds."""
    with np.load(weights) as arrays:
        return load(NETWORKS[name].build(), arrays).to(device)


def use_tf32(is_used: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = is_used
    torch.backends.cudnn.allow_tf32 = is_used


@contextlib.contextmanager
def without_search() -> Iterator[None]:
    """PyTorch takes any of its algorithms. MIOpen's search for the fastest may take a minute for each shape of a layer:
    it must not come before our own times."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def check(timed: Timed) -> Iterator[Result]:
    with torch.inference_mode():
        yield from ours(timed)
        yield from theirs(timed)


def ours(timed: Timed) -> Iterator[Result]:
    """Its result, against PyTorch's in float32 on the same device; then its time, launched by itself and as part of a
    graph of PyTorch's, as PyTorch's own is timed."""
    use_tf32(False)
    with without_search():
        right = timed.module()(timed.x).cpu()
    engine = Engine(timed.folder / f"{timed.kind}.so", timed.target, timed.device)
    inputs = {timed.network.input: timed.x}
    outputs = {timed.network.output: torch.full(tuple(right.shape), float("nan"), device=timed.device.name)}
    engine.run(inputs, outputs)
    text, error = mismatch(
        outputs[timed.network.output], whole(right), right.dtype, timed.network.tolerances[timed.kind]
    )
    yield timed.result("result", WRONG if text else RIGHT, text, error=error)
    run: Callable[[], object] = lambda: engine.run(inputs, outputs, wait=False)  # noqa: E731
    yield timed.timed("onnxc", run)
    yield timed.timed("onnxc graph", timed.device.capture(run))
    engine.close()


def theirs(timed: Timed) -> Iterator[Result]:
    """Eager, and as a graph, in both layouts."""
    kind = KINDS[timed.kind]
    use_tf32(kind.tf32)
    for name, memory_format in FORMATS.items():
        module, x = in_format(timed, memory_format)
        yield timed.timed(f"torch eager {name}", functools.partial(module, x))
        replay = timed.device.capture(functools.partial(module, x))
        yield timed.timed(f"torch graph {name}", replay)


def in_format(timed: Timed, memory_format: torch.memory_format) -> tuple[nn.Module, torch.Tensor]:
    dtype = getattr(torch, KINDS[timed.kind].torch_type)
    module = copy.deepcopy(timed.module()).to(dtype)
    # Weights of other ranks than five have no such format.
    for parameter in module.parameters():
        if parameter.dim() == 5:
            parameter.data = parameter.data.contiguous(memory_format=memory_format)
    return module, timed.x.to(dtype).contiguous(memory_format=memory_format)


def compiled(timed: Timed) -> Iterator[Result]:
    """torch.compile: the seconds of the first call, which come again for each shape, and the time of a run. The caller
    ends this process if the first call takes too long."""
    use_tf32(KINDS[timed.kind].tf32)
    with torch.inference_mode():
        module, x = in_format(timed, FORMATS[COMPILED_FORMAT])
        start = time.perf_counter()
        run = timed.device.compiled(module)
        run(x)
        timed.device.synchronize()
        seconds = time.perf_counter() - start
        yield timed.timed("torch.compile", lambda: run(x), first_call_s=seconds)


def first_load(timed: Timed) -> Iterator[Result]:
    """From the file to the first result, in a process that has loaded none before it: with an empty cache of the
    driver's, then again."""
    inputs = {timed.network.input: timed.x}
    for what in ("first load", "second load"):
        timed.device.synchronize()
        start = time.perf_counter()
        engine = Engine(timed.folder / f"{timed.kind}.so", timed.target, timed.device)
        opened = time.perf_counter()
        engine.run(inputs)
        timed.device.synchronize()
        first = time.perf_counter()
        engine.run(inputs)
        timed.device.synchronize()
        second = time.perf_counter()
        engine.close()
        yield timed.result(
            what, MEASURED, open_s=opened - start, first_run_s=first - opened, second_run_s=second - first
        )
