"""A compiler that removes an object long before it writes it, as ccache may. The linker is prepared meanwhile."""

import os
import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnxc_commands import BINARIES

COMPILER = """#!/bin/bash
if [[ " $* " == *"/model.cpp "* ]]; then
  for ((i = 1; i < $#; i++)); do
    [[ ${!i} == -o ]] && object=$((i + 1)) && rm -f "${!object}"
  done
  sleep 1
fi
exec /usr/bin/clang++-19 "$@"
"""


@pytest.mark.usefixtures("commands")
def test_an_object_may_be_missing_while_its_compile_runs(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Tanh", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model, compiler, library = tmp_path / "model.onnx", tmp_path / "clang++-19", tmp_path / "model.so"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), model)
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    command = [str(BINARIES / "onnxc"), str(model), "-o", str(library), "-j", "2"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "ONNXC_CXX": str(compiler)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert library.stat().st_size > 0
