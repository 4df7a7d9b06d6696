"""The compiler's estimate of a convolution beside the time that the simulator's model makes of its kernel on an MI300X:
layers for which IREE published times (docs/gpu.md), on fewer voxels. Both read machine/gpu_timing.h."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests import onnxc_commands
from tests.codegen.hip.gpu_model import BFLOAT16, model


@dataclass(frozen=True)
class Layer:
    name: str
    batch: int
    size: tuple[int, ...]
    channels: int
    kernel: tuple[int, ...]
    groups: int
    stride: int = 1


LAYERS = [
    Layer("planes", 6, (8, 48, 32), 288, (3, 1, 1), 3),
    Layer("rows and columns", 8, (4, 48, 32), 288, (1, 3, 3), 3),
    Layer("few voxels", 16, (2, 48, 32), 288, (3, 1, 1), 3),
    Layer("whole blocks of 128", 40, (24, 48), 384, (3, 1), 3),
    Layer("groups that cut blocks", 1, (118, 182), 224, (3, 3), 4),
    Layer("groups that cut blocks, stride 2", 1, (235, 363), 224, (3, 3), 4, 2),
    Layer("eight groups that cut blocks, stride 2", 1, (118, 182), 448, (3, 3), 8, 2),
    Layer("small tiles of groups that cut blocks", 1, (41, 43), 224, (3, 3), 4),
    Layer("a matrix product", 2, (59, 91), 896, (1, 1), 1),
]
# The others take minutes together.
ALWAYS = ("small tiles of groups that cut blocks", "a matrix product")
# The estimate over the simulated time. Latency within a tile is left out of a product's estimate.
LEAST, MOST = 0.7, 1.25


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "layer",
    [pytest.param(layer, id=layer.name, marks=[] if layer.name in ALWAYS else [pytest.mark.slow]) for layer in LAYERS],
)
def test_is_near_the_simulators_time(layer: Layer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = (layer.batch, layer.channels, *layer.size)
    weights = np.zeros((layer.channels, layer.channels // layer.groups, *layer.kernel), BFLOAT16)
    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        group=layer.groups,
        strides=[layer.stride] * len(layer.size),
        pads=[extent // 2 for extent in layer.kernel] * 2,
    )
    file, log = tmp_path / "model.onnx", tmp_path / "log"
    onnx.save(model([node], {"x": (BFLOAT16, x)}, {"w": weights}), file)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_LOG", str(log))
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(file), "-o", str(tmp_path / "model.so"), "--target", "hip"]
    report = json.loads(onnxc_commands.execute([*command, "--report", "--json"]).stdout)
    onnxc_commands.run_arrays(
        tmp_path / "model.so", {"x": np.zeros(x, BFLOAT16)}, ["y"], tmp_path / "run", "--device", "hip"
    )
    launches = {launch["kernel"]: launch for launch in map(json.loads, log.read_text().splitlines())}
    for kernel in report["gpu"]["kernels"]:
        if kernel["description"].startswith("conv "):
            simulated = launches[kernel["name"]]
            ratio = kernel["modelled_us"] / simulated["modelled_us"]
            what = (
                f"{kernel['description']}: {kernel['modelled_us']:.1f} us ({kernel['bound']}), simulated "
                f"{simulated['modelled_us']:.1f} ({simulated['bound']}), {simulated['bound_cycles']}"
            )
            print(what)
            assert LEAST <= ratio <= MOST, what
            return
    raise AssertionError(f"no kernel of a convolution: {report['gpu']['kernels']}")
