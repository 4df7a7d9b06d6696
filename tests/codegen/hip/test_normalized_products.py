"""Convolutions whose result is normalised, on the simulator: two launches. The second adds the parts of those in parts,
and if a block does not hold a channel's voxels there is a third; for the others the first has the statistics of each
tile. If these are many, one launch more folds them.

The kernels have channels in blocks, in which a convolution reads the result."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16, Compiled, before_reader, expect, model, read_in_blocks
from tests.codegen.hip.test_lines import group_normalized, parameters
from tests.ops.case import random
from tests.ops.network import convolution_reference
from tests.ops.table import TOLERANCES

pytestmark = pytest.mark.usefixtures("commands")


@dataclass(frozen=True)
class Problem:
    """A convolution, and the groups of channels that are normalised together."""

    input: tuple[int, ...]
    weights: tuple[int, ...]
    groups: int
    op_type: str = "Conv"
    attributes: dict[str, Any] = field(default_factory=dict)
    dtype: Any = np.float32

    @property
    def channels(self) -> int:
        return self.weights[0] if self.op_type == "Conv" else self.weights[1]


# In parts: rows of one voxel, of fewer and more than a block has threads for, of a whole number for each and of one
# more, and what a block holds at most. Channels with tails in their blocks; groups within a block of channels.
IN_PARTS = {
    "one voxel": Problem((2, 96, 3, 3, 3), (40, 96, 3, 3, 3), 10),
    "some voxels": Problem((1, 64, 2, 3, 2), (40, 64, 3, 3, 3), 40, attributes={"pads": [1] * 6}),
    "17 voxels": Problem((3, 128, 17), (20, 128, 3), 20, attributes={"pads": [1, 1]}),
    "plane": Problem((1, 48, 9, 11), (33, 48, 3, 3), 33, attributes={"pads": [1] * 4}),
    "512 voxels": Problem((1, 32, 8, 8, 8), (16, 32, 3, 3, 3), 16, attributes={"pads": [1] * 6}),
    "transposed": Problem((1, 1280, 2, 3, 2), (1280, 24, 2, 2, 2), 24, "ConvTranspose", {"strides": [2] * 3}),
    "groups": Problem((1, 96, 5, 7), (64, 48, 3, 3), 8, attributes={"group": 2, "pads": [1] * 4}),
    "float16": Problem((2, 128, 4, 4, 4), (40, 128, 3, 3, 3), 40, attributes={"pads": [1] * 6}, dtype=FLOAT16),
    "bfloat16": Problem((1, 128, 3, 5, 4), (32, 128, 3, 3, 3), 8, attributes={"pads": [1] * 6}, dtype=BFLOAT16),
}
# With more voxels than a block holds, a multiple of a chunk's: channels with tails in their blocks and in the tile's
# columns, groups within a block of channels and across two.
IN_CHUNKS = {
    "volume": Problem((1, 16, 8, 16, 16), (32, 16, 1, 1, 1), 32),
    "images": Problem((2, 20, 5, 8, 16), (20, 20, 1, 1, 1), 20),
    "stem": Problem((1, 3, 8, 12, 16), (24, 3, 3, 3, 3), 24, attributes={"pads": [1] * 6}),
    "plane": Problem((1, 8, 48, 32), (70, 8, 3, 3), 70, attributes={"pads": [1] * 4, "strides": [1, 1]}),
    "line": Problem((3, 33, 1281), (16, 33, 2), 16),
    "pairs of channels": Problem((1, 16, 6, 16, 16), (40, 16, 1, 1, 1), 20),
    "groups across blocks": Problem((1, 16, 6, 16, 16), (48, 16, 1, 1, 1), 2),
    "float16": Problem((2, 32, 8, 16, 24), (40, 32, 1, 1, 1), 40, dtype=FLOAT16),
    "bfloat16": Problem((1, 16, 6, 16, 16), (72, 16, 1, 1, 1), 72, dtype=BFLOAT16),
}
# Both: a launch more.
IN_PARTS_AND_CHUNKS = {
    "volume": Problem((1, 64, 12, 8, 8), (20, 64, 3, 3, 3), 20, attributes={"pads": [1] * 6}),
    "images": Problem((2, 64, 32, 28), (33, 64, 3, 3), 33, attributes={"pads": [1] * 4}),
    "transposed": Problem((1, 1280, 8, 3, 4), (1280, 24, 2, 2, 2), 24, "ConvTranspose", {"strides": [2] * 3}),
    "groups across blocks": Problem((1, 96, 28, 32), (48, 48, 3, 3), 2, attributes={"group": 2, "pads": [1] * 4}),
    "float16": Problem((1, 128, 5, 16, 16), (40, 128, 3, 3, 3), 40, attributes={"pads": [1] * 6}, dtype=FLOAT16),
    "bfloat16": Problem((1, 128, 24, 32), (32, 128, 3, 3), 8, attributes={"pads": [1] * 4}, dtype=BFLOAT16),
}
# Statistics of 2,048 parts, shared by 16 channels: in chunks, and in parts and chunks.
FOLDED = {
    "volume": Problem((1, 16, 16, 32, 32), (16, 16, 1, 1, 1), 1),
    "images": Problem((2, 16, 128, 128), (32, 16, 1, 1), 2),
    "float16": Problem((1, 16, 128, 128), (16, 16, 1, 1), 1, dtype=FLOAT16),
}
FOLDED_IN_PARTS = {"plane": Problem((1, 64, 128, 128), (16, 64, 3, 3), 1, attributes={"pads": [1] * 4})}
LAUNCHES = {
    "in parts": 2,
    "in chunks": 2,
    "in parts and chunks": 3,
    "folded in chunks": 3,
    "folded in parts and chunks": 4,
}
PROBLEMS = {
    f"{name}, {form}": problem
    for form, problems in (
        ("in parts", IN_PARTS),
        ("in chunks", IN_CHUNKS),
        ("in parts and chunks", IN_PARTS_AND_CHUNKS),
        ("folded in chunks", FOLDED),
        ("folded in parts and chunks", FOLDED_IN_PARTS),
    )
    for name, problem in problems.items()
}


def compiled_problem(
    problem: Problem, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Compiled, Array, dict[str, Array]]:
    """The convolution with what is fused with it, the normalisation with what is fused with that."""
    x = random(*problem.input).astype(problem.dtype)
    scale, shift = parameters(problem.channels)
    constants = {
        "w": random(*problem.weights, seed=1).astype(problem.dtype),
        "bias": random(problem.channels, seed=2).astype(problem.dtype),
        "scale": scale.astype(problem.dtype),
        "shift": shift.astype(problem.dtype),
    }
    normalization = (
        helper.make_node("InstanceNormalization", ["a", "scale", "shift"], ["n"])
        if problem.groups == problem.channels
        else helper.make_node("GroupNormalization", ["a", "scale", "shift"], ["n"], num_groups=problem.groups)
    )
    nodes = [
        helper.make_node(problem.op_type, ["x", "w", "bias"], ["c"], **problem.attributes),
        helper.make_node("Abs", ["c"], ["a"]),
        normalization,
        helper.make_node("LeakyRelu", ["n"], ["r"], alpha=0.25),
    ]
    reader, constants["middle"] = read_in_blocks("r", problem.channels, len(problem.weights) - 2, problem.dtype)
    nodes.append(reader)
    return Compiled(model(nodes, {"x": (problem.dtype, x.shape)}, constants), folder, monkeypatch), x, constants


@pytest.mark.parametrize("name", PROBLEMS)
def test_as_one_after_the_other(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS[name]
    compiled, x, constants = compiled_problem(problem, tmp_path, monkeypatch)
    [y] = compiled.run(x=x).values()
    wide = {key: value.astype(np.float64) for key, value in constants.items()}
    convolved = (convolution_reference.conv if problem.op_type == "Conv" else convolution_reference.conv_transpose)(
        x.astype(np.float64), wide["w"], wide["bias"], **problem.attributes
    )
    normalized = group_normalized(np.abs(convolved), problem.groups, wide["scale"], wide["shift"])
    expected = np.where(normalized < 0, 0.25 * normalized, normalized).astype(problem.dtype)
    # In chunks what is normalised was rounded to 16 bits, in parts never.
    roundings = 2 if name.endswith("chunks") else 1
    expect(y, expected, 2e-5 if problem.dtype == np.float32 else roundings * TOLERANCES[np.dtype(problem.dtype)])
    count = LAUNCHES[name.split(", ")[1]]
    assert before_reader(compiled.launches(), count) == ["kernel", "second", "third", "fourth"][:count]


@pytest.mark.parametrize(
    ("size", "taps"), [((4, 4, 4), 3), ((8, 16, 8), 1), ((8, 16, 8), 3)], ids=["parts", "chunks", "both"]
)
def test_into_a_part_of_a_concat(
    size: tuple[int, ...], taps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pads = [taps // 2] * 6
    x, w = random(1, 48, *size), random(32, 48, taps, taps, taps, seed=1)
    scale, shift = parameters(32)
    nodes = [
        helper.make_node("Conv", ["x", "same"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["c"], pads=pads),
        helper.make_node("InstanceNormalization", ["c", "scale", "shift"], ["n"]),
        helper.make_node("Concat", ["b", "n"], ["j"], axis=1),
        helper.make_node("Conv", ["j", "last"], ["y"]),
    ]
    same, last = (np.eye(count, dtype=np.float32).reshape(count, count, 1, 1, 1) for count in (48, 80))
    constants = {"w": w, "scale": scale, "shift": shift, "last": last, "same": same}
    compiled = Compiled(model(nodes, {"x": (np.float32, x.shape)}, constants), tmp_path, monkeypatch)
    convolved = convolution_reference.conv(x, w, pads=pads)
    expected = np.concatenate([x, group_normalized(convolved, 32, scale, shift)], axis=1)
    expect(compiled.run(x=x)["y"], expected.astype(np.float32), 2e-5)
    assert compiled.launches().count("second") == 1


def test_a_large_mean_costs_no_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around 1000, with a deviation of 1: sums of squares would lose all digits of it."""
    for i, (taps, size) in enumerate([(3, (4, 4, 4)), (1, (6, 16, 16)), (3, (6, 16, 16))]):
        x = random(1, 64, *size)
        w = np.zeros((32, 64, taps, taps, taps), np.float32)
        w[np.arange(32), np.arange(32), taps // 2, taps // 2, taps // 2] = 1
        bias, (scale, shift) = np.full(32, 1000, np.float32), parameters(32)
        nodes = [
            helper.make_node("Conv", ["x", "w", "bias"], ["c"], pads=[taps // 2] * 6),
            helper.make_node("InstanceNormalization", ["c", "scale", "shift"], ["n"]),
        ]
        reader, middle = read_in_blocks("n", 32, 3, np.float32)
        nodes.append(reader)
        folder = tmp_path / str(i)
        folder.mkdir()
        constants = {"w": w, "bias": bias, "scale": scale, "shift": shift, "middle": middle}
        compiled = Compiled(model(nodes, {"x": (np.float32, x.shape)}, constants), folder, monkeypatch)
        [y] = compiled.run(x=x).values()
        # The sum with the bias loses half a unit of 1000, 2^-15, of a deviation of 1.
        shifted = (x[:, :32] + np.float32(1000)).astype(np.float64)
        expect(y, group_normalized(shifted, 32, scale, shift).astype(np.float32), 2e-5)
        count = 3 if i == 2 else 2
        assert before_reader(compiled.launches(), count) == ["kernel", "second", "third"][:count]


def test_folding_costs_no_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around 1000 with a deviation of 1, but for a first tile of zeros."""
    x = random(1, 16, 128, 128) + np.float32(1000)
    x[:, :, :1] = 0
    scale, shift = parameters(16)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GroupNormalization", ["c", "scale", "shift"], ["n"], num_groups=1),
    ]
    reader, middle = read_in_blocks("n", 16, 2, np.float32)
    nodes.append(reader)
    same = np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1)
    constants = {"w": same, "scale": scale, "shift": shift, "middle": middle}
    compiled = Compiled(model(nodes, {"x": (np.float32, x.shape)}, constants), tmp_path, monkeypatch)
    expect(compiled.run(x=x)["y"], group_normalized(x, 1, scale, shift), 2e-5)
    assert before_reader(compiled.launches(), 3) == ["kernel", "second", "third"]


def test_the_estimate_counts_what_every_block_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 blocks each read the statistics of 64 tiles of their channels: of one, or of 16 with common ones."""
    figures = []
    for groups in (16, 1):
        compiled, _, _ = compiled_problem(Problem((1, 16, 8, 32, 32), (16, 16, 1, 1, 1), groups), tmp_path, monkeypatch)
        command = [str(onnxc_commands.BINARIES / "onnxc"), str(tmp_path / "model.onnx"), "--target", "hip"]
        done = onnxc_commands.execute([*command, "-o", str(compiled.file), "--report", "--json"])
        kernels = {kernel["name"]: kernel for kernel in json.loads(done.stdout)["gpu"]["kernels"]}
        figures.append(next(kernel["modelled_us"] for name, kernel in kernels.items() if name.startswith("second")))
    # 15 rows more of 64 parts, three values each, at 64 bytes of a line's 128 a cycle.
    assert figures[1] - figures[0] == pytest.approx(15 * 64 * 3 * 2 / 2100, rel=1e-3)


def test_lines_that_are_no_whole_chunks_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem((1, 16, 7, 16, 18), (32, 16, 1, 1, 1), 32)
    compiled, x, constants = compiled_problem(problem, tmp_path, monkeypatch)
    convolved = np.abs(convolution_reference.conv(x, constants["w"], constants["bias"]))
    normalized = group_normalized(convolved, 32, constants["scale"], constants["shift"])
    expect(compiled.run(x=x)["y"], np.where(normalized < 0, np.float32(0.25) * normalized, normalized), 2e-5)
    assert before_reader(compiled.launches(), 3) == ["kernel", "kernel", "second"]


def test_a_result_that_others_read_stays_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = random(1, 64, 4, 4, 4), random(32, 64, 3, 3, 3, seed=1)
    scale, shift = parameters(32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 6),
        helper.make_node("InstanceNormalization", ["c", "scale", "shift"], ["n"]),
        helper.make_node("Add", ["c", "n"], ["y"]),
    ]
    proto = model(nodes, {"x": (np.float32, x.shape)}, {"w": w, "scale": scale, "shift": shift})
    compiled = Compiled(proto, tmp_path, monkeypatch)
    convolved = convolution_reference.conv(x, w, pads=[1] * 6)
    expect(compiled.run(x=x)["y"], convolved + group_normalized(convolved, 32, scale, shift), 2e-5)
    assert [name for name in compiled.launches() if name != "nest"] == ["kernel", "second", "kernel"]


def test_a_result_wanted_in_rows_is_normalised_in_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two launches; in blocks there would be a third, of a nest."""
    x, w = random(1, 16, 8, 16, 16), random(32, 16, 1, 1, 1, seed=1)
    scale, shift = parameters(32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("InstanceNormalization", ["c", "scale", "shift"], ["n"]),
        helper.make_node("LeakyRelu", ["n"], ["y"], alpha=0.25),
    ]
    proto = model(nodes, {"x": (np.float32, x.shape)}, {"w": w, "scale": scale, "shift": shift})
    compiled = Compiled(proto, tmp_path, monkeypatch)
    normalized = group_normalized(convolution_reference.conv(x, w), 32, scale, shift)
    expect(compiled.run(x=x)["y"], np.where(normalized < 0, np.float32(0.25) * normalized, normalized), 2e-5)
    assert compiled.launches() == ["kernel", "kernel"]
