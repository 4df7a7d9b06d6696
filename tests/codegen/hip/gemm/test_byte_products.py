"""Products of bytes on the matrix units of NVIDIA's GPUs and of AMD's RDNA, to the bit against a plain loop.

The source of the kernels runs on the host (tools/host_blocks), launched by the stand-in for NVIDIA's driver. Those of
RDNA carry out the plan for sm_80. Sizes lie around the edges of a tile, of a step of 64
channels and of a block of 16."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands
from tools.host_blocks import asan_runtime, build_kernels

pytestmark = pytest.mark.usefixtures("commands")

GPU = ("--target", "gpu", "--march", "x86-64-v3")
RDNA = ["gfx1100", "gfx1201"]
ARCHITECTURES = ["sm_80", "sm_90a", *RDNA]


@dataclass
class Graph:
    """The nodes of a model, its inputs and constants, and what each output must be."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    expected: dict[str, Array] = field(default_factory=dict)

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: Array) -> str:
        self.constants[name] = value
        return name

    def proto(self) -> onnx.ModelProto:
        def info(name: str, array: Array) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

        graph = helper.make_graph(
            self.nodes,
            "bytes",
            [info(*each) for each in self.inputs.items()],
            [info(*each) for each in self.expected.items()],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(graph: Graph, folder: Path, monkeypatch: pytest.MonkeyPatch, products: int, **options: Any) -> str:
    """Compares every output, and returns the source of the kernels, which have so many products of bytes."""
    architecture = options.get("architecture", "sm_80")
    target = (*GPU, "--gpu-arch", "sm_80" if architecture in RDNA else architecture)
    onnx.save(graph.proto(), folder / "model.onnx")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.cpp", *target, "--emit", "source")
    source = folder / "model.cpp.device.hip"
    text = source.read_text()
    assert text.count("implicit_gemm<") == products, text
    assert text.count("Products::") == text.count("Products::int8") + text.count("Products::uint8")
    build_kernels(source, architecture, folder / "kernels.so", sanitize=options.get("sanitize", False))
    shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *target)
    variables = {
        "CUDA_STAND_IN_KERNELS": str(folder / "kernels.so"),
        "ONNXC_HOST_ORDER": options.get("order", "forward"),
    }
    if options.get("sanitize", False):
        variables |= {"LD_PRELOAD": asan_runtime(), "ASAN_OPTIONS": "detect_leaks=0"}
    for name, value in variables.items():
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, name, value)
    results = onnxc_commands.run_arrays(
        shared_object, graph.inputs, list(graph.expected), folder / "run", "--device", "gpu"
    )
    for name, right in graph.expected.items():
        np.testing.assert_array_equal(results[name], right, err_msg=name)
    return text


@dataclass(frozen=True)
class Conv:
    """zero, w_zero: zero points of the input and of the weights."""

    channels: int
    outputs: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    pads: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    groups: int = 1
    batch: int = 1
    dtype: Any = np.uint8
    zero: int = 0
    w_dtype: Any = np.int8
    w_zero: int = 0


def integers(random: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Array:
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def convolution(x: Array, w: Array, case: Conv) -> Array:
    """A plain sum over taps and channels; outside of x is 0."""
    axes = len(case.size)
    pads = case.pads or (0,) * (2 * axes)
    strides, dilations = case.strides or (1,) * axes, case.dilations or (1,) * axes
    padded = np.pad(x, [(0, 0), (0, 0), *((pads[i], pads[axes + i]) for i in range(axes))])
    outs = [(padded.shape[2 + i] - dilations[i] * (case.kernel[i] - 1) - 1) // strides[i] + 1 for i in range(axes)]
    y = np.zeros((case.batch, case.outputs, *outs), np.int64)
    per_in, per_out = case.channels // case.groups, case.outputs // case.groups
    for tap in np.ndindex(*case.kernel):
        window = [
            slice(tap[i] * dilations[i], tap[i] * dilations[i] + strides[i] * (outs[i] - 1) + 1, strides[i])
            for i in range(axes)
        ]
        for group in range(case.groups):
            part = padded[(slice(None), slice(group * per_in, (group + 1) * per_in), *window)]
            weights = w[(slice(group * per_out, (group + 1) * per_out), slice(None), *tap)]
            y[:, group * per_out : (group + 1) * per_out] += np.einsum("nc...,oc->no...", part, weights)
    return y


def convolutions(cases: list[Conv]) -> Graph:
    random = np.random.default_rng(0)
    graph = Graph()
    for i, case in enumerate(cases):
        x = integers(random, case.dtype, (case.batch, case.channels, *case.size))
        w = integers(random, case.w_dtype, (case.outputs, case.channels // case.groups, *case.kernel))
        if case.w_dtype == np.uint8:
            w = np.clip(w, max(case.w_zero - 128, 0), min(case.w_zero + 127, 255)).astype(np.uint8)
        graph.inputs[f"x{i}"] = x
        names = [f"x{i}", graph.constant(f"w{i}", w), graph.constant(f"z{i}", np.array(case.zero, case.dtype))]
        names.append(graph.constant(f"wz{i}", np.array(case.w_zero, case.w_dtype)))
        axes = len(case.size)
        graph.add(
            "ConvInteger", names, f"y{i}", group=case.groups, pads=list(case.pads or (0,) * (2 * axes)),
            strides=list(case.strides or (1,) * axes), dilations=list(case.dilations or (1,) * axes),
        )  # fmt: skip
        wide = convolution(x.astype(np.int64) - case.zero, w.astype(np.int64) - case.w_zero, case)
        graph.expected[f"y{i}"] = wide.astype(np.int32)
    return graph


CONVOLUTIONS = [
    Conv(3, 17, (5, 6, 7), (3, 3, 3), (1,) * 6, zero=131),
    Conv(16, 33, (4, 5, 9), (2, 3, 1), (0, 1, 0, 1, 1, 0), zero=255, batch=2),
    Conv(40, 64, (5, 4, 3), (3, 3, 3), (1,) * 6, dtype=np.int8, zero=-128),
    Conv(64, 65, (3, 7, 5), (3, 3, 3), (2, 1, 0, 1, 1, 2), strides=(2, 1, 2), dtype=np.int8, zero=5),
    Conv(70, 20, (9, 11), (3, 3), (2, 2, 2, 2), dilations=(2, 2), w_dtype=np.uint8, w_zero=128, zero=7),
    Conv(64, 96, (33,), (5,), (2, 2), groups=2, zero=100),
    Conv(48, 48, (3, 4, 5), (3, 3, 3), (1,) * 6, groups=48, zero=3),  # 16 groups at once
    Conv(32, 64, (5, 6), (3, 3), (1,) * 4, groups=4, zero=200, dtype=np.uint8),  # 2 groups at once
    Conv(15, 9, (5, 6), (3, 3), groups=3, dtype=np.int8, zero=-7),  # all at once
    Conv(210, 130, (2, 3, 5), (1, 1, 1), w_dtype=np.uint8, w_zero=3),
    Conv(256, 24, (3, 3, 3), (3, 3, 3), (1,) * 6, zero=1),  # in parts
]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_convolutions(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(convolutions(CONVOLUTIONS), tmp_path, monkeypatch, len(CONVOLUTIONS), architecture=architecture)


@pytest.mark.slow
def test_under_the_address_sanitizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = convolutions(CONVOLUTIONS)
    run(graph, tmp_path, monkeypatch, len(CONVOLUTIONS), sanitize=True, order="backward")


def test_sums_wrap_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As int32 does: the largest bytes over 80,000 channels."""
    graph = Graph()
    depth = 80_000
    graph.inputs["a"] = np.full((2, depth), 255, np.uint8)
    b = np.full((depth, 3), -128, np.int8)
    b[:, 1] = 127
    graph.add("MatMulInteger", ["a", graph.constant("b", b), graph.constant("z", np.array(255, np.uint8))], "y")
    graph.add("MatMulInteger", ["a", "b"], "plain")
    graph.expected["y"] = np.zeros((2, 3), np.int32)
    wide = graph.inputs["a"].astype(np.int64) @ b.astype(np.int64)
    assert np.abs(wide).max() > 2**31
    graph.expected["plain"] = wide.astype(np.int32)
    run(graph, tmp_path, monkeypatch, 2)


def test_matrix_products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With zero points that are constant, that a run gives, and one for each column."""
    random = np.random.default_rng(1)
    graph = Graph()
    shapes = [((5, 16), 1), ((7, 48), 33), ((2, 3, 64), 64), ((65, 80), 130), ((130, 128), 100), ((2, 1, 3, 272), 5)]
    for i, (dims, columns) in enumerate(shapes):
        dtype: Any = np.int8 if i % 2 else np.uint8
        a, b = integers(random, dtype, dims), integers(random, np.int8, (dims[-1], columns)) // 2
        zero, b_zero = integers(random, dtype, (1,)), integers(random, np.int8, (columns,)) // 4
        graph.inputs[f"a{i}"] = a
        names = [f"a{i}", graph.constant(f"b{i}", b)]
        if i % 3 == 0:
            graph.inputs[f"z{i}"] = zero
            names.append(f"z{i}")
        else:
            names.append(graph.constant(f"z{i}", zero))
        names.append(graph.constant(f"bz{i}", b_zero))
        graph.add("MatMulInteger", names, f"y{i}")
        wide = (a.astype(np.int64) - zero[0]) @ (b.astype(np.int64) - b_zero)
        graph.expected[f"y{i}"] = wide.astype(np.int32)
    run(graph, tmp_path, monkeypatch, len(shapes))


def quantized(value: Array, scale: float, zero: int) -> Array:
    return np.clip(np.rint(value / scale) + zero, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_quantised_network(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QDQ and QLinearConv: bytes in, bytes between and bytes out. Scales are powers of two, so that only quantising
    rounds."""
    random = np.random.default_rng(2)
    graph = Graph()
    x = integers(random, np.uint8, (2, 20, 4, 5, 6))
    graph.inputs["x"] = x
    scales = {"xs": 0.5, "hs": 64.0, "ys": 512.0, "zs": 1024.0}
    for name, scale in scales.items():
        graph.constant(name, np.array(scale, np.float32))
    for name, zero in {"xz": 120, "hz": 9, "yz": 0, "zz": 33}.items():
        graph.constant(name, np.array(zero, np.uint8))
    first = Conv(20, 40, (4, 5, 6), (3, 3, 3), (1,) * 6, batch=2)
    second = Conv(40, 17, (4, 5, 6), (1, 1, 1), batch=2)
    third = Conv(17, 64, (4, 5, 6), (3, 1, 3), (1, 0, 1, 1, 0, 1), batch=2)
    w1, w2, w3 = (integers(random, np.int8, (c.outputs, c.channels, *c.kernel)) for c in (first, second, third))
    w_scale = (2.0 ** random.integers(-4, 1, 40)).astype(np.float32)
    bias = random.integers(-99, 99, 40).astype(np.float32)
    graph.constant("w1", w1)
    graph.constant("w1s", w_scale)
    graph.add("DequantizeLinear", ["x", "xs", "xz"], "xf")
    graph.add("DequantizeLinear", ["w1", "w1s"], "w1f", axis=0)
    graph.add("Conv", ["xf", "w1f", graph.constant("b1", bias)], "h", pads=list(first.pads))
    graph.add("Relu", ["h"], "r")
    graph.add("QuantizeLinear", ["r", "hs", "hz"], "hq")
    graph.constant("w2s", np.array(0.25, np.float32))
    graph.add("DequantizeLinear", ["hq", "hs", "hz"], "hf")
    graph.add("DequantizeLinear", [graph.constant("w2", w2), "w2s"], "w2f")
    graph.add("Conv", ["hf", "w2f"], "c")
    graph.add("QuantizeLinear", ["c", "ys", "yz"], "yq")
    graph.constant("w3z", np.array(0, np.int8))
    names = ["yq", "ys", "yz", graph.constant("w3", w3), "w2s", "w3z", "zs", "zz"]
    graph.add("QLinearConv", names, "zq", pads=list(third.pads))

    def sums(value: Array, zero: int, weights: Array, case: Conv) -> Array:
        return convolution(value.astype(np.int64) - zero, weights.astype(np.int64), case).astype(np.float64)

    columns = (1, -1, 1, 1, 1)
    h = sums(x, 120, w1, first) * 0.5 * w_scale.reshape(columns) + bias.reshape(columns)
    hq = quantized(np.maximum(h, 0), 64, 9)
    yq = quantized(sums(hq, 9, w2, second) * 64 * 0.25, 512, 0)
    graph.expected["zq"] = quantized(sums(yq, 0, w3, third) * 512 * 0.25, 1024, 33)
    assert len(np.unique(hq)) > 50
    assert len(np.unique(yq)) > 50
    assert len(np.unique(graph.expected["zq"])) > 50
    text = run(graph, tmp_path, monkeypatch, 3, architecture=architecture)
    # Bytes go from one convolution to the next, without a step between.
    assert text.count("GemmArguments<uint8_t, int8_t, uint8_t>") >= 2, text
