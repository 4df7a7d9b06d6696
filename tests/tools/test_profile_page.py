"""onnxc-run --profile with the user's modules, --profile=FILE.html and --trace-events."""

import itertools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests import onnxc_commands
from tests.report import annotated_model
from tests.report.pages import chain, drawn_by_a_browser, read_page, section

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
        "Steps under the machine's roofs",
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


def test_the_roofline(model: Path, tmp_path: Path) -> None:
    """A product of 3x64x64 by 64x64: its operations, and each of three tensors moved once."""
    operations, moved = 2 * 3 * 64**3, 4 * (3 * 64 * 64 + 64 * 64 + 3 * 64 * 64)
    step = json.loads(run(model, "--profile", "--json").stdout)["steps"][0]
    assert (step["operations"], step["bytes"]) == (operations, moved)
    run(model, f"--profile={tmp_path / 'profile.html'}")
    sections = read_page(tmp_path / "profile.html")
    roofline = section(sections, "Steps under the machine's roofs")["content"]
    facts = dict(section(sections, "This run")["content"])
    assert facts["peak of this machine"].startswith(
        f"{roofline['gflops']:.1f} GFLOP/s, {roofline['gigabytes']:.1f} GB/s"
    )
    point = roofline["points"][0]
    assert point["intensity"] == pytest.approx(operations / moved)
    assert point["rate"] * point["weight"] * 1e6 == pytest.approx(operations)
    assert 0 < point["rate"] < roofline["gflops"]
    steps = section(sections, "Steps")["content"]["rows"]
    assert [point["label"].split(" ")[0] for point in roofline["points"]] == [
        str(row[0]) for row in steps if row[3] is not None
    ]


def test_two_runs_compared(model: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text(run(model, "--profile", "--json").stdout)
    fast = onnxc_commands.compile_model(model.with_suffix(".onnx"), tmp_path / "fast.so")
    run(fast, f"--profile={tmp_path / 'page.html'}", "--against", str(before))
    sections = read_page(tmp_path / "page.html")
    facts = dict(section(sections, "Beside an earlier run")["content"])
    earlier = json.loads(before.read_text())
    assert facts["before"].startswith(f"{model}, {earlier['run_ms']:.3f} ms on ")
    assert facts["now"].startswith(f"{fast}, ")
    rows = section(sections, "What changed")["content"]["rows"]
    assert sum(row[1] for row in rows) == pytest.approx(sum(step["ms"] for step in earlier["steps"]))
    now = section(sections, "Steps")["content"]["rows"]
    assert sum(row[2] for row in rows) == pytest.approx(sum(row[1] for row in now))
    assert {layer for row in rows for layer in row[6].split("\n")} >= {"first (MatMul)", "last (Softmax)"}
    assert all(row[0] == pytest.approx(row[2] - row[1]) for row in rows)


def sizes_text(inputs: dict[str, list[int]]) -> str:
    return ", ".join(f"{name} {'x'.join(map(str, dims))}" for name, dims in inputs.items())


def test_runs_under_other_conditions_are_compared_only_if_asked(model: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    page = f"--profile={tmp_path / 'page.html'}"
    earlier = json.loads(run(model, "--profile", "--json", "--threads", "1").stdout)
    sizes = sizes_text(earlier["inputs"])
    assert (earlier["threads"], earlier["precision"]) == (1, "float32")
    for field, other, text in (
        ("inputs", {"x": [9, 9]}, "x 9x9; 1 thread; float32"),
        ("threads", 3, f"{sizes}; 3 threads; float32"),
        ("precision", "bfloat16", f"{sizes}; 1 thread; bfloat16"),
    ):
        before.write_text(json.dumps({**earlier, field: other}))
        words = [page, "--against", str(before), "--threads", "1"]
        error = run(model, *words, code=1).stderr
        assert f"'{before}' is of another run: {text}; this one has {sizes}; 1 thread; float32." in error
        assert "compare all the same with --compare-anyway" in error
        run(model, *words, "--compare-anyway")
        facts = dict(section(read_page(tmp_path / "page.html"), "Beside an earlier run")["content"])
        assert facts["before"].endswith(f"inputs {text}")
    assert (
        "--compare-anyway has an effect only with --against or --verify"
        in run(model, "--compare-anyway", code=2).stderr
    )


def test_figures_name_the_sizes_of_the_inputs(model: Path, tmp_path: Path) -> None:
    sizes = sizes_text(json.loads(run(model, "--bench", "--json").stdout)["inputs"])
    assert run(model, "--bench").stdout.startswith(f"Inputs: {sizes}\n")
    assert f"\ninputs: {sizes}\n" in run(model, "--profile").stdout
    run(model, f"--profile={tmp_path / 'page.html'}")
    assert dict(section(read_page(tmp_path / "page.html"), "This run")["content"])["inputs"] == sizes


def test_an_earlier_run_that_is_none(model: Path, tmp_path: Path) -> None:
    page = f"--profile={tmp_path / 'page.html'}"
    for text in ("<html>", "{}", '{"model": 1}', "[]"):
        (tmp_path / "before.json").write_text(text)
        error = run(model, page, "--against", str(tmp_path / "before.json"), code=1).stderr
        assert "this is not what onnxc-run --profile --json writes" in error
    error = run(model, "--profile", "--against", "before.json", code=2).stderr
    assert "--against has an effect only with --profile=FILE; give that as well, or leave out --against" in error


def test_two_hundred_steps_take_less_than_a_megabyte(tmp_path: Path) -> None:
    """Twice, with an earlier run beside."""
    onnx.save(chain(400), tmp_path / "model.onnx")
    model = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", "--march", "x86-64-v3")
    dims = ["--dim", "D=4", "--dim", "H=4", "--dim", "W=4"]
    (tmp_path / "before.json").write_text(run(model, *dims, "--profile", "--json").stdout)
    run(model, *dims, f"--profile={tmp_path / 'page.html'}", "--against", str(tmp_path / "before.json"))
    assert len(section(read_page(tmp_path / "page.html"), "Steps")["content"]["rows"]) >= 200
    assert (tmp_path / "page.html").stat().st_size < 1e6


@pytest.mark.slow
def test_a_browser_draws_it(model: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text(run(model, "--profile", "--json").stdout)
    run(model, f"--profile={tmp_path / 'page.html'}", "--against", str(before))
    drawn = drawn_by_a_browser(tmp_path / "page.html").replace("<wbr>", "")
    sections = read_page(tmp_path / "page.html")
    assert drawn.count("<section>") == len(sections)
    points = section(sections, "Steps under the machine's roofs")["content"]["points"]
    assert drawn.count('class="point"') == len(points)
    assert "GB/s from memory" in drawn
    assert "NaN" not in drawn
    assert "&lt;/script&gt;&lt;b&gt;" in drawn


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
