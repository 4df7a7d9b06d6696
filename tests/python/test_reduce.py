"""python -m onnxc.reduce: faults of the compiler, and what it says of files that it cannot read."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxc.reduce import is_same_failure
from tests.onnxc_commands import BINARIES, REPOSITORY
from tests.python.test_reduction import INT64, chain
from tests.random.quick import unoptimising_compiler


def reduce(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PYTHONPATH": str(REPOSITORY / "python"), "ONNXC_BIN": str(BINARIES), "PATH": "/usr/bin:/bin",
        "ONNXC_MODEL_CACHE": "", "ONNXC_CXX": str(unoptimising_compiler(folder)),
    }  # fmt: skip
    command = [sys.executable, "-m", "onnxc.reduce", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def operators(file: Path) -> list[str]:
    return [node.op_type for node in onnx.load(file).graph.node]


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(model, folder / "model.onnx")
    return folder


COMMAND = ("model.onnx", "-o", "small.onnx")


@pytest.mark.usefixtures("commands")
def test_a_refusal_is_reduced_and_told_as_onnxc_tells_it(tmp_path: Path) -> None:
    """onnxruntime knows the operator as little, and is not needed."""
    done = reduce(saved(chain("NoSuchOperator"), tmp_path), *COMMAND)
    assert done.returncode == 0, done.stderr
    assert (
        "small.onnx: 1 of 21 nodes fail in the same way (compile, exit code 1: 1 node cannot be compiled: "
        "'n11': NoSuchOperator of ai.onnx version 17: ONNX has no operator of this name" in done.stdout
    )
    assert operators(tmp_path / "small.onnx") == ["NoSuchOperator"]
    assert (tmp_path / "small.onnx.v11.npy").exists()


@pytest.mark.usefixtures("commands")
def test_sizes_that_do_not_fit_are_a_refusal_too(tmp_path: Path) -> None:
    """A matrix of three columns times one of four rows: onnxruntime does not run it either."""
    model = chain("Cos")
    model.graph.node.append(helper.make_node("MatMul", ["v9", "weights"], ["z"], name="product"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones((4, 2), np.float32), "weights"))
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [None, None]))
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3
    done = reduce(saved(model, tmp_path), *COMMAND)
    assert done.returncode == 0, done.stderr
    assert "1 of 22 nodes fail in the same way (compile, exit code 1: " in done.stdout
    assert operators(tmp_path / "small.onnx") == ["MatMul"]


@pytest.mark.usefixtures("commands")
def test_a_wrong_result_is_reduced_to_the_node_that_gives_it(tmp_path: Path) -> None:
    """The planted fault is a precision that the tolerance does not allow; a product has it."""
    done = reduce(saved(with_product(), tmp_path), *COMMAND, "--option=--precision=bfloat16", "--tolerance", "1e-4")
    assert done.returncode == 0, done.stderr
    assert "1 of 30 nodes fail in the same way (result)" in done.stdout
    assert operators(tmp_path / "small.onnx") == ["MatMul"]
    [given] = onnx.load(tmp_path / "small.onnx").graph.input
    assert [dim.dim_param or dim.dim_value for dim in given.type.tensor_type.shape.dim] == ["N", "C", 16]


def with_product() -> onnx.ModelProto:
    """In the middle of thirty operators."""
    nodes = [helper.make_node("Abs" if i % 2 else "Neg", [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(29)]
    nodes[14].input[0] = "product"
    nodes.insert(14, helper.make_node("MatMul", ["v14", "weights"], ["product"], name="product"))
    weights = np.random.default_rng(0).uniform(-1, 1, (16, 8)).astype(np.float32)
    given = helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N", "C", 16])
    result = helper.make_tensor_value_info("v29", TensorProto.FLOAT, [None] * 3)
    graph = helper.make_graph(nodes, "g", [given], [result], [numpy_helper.from_array(weights, "weights")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.usefixtures("commands")
def test_the_values_of_an_earlier_result_go(tmp_path: Path) -> None:
    saved(chain("NoSuchOperator"), tmp_path)
    for name in ("small.onnx.old.npy", "other.onnx.old.npy", "small.onnx.txt"):
        (tmp_path / name).write_bytes(b"")
    done = reduce(tmp_path, *COMMAND)
    assert done.returncode == 0, done.stderr
    assert "1 of 21 nodes fail in the same way (compile, exit code 1: " in done.stdout
    [given] = [each.name for each in onnx.load(tmp_path / "small.onnx").graph.input]
    left = sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(("small", "other")))
    assert left == sorted(["small.onnx", f"small.onnx.{given}.npy", "other.onnx.old.npy", "small.onnx.txt"])


@pytest.mark.usefixtures("commands")
def test_what_onnxruntime_does_not_run_and_onnxc_compiles_is_no_failure(tmp_path: Path) -> None:
    """A Gather beyond its tensor: only a run could tell."""
    nodes = [helper.make_node("Gather", ["x", "place"], ["y"], axis=0)]
    inputs = [
        helper.make_tensor_value_info(name, kind, [1]) for name, kind in (("x", TensorProto.FLOAT), ("place", INT64))
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    np.save(tmp_path / "place.npy", np.array([7]))
    done = reduce(saved(model, tmp_path), *COMMAND, "--input", "place=place.npy")
    assert done.returncode == 1
    assert "onnxc.reduce: the model compiles, but onnxruntime does not run it, so that its right results" in done.stderr


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nofile.onnx", "-o", "small.onnx"), 1, "'nofile.onnx': No such file or directory\n"),
        ((".", "-o", "small.onnx"), 1, "'.': Is a directory\n"),
        (("text.onnx", "-o", "small.onnx"), 1, "'text.onnx' is not an ONNX model, or lacks its external data: "),
        ((*COMMAND, "--input", "q=x.npy"), 1, "--input q=x.npy: the model has no input 'q'; it has 'v0'\n"),
        ((*COMMAND, "--input", "v0=x.npy"), 1, "--input v0=x.npy: 'x.npy': No such file or directory\n"),
        ((*COMMAND, "--input", "v0=text.onnx"), 1, "--input v0=text.onnx: 'text.onnx' is not an .npy file: "),
        ((*COMMAND, "--dim", "Q=2"), 1, "--dim Q: the inputs have no dim of this name; they have "),
        ((*COMMAND, "--random", "-1"), 2, "argument --random: invalid seed value: '-1'"),
        ((*COMMAND, "--tolerance", "nan"), 2, "argument --tolerance: invalid tolerance value: 'nan'"),
        ((*COMMAND, "--option=--bad"), 1, "--option: there is no option '--bad'"),
        ((*COMMAND, "--dim", "N"), 2, "--dim N: give it as NAME=SIZE, such as --dim N=2\n"),
        (("model.onnx", "-o", "folder/small.onnx"), 1, "-o folder/small.onnx: there is no folder 'folder'\n"),
        (COMMAND, 1, "nothing fails: there is nothing to reduce\n"),
    ],
)
def test_what_it_cannot_do_it_says_in_a_line(tmp_path: Path, words: Sequence[str], code: int, message: str) -> None:
    saved(chain("Cos"), tmp_path)
    (tmp_path / "text.onnx").write_text("this is a text")
    done = reduce(tmp_path, *words)
    assert done.returncode == code
    assert ("error: " if code == 2 else "onnxc.reduce: ") + message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "small.onnx").exists()


REFUSAL = "compile, exit code 1: 2 nodes cannot be compiled:\n  'a': Foo of ai.onnx: no\n  'b': Bar of ai.onnx: no"


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        ("compile, exit code 1: 1 node cannot be compiled:\n  'c': Bar of ai.onnx: no", True),
        ("compile, exit code 1: 1 node cannot be compiled:\n  'a': Baz of ai.onnx: no", False),
        ("compile, exit code 3: 1 node cannot be compiled:\n  'a': Foo of ai.onnx: no", False),
        ("compile, exit code 1: 1 node cannot be compiled:", False),
        ("result", False),
    ],
)
def test_a_refusal_of_fewer_nodes_is_the_same(found: str, is_same: bool) -> None:
    assert is_same_failure(REFUSAL, found) == is_same


def test_sizes_and_names_in_a_message_may_change() -> None:
    wanted = "compile, exit code 1: node 'n12' (Add): shapes [N, 3] and [4, 3] differ at dim 0"
    assert is_same_failure(wanted, "compile, exit code 1: node 'n2' (Add): shapes [M, 5] and [4, 3] differ at dim 1")
    assert not is_same_failure(
        wanted, "compile, exit code 1: node 'n2' (Sub): shapes [M, 5] and [4, 3] differ at dim 1"
    )


def test_runs_that_are_refused_are_the_same_whatever_they_say() -> None:
    assert is_same_failure("run: one", "run: another")
