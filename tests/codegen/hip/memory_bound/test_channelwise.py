"""The kernel of groups of few channels (depthwise ones: of one) on the simulator, in each of its forms and types. Cases
are sizes around each edge of its tiles, kernels, strides, dilations and pads of rank 1 to 3, all sizes with one
compile.

A thread has four outputs along the height, or along the width if the kernel has a height of one. A block of threads has
256 places of one channel in a planar tensor, and 16 of 16 channels in blocks of channels.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.codegen.hip.any_size import compile_for_any_size, run
from tests.ops.case import Case, NodeText, build_model, graph_case, random, small_integers
from tests.ops.network import convolution_reference

pytestmark = pytest.mark.usefixtures("commands")

# The lanes of a block of channels that input and output have.
FORMS = {"planar": (1, 1), "blocked": (16, 16), "blocked to planar": (16, 1)}
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
REFERENCES = {"Conv": convolution_reference.conv, "ConvTranspose": convolution_reference.conv_transpose}
# Half a unit of each type's last place.
ROUNDING = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


@dataclass(frozen=True)
class Filter:
    """A group's channels are 1 if weights have one input channel; channels counts those of all groups."""

    channels: int
    weights: tuple[int, ...]
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    attributes: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        given = {"strides": self.strides, "dilations": self.dilations, "pads": self.pads}
        attributes = {name: list(value) for name, value in given.items() if value}
        object.__setattr__(self, "attributes", {"group": self.channels // self.weights[1], **attributes})

    def input_size(self, output: Sequence[int]) -> tuple[int, ...]:
        """The smallest that gives this output; none may be negative."""
        rank = len(output)
        strides, dilations = self.strides or (1,) * rank, self.dilations or (1,) * rank
        pads = self.pads or (0,) * (2 * rank)
        extents = [(k - 1) * dilation + 1 for k, dilation in zip(self.weights[2:], dilations, strict=True)]
        return tuple(max((output[i] - 1) * strides[i] + extents[i] - pads[i] - pads[rank + i], 0) for i in range(rank))


FILTERS = {
    1: [
        Filter(17, (17, 1, 3), pads=(1, 1)),
        Filter(33, (33, 1, 1)),
        Filter(16, (16, 1, 4), strides=(3,), dilations=(2,), pads=(2, 3)),
        Filter(15, (45, 1, 2), dilations=(5,)),
        Filter(18, (24, 3, 3), pads=(2, 0)),
        Filter(24, (9, 8, 2), strides=(2,)),
    ],
    2: [
        Filter(17, (17, 1, 3, 3), pads=(1, 1, 1, 1)),
        Filter(16, (16, 1, 1, 5), pads=(0, 2, 0, 2)),
        Filter(31, (31, 1, 5, 1), strides=(2, 1), pads=(2, 0, 2, 0)),
        Filter(16, (32, 1, 3, 2), strides=(2, 3), dilations=(3, 2), pads=(1, 0, 2, 1)),
        Filter(20, (25, 4, 3, 3), pads=(1, 1, 1, 1)),
        Filter(32, (22, 16, 3, 3), pads=(1, 1, 1, 1)),
    ],
    3: [
        Filter(17, (17, 1, 3, 3, 3), pads=(1,) * 6),
        Filter(16, (16, 1, 3, 1, 1), pads=(1, 0, 0, 1, 0, 0)),
        Filter(15, (15, 1, 1, 1, 3), strides=(1, 1, 2)),
        Filter(16, (16, 1, 2, 3, 2), strides=(2, 2, 1), dilations=(1, 2, 3), pads=(0, 2, 1, 1, 2, 2)),
        Filter(12, (18, 2, 3, 3, 3), pads=(1,) * 6),
        Filter(20, (20, 10, 3, 3, 3), pads=(1,) * 6),
    ],
}

# Outputs and batches: of a thread's four one, all, and one more; of a block's 16 and 256 places all, and one more.
OUTPUTS: dict[int, list[tuple[int, tuple[int, ...]]]] = {
    1: [(1, (1,)), (2, (3,)), (1, (4,)), (3, (5,)), (1, (64,)), (2, (65,)), (1, (1024,)), (1, (1025,))],
    2: [(1, (1, 1)), (2, (3, 5)), (1, (4, 16)), (3, (5, 8)), (1, (4, 17)), (1, (17, 52)), (1, (16, 65))],
    3: [(1, (1, 1, 1)), (2, (2, 3, 5)), (1, (2, 4, 8)), (1, (1, 5, 8)), (2, (3, 4, 6)), (1, (3, 13, 22))],
}


def dense(channels: int, rank: int, dtype: Any, seed: int) -> Array:
    """The weights of a convolution of one tap that puts the channels into another order."""
    order = np.random.default_rng([channels, seed]).permutation(channels)
    return np.eye(channels, dtype=dtype)[order].reshape(channels, channels, *[1] * rank)


def make_case(form: str, one: Filter, x: Array, w: Array) -> Case:
    return surrounded(form, "Conv", one.attributes, w.shape[0], x, w)


def surrounded(form: str, operator: str, attributes: dict[str, Any], filters: int, x: Array, w: Array) -> Case:
    """Only the convolution; or between two that give it blocks of channels, and take them."""
    rank = x.ndim - 2
    bias = small_integers(filters, dtype=x.dtype, seed=2)
    constants = {"w": w, "bias": bias}
    nodes: list[NodeText] = [(operator, "x w bias", "y", attributes)]
    before = after = None
    if form != "planar":
        before = constants["before"] = dense(x.shape[1], rank, x.dtype, 1)
        nodes = [("Conv", "x before", "a"), (operator, "a w bias", "y", attributes)]
    if form == "blocked":
        after = constants["after"] = dense(filters, rank, x.dtype, 2)
        nodes = [nodes[0], (operator, "a w bias", "b", attributes), ("Conv", "b after", "y")]
    y = x if before is None else convolution_reference.conv(x, before)
    y = REFERENCES[operator](y, w, bias, **attributes)
    y = y if after is None else convolution_reference.conv(y, after)
    opset = 22 if x.dtype == ml_dtypes.bfloat16 else 20
    return graph_case(form, nodes, {"x": x}, constants, expected=(y,), opset=opset)


def integer_cases(form: str, rank: int, batch: int, output: tuple[int, ...], dtype: Any) -> list[Case]:
    return [
        make_case(
            form,
            one,
            small_integers(batch, one.channels, *one.input_size(output), dtype=dtype),
            small_integers(*one.weights, dtype=dtype, seed=1),
        )
        for one in FILTERS[rank]
    ]


def plans(folder: Path) -> list[tuple[int, int]]:
    """The lanes of input and output of each such kernel in the generated code."""
    source = folder / "source"
    onnxc_commands.compile_model(folder / "model.onnx", source, "--target", "hip", "--emit", "source")
    text = Path(f"{source}.device.hip").read_text()
    found = re.findall(r"\{ channelwise<ChannelwisePlan\{.*?, (\d+), (\d+), \w+, \w+\}>", text)
    return [(int(a), int(b)) for a, b in found]


@pytest.mark.parametrize("rank", FILTERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "dtype", [pytest.param(name, marks=[] if name == "float32" else [pytest.mark.slow]) for name in DTYPES]
)
def test_sizes_around_the_edges_of_tiles(dtype: str, form: str, rank: int, tmp_path: Path) -> None:
    """Integers are exact in each type, with one rounding at the end."""
    runs = [integer_cases(form, rank, *sizes, DTYPES[dtype]) for sizes in OUTPUTS[rank]]
    shared_object = compile_for_any_size(runs[0], tmp_path)
    assert plans(tmp_path) == [FORMS[form]] * len(FILTERS[rank])
    for cases in runs:
        for one, filter_, result in zip(cases, FILTERS[rank], run(shared_object, cases, tmp_path), strict=True):
            assert one.expected is not None
            np.testing.assert_array_equal(result, one.expected[0], f"{filter_} of {one.inputs['x'].shape}")


@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=[] if form == "planar" else [pytest.mark.slow]) for form in FORMS]
)
def test_impulses_name_the_weights_that_are_read(form: str, tmp_path: Path) -> None:
    cases = []
    for filters in FILTERS.values():
        for one in filters:
            x = np.zeros((1, one.channels, *one.input_size([5] * (len(one.weights) - 2))), np.float32)
            x.reshape(one.channels, -1)[:, np.ravel_multi_index([size // 2 for size in x.shape[2:]], x.shape[2:])] = 1
            w = np.arange(1, np.prod(one.weights) + 1, dtype=np.float32).reshape(one.weights)
            cases.append(make_case(form, one, x, w))
    results = run(compile_for_any_size(cases, tmp_path), cases, tmp_path)
    for case_, result in zip(cases, results, strict=True):
        assert case_.expected is not None
        np.testing.assert_array_equal(result, case_.expected[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_values_within_what_rounding_explains(dtype: str, tmp_path: Path) -> None:
    """Each of a chain's sums rounds once, in float32; the result once more, in its own type."""
    filters = [FILTERS[1][2], FILTERS[2][0], FILTERS[2][4], FILTERS[3][3]]
    cases = []
    for one in filters:
        rank = len(one.weights) - 2
        shape = (2, one.channels, *one.input_size([6] * rank))
        w = random(*one.weights, dtype=DTYPES[dtype], seed=1)
        cases.append(make_case("planar", one, random(*shape, dtype=DTYPES[dtype]), w))
    results = run(compile_for_any_size(cases, tmp_path), cases, tmp_path)
    for filter_, case_, result in zip(filters, cases, results, strict=True):
        x, w, bias = (
            np.asarray(array).astype(np.float64)
            for array in (case_.inputs["x"], case_.constants["w"], case_.constants["bias"])
        )
        exact = convolution_reference.conv(x, w, bias, **filter_.attributes)
        magnitude = convolution_reference.conv(abs(x), abs(w), abs(bias), **filter_.attributes)
        chain = np.prod(filter_.weights[1:]) + 1
        bound = chain * 2.0**-24 * magnitude + ROUNDING[dtype] * abs(exact) * 1.01
        assert (abs(result.astype(np.float64) - exact) <= bound).all(), filter_


@pytest.mark.parametrize("form", FORMS)
def test_nothing_but_padding(form: str, tmp_path: Path) -> None:
    """An input without elements: the outputs are the bias."""
    one = Filter(17, (17, 1, 2, 3), pads=(1, 1, 1, 1))
    w = small_integers(*one.weights, seed=1)
    cases = [make_case(form, one, small_integers(2, 17, *size), w) for size in ((3, 4), (0, 4), (0, 1), (1, 2))]
    shared_object = compile_for_any_size(cases[:1], tmp_path)
    for each in cases:
        assert each.expected is not None
        np.testing.assert_array_equal(run(shared_object, [each], tmp_path)[0], each.expected[0])


def test_not_finite_values_stay_in_their_channel(tmp_path: Path) -> None:
    """Elements outside of the input count as zero, whatever is read instead, and no channel reads another."""
    one = Filter(17, (17, 1, 3, 3), pads=(2, 2, 2, 2))
    x = small_integers(1, 17, 5, 6)
    x[0, 3], x[0, 16, 0] = np.nan, np.inf
    w = abs(small_integers(*one.weights, seed=1)) + 1
    alone = x.copy()
    alone[0, 3], alone[0, 16, 0] = 0, 0
    expected = make_case("planar", one, alone, w).expected
    assert expected is not None
    for form, model in (
        ("planar", make_case("planar", one, x, w)),
        # A permutation of channels before it would multiply what is not finite by 0.
        ("blocked to planar", added_in_blocks(one, x, w)),
    ):
        [result] = run(compile_as_it_is(model, tmp_path), [model], tmp_path)
        assert plans(tmp_path) == [FORMS[form]]
        finite = [c for c in range(17) if c not in (3, 16)]
        np.testing.assert_array_equal(result[:, finite], expected[0][:, finite])
        np.testing.assert_array_equal(result[0, 16, 3:], expected[0][0, 16, 3:])
        assert np.isnan(result[0, 3]).all()
        assert not np.isfinite(result[0, 16, :3]).any()


def compile_as_it_is(one: Case, folder: Path) -> Path:
    assert one.expected is not None
    onnx.save(build_model([one], {one: one.expected}), folder / "model.onnx")
    return onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")


def added_in_blocks(one: Filter, x: Array, w: Array) -> Case:
    """A convolution of one channel, of zeros, has its result in blocks; x is added to it."""
    zeros = np.zeros((x.shape[1], 1, 1, 1), np.float32)
    bias = small_integers(w.shape[0], seed=2)
    return graph_case(
        "added",
        [("Conv", "n zeros", "z"), ("Add", "z x", "a"), ("Conv", "a w bias", "y", one.attributes)],
        {"x": x, "n": np.zeros((1, 1, *x.shape[2:]), np.float32)},
        {"zeros": zeros, "w": w, "bias": bias},
        expected=(convolution_reference.conv(x, w, bias, **one.attributes),),
    )


@pytest.mark.parametrize("form", ["planar", pytest.param("blocked to planar", marks=pytest.mark.slow)])
def test_blocks_that_go_round_several_times(form: str, tmp_path: Path) -> None:
    """With many blocks each goes round over several tiles, and the last one is ragged."""
    channels, width = (2500, 1102) if form == "planar" else (320, 16003)
    one = Filter(channels, (channels, 1, 3), pads=(1, 1))
    x, w = small_integers(1, channels, width), small_integers(*one.weights, seed=1)
    model = make_case("planar", one, x, w) if form == "planar" else spread_before(one, x, w)
    [result] = run(compile_as_it_is(model, tmp_path), [model], tmp_path)
    assert plans(tmp_path) == [FORMS[form]]
    assert model.expected is not None
    np.testing.assert_array_equal(result, model.expected[0])


def spread_before(one: Filter, x: Array, w: Array) -> Case:
    """One input channel spread to all."""
    spread = np.ones((one.channels, 1, 1), np.float32)
    bias = small_integers(w.shape[0], seed=2)
    y = convolution_reference.conv(np.repeat(x[:, :1], one.channels, 1), w, bias, **one.attributes)
    nodes: list[NodeText] = [("Conv", "x spread", "a"), ("Conv", "a w bias", "y", one.attributes)]
    return graph_case("spread", nodes, {"x": x[:, :1]}, {"spread": spread, "w": w, "bias": bias}, expected=(y,))
