"""The kernels of normalised lines on the simulator: lengths around what a wavefront and a block hold, one compile for
all sizes, every layout, half types, and results that must be exact."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from models.tensor_files import Array
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16, Compiled, Dims, before_reader, expect, model, read_in_blocks
from tests.ops.case import random
from tests.ops.table import TOLERANCES

pytestmark = pytest.mark.usefixtures("commands")

# The capacities of a wavefront and a block of threads end near these; 9001 is read in chunks.
LENGTHS = (1, 2, 3, 16, 17, 63, 64, 65, 255, 256, 257, 511, 513, 1000, 1024, 4096, 8192, 9001)


def softmax(x: Array, axis: int) -> Array:
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


def log_softmax(x: Array, axis: int) -> Array:
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)


def layer_normalized(x: Array, scale: Array, shift: Array) -> Array:
    wide = x.astype(np.float64)
    deviation = np.sqrt(wide.var(axis=-1, keepdims=True) + 1e-5)
    return ((wide - wide.mean(axis=-1, keepdims=True)) / deviation * scale + shift).astype(x.dtype)


def rms_normalized(x: Array, scale: Array) -> Array:
    wide = x.astype(np.float64)
    return (wide / np.sqrt((wide**2).mean(axis=-1, keepdims=True) + 1e-5) * scale).astype(x.dtype)


def group_normalized(x: Array, groups: int, scale: Array, shift: Array) -> Array:
    wide = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    deviation = np.sqrt(wide.var(axis=2, keepdims=True) + 1e-5)
    normal = ((wide - wide.mean(axis=2, keepdims=True)) / deviation).reshape(x.shape)
    shape = (-1,) + (1,) * (x.ndim - 2)
    return (normal * scale.reshape(shape) + shift.reshape(shape)).astype(x.dtype)


def parameters(length: int) -> tuple[Array, Array]:
    return random(length, seed=1), random(length, seed=2)


NODES: dict[str, Callable[[str, str], onnx.NodeProto]] = {
    "softmax": lambda x, y: helper.make_node("Softmax", [x], [y]),
    "log_softmax": lambda x, y: helper.make_node("LogSoftmax", [x], [y]),
}


@pytest.mark.parametrize("dtype", [np.float32, FLOAT16, BFLOAT16], ids=["float32", "float16", "bfloat16"])
def test_lengths_that_are_known(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = LENGTHS if dtype == np.float32 else LENGTHS[::3]
    nodes = []
    constants: dict[str, Array] = {}
    for n in lengths:
        scale, shift = parameters(n)
        constants |= {f"scale{n}": scale.astype(dtype), f"shift{n}": shift.astype(dtype)}
        nodes += [
            helper.make_node("Softmax", [f"x{n}"], [f"s{n}"]),
            helper.make_node("LogSoftmax", [f"x{n}"], [f"g{n}"]),
            helper.make_node("LayerNormalization", [f"x{n}", f"scale{n}", f"shift{n}"], [f"l{n}"]),
            helper.make_node("RMSNormalization", [f"x{n}", f"scale{n}"], [f"r{n}"]),
        ]
    lines = 5
    proto = model(nodes, {f"x{n}": (dtype, (lines, n)) for n in lengths}, constants)
    compiled = Compiled(proto, tmp_path, monkeypatch)
    inputs = {f"x{n}": (random(lines, n) * 3 + 1).astype(dtype) for n in lengths}
    results = compiled.run(**inputs)
    assert set(compiled.launches()) == {"kernel"}
    for n in lengths:
        x = inputs[f"x{n}"]
        scale, shift = (constants[f"{name}{n}"].astype(np.float64) for name in ("scale", "shift"))
        expect(results[f"s{n}"], softmax(x, -1))
        expect(results[f"g{n}"], log_softmax(x, -1))
        # Only its mean's rounding is left of a line of one element: 0 times a large factor.
        expect(results[f"l{n}"], layer_normalized(x, scale, shift))
        expect(results[f"r{n}"], rms_normalized(x, scale))


def test_one_compile_for_all_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        helper.make_node("Softmax", ["x"], ["s"]),
        helper.make_node("LogSoftmax", ["x"], ["g"]),
        helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["l"]),
        helper.make_node("RMSNormalization", ["x", "scale"], ["r"]),
    ]
    dims: Dims = ("A", "B", "C")
    types: dict[str, tuple[Any, Dims]] = {"x": (np.float32, dims), "scale": (np.float32, ("C",))}
    compiled = Compiled(model(nodes, types | {"shift": (np.float32, ("C",))}, {}), tmp_path, monkeypatch)
    for n in (*LENGTHS, 0, 20000):
        x = random(2, 3, n) * 3 + 1
        scale, shift = parameters(n)
        results = compiled.run(x=x, scale=scale, shift=shift)
        if n == 0:
            assert all(result.shape == (2, 3, 0) for result in results.values())
            continue
        expect(results["s"], softmax(x, -1))
        expect(results["g"], log_softmax(x, -1))
        expect(results["l"], layer_normalized(x, scale, shift))
        expect(results["r"], rms_normalized(x, scale))
    assert set(compiled.launches()) == {"kernel"}
    for shape in ((0, 3, 5), (2, 0, 5)):
        results = compiled.run(
            x=np.zeros(shape, np.float32), scale=np.ones(5, np.float32), shift=np.ones(5, np.float32)
        )
        assert all(result.shape == shape for result in results.values())


STRIDED = [
    (2, 1, 3),
    (1, 3, 300),
    (2, 16, 17),
    (3, 17, 16),
    (2, 33, 2),
    (1, 65, 64),
    (2, 100, 257),
    (2, 300, 5),
    (1, 700, 63),
]


def test_softmax_over_an_axis_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, inputs = [], {}
    for i, shape in enumerate(STRIDED):
        inputs[f"x{i}"] = random(*shape) * np.float32(3)
        nodes.append(helper.make_node("Softmax", [f"x{i}"], [f"y{i}"], axis=1))
    proto = model(nodes, {name: (np.float32, x.shape) for name, x in inputs.items()}, {})
    compiled = Compiled(proto, tmp_path, monkeypatch)
    for name, result in compiled.run(**inputs).items():
        expect(result, softmax(inputs["x" + name[1:]], 1))
    assert set(compiled.launches()) == {"kernel"}


@pytest.mark.parametrize("dtype", [np.float32, FLOAT16], ids=["float32", "float16"])
def test_softmax_over_any_axis_of_any_size(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [helper.make_node("Softmax", ["x"], [f"y{axis}"], axis=axis) for axis in range(3)]
    compiled = Compiled(model(nodes, {"x": (dtype, ("A", "B", "C"))}, {}), tmp_path, monkeypatch)
    for shape in ((1, 1, 1), (3, 5, 7), (65, 2, 64), (2, 65, 17), (600, 3, 2), (3, 1100, 3)):
        x = (random(*shape) * 3).astype(dtype)
        results = compiled.run(x=x)
        for axis in range(3):
            expect(results[f"y{axis}"], softmax(x, axis))
    assert set(compiled.launches()) == {"kernel"}


def test_lines_that_are_not_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyTorch: a line with NaN or +inf, or of only -inf, is NaN throughout; -inf gives 0. Also in chunks."""
    compiled = Compiled(model([NODES["softmax"]("x", "y")], {"x": (np.float32, ("A", "B"))}, {}), tmp_path, monkeypatch)
    for n in (3, 70, 3000, 20000):
        x = random(7, n)
        x[0, n // 2] = np.inf
        x[1, 0] = x[1, n - 1] = -np.inf
        x[2] = -np.inf
        x[3, n - 1] = np.nan
        x[4, : n - 1] = -np.inf
        x[5, 1:] = -np.inf
        expect(compiled.run(x=x)["y"], softmax(x, 1))


def test_exact_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of m - s and m + s, as many of each, are -1 and +1 when normalised without an epsilon; equal elements have
    equal shares. Scales and shifts are small integers."""
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["l"], epsilon=0.0),
        helper.make_node("RMSNormalization", ["signs", "scale"], ["r"], epsilon=0.0),
        helper.make_node("Softmax", ["masked"], ["s"]),
    ]
    types: dict[str, tuple[Any, Dims]] = {
        name: (np.float32, ("A", "C") if name in ("x", "signs", "masked") else ("C",))
        for name in ("x", "signs", "masked", "scale", "shift")
    }
    compiled = Compiled(model(nodes, types, {}), tmp_path, monkeypatch)
    generator = np.random.default_rng(0)
    for n in (2, 64, 66, 256, 1000, 4096, 20000):
        signs = np.stack([generator.permutation(np.repeat([-1, 1], n // 2)) for _ in range(3)]).astype(np.float32)
        scale = generator.integers(-4, 5, n).astype(np.float32)
        shift = generator.integers(-9, 10, n).astype(np.float32)
        masked = np.where(np.arange(n) % 2 == 0, -np.inf, 5).astype(np.float32) * np.ones((3, 1), np.float32)
        results = compiled.run(x=signs * 4 + 96, signs=signs * 4, masked=masked, scale=scale, shift=shift)
        np.testing.assert_array_equal(results["l"], signs * scale + shift)
        np.testing.assert_array_equal(results["r"], signs * scale)
        np.testing.assert_array_equal(results["s"], np.where(masked == 5, np.float32(2) / np.float32(n), np.float32(0)))


# Channels, groups, and volumes: each has tails in its blocks of channels, its groups or its chunks.
Instance = tuple[int, int, tuple[int, ...]]
INSTANCES: list[Instance] = [
    (20, 20, (1, 3, 21)),
    (16, 16, (1, 8, 8)),
    (33, 33, (2, 5, 13)),
    (20, 20, (3, 13, 14)),
    (32, 8, (2, 5, 7)),
    (48, 3, (1, 5, 13)),
    (32, 32, (5, 16, 17)),
    (12, 2, (2, 3, 5)),
    (32, 1, (2, 9, 8)),
    (40, 20, (7, 16, 18)),
]


def instance_model(cases: list[Instance], dtype: Any, is_blocked: bool, spatial: Dims | None = None) -> onnx.ModelProto:
    """A convolution leaves its output in blocks; here it changes nothing."""
    nodes = []
    inputs: dict[str, tuple[Any, Dims]] = {}
    constants: dict[str, Array] = {}
    for i, (channels, groups, size) in enumerate(cases):
        inputs[f"x{i}"] = (dtype, ("N", channels, *(spatial or size)))
        scale, shift = parameters(channels)
        constants |= {f"scale{i}": scale.astype(dtype), f"shift{i}": shift.astype(dtype)}
        if is_blocked:
            constants[f"w{i}"] = np.eye(channels, dtype=np.float32).reshape(channels, channels, 1, 1, 1).astype(dtype)
            nodes.append(helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"c{i}"]))
        operands = [f"c{i}" if is_blocked else f"x{i}", f"scale{i}", f"shift{i}"]
        if channels == groups:
            nodes.append(helper.make_node("InstanceNormalization", operands, [f"n{i}"]))
        else:
            nodes.append(helper.make_node("GroupNormalization", operands, [f"n{i}"], num_groups=groups))
        # The node that is fused with it reads another tensor at the same place.
        nodes += [
            helper.make_node("Add", [f"n{i}", operands[0]], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"y{i}"]),
        ]
    return model(nodes, inputs, constants)


@pytest.mark.parametrize("is_blocked", [True, False], ids=["blocks", "rows"])
@pytest.mark.parametrize("dtype", [np.float32, FLOAT16, BFLOAT16], ids=["float32", "float16", "bfloat16"])
def test_instances(dtype: Any, is_blocked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = INSTANCES if dtype == np.float32 else INSTANCES[::3]
    compiled = Compiled(instance_model(cases, dtype, is_blocked), tmp_path, monkeypatch)
    inputs = {f"x{i}": (random(2, c, *size) * 2 + 3).astype(dtype) for i, (c, _, size) in enumerate(cases)}
    results = compiled.run(**inputs)
    for i, (channels, groups, _) in enumerate(cases):
        x = inputs[f"x{i}"]
        scale, shift = (p.astype(dtype).astype(np.float64) for p in parameters(channels))
        expected = np.maximum(group_normalized(x.astype(np.float64), groups, scale, shift) + x.astype(np.float64), 0)
        # Each of the nodes' results is rounded to the type.
        expect(results[f"y{i}"], expected.astype(dtype), 2 * TOLERANCES[np.dtype(dtype)])


@pytest.mark.parametrize("is_blocked", [True, False], ids=["blocks", "rows"])
def test_instances_of_any_size(is_blocked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[Instance] = [(20, 20, ()), (32, 8, ()), (48, 2, ())]
    compiled = Compiled(instance_model(cases, np.float32, is_blocked, ("D", "H", "W")), tmp_path, monkeypatch)
    for batch, size in (
        (1, (1, 1, 2)),
        (2, (3, 4, 5)),
        (1, (1, 8, 64)),
        (3, (1, 19, 27)),
        (1, (6, 20, 21)),
        (1, (3, 0, 5)),
    ):
        inputs = {f"x{i}": random(batch, c, *size) * np.float32(2) + 3 for i, (c, _, _) in enumerate(cases)}
        results = compiled.run(**inputs)
        for i, (channels, groups, _) in enumerate(cases):
            x = inputs[f"x{i}"]
            if x.size == 0:
                assert results[f"y{i}"].shape == x.shape
                continue
            scale, shift = (p.astype(np.float64) for p in parameters(channels))
            expect(results[f"y{i}"], np.maximum(group_normalized(x, groups, scale, shift) + x, 0), 2e-5)


@pytest.mark.parametrize("is_blocked", [True, False], ids=["blocks", "rows"])
@pytest.mark.parametrize("axis", [1, 4], ids=["channels", "width"])
def test_instances_in_parts_of_a_concat(
    axis: int, is_blocked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored in place, lines of one kernel and lines in chunks; along the width no line lies together there."""
    nodes: list[onnx.NodeProto] = []
    inputs: dict[str, Array] = {}
    constants: dict[str, Array] = {}
    sizes = [(2, 3, 5), (9, 33, 35)]
    for i, size in enumerate(sizes):
        inputs[f"x{i}"] = random(2, 32, *size) * np.float32(2) + 3
        for part in range(2):
            scale, shift = random(32, seed=part), random(32, seed=part + 2)
            constants |= {f"scale{i}{part}": scale, f"shift{i}{part}": shift}
            nodes += [
                helper.make_node(
                    "InstanceNormalization",
                    [f"c{i}" if is_blocked else f"x{i}", f"scale{i}{part}", f"shift{i}{part}"],
                    [f"n{i}{part}"],
                ),
                helper.make_node("Relu", [f"n{i}{part}"], [f"r{i}{part}"]),
            ]
        joined = f"j{i}" if is_blocked else f"y{i}"
        nodes.append(helper.make_node("Concat", [f"r{i}0", f"r{i}1"], [joined], axis=axis))
        if is_blocked:  # between convolutions, which change nothing here
            for channels, source, result in ((32, f"x{i}", f"c{i}"), (64 if axis == 1 else 32, joined, f"y{i}")):
                constants[f"w{result}"] = np.eye(channels, dtype=np.float32).reshape(channels, channels, 1, 1, 1)
                conv = helper.make_node("Conv", [source, f"w{result}"], [result])
                nodes.insert(0 if source[0] == "x" else len(nodes), conv)
    proto = model(nodes, {name: (np.float32, x.shape) for name, x in inputs.items()}, constants)
    compiled = Compiled(proto, tmp_path, monkeypatch)
    results = compiled.run(**inputs)
    for i in range(len(sizes)):
        parts = [
            np.maximum(group_normalized(inputs[f"x{i}"], 32, constants[f"scale{i}{p}"], constants[f"shift{i}{p}"]), 0)
            for p in range(2)
        ]
        expect(results[f"y{i}"], np.concatenate(parts, axis=axis), 2e-5)
    # Nothing is copied: a kernel for each short line's part, two for each long one's, and the convolutions.
    kernels = compiled.launches()
    assert "nest" not in kernels, kernels
    assert len(kernels) == (10 if is_blocked else 6), kernels


def test_half_precision_keeps_its_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums and squares that pass float16's largest number, 65504, by far: the results do not."""
    volume = np.where(np.indices((4, 4, 4)).sum(axis=0) % 2 == 0, 512, -512).astype(FLOAT16)
    x = np.broadcast_to(volume, (1, 16, 4, 4, 4)).copy()
    one, zero = np.ones(16, FLOAT16), np.zeros(16, FLOAT16)
    lines = np.where(np.arange(3000) % 2 == 0, 60000, -60000).astype(FLOAT16).reshape(1, 3000)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("InstanceNormalization", ["c", "one", "zero"], ["i"]),
        helper.make_node("GroupNormalization", ["c", "one", "zero"], ["g"], num_groups=4),
        helper.make_node("LayerNormalization", ["lines", "many"], ["l"]),
        helper.make_node("RMSNormalization", ["lines", "many"], ["r"]),
        helper.make_node("Softmax", ["lines"], ["s"]),
    ]
    weights = np.eye(16, dtype=FLOAT16).reshape(16, 16, 1, 1, 1)
    constants = {"w": weights, "one": one, "zero": zero, "many": np.ones(3000, FLOAT16)}
    types = {"x": (FLOAT16, x.shape), "lines": (FLOAT16, lines.shape)}
    results = Compiled(model(nodes, types, constants), tmp_path, monkeypatch).run(x=x, lines=lines)
    np.testing.assert_array_equal(results["i"], np.sign(x))
    np.testing.assert_array_equal(results["g"], np.sign(x))
    np.testing.assert_array_equal(results["l"], np.sign(lines))
    np.testing.assert_array_equal(results["r"], np.sign(lines))
    np.testing.assert_array_equal(results["s"], softmax(lines, 1))


def test_a_large_mean_costs_no_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against float64 of the same float32 input; in one kernel, in chunks of a block, and in chunks of many blocks."""
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale"], ["y"]),
        helper.make_node("InstanceNormalization", ["v", "one", "zero"], ["z"]),
    ]
    types: dict[str, tuple[Any, Dims]] = {
        "x": (np.float32, ("A", "C")),
        "scale": (np.float32, ("C",)),
        "v": (np.float32, ("A", 1, 40, 50, 60)),
    }
    constants = {"one": np.ones(1, np.float32), "zero": np.zeros(1, np.float32)}
    compiled = Compiled(model(nodes, types, constants), tmp_path, monkeypatch)
    v = random(2, 1, 40, 50, 60) + np.float32(1000)
    for n in (100, 5000, 30000):
        x = random(2, n) + np.float32(1000)
        ones = np.ones(n, np.float32)
        results = compiled.run(x=x, scale=ones, v=v)
        expect(results["y"], layer_normalized(x, ones.astype(np.float64), np.zeros(n)))
        expect(results["z"], group_normalized(v, 1, np.ones(1), np.zeros(1)))
    assert "fourth" in compiled.launches()


def test_a_run_finds_whether_parts_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sizes that only it knows: 16 channels have common statistics, of a part for each 512 voxels."""
    scale, shift = parameters(16)
    nodes = [
        helper.make_node("Conv", ["x", "same"], ["c"]),  # which gives channels in blocks
        helper.make_node("GroupNormalization", ["c", "scale", "shift"], ["n"], num_groups=1),
    ]
    reader, middle = read_in_blocks("n", 16, 3, np.float32)
    nodes.append(reader)
    dims: Dims = ("A", 16, "D", 32, 32)
    constants = {
        "middle": middle,
        "same": np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1, 1),
        "scale": scale,
        "shift": shift,
    }
    compiled = Compiled(model(nodes, {"x": (np.float32, dims)}, constants), tmp_path, monkeypatch)
    for images, depth, is_folded in ((1, 2, False), (1, 43, True), (2, 5, False), (1, 0, False)):
        x = random(images, 16, depth, 32, 32, seed=depth)
        before = len(compiled.launches())
        result = compiled.run(x=x)["y"]
        if depth > 0:
            expect(result, group_normalized(x, 1, scale, shift))
        launched = compiled.launches()[before:]
        expected = ["kernel", "kernel", *(["second", "third"] if is_folded else ["fourth"])]
        assert before_reader(launched, len(expected)) == expected if depth > 0 else not launched
