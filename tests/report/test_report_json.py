"""The JSON of --report: what docs/report.md says of its fields, and figures of kernels as the code object has them."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests import onnxc_commands
from tests.models import code_object

PAGE = onnxc_commands.REPOSITORY / "docs" / "report.md"
# A convolution twice, loops over a size that is not known, sizes and a loop in which the host decides.
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
example (float[1, 20, 9, 10] x, float[N, 3] other, int64 n, bool go) => (y, places, last)
<float two = {2.0}> {
  a = Conv <pads = [1, 1, 1, 1]> (x, w)
  y = Conv <pads = [1, 1, 1, 1]> (a, w)
  [find] places = NonZero(other)
  [repeat] last = Loop(n, go, other) <body = body (int64 i, bool k, float[N, 3] s) => (bool next, float[N, 3] t) {
    next = Identity(k)
    t = Mul(s, two)
  }>
}
"""
Json = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, commands: None) -> Path:
    path = tmp_path_factory.mktemp("report") / "model.onnx"
    parsed = onnx.parser.parse_model(MODEL)
    weights = np.random.default_rng(0).standard_normal((20, 20, 3, 3)).astype(np.float32)
    parsed.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(parsed, path)
    return path


def report(model: Path, *options: str) -> Json:
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(model), "--report", "--json", *options]
    content: Json = json.loads(onnxc_commands.execute(command).stdout)
    return content


@pytest.fixture(scope="module")
def compiled(model: Path) -> Json:
    return report(model, "--target", "cpu,hip", "-o", str(model.with_name("model.so")))


def documented(table: int) -> set[str]:
    """The fields in the first column of one of the page's tables."""
    tables = PAGE.read_text().split("| field | |")
    rows = [line for line in tables[table + 1].split("\n\n")[0].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_field_is_documented(model: Path, compiled: Json) -> None:
    assert (compiled["format"], compiled["version"]) == ("onnxc-report", 1)
    assert set(compiled) - {"format", "version"} == documented(0)
    assert set(compiled["gpu"]) == documented(1)
    for kernel in compiled["gpu"]["kernels"]:
        assert set(kernel) == documented(2)
    text = PAGE.read_text()
    gpu = compiled["gpu"]
    for one in (
        compiled["nodes"][0],
        compiled["steps"][0],
        gpu["nodes"][0],
        gpu["steps"][0],
        gpu["host_reads"][0],
        compiled["offers"][0],
    ):
        fields = ", ".join(f'"{name}"' for name in one)
        assert f"{{{fields}}}" in text
    assert "gpu" not in report(model)


def test_figures_are_those_of_the_code_object(model: Path, compiled: Json) -> None:
    found = code_object.kernels(code_object.extract(model.with_name("model.so"), model.with_name("kernels.co")))
    command = ["llvm-readelf-19", "--notes", str(model.with_name("kernels.co"))]
    notes = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = re.findall(r"\.agpr_count:\s+(\d+).*?\.symbol:\s+(\w+)\.kd", notes, re.DOTALL)
    accumulation = {name: int(count) for count, name in counts}
    kernels = {kernel["name"]: kernel for kernel in compiled["gpu"]["kernels"]}
    assert kernels.keys() == {kernel.name for kernel in found}
    for kernel in found:
        said = kernels[kernel.name]
        assert said["lds_bytes"] == kernel.lds
        assert said["scratch_bytes"] == kernel.scratch
        assert said["spilled_registers"] == kernel.spilled_registers
        assert said["accumulation_registers"] == accumulation[kernel.name]
        # Vector registers of both kinds are allotted by fours.
        registers = said["vector_registers"]
        if said["accumulation_registers"]:
            registers = (registers + 3) // 4 * 4 + said["accumulation_registers"]
        assert registers == kernel.vector_registers
        assert 1 <= said["waves"] <= 8
        assert 1 <= said["scalar_registers"] <= 108


def test_what_was_planned(model: Path, compiled: Json) -> None:
    kernels = {kernel["name"]: kernel for kernel in compiled["gpu"]["kernels"]}
    templates = [kernel for name, kernel in kernels.items() if name.startswith("kernel")]
    assert sum(len(kernel["steps"]) for kernel in templates) == 2
    for kernel in templates:
        assert kernel["lds_bytes"] == kernel["planned_lds_bytes"] > 0
        assert kernel["modelled_us"] > 0
        assert kernel["bound"]
    assert any(kernel["modelled_us"] is None for name, kernel in kernels.items() if name.startswith("nest"))  # of N
    planned = report(model, "--target", "cpu,hip")
    registers = ("vector_registers", "accumulation_registers", "scalar_registers", "spilled_registers")
    of_clang = dict.fromkeys(("lds_bytes", "scratch_bytes", "waves", *registers))
    expected = [{**kernel, **of_clang} for kernel in compiled["gpu"]["kernels"]]
    assert planned["gpu"]["kernels"] == expected
    assert planned["nodes"] == compiled["nodes"]


def test_host_reads_name_node_and_bytes(compiled: Json) -> None:
    found = [(read["nodes"], read["bytes"]) for read in compiled["gpu"]["host_reads"]]
    size = ([{"name": "find", "op_type": "NonZero"}], 8)
    trips = ([{"name": "n", "op_type": "Input"}], 8)
    condition = ([{"name": "repeat", "op_type": "Loop"}], 1)
    assert sorted(found, key=str) == sorted([size, trips, condition], key=str)
    assert all(read["tensor"] for read in compiled["gpu"]["host_reads"])
