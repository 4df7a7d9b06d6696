"""The layers of a model for a roofline: what each reaches, and how many operations it has for each byte."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.commands import BINARIES

ELEMENT_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8, "bool": 1}


@dataclass(frozen=True)
class Layer:
    """intensity: operations over the bytes that must move at least: each tensor in or out once."""

    name: str
    milliseconds: float
    gflops: float
    intensity: float


@dataclass(frozen=True)
class Profile:
    """Peaks of the machine with this number of threads, as onnxc-run measured them beside the steps."""

    threads: int
    peak_gflops: float
    peak_gigabytes: float
    layers: list[Layer]


def tensor_bytes(tensor: dict[str, Any]) -> int:
    """0 for a tensor that has no fixed size."""
    size = ELEMENT_BYTES.get(tensor["dtype"], 1)
    for dim in tensor["dims"]:
        size *= dim if isinstance(dim, int) else 0
    return size


def present(tensors: list[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Without the optional inputs and outputs that a node leaves out."""
    return [tensor for tensor in tensors if tensor is not None]


def nodes_bytes(nodes: list[dict[str, Any]], read_elsewhere: set[str]) -> int:
    """The tensors that enter and leave nodes computed together. Tensors that pass between them need not reach
    memory."""
    made = {tensor["name"]: tensor for node in nodes for tensor in present(node["outputs"])}
    read = {tensor["name"]: tensor for node in nodes for tensor in present(node["inputs"])}
    entering = [tensor for name, tensor in read.items() if name not in made]
    leaving = [tensor for name, tensor in made.items() if name in read_elsewhere]
    return sum(map(tensor_bytes, [*entering, *leaving]))


def layers_of(profile: dict[str, Any], shapes: dict[str, Any]) -> list[Layer]:
    """`profile`: of onnxc-run --profile --json. `shapes`: of onnxc --dump-shapes."""
    nodes = {f"{node['name']} ({node['op_type']})": node for node in shapes["nodes"]}
    layers = []
    for step in profile["steps"]:
        own = [nodes[name] for name in step["nodes"] if name in nodes]
        if not step["gflops"] or not own:
            continue
        own_names = set(step["nodes"])
        others = (node for name, node in nodes.items() if name not in own_names)
        read_elsewhere = {tensor["name"] for node in others for tensor in present(node["inputs"])}
        read_elsewhere |= {tensor["name"] for tensor in shapes["outputs"]}
        size = nodes_bytes(own, read_elsewhere)
        if size > 0:
            operations = step["gflops"] * step["ms"] * 1e6
            layers.append(Layer(step["step"], step["ms"], step["gflops"], operations / size))
    return layers


def profile_model(model: Path, shared_object: Path, threads: int) -> Profile:
    """Raises subprocess.CalledProcessError when the model cannot run on random inputs."""
    command = [str(BINARIES / "onnxc-run"), str(shared_object), "--random", "0", "--profile", "--json"]
    done = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True)
    profile = json.loads(done.stdout)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shapes.json"
        subprocess.run([str(BINARIES / "onnxc"), str(model), f"--dump-shapes={file}"], check=True, capture_output=True)
        shapes = json.loads(file.read_text())
    return Profile(threads, profile["peak_gflops"], profile["peak_gigabytes_read"], layers_of(profile, shapes))
