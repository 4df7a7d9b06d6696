"""--dump-shapes: source lines, filters, sizes put in, and more faults than one."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import onnxc_commands
from tests.report import annotated_model

pytestmark = pytest.mark.usefixtures("commands")

# A U-Net's ends: D must be even, and N any.
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
small (float[N, 4, D, H] x) => (y) {
  [down] a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  [up] b = Resize <mode = "nearest"> (a, , scales)
  [join] y = Concat <axis = 1> (b, x)
}
"""
MODULES = {"down": "encoder.pool", "join": "decoder.join"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = MODEL.replace("=> (y) {", "=> (y) <float[4] scales = {1, 1, 2, 2}> {")
    return annotated_model.save(text, tmp_path_factory.mktemp("views") / "model.onnx", MODULES)


def run(model: Path, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(model), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


def table(model: Path, *options: str) -> list[str]:
    return run(model, "--dump-shapes", *options).stdout.splitlines()


def dump(model: Path, *options: str, code: int = 0) -> Any:
    return json.loads(run(model, "--dump-shapes", "--json", *options, code=code).stdout)


def test_nodes_say_where_they_come_from(model: Path) -> None:
    lines = table(model)
    at = lines.index("Concat 'join'")
    assert lines[at + 1] == "    at  monai/networks/blocks/dynunet_block.py:102 in decoder.join: y = self.join(x)"
    nodes = dump(model)["nodes"]
    assert nodes[0]["source"] == {
        "module": "encoder.pool",
        "line": "monai/networks/blocks/dynunet_block.py:100",
        "code": "a = self.down(x)",
    }
    assert "source" not in nodes[1]


def test_one_line_for_the_dims_of_one_rule(model: Path) -> None:
    [line] = [line for line in table(model) if line.startswith("sizes")]
    place = "monai/networks/blocks/dynunet_block.py:102 in decoder.join"
    assert line == f"sizes   D, H = 2*n (node 'join' (Concat, {place}): dim 2 of every input must agree)"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("d*", ["down", "join"]), ("Resize", ["up"]), ("*.py:102", ["join"]), ("encoder.*", ["down"]), ("up", ["up"])],
)
def test_a_pattern_fits_name_operator_module_or_line(model: Path, pattern: str, names: list[str]) -> None:
    assert [node["name"] for node in dump(model, "--node", pattern)["nodes"]] == names
    lines = table(model, "--node", pattern)
    assert [line.split("'")[1] for line in lines if not line.startswith(" ")] == names


def test_a_pattern_that_fits_nothing_is_refused(model: Path) -> None:
    error = run(model, "--dump-shapes", "--node", "nothing", code=2).stderr
    assert "--node 'nothing': no node has such a name, operator, module or source line" in error


def test_sizes_are_put_in(model: Path) -> None:
    node = dump(model, "--at", "D=96,H=64", "--node", "join")["nodes"][0]
    assert node["outputs"][0]["dims"] == ["N", 8, "D", "H"]
    assert node["outputs"][0]["at"] == ["N", 8, 96, 64]
    assert node["inputs"][0]["at"] == ["N", 4, 96, 64]
    assert "    out a float32[N, 4, D//2, H//2]  at [2, 4, 48, H//2]" in table(model, "--at", "N=2", "--at", "D=96")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("D=95", "--at D=95: no input may have this size; D = 2*n (node 'join' "),
        ("Q=1", "--at 'Q': the inputs have no dim of this name; they have D, H, N"),
        ("D", "--at D: NAME=SIZE is expected"),
        ("D=-1", "--at D=-1: NAME=SIZE is expected"),
    ],
)
def test_sizes_that_cannot_be(model: Path, sizes: str, message: str) -> None:
    assert message in run(model, "--dump-shapes", "--at", sizes, code=2).stderr


def test_choices_need_a_dump(model: Path) -> None:
    assert (
        "--node has an effect only with --dump-shapes; give that as well"
        in run(model, "-o", "/dev/null/x.so", "--node", "up", code=2).stderr
    )


def test_a_rule_that_does_not_hold_is_marked(tmp_path: Path) -> None:
    model = annotated_model.save(
        """<ir_version: 10, opset_import: ["" : 20]>
        two (float[N, D, 3] x, float[N, E, 3] z) => (y) { y = Add(x, z) }""",
        tmp_path / "model.onnx",
    )
    [rule] = [line for line in table(model, "--at", "D=4,E=5") if line.startswith("rule")] or [""]
    assert rule.endswith("does not hold at these sizes") or "E = D" in "\n".join(table(model))


FAULTS = """
<ir_version: 10, opset_import: ["" : 20]>
broken (float[N, 4] x) => (float[N, 5] z, float[N, 4] u, float[N, 4] s)
<float[3, 5] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, float[7] v = {1,1,1,1,1,1,1}, float[2, 5] y> {
  [first] y = MatMul(x, w)
  [second] z = Add(y, v)
  [third] s = Strange(x)
  [other] u = Relu(x)
}
"""


def test_a_dump_goes_on_past_faults_and_lists_them(tmp_path: Path) -> None:
    model = annotated_model.save(FAULTS, tmp_path / "model.onnx", {"first": "head", "second": "tail"})
    done = run(model, "--dump-shapes", code=1)
    lines = done.stdout.splitlines()
    faults = [line for line in lines if line.startswith("    fault: ")]
    places = {line: f"dynunet_block.py:{line}" for line in (100, 101)}
    assert len(faults) == 3
    assert "'third' (Strange): onnxc does not compile this operator" in faults[2]
    assert places[100] in faults[0]
    assert places[101] in faults[1]
    assert "    out u float32[N, 4]" in lines
    for place in places.values():
        assert place in done.stderr
    found = dump(model, code=1)
    assert [bool(node.get("fault")) for node in found["nodes"]] == [True, True, True, False]
    assert found["stop"].count("'third'") == 1
    assert "1 node cannot be compiled" in found["stop"]
    assert "2 nodes are at fault" in found["stop"]


def test_a_compile_names_all_faults_with_their_lines(tmp_path: Path) -> None:
    text = FAULTS.replace("Strange", "Neg")
    model = annotated_model.save(text, tmp_path / "model.onnx", {"first": "head"})
    error = run(model, "-o", str(tmp_path / "model.so"), code=1).stderr
    assert "node 'first' (MatMul, monai/networks/blocks/dynunet_block.py:100 in head): " in error
    assert "node 'second' (Add): " in error
    assert not (tmp_path / "model.so").exists()


BAKED = """
<ir_version: 10, opset_import: ["" : 20]>
small (float[N, 1, D, H] x) => (y) <int64[4] sizes = {3, 1, 32, 32}> {
  [up] b = Resize <mode = "nearest"> (x, , , sizes)
  [join] y = Concat <axis = 1> (x, b)
}
"""


def test_a_dim_that_is_declared_free_and_takes_one_size(tmp_path: Path) -> None:
    model = annotated_model.save(BAKED, tmp_path / "model.onnx", {"join": "decoder.join"})
    done = run(model, "--dump-shapes")
    assert "input   x float32[3, 1, 32, 32]  (the file declares [N, 1, D, H])" in done.stdout
    assert (
        "a size is baked into the model: N must be 3, and the file declares it free (node 'join' (Concat, "
        in done.stderr
    )
    assert "a size is baked into the model: D, H must be 32, and the file declares them free (" in done.stderr
    assert dump(model)["inputs"][0]["declared"] == ["N", 1, "D", "H"]
    given = run(model, "--dump-shapes", "--dim", "N=3", "--dim", "D=32", "--dim", "H=32")
    assert "declares" not in given.stdout
    assert "baked" not in given.stderr
