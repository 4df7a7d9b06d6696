"""The JSON of --dump-shapes is an interface: its text for one model, and what docs/shapes.md says of its fields.

A change that adds a field changes dump_version_1.json; one that removes a field or gives it another meaning needs a new
version, and a file of its own.
"""

import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests import onnxc_commands

EXPECTED = Path(__file__).parent / "dump_version_1.json"
PAGE = onnxc_commands.REPOSITORY / "docs" / "shapes.md"

# Named and unnamed dims, a rule that becomes legal sizes and one that stays a guard, elements that follow from shapes,
# sizes that a run decides, an input that is left out, and a shape that the file declares wrongly.
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
example (float[N, 4, D] x, float[M, 4, E] other, int64[2] shape)
  => (float[N, 9, D] joined, float[A, B] y, int64[1, C] places)
<int64[2] halves = {0, -1}, float low = {0.0}> {
  pooled = MaxPool <kernel_shape = [2], strides = [2]> (x)
  upsampled = Concat <axis = 2> (pooled, pooled)
  joined = Concat <axis = 1> (upsampled, x)
  sum = Add(x, other)
  clipped = Clip(sum, , low)
  dims = Shape(clipped)
  y = Reshape(clipped, shape)
  places = NonZero(dims)
}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, commands: None) -> Path:
    path = tmp_path_factory.mktemp("shapes") / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def test_text_of_version_1(model: Path, tmp_path: Path) -> None:
    onnxc_commands.dump_shapes(model, tmp_path / "first.json")
    assert (tmp_path / "first.json").read_text() == EXPECTED.read_text()


def documented() -> set[str]:
    """The fields in the first column of the page's table."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_field_is_documented(model: Path, tmp_path: Path) -> None:
    dump = onnxc_commands.dump_shapes(model, tmp_path / "shapes.json")
    assert set(dump) == documented() | {"format", "version"}
    assert (dump["format"], dump["version"]) == ("onnxc-shapes", 1)
    assert all(dump[name] for name in documented() - {"stop"}), "the example shows every field"
    tensors = [*dump["inputs"], *dump["outputs"]]
    for node in dump["nodes"]:
        assert set(node) == {"name", "op_type", "domain", "inputs", "outputs"}
        tensors += [tensor for tensor in (*node["inputs"], *node["outputs"]) if tensor is not None]
    for tensor in tensors:
        assert {"name", "dtype", "dims"} <= set(tensor) <= {"name", "dtype", "dims", "elements", "declared"}
        assert all(is_dim(dim) for dim in tensor["dims"])
    assert any("declared" in tensor for tensor in tensors)
    assert any("elements" in tensor for tensor in tensors)


def test_what_belongs_to_a_branch_says_when(commands: None, tmp_path: Path) -> None:
    text = """
      <ir_version: 10, opset_import: ["" : 20]>
      branches (bool c, float[N] x, int64[1] shape) => (y) {
        y = If(c) <then_branch = t () => (a) { a = Reshape(x, shape) }, else_branch = e () => (b) { b = Neg(x) }>
      }
    """
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    dump = onnxc_commands.dump_shapes(tmp_path / "model.onnx", tmp_path / "shapes.json")
    conditions = {node["name"]: node.get("when") for node in dump["nodes"]}
    assert conditions == {"y/then_branch/a": "c", "y/else_branch/b": "-c + 1", "y": None}
    assert dump["guards"]
    assert {guard["when"] for guard in dump["guards"]} == {"c"}
    assert "`when`" in PAGE.read_text()


def is_dim(dim: Any) -> bool:
    """An integer, or an expression in Python's syntax."""
    return isinstance(dim, int) or bool(compile(dim, "dim", "eval"))


def test_a_model_that_stops(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""
      <ir_version: 10, opset_import: ["" : 20]>
      broken (float[N, 4] x, float[3, 5] w) => (float[N, 5] y) { a = Relu(x)  y = MatMul(a, w) }
    """)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.dump_shapes(tmp_path / "model.onnx", tmp_path / "shapes.json")
    assert failure.value.code == 1
    dump = json.loads((tmp_path / "shapes.json").read_text())
    assert [node["op_type"] for node in dump["nodes"]] == ["Relu", "MatMul"]
    assert dump["nodes"][0]["outputs"][0]["dims"] == ["N", 4]
    assert dump["nodes"][1]["outputs"][0]["dims"] == ["N", 5], "what the file declares stands in"
    assert dump["nodes"][1]["fault"] == dump["stop"]
    assert "MatMul" in dump["stop"]
    assert dump["stop"] in failure.value.message
