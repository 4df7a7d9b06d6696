"""Nests that differ only by places in memory are one function: the source of a Concat grows by some lines a part."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")

WIDTH = 3  # columns of a part


def save_parts(count: int, path: Path) -> None:
    """y joins `count` slices of x, each of WIDTH columns, from column i on."""
    axis, columns = numpy_helper.from_array(np.array([1]), "axis"), count + WIDTH
    begins = [numpy_helper.from_array(np.array([i]), f"begin{i}") for i in range(count)]
    ends = [numpy_helper.from_array(np.array([i + WIDTH]), f"end{i}") for i in range(count)]
    nodes = [helper.make_node("Slice", ["x", f"begin{i}", f"end{i}", "axis"], [f"s{i}"]) for i in range(count)]
    nodes.append(helper.make_node("Concat", [f"s{i}" for i in range(count)], ["y"], axis=1))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", columns])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", WIDTH * count])
    graph = helper.make_graph(nodes, "parts", [x], [y], [axis, *begins, *ends])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def emit(count: int, folder: Path, *options: str) -> str:
    model = folder / f"parts{count}.onnx"
    save_parts(count, model)
    source = folder / f"{count}.cpp"
    onnxc_commands.execute(
        [*map(str, [onnxc_commands.BINARIES / "onnxc", model, "-o", source]), "--emit", "source", "-q", *options]
    )
    return source.read_text()


def test_parts_of_a_concat_are_one_function(tmp_path: Path) -> None:
    few, many = emit(20, tmp_path), emit(220, tmp_path)
    assert len(re.findall(r"^static void nest\d+_tasks\(", many, re.MULTILINE)) == 1
    assert (len(many) - len(few)) / 200 < 700  # bytes; 1,570 with a function for each


def test_parts_of_a_concat_are_one_kernel(tmp_path: Path) -> None:
    emit(40, tmp_path, "--target", "gpu")
    [device] = tmp_path.glob("40.*hip*")
    assert device.read_text().count("__global__") == 1


@pytest.mark.parametrize("rows", [1, 5])
def test_parts_are_where_they_belong(rows: int, tmp_path: Path) -> None:
    count = 30
    save_parts(count, tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    x = np.arange(rows * (count + WIDTH), dtype=np.float32).reshape(rows, -1)
    [y] = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], tmp_path / "run").values()
    np.testing.assert_array_equal(y, np.concatenate([x[:, i : i + WIDTH] for i in range(count)], axis=1))
