"""Convolutions of R3D-18 and of a U-Net on the simulated MI300X: onnxc's kernels beside those of IREE's compiler.

    scripts/setup.sh iree
    python -m lab.iree_comparison --output build/beside-iree.md

The part written by hand at the end of the output file stays.

Both compilers get the same layer: one convolution with padding and bias, float32, weights known. Both run on gfx942sim;
results are compared with each other. Counts are of all kernels that a run of the layer launches, so that reordering of
layouts and explicit padding count. Counts come first: the time is the simulator's model.

IREE gets the options with which AMD compiles convolutions by it, and if its blocks are fewer than the compute units
also a form whose reduction is split; the faster of the two by the model counts.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from models import tensor_files
from tools.commands import BINARIES, SIMULATOR
from tools.simulated_gpu.hip import Hip, HipError

IREE_COMPILER = Path(os.environ.get("ONNXC_IREE_VENV", "venv-iree")) / "bin/iree-compile"  # scripts/environment.sh
COMPUTE_UNITS = 304
LAUNCH_MICROSECONDS = 3.0  # what a launch takes on the device after the one before it
Array = NDArray[np.float32]


@dataclass
class Layer:
    name: str
    channels_in: int
    channels_out: int
    size: tuple[int, int, int]  # of the input
    kernel: tuple[int, int, int] = (3, 3, 3)
    stride: tuple[int, int, int] = (1, 1, 1)

    @property
    def pads(self) -> tuple[int, ...]:
        return tuple(k // 2 for k in self.kernel)

    @property
    def output_size(self) -> tuple[int, ...]:
        return tuple(
            (s + 2 * p - k) // t + 1 for s, p, k, t in zip(self.size, self.pads, self.kernel, self.stride, strict=True)
        )

    @property
    def operations(self) -> float:
        return 2.0 * self.channels_in * self.channels_out * np.prod(self.kernel) * np.prod(self.output_size)


# R3D-18 on a clip of 16 x 112 x 112, the U-Net of tests/models on a volume of 64 x 64 x 64; "small" ones to look at.
LAYERS = [
    Layer("small 3x3x3 32->48", 32, 48, (4, 9, 11)),
    Layer("small 3x3x3/2 32->64", 32, 64, (6, 10, 12), stride=(2, 2, 2)),
    Layer("R3D-18 stem 3x7x7/2 3->64", 3, 64, (16, 112, 112), (3, 7, 7), (1, 2, 2)),
    Layer("R3D-18 layer1 64->64", 64, 64, (16, 56, 56)),
    Layer("R3D-18 layer2 /2 64->128", 64, 128, (16, 56, 56), stride=(2, 2, 2)),
    Layer("R3D-18 layer2 128->128", 128, 128, (8, 28, 28)),
    Layer("R3D-18 layer3 /2 128->256", 128, 256, (8, 28, 28), stride=(2, 2, 2)),
    Layer("R3D-18 layer3 256->256", 256, 256, (4, 14, 14)),
    Layer("R3D-18 layer4 /2 256->512", 256, 512, (4, 14, 14), stride=(2, 2, 2)),
    Layer("R3D-18 layer4 512->512", 512, 512, (2, 7, 7)),
    Layer("R3D-18 shortcut 1x1x1/2 64->128", 64, 128, (16, 56, 56), (1, 1, 1), (2, 2, 2)),
    Layer("U-Net 1->32", 1, 32, (64, 64, 64)),
    Layer("U-Net 32->32", 32, 32, (64, 64, 64)),
    Layer("U-Net /2 32->64", 32, 64, (64, 64, 64), stride=(2, 2, 2)),
    Layer("U-Net 64->64", 64, 64, (32, 32, 32)),
    Layer("U-Net 128->128", 128, 128, (16, 16, 16)),
    Layer("U-Net 256->256", 256, 256, (8, 8, 8)),
    Layer("U-Net 320->320", 320, 320, (4, 4, 4)),
    Layer("U-Net head 1x1x1 32->2", 32, 2, (64, 64, 64), (1, 1, 1)),
]


@dataclass
class Data:
    x: Array
    weights: Array
    bias: Array


def make_data(layer: Layer) -> Data:
    """Small integers, so that sums of products are exact in any order."""
    random = np.random.default_rng(0)
    return Data(
        random.integers(-2, 3, (1, layer.channels_in, *layer.size)).astype(np.float32),
        random.integers(-2, 3, (layer.channels_out, layer.channels_in, *layer.kernel)).astype(np.float32),
        random.integers(-9, 10, layer.channels_out).astype(np.float32),
    )


def read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- onnxc ----------------------------------------------------------------------------------------------------------


def model_of(layer: Layer, data: Data, dtype: Any = np.float32) -> onnx.ModelProto:
    """The layer as a model whose input, weights and output are of that type."""
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[*layer.pads, *layer.pads], strides=list(layer.stride))
    output_shape = [1, layer.channels_out, *layer.output_size]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", kind, list(data.x.shape))],
        [helper.make_tensor_value_info("y", kind, output_shape)],
        [
            numpy_helper.from_array(data.weights.astype(dtype), "w"),
            numpy_helper.from_array(data.bias.astype(dtype), "b"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


def run_onnxc(
    layer: Layer, data: Data, folder: Path, dtype: Any = np.float32, options: Sequence[str] = ()
) -> tuple[Array, list[dict[str, Any]]]:
    """The result, and the log of each launch; `options` go to the compiler."""
    onnx.save(model_of(layer, data, dtype), str(folder / "layer.onnx"))
    file = tensor_files.save(data.x.astype(dtype), folder / "x")
    log = folder / "onnxc.log"
    environment = {**os.environ, "ONNXC_HIP_LIBRARY": str(SIMULATOR), "GFX942SIM_LOG": str(log)}
    for command in (
        ["onnxc", "layer.onnx", "-o", "layer.so", "--target", "hip", *options],
        ["onnxc-run", "layer.so", "--device", "hip", "--input", f"x={file.name}", "--output", "out"],
    ):
        subprocess.run([str(BINARIES / command[0]), *command[1:]], cwd=folder, env=environment, check=True)
    (result,) = (folder / "out").iterdir()
    return tensor_files.load(result).astype(np.float32), read_log(log)


# --- IREE -----------------------------------------------------------------------------------------------------------


def tensor(*dims: int) -> str:
    return "tensor<" + "x".join(str(dim) for dim in dims) + "xf32>"


def mlir_of(layer: Layer, parts: int = 1) -> str:
    """The layer as a convolution of linalg; in parts, into which its input channels are split, as a generic operation
    without the batch of one: IREE drops the batch and with it the attribute of the split."""
    batch = () if parts > 1 else (1,)
    padded = [s + 2 * p for s, p in zip(layer.size, layer.pads, strict=True)]
    x, filled = tensor(*batch, layer.channels_in, *layer.size), tensor(*batch, layer.channels_in, *padded)
    weights, bias = tensor(layer.channels_out, layer.channels_in, *layer.kernel), tensor(layer.channels_out)
    y = tensor(*batch, layer.channels_out, *layer.output_size)
    low = ", ".join(str(pad) for pad in (*(0 for _ in batch), 0, *layer.pads))
    indices = ", ".join(f"%i{axis}: index" for axis in range(len(batch) + 4))
    value = f"{{ ^bb0({indices}): tensor.yield %zero : f32 }}"
    pad = f"%x = tensor.pad %unpadded low[{low}] high[{low}] {value} : {x} to {filled}"
    if not any(layer.pads):
        pad = f"%x = tensor.cast %unpadded : {x} to {filled}"
    spread = ", ".join(str(axis) for axis in (*range(len(batch)), *(len(batch) + i for i in (1, 2, 3))))
    operands = f"ins(%x, %weights : {filled}, {weights}) outs(%sums : {y})"
    convolution = f"{split_convolution(layer, parts, operands)} -> {y}"
    if parts == 1:
        strides = ", ".join(str(stride) for stride in layer.stride)
        attributes = f"dilations = dense<1> : tensor<3xi64>, strides = dense<[{strides}]> : tensor<3xi64>"
        convolution = f"linalg.conv_3d_ncdhw_fcdhw {{{attributes}}} {operands} -> {y}"
    return f"""func.func @layer(%unpadded: {x}, %weights: {weights}, %bias: {bias}) -> {y} {{
  %zero = arith.constant 0.0 : f32
  {pad}
  %empty = tensor.empty() : {y}
  %sums = linalg.broadcast ins(%bias : {bias}) outs(%empty : {y}) dimensions = [{spread}]
  %y = {convolution}
  return %y : {y}
}}
"""


def split_convolution(layer: Layer, parts: int, operands: str) -> str:
    loops = "(f, d, h, w, c, kd, kh, kw)"
    reads = ", ".join(f"{axis} * {t} + k{axis}" for axis, t in zip("dhw", layer.stride, strict=True))
    places = (f"c, {reads}", "f, c, kd, kh, kw", "f, d, h, w")
    maps = ", ".join(f"affine_map<{loops} -> ({place})>" for place in places)
    kinds = ", ".join(['"parallel"'] * 4 + ['"reduction"'] * 4)
    split = ", ".join(f"{extent} : index" for extent in (layer.channels_in // parts, *layer.kernel))
    return f"""linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {operands}
    attrs = {{iree_linalg_ext.split_reduction = [{split}]}} {{
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %product = arith.mulf %a, %b : f32
      %more = arith.addf %sum, %product : f32
      linalg.yield %more : f32
  }}"""


def parts_for(layer: Layer, groups: int) -> int:
    """Into how many parts the input channels are split so that each compute unit has a group, 8 channels at least."""
    possible = [parts for parts in range(1, layer.channels_in // 8 + 1) if layer.channels_in % parts == 0]
    return next((parts for parts in possible if groups * parts >= COMPUTE_UNITS), possible[-1] if possible else 1)


@dataclass
class Binding:
    """A part of one of the buffers that a run is given: the inputs, the result, working memory."""

    buffer: int
    offset: int
    length: int


@dataclass
class Dispatch:
    kernel: str
    groups: tuple[int, ...]
    bindings: list[Binding]


@dataclass
class Fill:
    target: Binding
    byte: int


def constant(name: str) -> int:
    """IREE's printer names integer constants by their values: %c28, %c-1, %c0_i8."""
    found = re.fullmatch(r"%c(-?\d+)(_\w+)?", name.strip())
    if not found:
        raise ValueError(f"'{name}' is not a constant")
    return int(found[1])


def read_commands(text: str) -> list[Dispatch | Fill]:
    """The command buffer of a module that was lowered to IREE's HAL dialect."""
    binding = re.compile(r"\((%[\w-]+) : index\)\[(%[\w-]+), (%[\w-]+)\]")
    commands: list[Dispatch | Fill] = []
    kernels: dict[str, str] = {}
    pieces = re.compile(
        r"(?P<id>%\w+) = hal\.executable\.lookup\.function .*?@(?P<kernel>\w+)\) : i64"
        r"|hal\.command_buffer\.fill_buffer<.*?> target\((?P<fill>%[\w-]+) : index\)"
        r"\[(?P<at>%[\w-]+), (?P<size>%[\w-]+)\] pattern\((?P<pattern>%[\w-]+) : i8\)"
        r"|hal\.command_buffer\.dispatch<.*?\[(?P<run>%\w+)\] workgroups\(\[(?P<groups>[^\]]*)\]\)"
        r"(?P<constants> constants\([^)]*\))? bindings\(\[(?P<bindings>.*?)\]\) flags",
        re.DOTALL,
    )
    for piece in pieces.finditer(text):
        if piece["id"]:
            kernels[piece["id"]] = piece["kernel"]
        elif piece["fill"]:
            target = Binding(constant(piece["fill"]), constant(piece["at"]), constant(piece["size"]))
            commands.append(Fill(target, constant(piece["pattern"])))
        else:
            if piece["constants"]:
                raise ValueError("a dispatch with constants is not understood")
            groups = tuple(constant(name) for name in piece["groups"].split(","))
            bindings = [Binding(*(constant(name) for name in found)) for found in binding.findall(piece["bindings"])]
            # Before its version 3.9, a kernel is a number in its executable.
            commands.append(Dispatch(kernels.get(piece["run"], piece["run"]), groups, bindings))
    if not commands:
        raise ValueError("the module has no command buffer that could be read")
    given = re.findall(r"hal\.command_buffer\.(?:dispatch|fill_buffer|copy_buffer|update_buffer)\b", text)
    if len(given) != len(commands):
        raise ValueError(f"of {len(given)} commands only {len(commands)} are understood")
    return commands


def read_buffers(text: str) -> list[int | None]:
    """For each buffer that the commands are given: which argument of the function it is, or how many there are for the
    result; None for working memory."""
    arguments = {
        name: int(number) for name, number in re.findall(r"(%\w+) = hal\.buffer_view\.buffer<%arg(\d+) :", text)
    }
    (result,) = re.findall(r"hal\.buffer_view\.create buffer\((%\w+) :", text)
    bindings = re.search(r"hal\.device\.queue\.execute\.indirect<.*?bindings\(\[(.*?)\]\) flags", text, re.DOTALL)
    if bindings is None:
        raise ValueError("the module does not say which buffers its commands are given")
    names = re.findall(r"\((%\w+) : !hal\.buffer\)", bindings[1])
    return [len(arguments) if name == result else arguments.get(name) for name in names]


def block_sizes(code_object: Path) -> dict[str, tuple[int, ...]]:
    notes = subprocess.run(
        ["llvm-readelf-19", "--notes", str(code_object)], capture_output=True, text=True, check=True
    ).stdout
    pattern = r"\.name:\s+(\S+)\n.*?\.reqd_workgroup_size:\n\s+- (\d+)\n\s+- (\d+)\n\s+- (\d+)"
    return {name.strip("'"): (int(x), int(y), int(z)) for name, x, y, z in re.findall(pattern, notes, re.DOTALL)}


# The options of AMD's own use of IREE for convolutions (iree-turbine, BOO).
IREE_OPTIONS: list[tuple[str, ...]] = [
    (
        "--iree-opt-level=O3",
        "--iree-dispatch-creation-enable-split-reduction",
        "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops",
    ),
    ("--iree-opt-level=O3", "--iree-dispatch-creation-enable-split-reduction"),
    ("--iree-dispatch-creation-enable-split-reduction",),
]


@dataclass(frozen=True)
class Form:
    """The kernels of a layer as IREE compiles it."""

    parts: int  # of the reduction
    options: tuple[str, ...]


def run_iree(compiler: Path, layer: Layer, data: Data, folder: Path, form: Form) -> tuple[Array, list[dict[str, Any]]]:
    (folder / "layer.mlir").write_text(mlir_of(layer, form.parts))
    command = [
        str(compiler),
        "layer.mlir",
        "--iree-hal-target-device=hip",
        "--iree-rocm-target=gfx942",
        *form.options,
        "--iree-hal-dump-executable-binaries-to=binaries",
        "--compile-to=hal",
        "-o",
        "layer.hal.mlir",
    ]
    subprocess.run(command, cwd=folder, check=True)
    text = (folder / "layer.hal.mlir").read_text()
    commands = read_commands(text)
    (code_object,) = (folder / "binaries").iterdir()
    blocks = block_sizes(code_object)

    os.environ["GFX942SIM_LOG"] = str(folder / "iree.log")
    hip = Hip()
    module = hip.load(code_object.read_bytes())
    y = np.full((1, layer.channels_out, *layer.output_size), np.nan, np.float32)
    arrays = (data.x, data.weights, data.bias, y)
    roles = read_buffers(text)
    buffers = {number: hip.upload(arrays[role]) for number, role in enumerate(roles) if role is not None}
    sizes: dict[int, int] = {}
    for step in commands:
        for binding in step.bindings if isinstance(step, Dispatch) else [step.target]:
            sizes[binding.buffer] = max(sizes.get(binding.buffer, 0), binding.offset + binding.length)
    for number, size in sizes.items():
        if number not in buffers:
            buffers[number] = hip.allocate(size)

    def address(binding: Binding) -> ctypes.c_void_p:
        return ctypes.c_void_p((buffers[binding.buffer].value or 0) + binding.offset)

    for step in commands:
        if isinstance(step, Fill):
            hip.hipMemset(address(step.target), step.byte, ctypes.c_size_t(step.target.length))
            continue
        function = ctypes.c_void_p()
        hip.hipModuleGetFunction(ctypes.byref(function), module, step.kernel.encode())
        arguments = [address(binding) for binding in step.bindings]
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
        hip.hipModuleLaunchKernel(function, *step.groups, *blocks[step.kernel], 0, None, pointers, None)
    result = hip.download(buffers[roles.index(3)], y)
    for pointer in buffers.values():
        hip.hipFree(pointer)
    return result, read_log(folder / "iree.log")


# --- the table ------------------------------------------------------------------------------------------------------

COUNTS = (
    "matrix_instructions",
    "vector_instructions",
    "scalar_instructions",
    "lds_cycles",
    "lds_conflict_cycles",
    "vector_memory_instructions",
    "loaded_bytes",
    "stored_bytes",
)


def number(value: float) -> str:
    for limit, divisor, unit in ((1e10, 1e9, "G"), (1e7, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{value / divisor:.1f}{unit}"
    return f"{value:.0f}"


def row(engine: str, launches: list[dict[str, Any]]) -> str:
    sums = [sum(launch[name] for launch in launches) for name in COUNTS]
    largest = max(launches, key=lambda launch: launch["modelled_us"])
    groups = int(np.prod(largest["grid"]))
    occupancy = (
        f"{largest['vector_registers']}+{largest['accumulators']}, {largest['lds_size'] / 1024:.0f}, "
        f"{largest['groups_per_unit']}"
    )
    microseconds = sum(launch["modelled_us"] for launch in launches)
    cells = [
        engine,
        str(len(launches)),
        str(groups),
        occupancy,
        *map(number, sums),
        f"{microseconds:.1f}",
        largest["bound"],
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = """| | kernels | groups | registers, LDS KiB, groups a CU | MFMA | VALU | SALU | LDS cycles | conflicts | VMEM \
| bytes loaded | bytes stored | model us | bound |
| --- | --: | --: | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |"""


def time_of(launches: list[dict[str, Any]]) -> float:
    return sum(float(launch["modelled_us"]) for launch in launches)


def groups_of(launches: list[dict[str, Any]]) -> int:
    """The kernel that takes longest."""
    return int(np.prod(max(launches, key=lambda launch: float(launch["modelled_us"]))["grid"]))


def without_reorderings(launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the loops that reorder layouts: onnxc names kernels of loops "nest" and those of templates "kernel"."""
    return [launch for launch in launches if not launch["kernel"].startswith("nest")]


@dataclass
class Comparison:
    layer: Layer
    onnxc: list[dict[str, Any]]
    iree: list[dict[str, Any]]
    iree_parts: int  # of the reduction

    @property
    def is_fair(self) -> bool:
        return groups_of(self.iree) >= COMPUTE_UNITS

    def counts(self) -> str:
        rate = ", ".join(
            f"{engine} {self.layer.operations / time_of(launches) * 1e-6:.1f}"
            for engine, launches in (("onnxc", self.onnxc), ("IREE", self.iree))
        )
        text = f"### {self.layer.name}\n\n{self.layer.operations * 1e-9:.2f} GFLOP; by the model, TFLOP/s: {rate}.\n\n"
        iree = f"IREE, {self.iree_parts} parts" if self.iree_parts > 1 else "IREE"
        return f"{text}{HEAD}\n{row('onnxc', self.onnxc)}\n{row(iree, self.iree)}\n"

    def times(self) -> str:
        onnxc, alone, iree = (time_of(one) for one in (self.onnxc, without_reorderings(self.onnxc), self.iree))
        launched = [
            time + LAUNCH_MICROSECONDS * len(launches)
            for time, launches in ((alone, without_reorderings(self.onnxc)), (iree, self.iree))
        ]
        fair = "fair" if self.is_fair else ""
        return (
            f"| {self.layer.name} | {fair} | {self.layer.operations * 1e-9:.2f} | {onnxc:.1f} | {alone:.1f} | "
            f"{iree:.1f} | {iree / onnxc:.2f} | {iree / alone:.2f} | {launched[1] / launched[0]:.2f} |"
        )


def run_first(
    compiler: Path, layer: Layer, data: Data, folder: Path, parts: int
) -> tuple[Array, list[dict[str, Any]]] | None:
    """With the first of the sets of options whose code the simulator takes."""
    for number, options in enumerate(IREE_OPTIONS):
        place = folder / f"{parts}_{number}"
        place.mkdir()
        try:
            return run_iree(compiler, layer, data, place, Form(parts, options))
        except HipError:
            continue
    return None


def compare(layer: Layer, iree: Path) -> Comparison:
    data = make_data(layer)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, our_launches = run_onnxc(layer, data, folder)
        found: list[Comparison] = []
        parts = 1
        while (theirs := run_first(iree, layer, data, folder, parts)) is not None:
            result, launches = theirs
            if not np.array_equal(ours, result.reshape(ours.shape)):
                raise RuntimeError(f"{layer.name}: the results differ by up to {np.abs(ours - result).max()}")
            found.append(Comparison(layer, our_launches, launches, parts))
            more = parts_for(layer, groups_of(launches))
            if parts > 1 or more == 1:
                break
            parts = more
    return min(found, key=lambda one: time_of(one.iree))


PREFACE = """# onnxc and IREE on the simulated MI300X

Convolutions of R3D-18 (a clip of 16 x 112 x 112) and of the U-Net of tests/models (64 x 64 x 64), batch 1, float32,
with padding and bias: the kernels that onnxc and IREE's compiler ({version}) emit for gfx942, run by gfx942sim.
The results of both are equal to the bit. Made by `python -m lab.iree_comparison`.

IREE is not tuned, but gets the options with which AMD compiles convolutions by it:
`{options}`.
The last, or the last and the first, are left out for layers where the code then reads LDS that nobody wrote, which the
simulator refuses; on a machine such sums are dropped. Where IREE's groups are fewer than 304 compute units, its
reduction is also split by input channels until they are not, which its own rule does for no layer of these; the faster
of the two forms by the model is in the tables.

Counts are sums over all waves of all kernels that a run of the layer launches: reordering of layouts on our side,
explicit padding on IREE's. Groups, registers (vector + accumulator), LDS, groups that a compute unit holds and the
bound are those of the kernel that takes longest. LDS cycles include those that bank conflicts add. The time is the sum
of the modelled times of the kernels (docs/gfx942sim.md): a yardstick of ours, not a measurement, and the counts beside
it are the facts.

In a network most of onnxc's reorderings vanish, since neighbours keep its blocked layout; here each layer stands alone,
and what its convolution takes without them is given beside.

"""


def summary(comparisons: list[Comparison]) -> str:
    ahead = sum(time_of(one.onnxc) < time_of(one.iree) for one in comparisons)
    alone = sum(time_of(without_reorderings(one.onnxc)) < time_of(one.iree) for one in comparisons)
    rows = "\n".join(one.times() for one in comparisons)
    return f"""
## Modelled times

Fair as a comparison of kernels are the rows where IREE has a group for each of 304 compute units. "Launched" is IREE's
time over that of onnxc's convolution alone, each launch with {LAUNCH_MICROSECONDS:g} us that are in no other column.

| layer | | GFLOP | onnxc, us | its convolution alone | IREE, us | IREE / onnxc | IREE / alone | launched |
| --- | --- | --: | --: | --: | --: | --: | --: | --: |
{rows}

Of {len(comparisons)} layers onnxc is ahead on {ahead}, and on {alone} without its reorderings.
"""


NOTES = "\n## What was too good"


def notes_of(document: Path | None) -> str:
    """The part written by hand at the end of the document."""
    text = document.read_text() if document and document.exists() else ""
    return text[text.index(NOTES) :] if NOTES in text else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iree", type=Path, default=IREE_COMPILER, help="iree-compile, if not that of setup.sh iree")
    parser.add_argument("--layers", default="", help="only layers whose name holds this text")
    parser.add_argument("--output", type=Path, help="the document; standard output without it")
    options = parser.parse_args()
    version = subprocess.run([options.iree, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"IREE compiler version (\S+)", version)
    preface = PREFACE.format(version=found[1] if found else "of unknown version", options="`, `".join(IREE_OPTIONS[0]))
    comparisons: list[Comparison] = []
    document, notes = "", notes_of(options.output)
    for layer in LAYERS:
        if options.layers not in layer.name:
            continue
        comparisons.append(compare(layer, options.iree.absolute()))
        print(comparisons[-1].times(), file=sys.stderr, flush=True)
        document = preface + "## Counts\n\n" + "\n".join(one.counts() for one in comparisons) + summary(comparisons)
        if options.output:  # after each layer: they take minutes
            options.output.write_text(document + notes)
    if not options.output:
        print(document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
