"""The limits of a compile hold for each of its stages, clang's processes included."""

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")


def save(folder: Path, nodes: list[onnx.NodeProto], size: int, constants: dict[str, np.ndarray] | None = None) -> Path:
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def run(folder: Path, *options: str, cxx: str | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "TMPDIR": str(folder / "temporary"), **({"ONNXC_CXX": cxx} if cxx else {})}
    (folder / "temporary").mkdir(exist_ok=True)
    return subprocess.run(
        [BINARIES / "onnxc", "m.onnx", *options], cwd=folder, env=environment, capture_output=True, timeout=300,
        check=False,
    )  # fmt: skip


COMPILER = "clang-that-fails"  # what is called clang is not asked whether it is one


def nothing_is_left(folder: Path) -> bool:
    return not list((folder / "temporary").iterdir()) and {path.name for path in folder.iterdir()} <= {
        "m.onnx", "temporary", COMPILER,
    }  # fmt: skip


def compiler(folder: Path, script: str) -> str:
    path = folder / COMPILER
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


RELU = [helper.make_node("Relu", ["x"], ["y"])]


@pytest.mark.parametrize("script", ["exec sleep 100", "sleep 100 & wait"], ids=["itself", "its child"])
def test_a_compiler_that_does_not_end(tmp_path: Path, script: str) -> None:
    save(tmp_path, RELU, 4)
    start = time.monotonic()
    done = run(tmp_path, "-o", "m.so", "--max-seconds", "2", cxx=compiler(tmp_path, script))
    assert time.monotonic() - start < 30
    assert done.returncode == 1
    assert b"(--max-seconds)" in done.stderr
    assert b"clang" in done.stderr
    assert nothing_is_left(tmp_path)


def test_a_stage_that_does_not_end(tmp_path: Path) -> None:
    """Folding takes some seconds, and asks for no time while a node is computed."""
    nodes = [helper.make_node("MatMul", ["a", "a" if i == 0 else f"p{i - 1}"], [f"p{i}"]) for i in range(30)]
    nodes += [
        helper.make_node("ReduceSum", ["p29"], ["s"], keepdims=0), helper.make_node("Add", ["x", "s"], ["y"]),
    ]  # fmt: skip
    save(tmp_path, nodes, 4, {"a": np.ones((400, 400), np.float32)})
    start = time.monotonic()
    done = run(tmp_path, "-o", "m.so", "--max-seconds", "1")
    assert time.monotonic() - start < 60
    assert done.returncode == 1
    assert b"takes longer than 1 s (--max-seconds)" in done.stderr
    assert nothing_is_left(tmp_path)


def test_memory_of_compilers(tmp_path: Path) -> None:
    save(tmp_path, RELU, 4)
    """Two times 2^30 bytes do not fit into 1,500 MB; what fails then says so, as clang does."""
    script = "python3 -c 'b\"x\" * (2 << 30)' || { echo out of memory >&2; exit 1; }"
    done = run(tmp_path, "-o", "m.so", "--max-memory", "1500MB", cxx=compiler(tmp_path, script))
    assert done.returncode == 1
    assert b"the C++ compiler could not run" in done.stderr
    assert run(tmp_path, "-o", "m.so", "--max-memory", "1500MB").returncode == 0, "clang itself has enough"


def test_memory_of_folded_results(tmp_path: Path) -> None:
    """16 products of 4,000 bytes each beside one constant of as many."""
    nodes = [
        helper.make_node("Mul", ["a", "a" if i == 0 else f"p{i - 1}"], [f"p{i}"], name=f"mul{i}") for i in range(16)
    ]
    save(tmp_path, [*nodes, helper.make_node("Add", ["x", "p15"], ["y"])], 1000, {"a": np.ones(1000, np.float32)})
    assert run(tmp_path, "--dump-ir", "--max-memory", "68000").returncode == 0
    done = run(tmp_path, "--dump-ir", "--max-memory", "67999")
    assert done.returncode == 1
    assert b"'mul15' (Mul): its constant result needs 4000 bytes, the constants before it 64000" in done.stderr
    assert b"67999 (--max-memory)" in done.stderr


@pytest.mark.parametrize("value", ["0", "-1", "1000001", "x"])
def test_seconds_are_a_number(tmp_path: Path, value: str) -> None:
    save(tmp_path, RELU, 4)
    assert run(tmp_path, "--dump-shapes", "--max-seconds", value).returncode == 2


@pytest.mark.parametrize(
    ("type_given", "field", "value"),
    [(onnx.AttributeProto.INT, "s", b"one"), (onnx.AttributeProto.INT, "ints", [1, 2]),
     (onnx.AttributeProto.INT, "f", 1.0), (onnx.AttributeProto.INTS, "i", 1)],
    ids=["INT of STRING", "INT of INTS", "INT of FLOAT", "INTS of INT"],
)  # fmt: skip
def test_an_attribute_of_another_type_than_it_says(tmp_path: Path, type_given: int, field: str, value: object) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"], name="culprit", axis=0)
    attribute = node.attribute[0]
    attribute.ClearField("i")
    attribute.type = type_given
    if isinstance(value, list):
        getattr(attribute, field).extend(value)
    else:
        setattr(attribute, field, value)
    save(tmp_path, [node], 4)
    done = run(tmp_path, "--dump-shapes")
    assert done.returncode == 1
    assert b"'culprit'" in done.stderr
    assert b"its attribute 'axis'" in done.stderr


def test_a_number_that_is_left_out_is_0(tmp_path: Path) -> None:
    """Writers of proto3 leave out zeros."""
    node = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    node.attribute[0].ClearField("i")
    save(tmp_path, [node], 4)
    assert run(tmp_path, "--dump-shapes").returncode == 0
