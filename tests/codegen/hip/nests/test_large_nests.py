"""Loop nests over tensors of more than 2^31 elements and 4 GiB: blocks at the start, in the middle and at the end of
their launches, on the host, against numpy at the elements that these write."""

import ctypes
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests import onnxc_commands
from tests.codegen.hip.gpu_model import FLOAT16
from tests.codegen.hip.nests.large_arrays import Array, Repeated, Untouched
from tools.host_blocks import build_kernels

pytestmark = pytest.mark.usefixtures("commands")

THREADS, MOST_BLOCKS = 256, 1 << 20
Indices = tuple[Array, ...]


@dataclass
class Case:
    """Nodes whose output has the case's name and that read `x`, and what they give at some indices."""

    nodes: Callable[[str, str], list[onnx.NodeProto]]
    x: tuple[int | str, ...]
    y: tuple[int, ...]
    expected: Callable[[Repeated, Indices], Array]
    constants: dict[str, Array] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)

    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.dims[dim] if isinstance(dim, str) else dim for dim in self.x)


def node(operator: str, *constants: str, **attributes: Any) -> Callable[[str, str], list[onnx.NodeProto]]:
    return lambda x, y: [helper.make_node(operator, [x, *constants], [y], **attributes)]


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def reflected(index: Array, extent: int) -> Array:
    return np.where(index < 0, -index, np.where(index >= extent, 2 * extent - 2 - index, index))


def pooled(x: Repeated, at: Indices) -> Array:
    n, c, h, w = at
    return np.maximum.reduce([x[n, c, h + i, w + j] for i in (0, 1) for j in (0, 1)])


SCALES = np.arange(1, 33).astype(FLOAT16)
CASES = {
    "negative": Case(node("Neg"), (16, 150_000_000), (16, 150_000_000), lambda x, at: -x[at]),
    "scaled": Case(
        node("Mul", "scales"),
        (3, 32, 30_000_000),
        (3, 32, 30_000_000),
        lambda x, at: x[at] * SCALES[at[1]],
        {"scales": SCALES.reshape(32, 1)},
    ),
    "transposed": Case(
        node("Transpose", perm=[1, 0]), (70_000_000, 48), (48, 70_000_000), lambda x, at: x[at[1], at[0]]
    ),
    "sliced": Case(
        node("Slice", "begins", "ends", "axes"),
        (48, 60_000_001),
        (47, 59_999_999),
        lambda x, at: x[at[0] + 1, at[1] + 1],
        {"begins": ints(1, 1), "ends": ints(48, 60_000_000), "axes": ints(0, 1)},
    ),
    "gathered": Case(
        node("Gather", "rows"),
        (800, 3_000_001),
        (800, 3_000_001),
        lambda x, at: x[(at[0] * 7 + 3) % 800, at[1]],
        {"rows": (np.arange(800, dtype=np.int64) * 7 + 3) % 800},
    ),
    "resized": Case(
        node(
            "Resize", "", "factors", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        ),
        (1, 32, 5001, 4003),
        (1, 32, 10002, 8006),
        lambda x, at: x[at[0], at[1], at[2] // 2, at[3] // 2],
        {"factors": np.array([1, 1, 2, 2], np.float32)},
    ),
    "padded": Case(
        node("Pad", "pads", mode="reflect"),
        (32, 9001, 9003),
        (32, 9003, 9006),
        lambda x, at: x[at[0], reflected(at[1] - 1, 9001), reflected(at[2] - 1, 9003)],
        {"pads": ints(0, 1, 1, 0, 1, 2)},
    ),
    "pooled": Case(node("MaxPool", kernel_shape=[2, 2]), (1, 32, 10_000, 8_000), (1, 32, 9_999, 7_999), pooled),
    "pooled at any size": Case(
        node("MaxPool", kernel_shape=[2, 2]),
        ("n", 32, "h", "w"),
        (2, 32, 9_999, 3_999),
        pooled,
        dims={"n": 2, "h": 10_000, "w": 4_000},
    ),
    "joined": Case(
        lambda x, y: [helper.make_node("Concat", [x, x], [y], axis=1)],
        (3, 400_000_001),
        (3, 800_000_002),
        lambda x, at: x[at[0], at[1] % 400_000_001],
    ),
    "reduced": Case(
        node("ReduceSum", "axis", keepdims=0),
        (80, 30_000_000),
        (30_000_000,),
        lambda x, at: np.add.reduce([x[i, at[0]].astype(np.float32) for i in range(80)]),
        {"axis": ints(0)},
    ),
    "last axis reduced": Case(
        node("ReduceMax", "axis", keepdims=0),
        (40_000_000, 64),
        (40_000_000,),
        lambda x, at: np.maximum.reduce([x[at[0], i] for i in range(64)]),
        {"axis": ints(1)},
    ),
    "to blocks of channels": Case(
        lambda x, y: [helper.make_node("Conv", [x, "weights"], [y])],
        (1, 48, 7_000, 8_000),
        (1, 3, 7_000, 8_000, 16),
        lambda x, at: x[at[0], at[1] * 16 + at[4], at[2], at[3]],
        {"weights": np.ones((16, 48, 3, 3), FLOAT16)},
    ),
}


def model() -> onnx.ModelProto:
    """Each case reads an input of its own."""
    nodes, inputs, outputs, constants = [], [], [], []
    for number, case in enumerate(CASES.values()):
        x, y = f"x{number}", f"y{number}"
        renamed = {name: f"{name}{number}" for name in case.constants}
        for each in case.nodes(x, y):
            each.input[:] = [renamed.get(name, name) for name in each.input]
            nodes.append(each)
        constants += [numpy_helper.from_array(value, renamed[name]) for name, value in case.constants.items()]
        inputs.append(helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT16, case.x))
        outputs.append(helper.make_tensor_value_info(y, onnx.TensorProto.FLOAT16, None))
    graph = helper.make_graph(nodes, "large", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


# A step's launches in the host file, and a launch: the kernel, its arguments and how many points a block has.
STEP = re.compile(r'// Step \d+: "(\w+)"[^\n]*\n((?://[^\n]*\n)*)(.*?)\n(?=// Step|\s*\[\[)', re.DOTALL)
LAUNCH = re.compile(r"(\w+)_arguments arguments;(.*?)launch_points\(frame, \d+, (\d+),", re.DOTALL)


@dataclass
class Compiled:
    library: ctypes.CDLL
    host: str


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, commands: None) -> Compiled:
    folder = tmp_path_factory.mktemp("large_nests")
    onnx.save(model(), folder / "model.onnx")
    options = ("--target", "gpu", "--gpu-arch", "sm_80", "--march", "x86-64-v3", "--emit", "source")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.cpp", *options)
    build_kernels(folder / "model.cpp.device.hip", "sm_80", folder / "kernels.so")
    return Compiled(ctypes.CDLL(str(folder / "kernels.so")), (folder / "model.cpp").read_text())


@dataclass
class Run:
    """A case's tensors, by the names that they have in the host file."""

    compiled: Compiled
    inputs: dict[str, int]  # their addresses
    y: Untouched
    dims: dict[str, int]

    def pointer(self, value: str, comment: str) -> int:
        place, further = re.findall(r"frame\.buffers\[(\d+)\]\)(?: \+ (\d+))?", value)[0]
        offset = int(further or 0) * self.y.dtype.itemsize
        if "const" not in value:
            return self.y.address + offset
        return self.inputs[re.findall(rf'reads b{place}: "(\w+)"', comment)[0]] + offset

    def launch(self, kernel: str, body: str, a_block: int, comment: str) -> int:
        """Launches some blocks, the first and that of the last point among them. Returns how many points they have."""
        given = dict(re.findall(r"arguments\.(\w+) = (.*?);", body))
        symbols = {name: self.dims[name.partition("_")[2]] for name in given if name.startswith("d")}
        points = int(eval(given.pop("points"), {}, symbols))
        blocks = min((points - 1) // a_block + 1, MOST_BLOCKS)
        arguments = [points, blocks * a_block]
        for name, value in given.items():
            arguments.append(symbols[name] if name in symbols else self.pointer(value, comment))
        packed = np.array(arguments, np.int64)
        chosen = sorted({0, blocks // 3, blocks - 1, (points - 1) // a_block % blocks})
        os.environ["ONNXC_HOST_BLOCKS"] = ",".join(map(str, chosen))
        places = (ctypes.c_void_p * 1)(packed.ctypes.data)
        self.compiled.library.onnxc_host_launch(kernel.lower().encode(), blocks, THREADS, 0, places)
        firsts = [first for block in chosen for first in range(block * a_block, points, blocks * a_block)]
        return sum(min(a_block, points - first) for first in firsts)


@pytest.mark.parametrize("name", CASES)
def test_blocks_everywhere(name: str, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HOST_BLOCKS", "")
    case, number = CASES[name], list(CASES).index(name)
    x, y = Repeated(case.input_shape(), FLOAT16), Untouched(case.y, FLOAT16)
    inputs = {f"x{number}": x.address} | {f"{key}{number}": value.ctypes.data for key, value in case.constants.items()}
    run = Run(compiled, inputs, y, case.dims)
    points = 0
    for output, comment, code in STEP.findall(compiled.host):
        if output == f"y{number}":
            for kernel, body, a_block in LAUNCH.findall(code):
                points += run.launch(kernel, body, int(a_block), comment)
    indices, values = y.written()
    assert len(indices) >= points > 0
    size = np.prod(case.y, dtype=np.int64)
    assert indices[0] < size // 64
    assert indices[-1] >= size - size // 64
    expected = case.expected(x, np.unravel_index(indices, case.y)).astype(FLOAT16)
    wrong = np.nonzero(values != expected)[0]
    assert len(wrong) == 0, f"{len(wrong)} of {len(values)} are wrong, first that at {indices[wrong[0]]}"
