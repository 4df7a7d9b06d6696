"""Convolutions of IREE with times published of an MI300X, beside what gfx942sim's model makes of their code.

    python -m venv iree && iree/bin/pip install iree-base-compiler==3.7.1 iree-base-runtime==3.7.0
    pip download --no-deps iree-turbine==3.8.0 && unzip -d turbine iree_turbine-3.8.0-py3-none-any.whl
    python -m lab.published_convolutions --iree iree --turbine turbine

The times are what the GPU took by PyTorch's profiler, as iree-turbine's driver prints them. Its pull requests 1160
and 1163 of September 2025 have them, with the tuning file of iree-turbine 3.8.0; 3.9.0 no longer has that file. Each
layer is compiled with that file and the flags of iree-turbine's BOO. A check finds the tuned configuration in what was
made: its tiles in the configured module, its workgroup's size in the code object.

The compiler is 3.7.1, the release before those requests: code of 3.8.0 uses the weights of the first tap for all taps
of the grouped layers with padding of channels, which is wrong and loads less.

Then onnxc compiles the same layers. Data are small integers whose sums bfloat16 holds, so that each result is exact and
checked against PyTorch's. Times are the model's, without launches.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from lab.iree_comparison import Dispatch, block_sizes, read_commands, read_log, time_of, without_reorderings
from models import tensor_files
from tools.commands import BINARIES, SIMULATOR
from tools.simulated_gpu.hip import Hip

Array = NDArray[Any]


@dataclass(frozen=True)
class Layer:
    """A convolution with as many channels in as out, of tensors whose channels are innermost."""

    batch: int
    size: tuple[int, ...]
    channels: int
    kernel: tuple[int, ...]
    groups: int
    stride: int
    has_bias: bool
    microseconds: float
    pull_request: int  # of iree-turbine

    @property
    def pads(self) -> tuple[int, ...]:
        return tuple(extent // 2 for extent in self.kernel)

    @property
    def output_size(self) -> tuple[int, ...]:
        return tuple(
            (s + 2 * p - k) // self.stride + 1 for s, p, k in zip(self.size, self.pads, self.kernel, strict=True)
        )

    @property
    def name(self) -> str:
        size, kernel = ("x".join(map(str, extents)) for extents in ((self.batch, *self.size), self.kernel))
        return f"{size}, {self.channels}, {kernel}/{self.stride}, {self.groups} groups"

    @property
    def operations(self) -> float:
        products = self.channels * self.channels // self.groups * np.prod(self.kernel)
        return 2.0 * self.batch * products * np.prod(self.output_size)

    def command(self) -> str:
        """The words by which iree-turbine's driver, as MIOpen's, names the layer."""
        words = [f"convbfp16 -n {self.batch} -c {self.channels} -k {self.channels} -g {self.groups} -F 1"]
        axes = [("H", "y", "p", "u", "l"), ("W", "x", "q", "v", "j")]
        if len(self.size) == 3:
            axes.insert(0, ("-in_d", "-fil_d", "-pad_d", "-conv_stride_d", "-dilation_d"))
            words.append("--spatial_dim 3")
        for names, size, kernel, pad in zip(axes, self.size, self.kernel, self.pads, strict=True):
            values = (size, kernel, pad, self.stride, 1)
            words += [f"-{name} {value}" for name, value in zip(names, values, strict=True)]
        layout = "NDHWC" if len(self.size) == 3 else "NHWC"
        words += [f"--{tensor}_layout {layout}" for tensor in ("in", "fil", "out")]
        return " ".join([*words, f"-b {int(self.has_bias)}"])


LAYERS = [
    Layer(16, (8, 48, 32), 288, (3, 1, 1), 3, 1, True, 125.02, 1160),
    Layer(16, (4, 48, 32), 288, (1, 3, 3), 3, 1, True, 143.04, 1160),
    Layer(16, (2, 48, 32), 288, (3, 1, 1), 3, 1, True, 35.49, 1160),
    Layer(128, (24, 48), 384, (3, 1), 3, 1, False, 125.23, 1160),
    Layer(1, (235, 363), 224, (3, 3), 4, 1, False, 145.35, 1163),
    Layer(1, (470, 725), 224, (3, 3), 4, 2, False, 182.50, 1163),
    Layer(1, (235, 363), 448, (3, 3), 8, 2, False, 92.64, 1163),
    Layer(2, (59, 91), 896, (1, 1), 1, 1, False, 60.33, 1163),
]


@dataclass
class Data:
    x: Array  # channels innermost, as the weights and the result
    weights: Array
    bias: Array
    y: Array  # the result, by PyTorch


def make_data(layer: Layer) -> Data:
    """Integers from -1 to 1: sums stay below 256 and are exact in bfloat16."""
    random = np.random.default_rng(0)

    def integers(*shape: int) -> Array:
        return (random.integers(0, 3, shape, np.int8) - 1).astype(ml_dtypes.bfloat16)

    width = layer.channels // layer.groups
    x = integers(layer.batch, *layer.size, layer.channels)
    weights = integers(layer.channels, *layer.kernel, width)
    bias = integers(layer.channels) if layer.has_bias else np.zeros(layer.channels, ml_dtypes.bfloat16)
    first, last = 1, len(layer.size) + 1
    with torch.inference_mode():
        convolve = torch.nn.functional.conv3d if len(layer.size) == 3 else torch.nn.functional.conv2d
        given, taps = (torch.from_numpy(array.astype(np.float32)).movedim(last, first) for array in (x, weights))
        y = convolve(
            given, taps, torch.from_numpy(bias.astype(np.float32)), layer.stride, layer.pads, groups=layer.groups
        ).movedim(first, last)
    if float(y.abs().max()) > 256:
        raise RuntimeError(f"{layer.name}: a sum of {float(y.abs().max())} is not exact in bfloat16")
    return Data(x, weights, bias, y.numpy().astype(ml_dtypes.bfloat16))


# --- IREE -----------------------------------------------------------------------------------------------------------

# Run by the Python that has IREE's compiler: argv has the driver's command and the file to write.
MODULE = """
import sys
from iree.turbine.kernel.boo.op_exports.conv import ConvParser
from iree.turbine.kernel.boo.runtime import get_module_asm
layer = ConvParser.command_to_signature(sys.argv[1], ignore_unhandled_args=True)
text = get_module_asm(lambda: layer.get_nn_module(use_custom=True), lambda: layer.get_sample_args(splat_value=0),
                      layer.func_name, force_single_dispatch=layer.force_single_dispatch)
open(sys.argv[2], "w").write(text)
"""
# iree/turbine/kernel/boo/runtime/launch.py, default_compiler_flags_callback.
OPTIONS = (
    "--iree-hal-target-device=hip --iree-hip-target=gfx942 --iree-opt-level=O3 "
    "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops "
    "--iree-preprocessing-pass-pipeline=builtin.module(iree-preprocessing-convert-conv-filter-to-channels-last) "
    "--compile-to=hal --iree-hal-dump-executable-files-to=dump"
)
TUNING = "iree/turbine/kernel/boo/runtime/tuning_specs.mlir"


@dataclass(frozen=True)
class Iree:
    environment: Path  # that has its compiler
    turbine: Path  # an unpacked wheel of iree-turbine


@dataclass
class Code:
    """The one kernel of a layer as IREE compiles it."""

    code_object: bytes
    kernel: str
    groups: tuple[int, ...]
    block: tuple[int, ...]
    configuration: str  # how the compiler made tiles of it


def compile_iree(iree: Iree, layer: Layer, folder: Path) -> Code:
    # The driver's Python imports PyTorch, which this one has.
    paths = [str(iree.turbine), *(path for path in sys.path if path.endswith("site-packages"))]
    environment = {**os.environ, "PYTHONPATH": ":".join(paths), "BOO_CACHE_ON": "0"}
    python = [str(iree.environment / "bin/python"), "-W", "ignore", "-c", MODULE, layer.command(), "layer.mlir"]
    subprocess.run(python, cwd=folder, env=environment, check=True)
    tuning = iree.turbine / TUNING
    command = [str(iree.environment / "bin/iree-compile"), "layer.mlir", "-o", "hal.mlir", *OPTIONS.split()]
    subprocess.run([*command, f"--iree-codegen-tuning-spec-path={tuning}"], cwd=folder, check=True, capture_output=True)
    (step,) = read_commands((folder / "hal.mlir").read_text())
    if not isinstance(step, Dispatch):
        raise RuntimeError(f"{layer.name}: IREE fills memory instead of running a kernel")
    (code_object,) = (folder / "dump").glob("*.hsaco")
    ((kernel, block),) = block_sizes(code_object).items()
    (configured,) = (folder / "dump").glob("configured_*.mlir")
    configuration = check_tuning(kernel, block, configured.read_text(), tuning.read_text())
    return Code(code_object.read_bytes(), kernel, step.groups, block, configuration)


def check_tuning(kernel: str, block: tuple[int, ...], configured: str, tuning: str) -> str:
    """The configuration of the kernel, which must be one that the tuning file has for it, in the code as well."""
    lowering = re.compile(r"lowering_config<(\{.*?\})>[,}]")
    used: str
    (used,) = set(lowering.findall(configured))
    entries = tuning.split("transform.named_sequence @")
    tuned = [entry for entry in entries if entry.strip('"').startswith(f"match_{kernel}")]
    if used not in [found for entry in tuned for found in lowering.findall(entry)]:
        raise RuntimeError(f"{kernel}: no entry of the tuning file, of {len(tuned)} for it, has {used}")
    size = "workgroup_size = [" + ", ".join(map(str, block)) + "]"
    if not any(size in entry and used in entry for entry in tuned):
        raise RuntimeError(f"{kernel}: its code has blocks of {block}, which the tuning file does not ask for")
    return used


def run_iree(iree: Iree, layer: Layer, data: Data, folder: Path) -> tuple[Code, dict[str, Any]]:
    """The kernel, and what the simulator says of it."""
    code = compile_iree(iree, layer, folder)
    os.environ["GFX942SIM_LOG"] = str(folder / "log")
    hip = Hip()
    function = ctypes.c_void_p()
    hip.hipModuleGetFunction(ctypes.byref(function), hip.load(code.code_object), code.kernel.encode())
    inputs = [data.x, data.weights] + [data.bias] * layer.has_bias
    nan = np.full(data.y.shape, np.nan, ml_dtypes.bfloat16)
    buffers = [hip.upload(array.view(np.uint16)) for array in (*inputs, nan)]
    pointers = (ctypes.c_void_p * len(buffers))(*[ctypes.addressof(buffer) for buffer in buffers])
    hip.hipModuleLaunchKernel(function, *code.groups, *code.block, 0, None, pointers, None)
    result = hip.download(buffers[-1], nan.view(np.uint16)).view(ml_dtypes.bfloat16)
    for buffer in buffers:
        hip.hipFree(buffer)
    expect(layer, "IREE", result, data.y)
    (launch,) = read_log(folder / "log")
    return code, launch


def expect(layer: Layer, who: str, found: Array, expected: Array) -> None:
    differing = np.count_nonzero(found.astype(np.float32) != expected.astype(np.float32))
    if differing:
        raise RuntimeError(f"{layer.name}: {differing} of {expected.size} values of {who} are not PyTorch's")


# --- onnxc ----------------------------------------------------------------------------------------------------------


def planar(array: Array) -> Array:
    """ONNX's layout: channels before the axes of space."""
    return np.ascontiguousarray(np.moveaxis(array, -1, 1))


def model_of(layer: Layer, data: Data) -> onnx.ModelProto:
    attributes = {"pads": [*layer.pads, *layer.pads], "strides": [layer.stride] * len(layer.size)}
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=layer.groups, **attributes)
    shapes = {"x": planar(data.x).shape, "y": planar(data.y).shape}
    values = {
        name: helper.make_tensor_value_info(name, onnx.TensorProto.BFLOAT16, shape) for name, shape in shapes.items()
    }
    constants = [numpy_helper.from_array(planar(data.weights), "w"), numpy_helper.from_array(data.bias, "b")]
    graph = helper.make_graph([node], "layer", [values["x"]], [values["y"]], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


@dataclass
class OnnxcTimes:
    """In microseconds."""

    estimate: float  # by the compiler's report, without copies from layout to layout
    products: float  # by the simulator's model, without these copies
    whole: float


def run_onnxc(layer: Layer, data: Data, folder: Path) -> OnnxcTimes:
    onnx.save(model_of(layer, data), str(folder / "layer.onnx"))
    file = tensor_files.save(planar(data.x), folder / "x")
    log = folder / "onnxc.log"
    environment = {**os.environ, "ONNXC_HIP_LIBRARY": str(SIMULATOR), "GFX942SIM_LOG": str(log)}
    compiling = ["onnxc", "layer.onnx", "-o", "layer.so", "--target", "hip", "--report", "--json"]
    running = ["onnxc-run", "layer.so", "--device", "hip", "--input", f"x={file.name}", "--output", "out"]
    report, _ = (
        subprocess.run([str(BINARIES / name), *words], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE)
        for name, *words in (compiling, running)
    )
    (result,) = (folder / "out").iterdir()
    expect(layer, "onnxc", tensor_files.load(result), planar(data.y))
    launches = read_log(log)
    return OnnxcTimes(estimated(json.loads(report.stdout)), time_of(without_reorderings(launches)), time_of(launches))


def estimated(report: dict[str, Any]) -> float:
    """The time of the convolution's kernels, without the loops that change the layout."""
    kernels = [kernel for kernel in report["gpu"]["kernels"] if kernel["steps"]]
    return sum(float(kernel["modelled_us"]) for kernel in kernels if not kernel["description"].startswith("loops"))


# --- the table ------------------------------------------------------------------------------------------------------

HEAD = """\
| layer | tiles of IREE | published, us | modelled | modelled / published | bound | onnxc, modelled | with copies \
| its estimate |
| --- | --- | --: | --: | --: | --- | --: | --: | --: |"""


def tiles(configuration: str) -> str:
    """The workgroup's, without the reduction, which is 0."""
    found = re.search(r"\bworkgroup = \[([\d, ]+), 0\]", configuration)
    if found is None:
        raise ValueError(f"'{configuration}' has no tiles")
    return found[1].replace(", ", "x")


def row(layer: Layer, code: Code, launch: dict[str, Any], onnxc: OnnxcTimes) -> str:
    modelled = float(launch["modelled_us"])
    return (
        f"| {layer.name} | {tiles(code.configuration)} | {layer.microseconds:.1f} | {modelled:.1f} | "
        f"{modelled / layer.microseconds:.2f} | {launch['bound']} | {onnxc.products:.1f} | {onnxc.whole:.1f} | "
        f"{onnxc.estimate:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iree", type=Path, required=True, help="an environment with IREE's compiler")
    parser.add_argument("--turbine", type=Path, required=True, help="an unpacked wheel of iree-turbine 3.8.0")
    parser.add_argument("--layers", default="", help="only layers whose name holds this text")
    given = parser.parse_args()
    iree = Iree(given.iree.absolute(), given.turbine.absolute())
    print(HEAD)
    for layer in LAYERS:
        if given.layers not in layer.name:
            continue
        data = make_data(layer)
        with tempfile.TemporaryDirectory() as folder:
            code, launch = run_iree(iree, layer, data, Path(folder))
            print(row(layer, code, launch, run_onnxc(layer, data, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
