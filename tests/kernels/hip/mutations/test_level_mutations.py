"""Sizes that only a run knows, whose levels the host lays out one after the other: the runtime broken on purpose.

The model's own objects are linked with a runtime one of whose sources was changed. Each fault must be found, by the
simulator's report or by the results of runs whose sizes shrink and grow.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests import onnxc_commands
from tests.models import code_object
from tools.commands import REPOSITORY, SIMULATOR

# The files that are linked anew, in the place of the runtime's own objects.
SOURCES = ("gpu/device_instance.cpp", "gpu/device_run.cpp", "host/instance.cpp")
OPTIONS = [
    "-std=c++20",
    "-O1",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    "-march=x86-64-v3",
    "-Wno-everything",
]

# Runs a model.so on each of the inputs, in one session, and says how the results are.
RUNNER = """
import numpy as np
from onnxc.session import InferenceSession
inputs = np.load("inputs.npz")
with InferenceSession("model.so", device="hip") as session:
    for count in inputs["counts"]:
        x = (np.arange(1000) < count).astype(np.float32) * np.arange(1, 1001, dtype=np.float32)
        squares, rows = session.run(None, {"x": x, "shape": np.array([-1, 5], np.int64)})
        expected = np.arange(1, count + 1, dtype=np.float32)
        assert np.array_equal(squares, expected**2), count
        assert np.array_equal(rows, -expected.reshape(-1, 5)), count
"""


@dataclass
class Mutation:
    name: str
    file: str  # of the runtime
    before: str
    after: str


MUTATIONS = [
    Mutation(
        "buffers of each level laid out again at each",
        "gpu/device_instance.cpp",
        "    if (buffer.level != level) continue;\n    if (buffer.kind",
        "    if (buffer.kind",
    ),
    Mutation(
        "buffers of a level not laid out",
        "gpu/device_run.cpp",
        "    if (status == ONNXC_OK) status = place(level, run, error);\n",
        "",
    ),
    Mutation(
        "sizes read on the host once for all runs",
        "gpu/device_run.cpp",
        "const onnxc_status status = read_buffer(step.read, read_, error);",
        "const onnxc_status status = read_.size() > 0 ? ONNXC_OK : read_buffer(step.read, read_, error);",
    ),
    Mutation(
        "steps at the level before theirs",
        "base/step_walk.h",
        "for (int32_t i = 0; i <= step; ++i) level",
        "for (int32_t i = 0; i < step; ++i) level",
    ),
    Mutation(
        "a plan kept while sizes change",
        "host/instance.cpp",
        "same &= previous[i] == symbols_[i];",
        "same &= true;",
    ),
    Mutation(
        "sizes planned from the level before",
        "gpu/device_instance.cpp",
        "program_.sizes(level, symbols,",
        "program_.sizes(level > 0 ? level - 1 : 0, symbols,",
    ),
]


@dataclass
class Model:
    folder: Path
    objects: list[Path]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """How many elements are not zero is the first size that the data says, and the rows of five the second."""
    folder = tmp_path_factory.mktemp("levels")
    graph = helper.make_graph(
        [
            helper.make_node("NonZero", ["x"], ["places"]),
            helper.make_node("Transpose", ["places"], ["rows"], perm=[1, 0]),
            helper.make_node("GatherND", ["x", "rows"], ["values"]),
            helper.make_node("Mul", ["values", "values"], ["squares"]),
            helper.make_node("Reshape", ["values", "shape"], ["reshaped"]),
            helper.make_node("Neg", ["reshaped"], ["negated"]),
        ],
        "levels",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"]),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
        ],
        [
            helper.make_tensor_value_info("squares", TensorProto.FLOAT, None),
            helper.make_tensor_value_info("negated", TensorProto.FLOAT, None),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(folder / "model.onnx"))
    options = ("--target", "hip", "--march", "x86-64-v3")
    whole = onnxc_commands.compile_model(folder / "model.onnx", folder / "whole.so", *options)
    source = folder / "model.cpp"
    onnxc_commands.compile_model(folder / "model.onnx", source, *options, "--emit", "source")
    code_object.extract(whole, folder / "model.cpp.gfx942.co")
    objects = [folder / "model.o", folder / "data.o"]
    includes = [f"-I{REPOSITORY / part}" for part in ("src", "runtime", "runtime/include")]
    run(["clang++-19", "-c", "model.cpp", "-o", "model.o", *OPTIONS, *includes], folder)
    run(["clang++-19", "-c", "model.cpp.data.s", "-o", "data.o"], folder)
    np.savez(folder / "inputs.npz", counts=[10, 15, 10, 900, 0, 500])
    return Model(folder, objects)


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def link(model: Model, mutation: Mutation | None) -> None:
    runtime = model.folder / "runtime"
    shutil.rmtree(runtime, ignore_errors=True)
    shutil.copytree(REPOSITORY / "runtime", runtime)
    if mutation:
        changed = runtime / mutation.file
        text = changed.read_text()
        assert mutation.before in text, f"there is no '{mutation.before}' any more: write the mutation anew"
        changed.write_text(text.replace(mutation.before, mutation.after))
    includes = [f"-I{folder}" for folder in (runtime, runtime / "include", REPOSITORY / "src")]
    objects = []
    for source in SOURCES:
        objects.append(re.sub(r"\W", "_", source) + ".o")
        run(["clang++-19", "-c", str(runtime / source), "-o", objects[-1], *OPTIONS, *includes], model.folder)
    archive = onnxc_commands.BINARIES.parent / "lib" / "libonnxc_runtime_cpu.a"
    command = ["clang++-19", "-fuse-ld=lld-19", "-shared", "-nostdlib++", "-Wl,--undefined=onnxc_get_api"]
    run([*command, *map(str, model.objects), *objects, str(archive), "-lm", "-o", "model.so"], model.folder)


def run_model(model: Model) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "ONNXC_POISON": "1",
        "ONNXC_HIP_LIBRARY": str(SIMULATOR),
        "PYTHONPATH": str(REPOSITORY / "python"),
    }
    command = [sys.executable, "-c", RUNNER]
    return subprocess.run(command, cwd=model.folder, env=environment, capture_output=True, text=True, check=False)


def test_unchanged_runtime_passes(model: Model) -> None:
    link(model, None)
    done = run_model(model)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mutation_is_found(model: Model, mutation: Mutation) -> None:
    link(model, mutation)
    done = run_model(model)
    assert done.returncode == 1, done.stdout + done.stderr
    # A fault that the simulator stops at, or a result that is not as expected.
    assert re.search(r"^(onnxc\.errors\.RunError|AssertionError): ", done.stderr, flags=re.MULTILINE), done.stderr
