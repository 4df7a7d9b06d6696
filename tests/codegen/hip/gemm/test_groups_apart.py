"""Groups of a convolution do not see each other on the simulated GPU: what is infinite or NaN in one of them, in its
input or its weights, reaches no output of the others. Their channels share blocks, tiles and padding: 56 channels a
group end in the middle of a block, 96 of a tile."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands

GROUPS, SPOILT = 3, 1
SIZE = (5, 7)
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
WAYS = [("float32", "ieee"), ("float32", "xf32"), ("float32", "bf16x3"), ("float16", "ieee"), ("bfloat16", "ieee")]
KERNELS = [("Conv", 56), ("Conv", 96), ("Conv", 128), ("ConvTranspose", 96)]  # and their channels a group


def integers(shape: tuple[int, ...], seed: int) -> Array:
    """Small ones with many zeros: sums of a few hundred products are exact in each way."""
    random = np.random.default_rng(seed)
    return (random.integers(-1, 2, shape) * (random.random(shape) < 0.2)).astype(np.float64)


def convolve(op_type: str, x: Array, w: Array) -> Array:
    given, weights = torch.from_numpy(x), torch.from_numpy(w)
    if op_type == "Conv":
        return torch.conv2d(given, weights, padding=1, groups=GROUPS).numpy()
    return torch.conv_transpose2d(given, weights, padding=1, groups=GROUPS).numpy()


class Compiled:
    """A convolution whose weights are constant."""

    def __init__(self, op_type: str, w: Array, dtype: Any, products: str, folder: Path) -> None:
        self.dtype, self.folder = dtype, folder
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        channels = w.shape[0] if op_type == "ConvTranspose" else GROUPS * w.shape[1]
        node = helper.make_node(op_type, ["x", "w"], ["y"], group=GROUPS, pads=[1] * 4)
        graph = helper.make_graph(
            [node],
            "groups",
            [helper.make_tensor_value_info("x", kind, (2, channels, *SIZE))],
            [helper.make_tensor_value_info("y", kind, None)],
            [numpy_helper.from_array(w.astype(dtype), "w")],
        )
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), folder / "m.onnx"
        )
        options = ("--target", "hip", f"--fp32={products}")
        self.file = onnxc_commands.compile_model(folder / "m.onnx", folder / "m.so", *options)

    def __call__(self, x: Array) -> Array:
        given = {"x": x.astype(self.dtype)}
        found = onnxc_commands.run_arrays(self.file, given, ["y"], self.folder / "run", "--device", "hip")["y"]
        return found.astype(np.float64)


def expect(found: Array, expected: Array, spoilt: Array) -> None:
    """`spoilt` tells which output channels may be anything but finite."""
    np.testing.assert_array_equal(found[:, ~spoilt], expected[:, ~spoilt])
    np.testing.assert_array_equal(np.isfinite(found[:, spoilt]), np.isfinite(expected[:, spoilt]))


def weights_of(op_type: str, width: int, outputs: int) -> Array:
    shape = (GROUPS * outputs, width) if op_type == "Conv" else (GROUPS * width, outputs)
    return integers((*shape, 3, 3), 1)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("dtype", "products"), WAYS, ids=[" ".join(way) for way in WAYS])
@pytest.mark.parametrize(("op_type", "width"), KERNELS)
def test_what_is_not_finite_in_the_input_of_a_group(
    op_type: str, width: int, dtype: str, products: str, tmp_path: Path
) -> None:
    outputs = width + 8
    w = weights_of(op_type, width, outputs)
    compiled = Compiled(op_type, w, DTYPES[dtype], products, tmp_path)
    spoilt = np.arange(GROUPS * outputs) // outputs == SPOILT
    for value in (np.inf, -np.inf, np.nan):
        x = integers((2, GROUPS * width, *SIZE), 2)
        x[:, SPOILT * width : (SPOILT + 1) * width] = value
        expect(compiled(x), convolve(op_type, x, w), spoilt)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("dtype", "products"), WAYS, ids=[" ".join(way) for way in WAYS])
@pytest.mark.parametrize(("op_type", "width"), KERNELS)
def test_an_infinite_weight_of_a_group(op_type: str, width: int, dtype: str, products: str, tmp_path: Path) -> None:
    """It reaches its output channel, even if it meets a zero, and no other of its group."""
    outputs = width + 8
    w = weights_of(op_type, width, outputs)
    channel = SPOILT * outputs + outputs - 1  # the last of its group, whose neighbour is another's
    place = (channel, 0, 1, 2) if op_type == "Conv" else ((SPOILT + 1) * width - 1, outputs - 1, 1, 2)
    w[place] = np.inf
    x = integers((2, GROUPS * width, *SIZE), 2)
    found = Compiled(op_type, w, DTYPES[dtype], products, tmp_path)(x)
    expect(found, convolve(op_type, x, w), np.arange(GROUPS * outputs) == channel)
