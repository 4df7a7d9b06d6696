"""--dump-shapes --against: the differences of two models, and the first of them."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import onnxc_commands
from tests.report import annotated_model

pytestmark = pytest.mark.usefixtures("commands")

# A U-Net's ends, and a layer after them.
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
small (float[N, 4, D, H] x) => (z) <float[4] scales = {1, 1, 2, 2}> {
  [down] a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  [up] b = Resize <mode = "nearest"> (a, , scales)
  [join] y = Concat <axis = 1> (b, x)
  [last] z = Relu(y)
}
"""
MODULES = {"down": "encoder.pool", "join": "decoder.join"}


def save(file: Path, *changes: tuple[str, str]) -> Path:
    """The model with these parts of its text exchanged."""
    text = MODEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return annotated_model.save(text, file, MODULES)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return save(tmp_path / "before.onnx")


def run(after: Path, *options: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(after), *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


def table(after: Path, before: Path, *options: str) -> list[str]:
    return run(after, "--dump-shapes", "--against", before, *options).stdout.splitlines()


def difference(after: Path, before: Path, *options: str) -> Any:
    return json.loads(run(after, "--dump-shapes", "--against", before, "--json", *options).stdout)


def test_equal_models(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx")
    assert table(after, before) == [f"--- {before}: 4 nodes", f"+++ {after}: 4 nodes", "no difference in 4 nodes"]
    found = difference(after, before)
    assert (found["format"], found["version"], found["alike"]) == ("onnxc-shape-difference", 1, 4)
    assert not found["interface"]
    assert not found["nodes"]
    assert not found["rules"]


def test_a_node_that_was_put_in(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("y = Concat <axis = 1> (b, x)", "y = Concat <axis = 1> (c, x)"),
                 ("  [join]", "  [new] c = Relu(b)\n  [join]"))  # fmt: skip
    found = difference(after, before)
    assert found["alike"] == 3
    new, join = found["nodes"]
    assert new["before"] is None
    assert (new["after"]["name"], new["after"]["place"]) == ("new", 2)
    assert join["begins"]
    assert join["changes"] == [{"what": "in 0 comes from", "before": "Resize 'up'", "after": "Relu 'new'"}]
    lines = table(after, before)
    assert "+ Relu 'new' (2)" in lines
    assert "    out c float32[N, 4, D, H]" in lines
    assert lines[-1] == "3 nodes alike, 1 differ (1 of them by themselves), 0 gone, 1 new"
    assert "- Relu 'new' (2)" in table(before, after)


def test_where_it_begins_and_what_follows(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("{1, 1, 2, 2}", "{1, 2, 2, 2}"))
    up, join, last = difference(after, before)["nodes"]
    assert [up["begins"], join["begins"], last["begins"]] == [True, False, False]
    assert up["changes"] == [
        {"what": "out 0 'b'", "before": "float32[N, 4, D, H]", "after": "float32[N, 8, D, H]"},
    ]
    assert join["after"]["source"]["line"] == "monai/networks/blocks/dynunet_block.py:102"
    lines = table(after, before)
    at = lines.index("  Resize 'up' (1, was 1)")
    assert lines[at + 1 : at + 4] == ["    out 0 'b'", "    - float32[N, 4, D, H]", "    + float32[N, 8, D, H]"]
    assert "  Relu 'last' (3, was 3) follows: out 0 'z' float32[N, 12, D, H] was float32[N, 8, D, H]" in lines
    assert "output 0 'z'" in lines
    assert [node["after"]["name"] for node in difference(after, before, "--node", "Concat")["nodes"]] == ["join"]


def test_fixed_sizes(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("[N, 4, D, H]", "[1, 4, 96, 96]"))
    found = difference(after, before)
    assert found["interface"][0] == {
        "what": "input 0 'x'",
        "before": "float32[N, 4, D, H]",
        "after": "float32[1, 4, 96, 96]",
    }
    assert not any(node["begins"] for node in found["nodes"])
    assert {"what": "sizes", "before": "D = 2*n", "after": None} in found["rules"]


def test_dims_that_are_called_otherwise_are_the_same(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("[N, 4, D, H]", "[batch, 4, depth, height]"))
    lines = table(after, before)
    assert "symbol depth was D" in lines
    assert lines[-1] == "no difference in 4 nodes"


def test_nodes_of_another_exporter_are_found_by_their_order(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", *((f"[{name}]", f"[{name}_1]") for name in ("down", "up", "join", "last")))
    assert table(after, before)[-1] == "no difference in 4 nodes"


def test_attributes(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ('mode = "nearest"', 'mode = "linear"'))
    [up] = difference(after, before)["nodes"]
    assert {"what": "mode", "before": '"nearest"', "after": '"linear"'} in up["changes"]
    assert up["begins"]


def test_a_broken_model_is_compared_as_far_as_it_goes(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("y = Concat <axis = 1> (b, x)", "y = Concat <axis = 1> (a, b, scales)"))
    done = run(after, "--dump-shapes", "--against", before)
    assert "    stopped: node 'join' (Concat" in done.stdout
    assert difference(after, before)["stops"][0] is None
    assert "'join'" in difference(after, before)["stops"][1]


def test_a_file(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("{1, 1, 2, 2}", "{1, 2, 2, 2}"))
    file = tmp_path / "difference.json"
    assert run(after, f"--dump-shapes={file}", "--against", before).stdout == ""
    assert json.loads(file.read_text()) == difference(after, before)
    error = run(after, f"--dump-shapes={before}", "--against", before, code=1).stderr
    assert before.name in error


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--against", "{before}"], 2, "--against has an effect only with --dump-shapes; give that as well"),
        (
            ["--dump-shapes", "--against", "{before}", "-o", "a.so"],
            2,
            "--against has no effect with --output; leave out one of them",
        ),
        (
            ["--dump-shapes", "--against", "{before}", "--at", "D=4"],
            2,
            "--at has no effect with --against; leave out one of them",
        ),
        (["--dump-shapes", "--against", "missing.onnx"], 1, "missing.onnx"),
    ],
)
def test_mistakes(options: list[str], code: int, message: str, before: Path) -> None:
    assert message in run(before, *(option.format(before=before) for option in options), code=code).stderr


def test_every_field_is_documented(before: Path, tmp_path: Path) -> None:
    after = save(tmp_path / "after.onnx", ("{1, 1, 2, 2}", "{1, 2, 2, 2}"))
    page = (onnxc_commands.REPOSITORY / "docs" / "shapes.md").read_text().split("## Two models compared")[1]
    documented = set(re.findall(r"`(\w+)`", page))
    found = difference(after, before)
    fields = {*found, *found["nodes"][0], *found["nodes"][0]["changes"][0], *found["nodes"][0]["after"]}
    assert fields - {"format", "version"} <= documented
