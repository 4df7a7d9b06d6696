"""python -m onnxc.quantize: the model that it writes, the cost that it prints, and samples that do not fit."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from onnxc.quantize import ModelError, SampleError, cost, divided, main, quantize, read_samples
from tests.onnxc_commands import BINARIES, REPOSITORY

CHANNELS = 4


def write_model(file: Path, opset: int = 17, kind: type[np.floating[Any]] = np.float32) -> None:
    """Two convolutions with a Relu between, of four classes."""
    random = np.random.default_rng(0)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    weights = [random.standard_normal((8, 2, 3, 3, 3)), random.standard_normal((CHANNELS, 8, 1, 1, 1))]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w0"], ["hidden"], pads=[1] * 6),
            helper.make_node("Relu", ["hidden"], ["positive"]),
            helper.make_node("Conv", ["positive", "w1"], ["y"]),
        ],
        "segmentation",
        [helper.make_tensor_value_info("x", element, [1, 2, "D", 6, 7])],
        [helper.make_tensor_value_info("y", element, [1, CHANNELS, "D", 6, 7])],
        [numpy_helper.from_array(array.astype(kind), f"w{i}") for i, array in enumerate(weights)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), file)


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
    write_samples(tmp_path / "samples", 6)
    done = run(tmp_path / "model.onnx", "-o", tmp_path / "small.onnx", "--samples", tmp_path / "samples", *options)
    assert done.returncode == 0, done.stderr
    head, line = done.stdout.splitlines()
    assert head == f"{tmp_path}/small.onnx: ranges of 5 samples; beside float32, on 1 sample (held back):"
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


def write_samples(folder: Path, count: int, kind: type[np.floating[Any]] = np.float32) -> list[Path]:
    folder.mkdir()
    random = np.random.default_rng(1)
    files = [folder / f"{i}.npy" for i in range(count)]
    for file in files:
        np.save(file, random.standard_normal((1, 2, 5, 6, 7)).astype(kind))
    return files


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("opset", "kind"), [(8, np.float32), (11, np.float32), (12, np.float32), (11, np.float16), (17, np.float16)]
)
def test_old_operator_sets_and_half_types(
    opset: int, kind: type[np.floating[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command runs both models with onnxc; here onnxruntime does: the result opens in both, and is near."""
    model, small = tmp_path / "model.onnx", tmp_path / "small.onnx"
    write_model(model, opset, kind)
    [sample, *_] = write_samples(tmp_path / "samples", 3, kind)
    assert main([str(model), "-o", str(small), "--samples", str(tmp_path / "samples")]) == 0
    assert "y: largest difference" in capsys.readouterr().out
    x = np.load(sample)
    [exact], [quantized] = (onnxruntime.InferenceSession(each).run(None, {"x": x}) for each in (model, small))
    assert quantized.dtype == kind
    assert np.isfinite(quantized).all()
    assert np.abs(quantized - exact).max() < 0.1 * np.abs(exact).max()
    kinds = [node.op_type for node in onnx.load(small).graph.node]
    assert {"QuantizeLinear", "DequantizeLinear"} <= set(kinds)


@pytest.mark.parametrize(
    ("values", "told"), [({0: np.nan}, "1 NaN"), ({3: np.inf, 4: -np.inf}, "2 infinite"),
                         ({0: np.nan, 1: np.inf}, "1 NaN and 1 infinite")],
)  # fmt: skip
def test_samples_without_a_range_are_named(
    values: dict[int, float], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(tmp_path / "model.onnx")
    files = write_samples(tmp_path / "samples", 6)
    array = np.load(files[2])
    for place, value in values.items():
        array.ravel()[place] = value
    np.save(files[2], array)
    words = [tmp_path / "model.onnx", "-o", tmp_path / "small.onnx", "--samples", tmp_path / "samples"]
    assert main([*map(str, words)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"onnxc.quantize: {files[2]}: the input 'x' holds {told} of 420 values, which have no range")
    assert not (tmp_path / "small.onnx").exists()
    with pytest.raises(SampleError, match=r"sample 1: the input 'x' holds"):
        quantize(tmp_path / "model.onnx", tmp_path / "small.onnx", [{"x": np.load(files[0])}, {"x": array}])


def test_values_that_overflow_within_the_model_are_named(tmp_path: Path) -> None:
    """Finite samples, and a product that is not."""
    nodes = [
        helper.make_node("Mul", ["x", "k"], ["large"]),
        helper.make_node("Conv", ["large", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, 4, 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.float32(3e38), "k"),
            numpy_helper.from_array(np.ones((2, 2, 1, 1), np.float32), "w"),
        ],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    samples = [{"x": np.full((1, 2, 4, 4), 4, np.float32)}]
    with pytest.raises(ModelError, match=r"the values of '\w+' are NaN or infinite for one of the samples"):
        quantize(tmp_path / "m.onnx", tmp_path / "q.onnx", samples)
    assert not (tmp_path / "q.onnx").exists()


def test_a_file_that_is_no_model_ends_in_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    write_samples(tmp_path / "samples", 1)
    for name, text in (("model.onnx", "it is no ONNX model"), ("none.onnx", "No such file")):
        words = [tmp_path / name, "-o", tmp_path / "small.onnx", "--samples", tmp_path / "samples"]
        assert main([*map(str, words)]) == 1
        assert text in capsys.readouterr().err


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
