"""onnxc-run --profile on the simulator: what the kernels of each step did."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands
from tools.commands import SIMULATOR


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    weights = np.ones((64, 16, 1, 1, 1), np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["h"], name="first"),
            helper.make_node("Exp", ["h"], ["y"], name="second"),
        ],
        "profile",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 4, 5, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64, 4, 5, 6])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(folder / "model.onnx"))
    np.save(folder / "x.npy", np.zeros((1, 16, 4, 5, 6), np.float32))
    return onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")


def profile(model: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> str:
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_HIP_LIBRARY", str(SIMULATOR))
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(model), "--device", "hip", "--profile"]
    return onnxc_commands.execute([*command, "--input", f"x={model.parent / 'x.npy'}", *options]).stdout


def test_counts_each_step(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = json.loads(profile(model, monkeypatch, "--json"))
    assert result["simulator"] == "gfx942sim"
    steps = {tuple(step["nodes"]): step for step in result["steps"] if step["step"].startswith("conv")}
    (nodes, convolution) = next(iter(steps.items()))
    assert "first (Conv)" in nodes
    (launch,) = convolution["launches"]
    # 120 voxels in tiles of 64, 64 channels, 16 deep: products of 32 x 32 x 2.
    assert launch["matrix_flops"] == 2 * 128 * 64 * 16
    assert launch["matrix_instructions"] == 4 * 2 * 8
    assert convolution["modelled_us"] == launch["modelled_us"] > 0
    # The steps are the GPU's own, not those of the CPU's program.
    assert all(step["launches"] for step in result["steps"])
    # One; the CPU has three: rows are read and written as they are, and Exp is in the epilogue.
    assert len(result["steps"]) == 1


def test_prints_a_table(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = profile(model, monkeypatch)
    assert "first (Conv)" in text
    assert "LDS cyc" in text
    assert "all steps" in text
    assert "the time is a model of an MI300X" in text
