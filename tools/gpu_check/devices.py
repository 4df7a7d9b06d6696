"""The device that PyTorch computes on, as the check uses it: events, streams and graphs of a GPU; on the CPU, for dry
runs, plain functions in their place."""

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch

Function = Callable[[], object]


class DeviceError(Exception):
    """There is no such device."""


class Device(Protocol):
    name: str

    def synchronize(self) -> None: ...
    def milliseconds(self, function: Function, runs: int) -> float:
        """The time of all runs together, on the device."""

    def capture(self, function: Function) -> Function:
        """A function that repeats what this one enqueued."""

    def stream(self) -> AbstractContextManager[Any]:
        """A stream of its own, as the current one; waited for at the end."""

    def current_stream(self) -> Any: ...
    def compiled(self, module: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]: ...
    def peak_bytes(self, function: Function) -> int: ...
    def free_bytes(self) -> int:
        """The device's free memory, whoever has the rest; 0 on the CPU."""

    def describe(self) -> dict[str, Any]: ...


class Cpu:
    name = "cpu"

    def synchronize(self) -> None:
        pass

    def milliseconds(self, function: Function, runs: int) -> float:
        start = time.perf_counter()
        for _ in range(runs):
            function()
        return 1e3 * (time.perf_counter() - start)

    def capture(self, function: Function) -> Function:
        return function

    def stream(self) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def current_stream(self) -> Any:
        return None

    def compiled(self, module: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
        result: Callable[[torch.Tensor], torch.Tensor] = torch.compile(module, backend="eager")
        return result

    def peak_bytes(self, function: Function) -> int:
        function()
        return 0

    def free_bytes(self) -> int:
        return 0

    def describe(self) -> dict[str, Any]:
        return {"card": "CPU (dry run)", "driver": "", "torch": torch.__version__}


class Gpu:
    """NVIDIA's through CUDA, or AMD's through ROCm: PyTorch calls both "cuda"."""

    name = "cuda"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise DeviceError(
                f"PyTorch {torch.__version__} finds no GPU: install a PyTorch with CUDA or ROCm and the GPU's driver, "
                "and look at nvidia-smi or rocm-smi"
            )
        torch.backends.cudnn.benchmark = True  # PyTorch at its best: the fastest of cuDNN's or MIOpen's algorithms

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def milliseconds(self, function: Function, runs: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        for _ in range(runs):
            function()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

    def capture(self, function: Function) -> Function:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            function()
        return graph.replay

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            yield
        stream.synchronize()

    def current_stream(self) -> Any:
        return torch.cuda.current_stream()

    def compiled(self, module: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
        result: Callable[[torch.Tensor], torch.Tensor] = torch.compile(module, mode="reduce-overhead")
        return result

    def peak_bytes(self, function: Function) -> int:
        torch.cuda.reset_peak_memory_stats()
        function()
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated())

    def free_bytes(self) -> int:
        return int(torch.cuda.mem_get_info()[0])

    def describe(self) -> dict[str, Any]:
        properties = torch.cuda.get_device_properties(0)
        is_amd = torch.version.hip is not None
        return {
            "card": properties.name,
            "capability": getattr(properties, "gcnArchName", "")
            if is_amd
            else f"{properties.major}.{properties.minor}",
            "memory_mib": properties.total_memory >> 20,
            "units": properties.multi_processor_count,
            "driver": amd_driver() if is_amd else nvidia_driver(),
            "torch": torch.__version__,
            "miopen" if is_amd else "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
        }


def output_of(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def nvidia_driver() -> str:
    return output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]


def amd_driver() -> str:
    text = output_of("rocm-smi", "--showdriverversion", "--json")
    try:
        return str(next(iter(json.loads(text)["system"].values())))
    except (ValueError, KeyError, StopIteration):
        return text


def device_of(name: str) -> Device:
    return Gpu() if name == "cuda" else Cpu()
