"""Loops over float16 values convert vectors of them: clang would compare and round such values one by one.

A CPU without AVX512-FP16 has no comparison of float16 values, and clang asks for one wherever it sees that both sides
were widened.
"""

import re
import subprocess
from collections import Counter
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests import onnxc_commands

pytestmark = pytest.mark.usefixtures("commands")

ONE = ("Relu", "LeakyRelu", "HardSwish", "Floor", "Ceil", "Round", "Sign", "IsNaN", "IsInf")
TWO = ("Max", "Min", "Less", "GreaterOrEqual", "Equal")


def model() -> onnx.ModelProto:
    """A loop nest for each operator; the float16 values of Clip have been rounded, not loaded."""
    nodes = [
        *(helper.make_node(name, ["x"], [name]) for name in ONE),
        *(helper.make_node(name, ["x", "z"], [name]) for name in TWO),
        helper.make_node("Add", ["x", "z"], ["sum"]),
        helper.make_node("Clip", ["sum", "low", "high"], ["Clip"]),
        helper.make_node("Less", ["x", "z"], ["is_less"]),
        helper.make_node("Where", ["is_less", "x", "z"], ["Where"]),
    ]
    limits = [helper.make_tensor(name, TensorProto.FLOAT16, [], [value]) for name, value in (("low", -1), ("high", 2))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, ["N"]) for name in "xz"]
    outputs = [helper.make_empty_tensor_value_info(name) for name in (*ONE, *TWO, "Clip", "Where")]
    graph = helper.make_graph(nodes, "float16", inputs, outputs, limits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("march", ["x86-64-v3", "x86-64-v4"])
def test_vectors_are_converted(tmp_path: Path, march: str) -> None:
    onnx.save(model(), tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", "--march", march)
    listing = subprocess.run(
        ["llvm-objdump-19", "-d", "--no-show-raw-insn", str(shared_object)], capture_output=True, text=True, check=True
    ).stdout
    vectors, alone, nest = Counter[str](), Counter[str](), ""
    for line in listing.splitlines():
        if line.endswith(">:"):
            found = re.search(r"nest\d+_tasks", line)
            nest = found[0] if found else ""
        elif nest and "vcvtph2ps" in line:
            # A vector from memory, or a number that was moved to a register by itself.
            (alone if re.search(r"%xmm\d+, %xmm\d+$", line) else vectors)[nest] += 1
    assert len(vectors) == len(ONE) + len(TWO) + 2
    # The rest after the last vector is converted by itself, some times for each load; one by one it would be 16.
    assert {nest: count for nest, count in alone.items() if count > 8} == {}
