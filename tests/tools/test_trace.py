"""onnxc-run --trace and --verify on the small U-Net of the demo, of GPU code too: a tensor is told when it is whole."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import compare, onnxc_commands
from tests.models import tensor_files
from tests.models.tensor_files import Array
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
@pytest.mark.parametrize("options", [("-O0",), (), (*GPU, "-O0"), GPU], ids=["O0", "default", "gpu O0", "gpu"])
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
