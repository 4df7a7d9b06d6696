"""onnxc-run --trace and --verify on the small U-Net of the demo, of GPU code too: a tensor is told when it is whole."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from models import tensor_files
from models.tensor_files import Array
from tests import compare, onnxc_commands
from tests.onnxruntime_sessions import open_session

DEMO = onnxc_commands.REPOSITORY / "tests" / "demo"
INPUT = DEMO / "input.npy"


def all_tensors() -> dict[str, Array]:
    """Every tensor of the model as onnxruntime computes it, by name."""
    model = onnx.load(DEMO / "model.onnx")
    known = {output.name for output in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    session = open_session(model, optimized=False)
    [fed] = session.get_inputs()
    values = session.run(names, {fed.name: np.load(INPUT)})
    return dict(zip(names, values, strict=True))


def input_option() -> str:
    return f"{onnx.load(DEMO / 'model.onnx').graph.input[0].name}={INPUT}"


GPU = ("--target", "hip")


def device_options(options: tuple[str, ...]) -> list[str]:
    return ["--device", "hip"] if "hip" in options else []


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("-O0",), id="O0"),
        pytest.param((), id="default"),
        pytest.param((*GPU, "-O0"), id="gpu O0", marks=pytest.mark.slow),
        pytest.param(GPU, id="gpu"),
    ],
)
def test_traced_tensors_are_those_of_the_model(options: tuple[str, ...], tmp_path: Path) -> None:
    shared_object = onnxc_commands.compile_model(DEMO / "model.onnx", tmp_path / "model.so", *options)
    folder = tmp_path / "trace"
    runner = str(onnxc_commands.BINARIES / "onnxc-run")
    command = [runner, str(shared_object), "--input", input_option(), "--trace", str(folder), *device_options(options)]
    onnxc_commands.execute(command)
    expected = all_tensors()
    rows = [row for row in json.loads((folder / "trace.json").read_text())["tensors"] if row["name"] in expected]
    if "-O0" in options:
        assert {row["name"] for row in rows} == set(expected)  # nothing is fused
    for row in rows:
        difference = compare.mismatch(tensor_files.load(folder / row["file"]), expected[row["name"]], 2e-5)
        assert difference is None, f"{row['name']}: {difference}"


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("options", [(), GPU], ids=["cpu", "gpu"])
def test_verify_passes(options: tuple[str, ...], tmp_path: Path) -> None:
    shared_object = onnxc_commands.compile_model(DEMO / "model.onnx", tmp_path / "model.so", *options)
    runner = str(onnxc_commands.BINARIES / "onnxc-run")
    command = [runner, str(shared_object), "--input", input_option(), "--verify", str(DEMO / "model.onnx")]
    done = onnxc_commands.execute([*command, *device_options(options)])
    assert done.stdout.startswith("PASSED: "), done.stdout


@pytest.mark.usefixtures("commands")
def test_what_is_not_a_number_is_counted_and_has_no_range(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[3] x) => (y) { [root] r = Sqrt(x)  [twice] y = Add(r, r) }'
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.full(3, -1, np.float32))
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", "-O0")
    command = [str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), "--input", f"x={tmp_path / 'x.npy'}"]
    done = onnxc_commands.execute([*command, "--trace", str(tmp_path / "trace")])
    for row in done.stdout.splitlines()[1:]:
        assert row.split()[3:8] == ["-", "-", "-", "3", "0"], row
    rows = json.loads((tmp_path / "trace" / "trace.json").read_text())["tensors"]
    assert {(row["min"], row["max"], row["mean"], row["nan"]) for row in rows} == {(None, None, None, 3)}
    verify = [*command, "--verify", str(tmp_path / "model.onnx")]
    end = "no difference is above the absolute tolerance; 2 hold NaN in both, the first is 'r'\n"
    assert onnxc_commands.execute(verify).stdout == f"PASSED: 2 tensors equal those of -O0; {end}"


def normalized_network(last_weight: float) -> onnx.ModelProto:
    """A convolution, InstanceNormalization and a convolution whose weights are 1 but for one."""
    weights = np.ones((4, 4, 1, 1), np.float32)
    weights[2, 1] = last_weight
    constants = {
        "first": np.random.default_rng(1).standard_normal((4, 2, 3, 3)).astype(np.float32),
        "scale": np.ones(4, np.float32),
        "shift": np.zeros(4, np.float32),
        "last": weights,
    }
    nodes = [
        helper.make_node("Conv", ["x", "first"], ["a"], name="conv_a"),
        helper.make_node("InstanceNormalization", ["a", "scale", "shift"], ["b"], name="norm"),
        helper.make_node("Relu", ["b"], ["c"], name="relu"),
        helper.make_node("Conv", ["c", "last"], ["y"], name="conv_y"),
    ]
    graph = helper.make_graph(
        nodes,
        "normalized",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, 9, 10])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.usefixtures("commands")
def test_verify_fails_behind_tensors_that_are_all_rounding(tmp_path: Path) -> None:
    """The residue of a mean is a tensor of rounding errors: two compiles agree on none of its digits."""
    for name, weight in (("right", 1.0), ("wrong", 1.1)):
        onnx.save(normalized_network(weight), tmp_path / f"{name}.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "right.onnx", tmp_path / "right.so")
    runner = str(onnxc_commands.BINARIES / "onnxc-run")
    command = [runner, str(shared_object), "--random", "3", "--verify"]
    assert onnxc_commands.execute([*command, str(tmp_path / "right.onnx")]).stdout.startswith("PASSED: ")
    with pytest.raises(onnxc_commands.CommandFailure) as caught:
        onnxc_commands.execute([*command, str(tmp_path / "wrong.onnx")])
    assert caught.value.code == 1
    wrong, compiled = tmp_path / "wrong.onnx", tmp_path / "right.so"
    assert f"--verify '{wrong}': '{compiled}' was compiled from another file (SHA-256 " in caught.value.message
    with pytest.raises(onnxc_commands.CommandFailure) as caught:
        onnxc_commands.execute([*command, str(wrong), "--compare-anyway"])
    assert caught.value.code == 4
