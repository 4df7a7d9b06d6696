"""python -m onnxc.quantize: the model that it writes, the cost that it prints, and samples that do not fit."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxc.quantize import SampleError, cost, divided, read_samples
from tests.onnxc_commands import BINARIES, REPOSITORY

CHANNELS = 4


def write_model(file: Path) -> None:
    """Two convolutions with a Relu between, of four classes."""
    random = np.random.default_rng(0)
    weights = [random.standard_normal((8, 2, 3, 3, 3)), random.standard_normal((CHANNELS, 8, 1, 1, 1))]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w0"], ["hidden"], pads=[1] * 6),
            helper.make_node("Relu", ["hidden"], ["positive"]),
            helper.make_node("Conv", ["positive", "w1"], ["y"]),
        ],
        "segmentation",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, "D", 6, 7])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, CHANNELS, "D", 6, 7])],
        [numpy_helper.from_array(array.astype(np.float32), f"w{i}") for i, array in enumerate(weights)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "onnxc.quantize", *map(str, words)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(REPOSITORY / "python"), "PATH": f"{BINARIES}:/usr/bin:/bin"},
        check=False,
    )


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("options", [(), ("--signed",)])
def test_writes_a_model_of_8_bits_and_prints_its_cost(options: tuple[str, ...], tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    (tmp_path / "samples").mkdir()
    random = np.random.default_rng(1)
    for i in range(6):
        np.save(tmp_path / "samples" / f"{i}.npy", random.standard_normal((1, 2, 5, 6, 7)).astype(np.float32))
    done = run(tmp_path / "model.onnx", "-o", tmp_path / "small.onnx", "--samples", tmp_path / "samples", *options)
    assert done.returncode == 0, done.stderr
    head, line = done.stdout.splitlines()
    assert head == f"{tmp_path}/small.onnx: ranges of 5 samples; beside float32, on 1 samples (held back):"
    found = re.fullmatch(
        r"  y: largest difference (\S+) of the largest magnitude, root of the mean square (\S+), "
        r"(\S+)% of the labels are equal",
        line,
    )
    assert found is not None, line
    # A step is 1/255 of the range; the second layer adds those of eight channels.
    assert 1e-4 < float(found[1]) < 0.1
    assert 1e-5 < float(found[2]) < 0.02
    assert 90 < float(found[3]) <= 100
    kinds = [node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node]
    assert {"QuantizeLinear", "DequantizeLinear"} <= set(kinds)


def test_the_cost_is_over_the_largest_magnitude() -> None:
    exact = [np.array([[1.0, -4.0]]), np.array([[2.0, 3.0]])]
    quantized = [np.array([[1.0, -4.0]]), np.array([[2.0, 1.0]])]
    assert cost("y", exact, quantized) == (
        "y: largest difference 0.5 of the largest magnitude, root of the mean square 0.25, "
        "50.00% of the labels are equal"
    )


def test_one_sample_of_five_is_held_back() -> None:
    samples = [{"x": np.array(i)} for i in range(11)]
    measured, held_back = divided(samples)
    assert [int(sample["x"]) for sample in held_back] == [4, 9]
    assert len(measured) == 9
    assert divided(samples[:3]) == (samples[:3], samples[:3])


def test_samples_that_do_not_fit_are_named(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=re.escape(f"{tmp_path} has no file of the kind .npy or .npz")):
        read_samples(tmp_path, ["x"])
    np.savez(tmp_path / "a.npz", x=np.zeros(3), z=np.zeros(3))
    with pytest.raises(SampleError, match=r"a\.npz holds x, z, the model's inputs are x, y"):
        read_samples(tmp_path, ["x", "y"])
    assert [*read_samples(tmp_path, ["x", "z"])[0]] == ["x", "z"]
    np.save(tmp_path / "b.npy", np.zeros(3))
    with pytest.raises(SampleError, match=r"b\.npy holds one array, the model has the inputs x, z: give an \.npz"):
        read_samples(tmp_path, ["x", "z"])
    (tmp_path / "a.npz").write_bytes(b"nothing")
    with pytest.raises(SampleError, match=r"a\.npz: "):
        read_samples(tmp_path, ["x"])
