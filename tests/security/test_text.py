"""Names of a model on the terminal: no control character, no broken UTF-8, no line of their own."""

import json
import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")
NAMES = {
    "escape": b"\x1b[31mred\x07",
    "title": b"\x1b]0;owned\x07",
    "lines": b"N\nrule    everything is fine\r\n",
    "not utf-8": b"\xff\xfe\x80N",
    "reversed": "N\u202egnp.exe".encode(),
    "null": b"N\x00M",
    "long": b"N" * 1_000_000,
}


def hostile(name: bytes) -> bytes:
    """A model that has the name wherever a name may stand; the texts of protobuf are exchanged in the bytes."""
    stand_in = "Q" * len(name)
    dims = [stand_in, stand_in + "b", 4]
    nodes = [
        helper.make_node("Relu", ["x" + stand_in], ["r" + stand_in], name=stand_in),
        helper.make_node("Concat", ["r" + stand_in, "r" + stand_in], ["c"], name=stand_in + "2", axis=1),
        helper.make_node("Add", ["c", "z"], ["y"], name=stand_in + "3"),
    ]
    inputs = [
        helper.make_tensor_value_info("x" + stand_in, TensorProto.FLOAT, dims),
        helper.make_tensor_value_info("z", TensorProto.FLOAT, [stand_in, stand_in + "c", 4]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return bytes(model.SerializeToString()).replace(stand_in.encode(), name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options",
    [("--dump-shapes",), ("--dump-ir",), ("--report",), ("--dump-shapes", "--json"), ("-v", "-o", "model.so"),
     ("-o", "model.so", "--outputs", "nothing"), ("--emit", "ir", "-o", "/dev/stdout")],
    ids=lambda options: " ".join(options),
)  # fmt: skip
def test_names(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    (tmp_path / "model.onnx").write_bytes(hostile(NAMES[name]))
    done = subprocess.run([BINARIES / "onnxc", "model.onnx", *options], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr[:1000]
    for stream in (done.stdout, done.stderr):
        text = stream.decode()  # fails if it is not UTF-8
        bad = [c for c in text if (c < " " and c != "\n") or c == "\x7f" or c in "\u202e\u2028"]
        assert not bad, text[:1000]
        assert not any(line.startswith("rule    everything") for line in text.splitlines())
    if name == "long" and "ir" not in options:
        assert len(done.stderr) < 40_000
    if "--json" in options and done.returncode == 0:
        json.loads(done.stdout)


def test_the_names_are_there(tmp_path: Path) -> None:
    """The exchange of bytes above leaves a model."""
    (tmp_path / "model.onnx").write_bytes(hostile(b"N\x1b"))
    assert onnx.load(tmp_path / "model.onnx").graph.node[0].name == "N\x1b"
    done = subprocess.run([BINARIES / "onnxc", "model.onnx", "--dump-shapes"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0
    assert rb"[N\x1b, N\x1bb, 4]" in done.stdout
