"""One large value among usual ones: what Winograd's transforms, or the scale of digits, carry to outputs that do not
read it is bounded. In a matrix product it is nothing: each row has a scale of its own."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")
OUTLIER = 1e6
# docs/numerics.md: of the outlier, for weights whose products sum to about 1; 1e-7 was seen.
BOUND = 2e-7
# Outputs that read it have a product of a hundred thousand: tiles of 4x4 of planes gave 3e-7 of the outlier.
BOUND_OF_READERS = 4e-7
FARTHEST = 8  # no tile is larger


@pytest.mark.parametrize("march", ["native", "x86-64-v4-emulating-amx"])
@pytest.mark.parametrize("spatial", [(37, 43), (18, 22, 27)])
def test_an_outlier_spoils_its_surroundings_by_little(tmp_path: Path, spatial: tuple[int, ...], march: str) -> None:
    rng = np.random.default_rng(len(spatial))
    channels, rank = 64, len(spatial)
    stride = 1 if march == "native" else 2  # if Winograd gains less, digits gain more
    weights = (rng.standard_normal((channels, channels, *[3] * rank)) / np.sqrt(channels * 3**rank)).astype(np.float32)
    x = rng.standard_normal((1, channels, *spatial)).astype(np.float32)
    place = tuple(size // 2 for size in spatial)
    x[(0, 5, *place)] = OUTLIER
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 2 * rank, strides=[stride] * rank)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(x.shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), model)
    options = ("--march", march)
    report = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", *options]).stdout
    assert ("winograd" if march == "native" else "float32 in digits") in report.lower(), report
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", *options)
    found = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], tmp_path)["y"]
    convolution = torch.conv2d if rank == 2 else torch.conv3d
    expected = convolution(torch.from_numpy(x).double(), torch.from_numpy(weights).double(), None, stride, 1).numpy()
    away = [np.abs(np.arange(0, size, stride) - at) for size, at in zip(spatial, place, strict=True)]
    distance = np.max(np.meshgrid(*away, indexing="ij"), axis=0)
    error = np.abs(found.astype(np.float64) - expected).max(axis=(0, 1))
    assert error[distance <= 1].max() <= BOUND_OF_READERS * OUTLIER
    assert error[(distance > 1) & (distance < FARTHEST)].max() <= BOUND * OUTLIER
    assert error[distance >= FARTHEST].max() <= 1e-5  # beyond its tiles nothing is spoilt


def test_a_row_of_a_product_in_digits_has_the_same_bits_whatever_the_others_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    weights = (rng.standard_normal((256, 192)) / 16).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), model)
    options = ("--march", "x86-64-v4-emulating-amx")
    report = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", *options]).stdout
    assert "matmul_tiles 256->192, float32 in digits" in report, report
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", *options)

    def product(x: np.ndarray) -> np.ndarray:
        return onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], tmp_path)["y"]

    x = rng.standard_normal((37, 256)).astype(np.float32)
    plain = product(x)
    exact = x.astype(np.float64) @ weights.astype(np.float64)
    assert np.abs(plain - exact).max() <= 1e-6 * np.abs(exact).max()
    spoilt = x.copy()
    spoilt[5, 100] = OUTLIER
    spoilt[20, 7] = np.inf
    found = product(spoilt)
    others = [row for row in range(37) if row not in (5, 20)]
    np.testing.assert_array_equal(found[others], plain[others])
    exact = spoilt[5].astype(np.float64) @ weights.astype(np.float64)
    assert np.abs(found[5] - exact).max() <= BOUND * OUTLIER
    assert not np.isfinite(found[20]).any()
    for row in (0, 16, 36):
        np.testing.assert_array_equal(product(x[row : row + 1])[0], plain[row])
