"""Networks that onnxruntime.quantization made of the test models: products of bytes, beside onnxruntime's own."""

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnxruntime.quantization import QuantFormat

from models import tensor_files
from models.export import Run, export
from models.quantize import TYPES, quantize
from models.tensor_files import Array
from models.zoo import ROWS
from tests import onnxc_commands
from tests.onnxruntime_sessions import open_session

LAYERS = ("convolutions", "lower_ranks")
NETWORKS = ("r3d_18_narrow", "unet3d_narrow", "x3d_narrow", "transformer_layer")


def outputs(model: Path, run: Run, folder: Path, *options: str) -> tuple[list[Array], list[Array]]:
    """The outputs of a run by onnxc, and by onnxruntime as the file says it: its fused operators round otherwise."""
    shared_object = onnxc_commands.compile_model(model, folder / "model.so", *options)
    results = onnxc_commands.run_files(shared_object, run.inputs, list(run.outputs), folder / "results")
    feeds = {name: tensor_files.load(file) for name, file in run.inputs.items()}
    expected = open_session(model, optimized=False).run(list(run.outputs), feeds)
    return [results[name] for name in run.outputs], expected


def expect_steps(results: list[Array], expected: list[Array]) -> None:
    """Nearly all elements are equal; one at the border of two steps of its quantisation may be a step away."""
    for result, reference in zip(results, expected, strict=True):
        # The least of either: an output that is not quantised itself has values as near as floats are.
        step = max(np.diff(np.unique(reference)).min(), 1e-5 * np.abs(reference).max())
        difference = np.abs(result - reference)
        assert difference.max() <= 1.01 * step
        assert (difference > 0.5 * step).mean() <= 1e-3


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("name", "types", "march"),
    [
        *product(LAYERS, TYPES, ["native"]),
        ("convolutions", "u8s8", "x86-64-v3"),
        ("lower_ranks", "s8s8", "x86-64-v4"),
        ("convolutions", "s8s8", "x86-64-v4-emulating-amx"),
        ("lower_ranks", "u8s8", "x86-64-v4-emulating-amx"),
    ],
)
def test_layers_equal_onnxruntime(name: str, types: str, march: str, tmp_path: Path) -> None:
    model = quantize(ROWS[name], types, tmp_path)
    for run in export(ROWS[name]).runs:
        expect_steps(*outputs(model, run, tmp_path, "--march", march))


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("march", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("types", TYPES)
def test_qlinear_operators_without_vnni(types: str, march: str, tmp_path: Path) -> None:
    """The same sums of bytes without the instruction for them."""
    model = quantize(ROWS["lower_ranks"], types, tmp_path, QuantFormat.QOperator)
    assert any(node.op_type == "QLinearConv" for node in onnx.load(model).graph.node)
    for run in export(ROWS["lower_ranks"]).runs:
        expect_steps(*outputs(model, run, tmp_path, "--march", march))


def error(results: list[Array], run: Run) -> float:
    """The root mean square of the difference from PyTorch's float32, over all outputs."""
    differences = [result - tensor_files.load(file) for result, file in zip(results, run.outputs.values(), strict=True)]
    return float(np.sqrt(np.mean(np.square(np.concatenate([array.ravel() for array in differences])))))


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("types", ["u8s8", pytest.param("s8s8", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_as_accurate_as_in_onnxruntime(name: str, types: str, tmp_path: Path) -> None:
    """A step of one element may move many after a normalisation, but not the whole further from the truth."""
    model = quantize(ROWS[name], types, tmp_path)
    for run in export(ROWS[name]).runs:
        results, expected = outputs(model, run, tmp_path)
        assert 0 < error(results, run) <= 1.05 * error(expected, run)


@pytest.mark.usefixtures("commands")
def test_products_of_bytes_by_matrix_tiles(tmp_path: Path) -> None:
    """AMX, emulated."""
    model = quantize(ROWS["transformer_layer"], "u8s8", tmp_path)
    march = ("--march", "x86-64-v4-emulating-amx")
    report = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", *march]).stdout
    assert "matmul_tiles " in report
    for run in export(ROWS["transformer_layer"]).runs:
        results, expected = outputs(model, run, tmp_path, *march)
        assert 0 < error(results, run) <= 1.05 * error(expected, run)


@pytest.mark.usefixtures("commands")
def test_a_residual_block_is_kernels_of_bytes_alone(tmp_path: Path) -> None:
    """Dequantised additions, activations and what quantises the result are epilogues."""
    model = quantize(ROWS["r3d_18_narrow"], "u8s8", tmp_path)
    report = onnxc_commands.execute(
        [str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", "--march", "znver4"]
    ).stdout
    convolutions = [line for line in report.splitlines() if line.startswith("Conv ")]
    assert len(convolutions) == 20
    assert all("conv_int8" in line for line in convolutions)
    additions = [line for line in report.splitlines() if line.startswith("Add ")]
    assert len(additions) == 8
    assert all("conv_int8" in line for line in additions)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("march", "kernel"),
    [("znver4", "conv_depthwise_int8"), ("x86-64-v4", "uint8 in float32"), ("x86-64-v3", "uint8 in float32")],
)
def test_depthwise_layers_and_the_input_are_kernels_of_bytes(march: str, kernel: str, tmp_path: Path) -> None:
    """If a machine multiplies quads, by quads; the network's input is quantised on its way to blocks."""
    model = quantize(ROWS["x3d_narrow"], "u8s8", tmp_path)
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", "--march", march]
    report = onnxc_commands.execute(command).stdout
    depthwise = [line for line in report.splitlines() if "conv_depthwise" in line and line.startswith("Conv ")]
    assert depthwise
    assert all(kernel in line for line in depthwise), depthwise
    assert any("to blocks" in line for line in report.splitlines() if line.startswith("QuantizeLinear "))


def integer_convolution(tile_axes: int, folder: Path) -> tuple[Path, Array, Array, Array]:
    """A ConvInteger of three taps along the last axes, with the input and the weights that a run takes."""
    random = np.random.default_rng(tile_axes)
    taps = [1] * (3 - tile_axes) + [3] * tile_axes
    weights = random.integers(-60, 61, (35, 33, *taps)).astype(np.int8)
    x = random.integers(0, 256, (2, 33, 5, 14, 13)).astype(np.uint8)
    zero = np.array(93, np.uint8)
    pads = [tap // 2 for tap in taps] * 2
    node = onnx.helper.make_node("ConvInteger", ["x", "w", "zero"], ["y"], pads=pads)
    graph = onnx.helper.make_graph(
        [node],
        "integer",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, ["N", 33, "D", "H", "W"])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, None)],
        [onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(zero, "zero")],
    )
    model = folder / "integer.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), model)
    return model, x, weights, zero


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("tile_axes", "march", "kernel"),
    [
        *product([2, 3], ["x86-64-v3", "x86-64-v4"], ["conv_int8_winograd F("]),
        *product([2, 3], ["native"], ["conv_"]),
        (2, "x86-64-v4-emulating-amx", "conv_tiles "),
    ],
)
def test_sums_of_bytes_are_exact(tile_axes: int, march: str, kernel: str, tmp_path: Path) -> None:
    """Multiplies by the instruction of products of pairs, if this machine has it (native), without, and by matrix
    tiles."""
    model, x, weights, zero = integer_convolution(tile_axes, tmp_path)
    options = ("--march", march)
    report = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", *options]).stdout
    assert kernel in report
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", *options)
    inputs = {"x": tensor_files.save(x, tmp_path / "x")}
    [result] = onnxc_commands.run_files(shared_object, inputs, ["y"], tmp_path / "results").values()
    centred = torch.from_numpy(x.astype(np.float64) - float(zero))
    padding = [tap // 2 for tap in weights.shape[2:]]
    expected = torch.nn.functional.conv3d(centred, torch.from_numpy(weights.astype(np.float64)), padding=padding)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, expected.numpy())
