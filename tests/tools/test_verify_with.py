"""onnxc-run --verify-with onnxruntime: what it compares, and what it says where a tensor or a package is not there."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxc import reference
from tests import onnxc_commands
from tests.onnxc_commands import BINARIES, REPOSITORY
from tests.report import annotated_model

pytestmark = pytest.mark.usefixtures("commands")

MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
small (float[N, 64] x) => (y) {
  [first] a = MatMul(x, w)
  [second] b = Softmax <axis = 1> (a)
  [third] c = MatMul(b, w)
  [last] y = Softmax <axis = 1> (c)
}
"""
MODULES = {"first": "encoder.linear", "second": "encoder.soft", "third": "decoder"}
WITH_ONNXRUNTIME = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONPATH": str(REPOSITORY / "python"),
}


def save(text: str, file: Path) -> Path:
    annotated_model.save(text, file, MODULES)
    model = onnx.load(file)
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, file)
    return file


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(MODEL, tmp_path_factory.mktemp("verify") / "model.onnx")


def verify(
    compiled: Path, model: Path, *options: str, code: int = 0, environment: dict[str, str] = WITH_ONNXRUNTIME
) -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "onnxc-run"), str(compiled), "--random", "0", "--dim", "N=3"]
    command += ["--verify", str(model), "--verify-with", "onnxruntime", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done


def test_each_tensor_of_the_model_is_compared(model: Path, tmp_path: Path) -> None:
    compiled = onnxc_commands.compile_model(model, tmp_path / "model.so", "-O0")
    done = json.loads(verify(compiled, model, "--json").stdout)
    assert done["with"].startswith("onnxruntime 1.")
    assert done["passed"]
    assert done["compared"] == 4  # a, b, c and y; the sums between Softmax's loops are not a tensor of the model
    assert done["first_tensor"] is None
    assert "PASSED: 4 tensors equal those of onnxruntime 1." in verify(compiled, model).stdout


def test_the_first_that_differs_is_named_with_its_line(model: Path, tmp_path: Path) -> None:
    """A compile of another model stands for a wrong one: its second node sums over another axis."""
    other = save(MODEL.replace("b = Softmax <axis = 1>", "b = Softmax <axis = 0>"), tmp_path / "other.onnx")
    compiled = onnxc_commands.compile_model(other, tmp_path / "other.so", "-O0")
    text = verify(compiled, model, "--compare-anyway", code=4).stdout
    line = text.splitlines()[-1]
    assert line.startswith("FAILED: ")
    assert "the first, 'b', is computed by second (Softmax)" in line
    assert line.endswith("[monai/networks/blocks/dynunet_block.py:101 in encoder.soft]")
    found = json.loads(verify(compiled, model, "--json", "--compare-anyway", code=4).stdout)
    assert found["first_tensor"] == "b"
    assert found["different"][0]["source"] == "monai/networks/blocks/dynunet_block.py:101 in encoder.soft"


def test_weights_in_a_file_of_their_own(model: Path, tmp_path: Path) -> None:
    onnx.save(
        onnx.load(model), tmp_path / "model.onnx", save_as_external_data=True, location="weights", size_threshold=0
    )
    assert (tmp_path / "weights").stat().st_size > 0
    compiled = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    assert "PASSED" in verify(compiled, tmp_path / "model.onnx").stdout


def test_what_onnxruntime_does_not_run(model: Path, tmp_path: Path) -> None:
    other = save(MODEL.replace("float[N, 64]", "float[N, 32]"), tmp_path / "other.onnx")
    compiled = onnxc_commands.compile_model(model, tmp_path / "model.so")
    error = verify(compiled, other, "--compare-anyway", code=1).stderr
    assert f"onnxruntime cannot compute the tensors of '{other}' (exit code 1)" in error
    assert "Got invalid dimensions" in error or "MatMul" in error


def test_a_python_without_the_packages(model: Path, tmp_path: Path) -> None:
    compiled = onnxc_commands.compile_model(model, tmp_path / "model.so")
    bare = {**os.environ, "PATH": "/usr/bin:/bin"}
    bare.pop("PYTHONPATH", None)
    error = verify(compiled, model, code=1, environment=bare).stderr
    assert "python3 needs the packages onnxc (the wheel), onnx and onnxruntime" in error


def test_a_model_of_other_tensors_is_no_pass(model: Path, tmp_path: Path) -> None:
    compiled = onnxc_commands.compile_model(model, tmp_path / "model.so")
    other = onnx.load(model)
    for node in other.graph.node:
        node.output[0] += "_"
        node.input[0] += "_" if node.input[0] != "x" else ""
    other.graph.output[0].name += "_"
    onnx.save(other, tmp_path / "other.onnx")
    error = verify(compiled, tmp_path / "other.onnx", "--compare-anyway", code=1).stderr
    assert "it has no tensor of a name that" in error


def test_needs_a_model(tmp_path: Path) -> None:
    command = [str(BINARIES / "onnxc-run"), "model.so", "--verify-with", "onnxruntime"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--verify-with has an effect only with --verify" in done.stderr


def test_outputs_are_those_that_the_nodes_give(model: Path) -> None:
    """Neither an input nor a weight nor a name that is not there, and none twice."""
    outputs = reference.with_outputs(onnx.load(model), ["x", "y", "w", "a", "nothing", "a"]).graph.output
    assert [output.name for output in outputs] == ["y", "a"]


def test_a_terminal_sees_how_far_the_reference_is(model: Path, tmp_path: Path) -> None:
    """Plain loops take minutes for a large network."""
    compiled = onnxc_commands.compile_model(model, tmp_path / "model.so")
    ours, theirs = pty.openpty()
    command = [str(BINARIES / "onnxc-run"), str(compiled), "--random", "0", "--dim", "N=3", "--verify", str(model)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=120, check=False)
    os.close(theirs)
    assert done.returncode == 0, done.stdout
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert re.search(r"\r\x1b\[Kat -O0: \d+ of \d+ steps, \d+%", shown), shown
    assert "\r\x1b[K" in shown[shown.index(" steps, 100%") :]  # nothing of it stays
