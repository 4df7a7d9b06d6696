"""A compiled model on the device, with PyTorch's tensors in and out."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack

import onnxc
from tools.gpu_check.devices import Device
from tools.gpu_check.manifest import Value
from tools.gpu_check.target import Target

Tensors = Mapping[str, torch.Tensor]


class Engine:
    """One session. is_graph: the runtime launches a run as one graph; a CPU has none."""

    def __init__(
        self, model: Path, target: Target, device: Device, *, is_graph: bool = False, is_poisoned: bool = False
    ) -> None:
        self.is_on_gpu = target.session != "cpu"
        os.environ["ONNXC_POISON"] = "1" if is_poisoned else ""
        self.session = onnxc.InferenceSession(str(model), device=target.session, hip_graph=is_graph and self.is_on_gpu)
        self.shares_memory = self.is_on_gpu == (device.name != "cpu")
        self.device = device

    def run(self, inputs: Tensors, outputs: Tensors | None = None, *, wait: bool = True) -> dict[str, torch.Tensor]:
        """In PyTorch's current stream. Without `outputs` the runtime allocates them."""
        stream: dict[str, Any] = {"stream": self.device.current_stream(), "wait": wait} if self.is_on_gpu else {}
        if not self.shares_memory:
            stream = {}
        made = self.session.run_tensors(inputs, outputs, **stream)
        return {name: each if isinstance(each, torch.Tensor) else self._taken(each) for name, each in made.items()}

    def _taken(self, value: onnxc.Tensor) -> torch.Tensor:
        if self.shares_memory:
            return torch.utils.dlpack.from_dlpack(value)
        array = value.numpy()
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    def close(self) -> None:
        self.session.close()


def loaded(values: Sequence[Value], folder: Path, device: Device) -> dict[str, torch.Tensor]:
    """Inputs, in the types that the model has, on the device."""
    return {each.name: input_tensor(each, folder).to(device.name) for each in values}


def input_tensor(value: Value, folder: Path) -> torch.Tensor:
    tensor = torch.from_numpy(np.load(folder / value.file))
    return tensor.view(torch.bfloat16) if value.dtype == "bfloat16" else tensor


def type_of(value: Value) -> torch.dtype:
    found = getattr(torch, value.dtype)
    assert isinstance(found, torch.dtype)
    return found


def unwritten(values: Sequence[Value], device: Device) -> dict[str, torch.Tensor]:
    """Outputs whose elements are NaN, or -1, until a run writes them."""
    made = {}
    for each in values:
        dtype = type_of(each)
        filler = float("nan") if dtype.is_floating_point else (0 if dtype == torch.bool else -1)
        made[each.name] = torch.full(tuple(each.shape), filler, dtype=dtype, device=device.name)
    return made
