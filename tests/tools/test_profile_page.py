"""onnxc-run --profile with the user's modules, --profile=FILE.html and --trace-events."""

import itertools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import onnxc_commands
from tests.report import annotated_model
from tests.report.pages import read_page, section

pytestmark = pytest.mark.usefixtures("commands")

MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
small (float[N, 64, 64] x, float[64, 64] w) => (y) {
  [first] a = MatMul(x, w)
  [second] b = Softmax(a)
  [third] c = MatMul(b, w)
  [last] y = Softmax(c)
}
"""
HOSTILE = "</script><b>\"'&<!--"
MODULES = {"first": "encoder.linear", "second": "encoder.soft", "third": f"decoder.{HOSTILE}"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    source = annotated_model.save(MODEL, folder / "model.onnx", MODULES)
    return onnxc_commands.compile_model(source, folder / "model.so", "-O0")


def run(model: Path, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(model), "--random", "0", "--dim", "N=3", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_json_has_sources_and_modules(model: Path) -> None:
    profile = json.loads(run(model, "--profile", "--json").stdout)
    sources = {step["nodes"][0]: step["sources"] for step in profile["steps"]}
    assert sources["first (MatMul)"] == [
        {
            "module": "encoder.linear",
            "line": "monai/networks/blocks/dynunet_block.py:100",
            "code": "a = self.first(x)",
        }
    ]
    assert sources["last (Softmax)"] == []
    modules = {module["module"]: module for module in profile["modules"]}
    # The one part of the decoder is all of it, and is left out.
    assert set(modules) == {"encoder", "encoder.linear", "encoder.soft", "decoder"}
    parts = modules["encoder.linear"]["ms"] + modules["encoder.soft"]["ms"]
    assert modules["encoder"]["ms"] == pytest.approx(parts)
    of_softmax = [step["ms"] for step in profile["steps"] if step["nodes"] == ["second (Softmax)"]]
    assert modules["encoder.soft"]["ms"] == pytest.approx(sum(of_softmax))
    # The result of the first product lives until the second step.
    assert profile["steps"][0]["working_bytes"] >= 3 * 64 * 64 * 4
    assert max(step["working_bytes"] for step in profile["steps"]) <= profile["memory"]["working"]


def test_the_table_has_lines_and_modules(model: Path) -> None:
    text = run(model, "--profile").stdout
    assert re.search(r"first \(MatMul\)  \[monai/networks/blocks/dynunet_block.py:100 in encoder.linear\]", text)
    assert re.search(r"^ .*%.*  encoder \(\d+ steps?\)$", text, re.MULTILINE)
    assert re.search(r"^ .*%.*    encoder.linear \(\d+ steps?\)$", text, re.MULTILINE)


def test_the_page(model: Path, tmp_path: Path) -> None:
    done = run(model, f"--profile={tmp_path / 'profile.html'}")
    assert done.stdout == ""
    sections = read_page(tmp_path / "profile.html")
    assert [each["title"] for each in sections] == [
        "This run",
        "Time by module",
        "Time by kernel",
        "Steps",
        "Working memory over the run",
    ]
    steps = section(sections, "Steps")["content"]
    names = [column["name"] for column in steps["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in steps["rows"]]
    assert "3x64x64" in rows[0]["gives"]
    assert rows[0]["from"] == "monai/networks/blocks/dynunet_block.py:100 in encoder.linear: a = self.first(x)"
    assert any(HOSTILE in row["from"] for row in rows)
    assert sum(row["share %"] for row in rows) == pytest.approx(100)
    chart = section(sections, "Working memory over the run")["content"]
    assert len(chart["values"]) == len(rows)
    assert max(chart["values"]) > 0


def test_trace_events(model: Path, tmp_path: Path) -> None:
    done = run(model, "--trace-events", str(tmp_path / "run.json"))
    assert done.stdout == ""
    events: list[dict[str, Any]] = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    steps = [event for event in events if event.get("cat") == "step"]
    modules = [event for event in events if event.get("cat") == "module"]
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    assert steps[0]["args"]["layers"] == ["first (MatMul)"]
    assert steps[0]["args"]["from"] == ["monai/networks/blocks/dynunet_block.py:100 in encoder.linear"]
    for event in steps + modules:
        assert event["dur"] >= 0
        assert {"name", "ts", "pid", "tid"} <= event.keys()
    for earlier, later in itertools.pairwise(steps):
        assert earlier["ts"] + earlier["dur"] <= later["ts"] + 1e-6
    # Slices of one thread must nest: a module spans its steps.
    [encoder] = [event for event in modules if event["name"] == "encoder"]
    inside = [event for event in steps if event["args"].get("from", [""])[0].endswith(("linear", "soft"))]
    assert encoder["ts"] == pytest.approx(inside[0]["ts"])
    assert encoder["ts"] + encoder["dur"] == pytest.approx(inside[-1]["ts"] + inside[-1]["dur"])
