"""A state that is added to a kernel's result and replaced by the sum: next = f(x) + state.

The kernel may store the sum in the state's memory if it reads no element after it was stored.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxc
from models.tensor_files import Array
from tests.onnxc_commands import SIMULATOR
from tests.test_states import Carried, expect_equal, values

pytestmark = pytest.mark.usefixtures("commands")


class Residual(NamedTuple):
    """x and the state have these dims; the nodes compute `f` from `x` and the constants, whose dims are given."""

    dims: tuple[int, ...]
    nodes: tuple[onnx.NodeProto, ...]
    constants: Mapping[str, tuple[int, ...]] = {}


def conv(channels: int, kernel: int, image: tuple[int, ...], group: int = 1) -> Residual:
    pads = [kernel // 2] * 6
    node = helper.make_node("Conv", ["x", "w"], ["f"], pads=pads, group=group)
    return Residual((1, channels, *image), (node,), {"w": (channels, channels // group, kernel, kernel, kernel)})


def normalized_conv(channels: int, image: tuple[int, ...]) -> Residual:
    nodes = (
        helper.make_node("Conv", ["x", "w"], ["product"], pads=[1] * 6),
        helper.make_node("InstanceNormalization", ["product", "scale", "bias"], ["f"]),
    )
    weights = (channels, channels, 3, 3, 3)
    return Residual((1, channels, *image), nodes, {"w": weights, "scale": (channels,), "bias": (channels,)})


def attention(tokens: int) -> Residual:
    nodes = (
        helper.make_node("MatMul", ["x", "keys"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "values"], ["f"]),
    )
    return Residual((1, 3, tokens, 16), nodes, {"keys": (1, 3, 16, tokens), "values": (1, 3, tokens, 16)})


def of_lines(op: str, dims: tuple[int, ...], **attributes: int) -> Residual:
    constants = {"scale": dims[attributes.get("axis", -1) :]} if op == "LayerNormalization" else {}
    return Residual(dims, (helper.make_node(op, ["x", *constants], ["f"], **attributes),), constants)


CASES = {
    "conv": conv(17, 3, (5, 6, 7)),
    "conv 1x1x1": conv(33, 1, (5, 6, 7)),
    "conv of many channels": conv(160, 3, (3, 4, 5)),
    "conv in groups": conv(24, 3, (5, 6, 7), group=3),
    "depthwise": conv(19, 3, (5, 6, 7), group=19),
    "transposed": Residual(
        (1, 12, 5, 6, 7),
        (helper.make_node("ConvTranspose", ["x", "w"], ["f"], pads=[1] * 6),),
        {"w": (12, 12, 3, 3, 3)},
    ),
    "product": Residual((70, 190), (helper.make_node("MatMul", ["x", "w"], ["f"]),), {"w": (190, 190)}),
    "product of many terms": Residual((3, 1100), (helper.make_node("MatMul", ["x", "w"], ["f"]),), {"w": (1100, 1100)}),
    "pool": Residual(
        (1, 9, 5, 6, 7),
        (helper.make_node("AveragePool", ["x"], ["f"], kernel_shape=[3, 3, 3], pads=[1] * 6),),
    ),
    **{f"softmax of {n}": of_lines("Softmax", (9, n), axis=-1) for n in (8, 130, 700, 5000)},
    **{f"attention of {n} tokens": attention(n) for n in (7, 70)},
    "softmax of channels": of_lines("Softmax", (2, 20, 9, 5), axis=1),
    **{f"layer norm of {n}": of_lines("LayerNormalization", (5, n), axis=-1) for n in (12, 300, 9000)},
    **{
        f"normalized conv of {'x'.join(map(str, image))}": normalized_conv(channels, image)
        for channels, image in ((18, (5, 6, 7)), (40, (4, 6, 8)), (32, (8, 16, 16)), (64, (16, 16, 32)))
    },
}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("name", CASES)
def test_a_sum_replaces_the_state_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, device: str
) -> None:
    monkeypatch.setenv("ONNXC_POISON", "1")
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    case = CASES[name]
    model = tmp_path / "residual.onnx"
    constants: dict[str, Array] = {
        each: values(*dims) / np.sqrt(max(dims[-1], 9)) for each, dims in case.constants.items()
    }
    sum_of = helper.make_node("Add", ["f", "state"], ["next"])
    shown = helper.make_node("Relu", ["x"], ["y"])
    io = [helper.make_tensor_value_info(each, 1, case.dims) for each in ("x", "state", "y", "next")]
    graph = helper.make_graph(
        [*case.nodes, sum_of, shown],
        "residual",
        io[:2],
        io[2:],
        [numpy_helper.from_array(value.astype(np.float32), each) for each, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    with onnxc.compile(model, state={"state": "next"}, device=device) as session:
        carried = Carried(model, {"state": "next"}, {"state": case.dims})
        for seed in range(3):
            expect_equal(session, carried, tolerance=1e-4, x=values(*case.dims, seed=seed))
