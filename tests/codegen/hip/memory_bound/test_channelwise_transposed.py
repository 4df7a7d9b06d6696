"""Transposed convolutions of groups of few channels on the simulator, in each form and type of the channelwise kernel.
Cases are sizes around each edge of its tiles, kernels, strides that exceed them or share a divisor with dilations, pads
(also negative) and output padding of rank 1 to 3, all sizes with one compile.

A thread has about eight outputs, whole strides, along the height; along the width if the stride along the height is
large or there is no height. A block of threads has 256 places of one channel in a planar tensor, and 16 of 16 channels
in blocks of channels.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from models.tensor_files import Array
from tests import onnxc_commands
from tests.codegen.hip.any_size import compile_for_any_size, run
from tests.codegen.hip.memory_bound.test_channelwise import DTYPES, FORMS, ROUNDING, compile_as_it_is, plans, surrounded
from tests.models import code_object, test_gpu, test_nvidia_gate
from tests.ops.case import Case, NodeText, build_model, graph_case, random, small_integers
from tests.ops.network import convolution_reference

pytestmark = pytest.mark.usefixtures("commands")


@dataclass(frozen=True)
class Filter:
    """Weights [channels, outputs of a group, taps...]; a group's channels are 1 if none are given."""

    weights: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    output_padding: tuple[int, ...] = ()
    group_channels: int = 1

    @property
    def channels(self) -> int:
        return self.weights[0]

    @property
    def attributes(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in ("strides", "dilations", "pads", "output_padding")}
        attributes = {name: list(value) for name, value in given.items() if value}
        return {"group": self.channels // self.group_channels, **attributes}


FILTERS = {
    1: [
        Filter((17, 1, 2), (2,)),
        Filter((16, 1, 12), (2,), pads=(5, 5)),
        Filter((15, 3, 5), (3,), pads=(1, 2), output_padding=(2,)),
        Filter((33, 1, 3), (1,), dilations=(5,), pads=(-2, 3)),
        Filter((24, 2, 4), (4,), dilations=(6,), pads=(1, 0), group_channels=3),
        Filter((16, 1, 16), (16,), pads=(3, 4)),
    ],
    2: [
        Filter((17, 1, 2, 2), (2, 2)),
        Filter((16, 1, 4, 4), (2, 2), pads=(1, 1, 1, 1)),
        Filter((31, 1, 1, 3), (1, 2), pads=(0, 1, 0, 1), output_padding=(0, 1)),
        Filter((16, 2, 3, 5), (5, 3), dilations=(2, 3), pads=(1, 2, 0, 3)),
        Filter((20, 5, 3, 2), (2, 3), dilations=(4, 6), output_padding=(1, 2), group_channels=4),
        Filter((16, 1, 2, 3), (17, 2), pads=(1, -1, 2, 0), output_padding=(3, 0)),
        Filter((32, 11, 3, 3), (1, 1), pads=(1, 1, 1, 1), group_channels=16),
    ],
    3: [
        Filter((17, 1, 2, 2, 2), (2, 2, 2)),
        Filter((16, 1, 4, 4, 4), (2, 2, 2), pads=(1,) * 6),
        Filter((15, 1, 1, 1, 2), (1, 1, 2)),
        Filter((16, 1, 3, 3, 3), (2, 2, 2), pads=(1, 2, -1, 0, 1, 2), output_padding=(1, 0, 1)),
        Filter((16, 2, 2, 3, 2), (3, 2, 1), dilations=(1, 3, 2), pads=(0, 1, 1, 0, 2, 0)),
        Filter((12, 3, 3, 2, 1), (2, 4, 3), dilations=(2, 2, 1), pads=(1, 0, 0, 0, 1, 0), group_channels=2),
    ],
}

# Inputs and batches: of a thread's outputs one, all, and one more; of a block's 16 and 256 places all, and one more.
INPUTS: dict[int, list[tuple[int, tuple[int, ...]]]] = {
    1: [(1, (3,)), (2, (4,)), (3, (5,)), (1, (64,)), (2, (65,)), (1, (1024,)), (1, (1025,))],
    2: [(1, (3, 3)), (2, (3, 5)), (1, (4, 8)), (3, (5, 4)), (1, (4, 9)), (1, (9, 26)), (1, (16, 33))],
    3: [(1, (3, 3, 3)), (2, (4, 3, 5)), (1, (3, 4, 8)), (1, (4, 5, 8)), (1, (3, 9, 11))],
}


def make_case(form: str, one: Filter, x: Array, w: Array) -> Case:
    return surrounded(form, "ConvTranspose", one.attributes, w.shape[1] * one.attributes["group"], x, w)


def integer_case(form: str, one: Filter, batch: int, size: tuple[int, ...], dtype: Any = np.float32) -> Case:
    x = small_integers(batch, one.channels, *size, dtype=dtype)
    return make_case(form, one, x, small_integers(*one.weights, dtype=dtype, seed=1))


@pytest.mark.parametrize("rank", FILTERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "dtype", [pytest.param(name, marks=[] if name == "float32" else [pytest.mark.slow]) for name in DTYPES]
)
def test_sizes_around_the_edges_of_tiles(dtype: str, form: str, rank: int, tmp_path: Path) -> None:
    """Integers are exact in each type, with one rounding at the end."""
    runs = [[integer_case(form, one, *sizes, DTYPES[dtype]) for one in FILTERS[rank]] for sizes in INPUTS[rank]]
    shared_object = compile_for_any_size(runs[0], tmp_path)
    assert plans(tmp_path) == [FORMS[form]] * len(FILTERS[rank])
    for cases in runs:
        for one, filter_, result in zip(cases, FILTERS[rank], run(shared_object, cases, tmp_path), strict=True):
            assert one.expected is not None
            np.testing.assert_array_equal(result, one.expected[0], f"{filter_} of {one.inputs['x'].shape}")


@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=[] if form == "planar" else [pytest.mark.slow]) for form in FORMS]
)
def test_impulses_write_the_weights(form: str, tmp_path: Path) -> None:
    cases = []
    for filters in FILTERS.values():
        for one in filters:
            rank = len(one.strides)
            x = np.zeros((1, one.channels, *[4] * rank), np.float32)
            x.reshape(one.channels, -1)[:, np.ravel_multi_index([2] * rank, [4] * rank)] = 1
            w = np.arange(1, np.prod(one.weights) + 1, dtype=np.float32).reshape(one.weights)
            cases.append(make_case(form, one, x, w))
    results = run(compile_for_any_size(cases, tmp_path), cases, tmp_path)
    for case_, result in zip(cases, results, strict=True):
        assert case_.expected is not None
        np.testing.assert_array_equal(result, case_.expected[0])


def test_sizes_that_the_compile_knows(tmp_path: Path) -> None:
    """A height of 1 is known then: threads lie along the width."""
    one = Filter((16, 1, 1, 3), (1, 2), pads=(0, 1, 0, 0))
    for size in ((1, 1), (1, 9), (5, 7)):
        model = integer_case("planar", one, 2, size)
        [result] = run(compile_as_it_is(model, tmp_path), [model], tmp_path)
        assert plans(tmp_path) == [FORMS["planar"]]
        text = (tmp_path / "source.device.hip").read_text()
        assert re.findall(r"ChannelwisePlan\{.*?, (\w+), (\w+)\}>", text) == [("true", str(size[0] > 1).lower())]
        assert model.expected is not None
        np.testing.assert_array_equal(result, model.expected[0])


def test_large_strides_stay_loops(tmp_path: Path) -> None:
    """A thread would have more than 16 outputs along either axis."""
    model = integer_case("planar", Filter((3, 1, 2, 2), (17, 17)), 1, (2, 3))
    [result] = run(compile_as_it_is(model, tmp_path), [model], tmp_path)
    assert plans(tmp_path) == []
    assert model.expected is not None
    np.testing.assert_array_equal(result, model.expected[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_values_within_what_rounding_explains(dtype: str, tmp_path: Path) -> None:
    """Each of a chain's sums rounds once, in float32; the result once more, in its own type. PyTorch is the oracle."""
    filters = [FILTERS[1][1], FILTERS[2][1], FILTERS[2][4], FILTERS[3][4]]
    cases = []
    for one in filters:
        shape = (2, one.channels, *[6] * len(one.strides))
        weights = random(*one.weights, dtype=DTYPES[dtype], seed=1)
        cases.append(make_case("planar", one, random(*shape, dtype=DTYPES[dtype]), weights))
    results = run(compile_for_any_size(cases, tmp_path), cases, tmp_path)
    for filter_, case_, result in zip(filters, cases, results, strict=True):
        x, w, bias = (
            torch.from_numpy(np.asarray(array).astype(np.float64))
            for array in (case_.inputs["x"], case_.constants["w"], case_.constants["bias"])
        )
        exact, magnitude = pytorch(filter_, x, w, bias), pytorch(filter_, x.abs(), w.abs(), bias.abs())
        chain = np.prod(filter_.weights[2:]) * filter_.group_channels + 1
        bound = chain * 2.0**-24 * magnitude + ROUNDING[dtype] * abs(exact) * 1.01
        assert (abs(result.astype(np.float64) - exact) <= bound).all(), filter_


def pytorch(one: Filter, x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> Array:
    """Without pads, which PyTorch has the same on both sides: output padding is added, then they are cut off."""
    rank = len(one.strides)
    function = {1: torch.conv_transpose1d, 2: torch.conv_transpose2d, 3: torch.conv_transpose3d}[rank]
    groups = one.channels // one.group_channels
    full = function(x, w, None, stride=one.strides, groups=groups, dilation=one.dilations or 1)
    pads, more = one.pads or (0,) * 2 * rank, one.output_padding or (0,) * rank
    around = [(-pads[axis], more[axis] - pads[rank + axis]) for axis in reversed(range(rank))]
    padded = torch.nn.functional.pad(full, [value for pair in around for value in pair])
    return (padded + bias.reshape(-1, *[1] * rank)).numpy()


@pytest.mark.parametrize("form", FORMS)
def test_nothing_but_padding(form: str, tmp_path: Path) -> None:
    """An axis of the input without elements, whose output is padding: it is the bias."""
    one = Filter((17, 1, 2, 3), (2, 2), pads=(0, -1, 0, -1))
    cases = [integer_case(form, one, 2, size) for size in ((3, 4), (1, 1), (3, 0), (2, 1))]
    shared_object = compile_for_any_size(cases[:1], tmp_path)
    for each in cases:
        assert each.expected is not None
        np.testing.assert_array_equal(run(shared_object, [each], tmp_path)[0], each.expected[0])


def test_not_finite_values_stay_in_their_channel(tmp_path: Path) -> None:
    """Inputs that an output does not read count as zero, whatever is read instead, and no channel reads another."""
    one = Filter((17, 1, 3, 3), (2, 2), pads=(1, 1, 1, 1))
    x, w = small_integers(1, 17, 5, 6), abs(small_integers(17, 1, 3, 3, seed=1)) + 1
    x[0, 3], x[0, 16, 0] = np.nan, np.inf
    model = make_case("planar", one, x, w)
    [result] = run(compile_as_it_is(model, tmp_path), [model], tmp_path)
    assert plans(tmp_path) == [FORMS["planar"]]
    assert model.expected is not None
    np.testing.assert_array_equal(result, model.expected[0])
    assert np.isnan(result[0, 3]).all()
    assert np.isfinite(result[0, 16, 2:]).all()


@pytest.mark.parametrize("form", ["planar", "blocked to planar"])
def test_epilogues(form: str, tmp_path: Path) -> None:
    """The kernel computes an activation that follows, and the sum with another tensor."""
    one = Filter((17, 1, 2, 2), (2, 2))
    plain = integer_case(form, one, 2, (4, 5))
    assert plain.expected is not None
    [y] = plain.expected
    other = small_integers(*y.shape, seed=5)
    before: list[NodeText] = [] if form == "planar" else [("Conv", "x before", "a")]
    nodes: list[NodeText] = [
        *before,
        ("ConvTranspose", f"{'a' if before else 'x'} w bias", "c", one.attributes),
        ("Relu", "c", "r"),
        ("Add", "r other", "y"),
    ]
    inputs = {**plain.inputs, "other": other}
    fused = graph_case("epilogue", nodes, inputs, plain.constants, expected=(np.maximum(y, 0) + other,))
    [result] = run(compile_as_it_is(fused, tmp_path), [fused], tmp_path)
    assert plans(tmp_path) == [FORMS[form]]
    assert "void nest" not in (tmp_path / "source.device.hip").read_text()
    assert fused.expected is not None
    np.testing.assert_array_equal(result, fused.expected[0])


@pytest.mark.parametrize("form", ["planar", pytest.param("blocked to planar", marks=pytest.mark.slow)])
def test_blocks_that_go_round_several_times(form: str, tmp_path: Path) -> None:
    """With many blocks each goes round over several tiles, and the last one is ragged."""
    channels, width = (2500, 1102) if form == "planar" else (320, 16003)
    one = Filter((channels, 1, 2), (2,), pads=(1, 0))
    x, w = small_integers(1, channels, width), small_integers(channels, 1, 2, seed=1)
    model = make_case("planar", one, x, w)
    if form != "planar":
        spread = np.ones((channels, 1, 1), np.float32)
        y = convolution_reference.conv_transpose(
            np.repeat(x[:, :1], channels, 1), w, model.constants["bias"], **one.attributes
        )
        nodes: list[NodeText] = [("Conv", "x spread", "a"), ("ConvTranspose", "a w bias", "y", one.attributes)]
        model = graph_case("spread", nodes, {"x": x[:, :1]}, {**model.constants, "spread": spread}, expected=(y,))
    [result] = run(compile_as_it_is(model, tmp_path), [model], tmp_path)
    assert plans(tmp_path) == [FORMS[form]]
    assert model.expected is not None
    np.testing.assert_array_equal(result, model.expected[0])


# The type, and one in so many of the filters.
GATED = [
    pytest.param("float32", 3, id="one in three of float32"),
    *(pytest.param(name, 1, id=name, marks=pytest.mark.slow) for name in DTYPES),
]


def gate_model(folder: Path, dtype: Any, interval: int) -> Path:
    """Each form of the filters."""
    cases = [
        integer_case(form, one, 1, (5,) * rank, dtype)
        for rank, filters in FILTERS.items()
        for one in filters[::interval]
        for form in FORMS
    ]
    onnx.save(
        build_model(cases, {one: one.expected for one in cases if one.expected is not None}), folder / "model.onnx"
    )
    return folder / "model.onnx"


@pytest.mark.parametrize(("dtype", "interval"), GATED)
def test_gate_on_amd(dtype: str, interval: int, tmp_path: Path) -> None:
    """No spills, as much LDS and as many wavefronts as planned."""
    model, gpu = gate_model(tmp_path, DTYPES[dtype], interval), ("--target", "hip", "--march", "x86-64-v3")
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", *gpu)
    onnxc_commands.compile_model(model, tmp_path / "model.cpp", *gpu, "--emit", "source")
    text = (tmp_path / "model.cpp.device.hip").read_text()
    names, counted_on = test_gpu.channelwise(text), test_gpu.planned(text)
    kernels = {
        kernel.name: kernel
        for kernel in code_object.kernels(code_object.extract(shared_object, tmp_path / "kernels.co"))
    }
    assert len(names) >= len(FORMS)
    problems = []
    for name in sorted(names):
        problems += test_gpu.faults(kernels[name]) + test_gpu.planning_faults(kernels[name], counted_on[name])
    assert not problems


@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_90a", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("dtype", "interval"), GATED)
def test_gate_on_nvidia(dtype: str, interval: int, architecture: str, tmp_path: Path) -> None:
    test_nvidia_gate.check_model(gate_model(tmp_path, DTYPES[dtype], interval), architecture, tmp_path)
    text = (tmp_path / "model.cpp.device.hip").read_text()
    assert len(test_gpu.channelwise(text)) >= len(FORMS)
