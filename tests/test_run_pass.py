"""onnxc --run-pass: a single pass, on the text of a program or on a model."""

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")

PROGRAM_PASSES = ["drop_dead_steps", "fuse_nests", "place_stores", "fuse_epilogues", "fuse_kernels", "eliminate_copies"]

BEFORE = """\
dim N 1..8
b0 input float32 [N, 4] "x"
b1 constant float32 [4] = {1, 2, 3, 4} "bias"
b2 temporary float32 [N, 4] "product"
b3 output float32 [N, 4] "y"
inputs b0
outputs b3
# "product" MatMul-13
kernel matmul 4->4  b2 = b0
  epilogue [i, j] acc0
# "add" Add-14
nest add  axes i<N, j<4
  b3[i, j] = b2[i, j] + b1[j]
"""


def onnxc(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "onnxc"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stderr}"
    return done


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution, its bias in a node of its own, twice beside each other in a Concat, and a Reshape."""
    weights = np.arange(8 * 4 * 27, dtype=np.float32).reshape(8, 4, 3, 3, 3) % 7 - 3
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1] * 6),
        helper.make_node("Add", ["c", "b"], ["s"], name="bias"),
        helper.make_node("Relu", ["s"], ["r"], name="act"),
        helper.make_node("Identity", ["r"], ["same"], name="drop me"),
        helper.make_node("Concat", ["same", "c"], ["joined"], name="join", axis=1),
        helper.make_node("Reshape", ["joined", "flat"], ["y"], name="flatten"),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, "D", 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(weights, "w"),
            numpy_helper.from_array(np.ones((8, 1, 1, 1), np.float32), "b"),
            numpy_helper.from_array(np.array([0, -1], np.int64), "flat"),
        ],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    return path


def test_a_pass_of_programs(tmp_path: Path) -> None:
    text = tmp_path / "before.txt"
    text.write_text(BEFORE)
    after = onnxc("--run-pass", "fuse_epilogues", text).stdout
    assert after.endswith(
        'outputs b3\n# "product" MatMul-13\n# "add" Add-14\n'
        "kernel matmul 4->4  b3 = b0\n  epilogue [i, j] acc0 + b1[j]\n"
    )
    assert onnxc("--run-pass", "place_stores", text).stdout == BEFORE


# D, H and W are even by its rules, which the text must say: else nothing shows that the Resize reads within its tensor.
UP_AND_DOWN = """
<ir_version: 10, opset_import: ["" : 20]>
unet (float[N, 1, D, H, W] x) => (y) <float[5] scales = {1, 1, 2, 2, 2}> {
  [down] c = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (x)
  [up] d = Resize <mode = "nearest"> (c, , scales)
  [join] y = Concat <axis = 1> (d, x)
}
"""


def test_the_passes_of_a_compile_are_repeated_one_by_one_under_rules_of_sizes(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(UP_AND_DOWN), path)
    repeat_the_passes(path, tmp_path)


def test_the_passes_of_a_compile_are_repeated_one_by_one(model: Path, tmp_path: Path) -> None:
    repeat_the_passes(model, tmp_path)


def repeat_the_passes(model: Path, tmp_path: Path) -> None:
    """Each from what --dump-ir says of the pass before, with the same result: the table is the pipeline's.

    Not take_nests: which nests have a kernel, the target knows, and the text does not say it.
    """
    everything = onnxc(model, "--dump-ir").stdout
    passes = re.findall(r"^# after (\w+)$", everything, re.M)
    assert passes[-1 - len(PROGRAM_PASSES) :] == [*PROGRAM_PASSES, "take_nests"]
    for before, name in zip(passes[-2 - len(PROGRAM_PASSES) :], PROGRAM_PASSES, strict=False):
        text = tmp_path / "before.txt"
        text.write_text(onnxc(model, f"--dump-ir={before}").stdout)
        after = onnxc("--run-pass", name, text).stdout
        assert f"# after {name}\n{after}\n" == onnxc(model, f"--dump-ir={name}").stdout


def test_a_pass_of_graphs_takes_a_model(model: Path) -> None:
    assert "Identity(" in onnxc("--run-pass", "infer_shapes", model).stdout
    simplified = onnxc("--run-pass", "simplify", model).stdout
    assert "Identity(" not in simplified
    assert "input %x: float32[N, 4, D, 8, 8]" in simplified
    assert "input %x: float32[2, 4, D, 8, 8]" in onnxc("--run-pass", "simplify", model, "--dim", "N=2").stdout


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("kernel matmul 4->4  b2", "kernel matmul 4->4 b2"), "line 9: a buffer such as b0 is expected"),
        (("b2 = b0", "b2 = b7"), "line 9: b7 does not exist"),
        (("[i, j] acc0", "[i] acc0"), "line 10: an axis for each of the output is expected"),
        (("b3[i, j] = b2", "b2[i, j] = b2"), "the program is not a lawful one: "),
        (('float32 [N, 4] "y"', 'float33 [N, 4] "y"'), "line 5: a dtype is expected at"),
    ],
)
def test_texts_that_are_no_program(changed: tuple[str, str], message: str, tmp_path: Path) -> None:
    text = tmp_path / "before.txt"
    text.write_text(BEFORE.replace(*changed))
    done = onnxc("--run-pass", "fuse_nests", text, code=1)
    assert done.stderr.startswith(f"onnxc: error: '{text}': {message}")
    assert done.stdout == ""


def test_mistakes(model: Path, tmp_path: Path) -> None:
    message = onnxc("--run-pass", "fuse_all", model, code=2).stderr
    assert message.startswith("onnxc: error: --run-pass=fuse_all: no pass of this name; the passes are infer_shapes, ")
    names = [*PROGRAM_PASSES, "split_running_folds", "split_scatters", "split_reductions", "take_nests"]
    names.insert(names.index("fuse_kernels"), "drop_roundings")
    assert message.endswith(", ".join(names) + "\n")
    assert "a buffer such as b0 is expected" in onnxc("--run-pass", "fuse_nests", model, code=1).stderr
    assert "cannot open" in onnxc("--run-pass", "fuse_nests", tmp_path / "none.txt", code=1).stderr
    message = onnxc("--run-pass", "fuse_nests", model, "-o", tmp_path / "m.so", code=2).stderr
    assert "--run-pass has no effect with --output; leave out one of them" in message
    assert "MODEL is required" in onnxc("--run-pass", "fuse_nests", code=2).stderr
