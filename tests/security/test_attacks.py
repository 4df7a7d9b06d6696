"""Attacks and crashes that other tools had, each as a case: refused with a clear error, or rightly accepted.

Attacks that were found in ONNX, onnxruntime, TensorFlow, OpenVINO, llama.cpp, TVM, Triton and MONAI, numbered by CVE or
issue in the order of a list of 38; those that need a run stand in the tests that run. A small file costs at most a
second of processor time and 256 MiB, without clang.
"""

# A case is a line.
# ruff: noqa: E501

import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")

# Commands that are built with sanitizers (scripts/sanitize.sh) take several times as much, and have no bound on memory.
SANITIZED = "ONNXC_SANITIZED" in os.environ
SECONDS, BYTES = (20.0, 2 << 30) if SANITIZED else (1.0, 256 << 20)
SECRET = b"secret bytes of another folder"


def model(
    nodes: list[onnx.NodeProto],
    dims: list[int | str] | None = None,
    constants: dict[str, np.ndarray[Any, Any]] | None = None,
    functions: list[onnx.FunctionProto] | None = None,
    opset: int = 18,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8] if dims is None else dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions or [])


def one(
    op_type: str, dims: list[int | str] | None = None, constants: list[Any] | None = None, **attributes: Any
) -> onnx.ModelProto:
    """A node named n1 of the input and of constants."""
    arrays = {f"c{i}": np.asarray(array) for i, array in enumerate(constants or [])}
    return model([helper.make_node(op_type, ["x", *arrays], ["y"], name="n1", **attributes)], dims, arrays)


def external(location: str, **entries: str) -> onnx.ModelProto:
    """An Add of a constant that stands in a file."""
    built = one("Add", [4], [np.ones(4, np.float32)])
    tensor = built.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return built


def with_tensor(change: Callable[[onnx.TensorProto], object]) -> onnx.ModelProto:
    built = one("Add", [4], [np.ones(4, np.float32)])
    change(built.graph.initializer[0])
    return built


def sparse(location: str) -> onnx.ModelProto:
    built = model([helper.make_node("Add", ["x", "s"], ["y"])], [4])
    values = external(location).graph.initializer[0]
    values.name, values.dims[0] = "s", 1
    indices = numpy_helper.from_array(np.zeros(1, np.int64))
    built.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    return built


def nested_ifs(depth: int) -> onnx.ModelProto:
    node = helper.make_node("Relu", ["x"], ["t0"])
    for i in range(depth):
        branch = helper.make_graph(
            [node], f"b{i}", [], [helper.make_tensor_value_info(f"t{i}", TensorProto.FLOAT, None)]
        )
        node = helper.make_node(
            "If", ["on"], [f"t{i + 1}"], then_branch=branch, else_branch=branch if i < 3 else empty(i)
        )
    node.output[0] = "y"
    return model([node], None, {"on": np.array(True)})


def empty(i: int) -> onnx.GraphProto:
    return helper.make_graph(
        [helper.make_node("Identity", ["x"], [f"e{i}"])], f"e{i}", [],
        [helper.make_tensor_value_info(f"e{i}", TensorProto.FLOAT, None)],
    )  # fmt: skip


def recursive() -> onnx.ModelProto:
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    call = [helper.make_node("f", ["a"], ["b"], domain="own")]
    function = helper.make_function("own", "f", ["a"], ["b"], call, imports)
    return model([helper.make_node("f", ["x"], ["y"], domain="own", name="n1")], functions=[function])


def deep_protobuf(depth: int) -> bytes:
    """A graph within an attribute within a graph, written by hand: protobuf's own writer would not."""

    def field(number: int, content: bytes) -> bytes:
        size, head = len(content), b""
        while size >= 0x80:
            head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
        return bytes([number << 3 | 2]) + head + bytes([size]) + content

    content = b""
    for _ in range(depth):
        content = field(1, field(5, field(6, content)))  # GraphProto.node, NodeProto.attribute, AttributeProto.g
    return b"\x08\x08" + field(7, content)


def packed_bomb() -> bytes:
    """Dims whose announced length is far beyond the file's end."""
    head = model([]).SerializeToString()
    return bytes(head) + bytes([7 << 3 | 2]) + b"\xff\xff\xff\xff\x07" + b"\x01" * 64


def strings(text: str) -> onnx.ModelProto:
    built = one("Relu")
    built.producer_name = built.producer_version = built.domain = built.doc_string = text
    built.graph.name = built.graph.doc_string = built.graph.node[0].name = built.graph.node[0].doc_string = text
    built.metadata_props.add(key=text, value=text)
    return built


@dataclass(frozen=True)
class Attack:
    build: Callable[[], onnx.ModelProto | bytes]
    says: str | None  # of the error; None if the model is rightly accepted


def scatter(*places: int) -> onnx.ModelProto:
    return one("ScatterND", [2, 2], [np.array([places]), np.zeros((1, 2), np.float32)[:, 0]])


CODE = '*/ int main(){system("id");} /*\n#include "/etc/passwd"\n\\\n??/\n"; }'
# Keyed by number and name.
ATTACKS = {
    "01 parent folder": Attack(lambda: external("../secret.bin"), "refused"),
    "02 parent folder behind a name": Attack(lambda: external("a/../../secret.bin"), "refused"),
    "03 symbolic link": Attack(lambda: external("link.bin"), "symbolic link"),
    "04 symbolic link of a folder": Attack(lambda: external("up/secret.bin"), "symbolic link"),
    "05 hard link": Attack(lambda: external("hard.bin"), "hard links"),
    "06 names of written files": Attack(lambda: strings("../../outside"), None),
    "07 a drive, a backslash": Attack(lambda: external("C:\\secret.bin"), "refused"),
    "08 unknown key": Attack(lambda: external("data.bin", basepath="/"), "'basepath'"),
    "08 negative offset": Attack(lambda: external("data.bin", offset="-1"), "'-1'"),
    "08 length beyond the file": Attack(lambda: external("data.bin", length="1000000"), "length 1000000"),
    "09 sparse tensors have external data": Attack(lambda: sparse("../secret.bin"), "refused"),
    "10 a long text in a message": Attack(lambda: one("Conv", None, [np.ones((4, 4, 1, 1), np.float32)], auto_pad="A" * 100_000), "auto_pad"),
    "11 an archive": Attack(lambda: b"PK\x03\x04" + bytes(100), "zip archive"),
    "12 an address": Attack(lambda: external("http://localhost/data.bin"), "refused"),
    "13 ranks of Conv": Attack(lambda: one("Conv", None, [np.ones((4, 4, 1, 1, 1), np.float32)]), "'n1'"),
    "14 rank 0 of Gemm": Attack(lambda: one("Gemm", [], [np.ones((2, 2), np.float32)], alpha=float("nan")), "'n1'"),
    "16 overflow of Resize's size": Attack(lambda: one("Resize", None, [np.zeros(0, np.float32), np.zeros(0, np.float32), np.array([1, 4, 2**40, 2**40])]), "64 bits"),
    "17 ConvTranspose's weights": Attack(lambda: one("ConvTranspose", None, [np.ones((5, 4, 1, 1), np.float32)]), "'n1'"),
    "17 output_padding beyond the stride": Attack(lambda: one("ConvTranspose", None, [np.ones((4, 4, 1, 1), np.float32)], output_padding=[3, 3]), "output_padding"),
    "17 dilation 0": Attack(lambda: one("ConvTranspose", None, [np.ones((4, 4, 1, 1), np.float32)], dilations=[0, 0]), "'dilations' holds 0"),
    "18 product of dims": Attack(lambda: one("Relu", [2**20, 2**20, 2**20, 2**20]), "64 bits"),
    "20 nested Ifs": Attack(lambda: nested_ifs(24), None),
    "20 nested too deep": Attack(lambda: deep_protobuf(40), "protobuf cannot parse"),
    "24 filter of no channels": Attack(lambda: one("Conv", None, [np.ones((0, 4, 3, 3), np.float32)]), "'n1'"),
    "24 a batch of nothing": Attack(lambda: one("Relu", [0, 4]), None),
    "25 a node without an operator": Attack(lambda: model([onnx.NodeProto(input=["x"], output=["y"])]), "no operator type"),
    "26 bytes of a tensor overflow": Attack(lambda: with_tensor(lambda t: t.dims.__setitem__(0, 2**62)), "64 bits"),
    "27 two dims that overflow": Attack(lambda: with_tensor(lambda t: t.dims.extend([2**32, 2**32])), "64 bits"),
    "28 a length beyond the file": Attack(packed_bomb, "protobuf cannot parse"),
    "29 more elements than data": Attack(lambda: with_tensor(lambda t: t.dims.__setitem__(0, 100)), "needs 400 bytes"),
    "30 a large dim": Attack(lambda: with_tensor(lambda t: t.dims.__setitem__(0, 10**12)), "--max-memory"),
    "31 a name given twice": Attack(lambda: model([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]), "'y'"),
    "31 an attribute given twice": Attack(lambda: twice(one("Softmax", axis=1)), "twice"),
    "32 an empty graph": Attack(lambda: model([]), "'y'"),
    "33 code in names": Attack(lambda: strings(CODE), None),
    "33 code in an attribute's name": Attack(lambda: one("Relu", None, None, **{'a"; int b': 1}), "no attribute"),
    "34 a pickle": Attack(lambda: b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", "protobuf cannot parse"),
    "35 a number of outputs": Attack(lambda: one("Split", [4], [np.ones(3, np.int64)]), "'n1'"),
    "36 nested protobuf": Attack(lambda: deep_protobuf(10_000), "protobuf cannot parse"),
    "36 a function that calls itself": Attack(recursive, "call itself"),
    "36 broken UTF-8": Attack(lambda: one("Relu").SerializeToString().replace(b"n1", b"\xff\xfe"), None),
    "37 lists of other lengths": Attack(lambda: one("Conv", None, [np.ones((4, 4, 1, 1), np.float32)], strides=[1, 1, 1]), "strides"),
    "37 an axis given twice": Attack(lambda: one("ReduceSum", None, [np.array([1, -3])]), "twice"),
}  # fmt: skip


def twice(built: onnx.ModelProto) -> onnx.ModelProto:
    built.graph.node[0].attribute.extend([*built.graph.node[0].attribute])
    return built


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """in/ is the model's; secret.bin lies outside."""
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret.bin").write_bytes(SECRET)
    (inside / "data.bin").write_bytes(np.ones(4, np.float32).tobytes())
    (inside / "link.bin").symlink_to("../secret.bin")
    (inside / "up").symlink_to("..")
    os.link(tmp_path / "secret.bin", inside / "hard.bin")
    return inside


# Runs a command; after its output: a line with its exit code, its processor time in seconds, its peak in KiB.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(process.pid, 0)
print(f"\\n{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime} {used.ru_maxrss}", end="", file=sys.stderr)
"""


def run(folder: Path, *options: str) -> tuple[int, str, str]:
    """The exit code and what was said; asks for no clang."""
    before = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if not path.is_symlink()}
    # Through a small process: the peak of a child begins with that of the process that forked it.
    command = [sys.executable, "-S", "-c", MEASURE, str(BINARIES / "onnxc"), "in/m.onnx", "--dump-ir", *options]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, check=False)
    errors, _, used = done.stderr.rpartition(b"\n")
    code, seconds, kilobytes = used.split()
    assert float(seconds) <= SECONDS
    assert int(kilobytes) * 1024 <= BYTES
    after = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if not path.is_symlink()}
    assert after == before, "no file came, went or changed"
    return int(code), done.stdout.decode(), (errors + b"\n").decode()  # UTF-8, or it fails


@pytest.mark.parametrize("raised", [False, True], ids=["", "limits raised"])
@pytest.mark.parametrize("name", ATTACKS)
def test_attack(folder: Path, name: str, raised: bool) -> None:
    attack = ATTACKS[name]
    if SANITIZED and raised and attack.says == "--max-memory":
        pytest.skip("AddressSanitizer ends a process that asks for more memory than there is")
    built = attack.build()
    (folder / "m.onnx").write_bytes(built if isinstance(built, bytes) else built.SerializeToString())
    limits = ("--max-memory", "1000GB", "--max-nodes", "1000000000", "--max-seconds", "1000000") if raised else ()
    code, out, errors = run(folder, *limits)
    assert SECRET.decode() not in out + errors
    assert len(errors) < 20_000
    assert not any(c < " " and c != "\n" for c in out + errors)
    if attack.says is None:
        assert code == 0, errors
    elif raised and attack.says == "--max-memory":
        assert code == 1, errors
    else:
        assert code == 1, errors
        assert attack.says in errors, errors
        assert "in/m.onnx" in errors


def test_15_and_19_indices_and_types_are_checked_in_a_run() -> None:
    """Gather's bounds and the ABI's types: tests/security/test_bounds.py and tests/runtime/api_test.cpp."""
    here = Path(__file__).parent
    assert '"gather"' in (here / "test_bounds.py").read_text()
    assert "dtype" in (here.parent / "runtime" / "api_test.cpp").read_text()


def test_21_passes_run_on_what_is_accepted(folder: Path) -> None:
    """With and without them the same models are accepted."""
    for name in ("20 nested Ifs", "24 a batch of nothing", "33 code in names"):
        built = ATTACKS[name].build()
        assert isinstance(built, onnx.ModelProto)
        (folder / "m.onnx").write_bytes(built.SerializeToString())
        assert run(folder, "-O0")[0] == run(folder)[0] == 0


@pytest.mark.parametrize("elements", [2**31 - 1, 2**31, 2**32 + 3])
def test_22_and_23_large_tensors_are_valid(folder: Path, elements: int) -> None:
    """Beyond 32 bits: a shape that is only spoken of takes no memory."""
    (folder / "m.onnx").write_bytes(one("Relu", [elements]).SerializeToString())
    code, out, errors = run(folder)
    assert code == 0, errors
    assert str(elements) in out


def test_38_nothing_is_taken_from_a_cache(folder: Path) -> None:
    """onnxc has none: of two models the second is compiled anew, whatever the first was."""
    (folder / "m.onnx").write_bytes(one("Relu").SerializeToString())
    first = run(folder)[1]
    (folder / "m.onnx").write_bytes(one("Neg").SerializeToString())
    assert first != run(folder)[1]


def test_a_damaged_npy_is_refused(folder: Path) -> None:
    """Headers that lie, of a file that a run is given."""
    (folder / "m.onnx").write_bytes(one("Relu", ["N"]).SerializeToString())
    shared_object = folder / "m.so"
    subprocess.run([BINARIES / "onnxc", folder / "m.onnx", "-o", shared_object, "-q"], check=True)

    def npy(header: bytes, data: bytes = bytes(16), version: bytes = b"\x01\x00") -> bytes:
        return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + data

    good = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n"
    assert npy_run(folder, npy(good)) == 0
    for bad in (
        b"", b"\x93NUMPY", npy(good)[:-1], npy(good, bytes(17)), npy(good, version=b"\x09\x00"),
        npy(good.replace(b"(4,)", b"(4611686018427387904, 4)")), npy(good.replace(b"(4,)", b"(-4,)")),
        npy(good.replace(b"<f4", b"|O4")), npy(good.replace(b"<f4", b"<f400")), npy(b"{" * 60000),
        npy(b"__import__('os').system('touch pwned')\n"), npy(good.replace(b"(4,)", b"(" + b"1," * 9999 + b")")),
    ):  # fmt: skip
        assert npy_run(folder, bad) == 1, bad[:80]
    assert not (folder / "pwned").exists()


def npy_run(folder: Path, content: bytes) -> int:
    (folder / "x.npy").write_bytes(content)
    done = subprocess.run(
        [BINARIES / "onnxc-run", "m.so", "--input", "x=x.npy"], cwd=folder, capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
    )  # fmt: skip
    return done.returncode
