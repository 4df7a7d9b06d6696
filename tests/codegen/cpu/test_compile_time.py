"""The cost of compiling models of one node: processor time, as a multiple of what the same clang takes for a fixed
file.

The times are sums over a few turns of both, so that little of the machine's speed and load is in the ratio: the least
times of short processes vary three times as much. A bound is 1.3 times what was measured; with the direct kernel
compiled twice, 1x1x1 takes 1.4 times.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands

ALLOWED = 1.3
LEAST_TURNS, MOST_TURNS = 3, 8  # more than the least while the figure is too high: other programs may disturb a few
OPTIONS = ("--march", "x86-64-v3", "-q")
CLANG = os.environ.get("ONNXC_CXX") or "clang++-19"

# Loops that clang unrolls and vectorizes, which is what it does most of the time in a kernel.
REFERENCE = """
template <int n>
void add_products(float* __restrict sums, const float* a, const float* b, long count) {
  for (long i = 0; i < count; ++i)
    for (int k = 0; k < n; ++k) sums[i * n + k] += a[i + k] * b[k];
}
""" + "".join(
    f"template void add_products<{n}>(float* __restrict, const float*, const float*, long);\n" for n in range(3, 15)
)


def processor_seconds(command: Sequence[str]) -> float:
    """User and system time of a command and of all that it started."""
    environment = {name: value for name, value in os.environ.items() if name != "ONNXC_KEPT_COMPILES"}
    process = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def save_model(path: Path, operator: str, weights: tuple[int, ...] | None, attributes: Mapping[str, object]) -> None:
    """One node that reads an image of 16x24x24 voxels and weights of its channels."""
    channels = 64 if weights is None else weights[0] if operator == "ConvTranspose" else weights[1]
    if attributes.get("group", 1) != 1:
        channels = 64
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, channels, 16, 24, 24))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    values = [] if weights is None else [numpy_helper.from_array(np.full(weights, 0.1, np.float32), "w")]
    node = helper.make_node(operator, ["x", *(value.name for value in values)], ["y"], **attributes)
    graph = helper.make_graph([node], "one_node", [x], [y], values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("operator", "weights", "attributes", "measured"),
    [
        pytest.param("Relu", None, {}, 0.9, id="relu"),
        pytest.param("Conv", (64, 64, 1, 1, 1), {}, 1.75, id="1x1x1"),
        pytest.param("Conv", (64, 64, 3, 3, 3), {"pads": [1] * 6}, 1.55, id="3x3x3"),
        pytest.param("Conv", (64, 1, 3, 3, 3), {"pads": [1] * 6, "group": 64}, 2.15, id="depthwise"),
        pytest.param("Conv", (64, 3, 3, 7, 7), {"pads": [1, 3, 3] * 2, "strides": [1, 2, 2]}, 2.8, id="stem"),
        pytest.param("Conv", (16, 1, 9, 9, 1), {"pads": [4, 4, 0] * 2}, 2.3, id="rows"),
        pytest.param("ConvTranspose", (64, 32, 2, 2, 2), {"strides": [2] * 3}, 1.85, id="transposed"),
        pytest.param("ConvTranspose", (64, 32, 3, 3, 3), {"pads": [1] * 6, "strides": [2] * 3}, 2.2, id="residues"),
    ],
)
def test_one_node(
    operator: str, weights: tuple[int, ...] | None, attributes: Mapping[str, object], measured: float, tmp_path: Path
) -> None:
    model, reference = tmp_path / "model.onnx", tmp_path / "reference.cpp"
    save_model(model, operator, weights, attributes)
    reference.write_text(REFERENCE)
    compile_model = [str(onnxc_commands.BINARIES / "onnxc"), str(model), "-o", str(tmp_path / "model.so"), *OPTIONS]
    compile_reference = [CLANG, "-O3", "-march=x86-64-v3", "-c", str(reference), "-o", str(tmp_path / "reference.o")]
    model_time = reference_time = ratio = 0.0
    for turn in range(1, MOST_TURNS + 1):
        model_time += processor_seconds(compile_model)
        reference_time += processor_seconds(compile_reference)
        ratio = model_time / reference_time
        if turn >= LEAST_TURNS and ratio < ALLOWED * measured:
            return
    pytest.fail(f"{ratio:.2f} times as long as the reference, where {measured:.2f} was measured")
