"""Kernels of ours, broken on purpose: what the tests of a family of kernels share.

A mutation replaces a text of the device source, of a kernel header or of the assembly. Text that is no longer there
fails the test: then the mutation must be written anew for what the kernels have become. A file of tests has MUTATIONS,
a function network(), and a class that derives from MutationTests; conftest.py does the rest.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.test_install import device_libraries
from tools.commands import REPOSITORY, SIMULATOR

KERNELS = Path("kernels/hip")
COMPILE = [
    "clang-19",
    "-x",
    "hip",
    "--cuda-device-only",
    "--no-gpu-bundle-output",
    "--offload-arch=gfx942",
    "-nogpuinc",
    "-nogpulib",
    "-std=c++20",
    "-O3",
    "-ffp-contract=on",
    "-fno-exceptions",
    "-fno-rtti",
    "-Wno-everything",
]
ASSEMBLE = ["clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-x", "assembler"]

WRONG_RESULT = "elements differ"


@dataclass
class Change:
    before: str
    after: str
    file: str = ""  # a kernel header; the device source if it is empty


@dataclass
class Mutation:
    name: str
    changes: list[Change]
    report: str  # what standard error, or the comparison, must say
    assembly: bool = False  # the text is in the assembly of the convolution's kernel


@dataclass
class Model:
    """A compiled model in its folder, its device source, its inputs, the outputs that are compared, and the device
    libraries that its source is compiled with."""

    folder: Path
    source: str
    inputs: list[str]
    outputs: list[str]
    libraries: list[str]

    def compile(self, source: str, kernels: Path | None, *options: str) -> Path:
        """The device source, and changed kernel headers in front of the others."""
        (self.folder / "changed.hip").write_text(source)
        output = self.folder / ("changed.s" if "-S" in options else "changed.co")
        includes = [f"-I{folder}" for folder in (kernels, REPOSITORY / "src") if folder]
        command = [*COMPILE, *self.libraries, *options, *includes, "changed.hip", "-o", str(output)]
        subprocess.run(command, cwd=self.folder, check=True)
        return output

    def assemble(self, text: str) -> Path:
        (self.folder / "changed.s").write_text(text)
        output = self.folder / "changed.co"
        subprocess.run([*ASSEMBLE, "changed.s", "-o", str(output)], cwd=self.folder, check=True)
        return output

    def run(self, code_object: Path) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "ONNXC_POISON": "1",
            "ONNXC_HIP_LIBRARY": str(SIMULATOR),
            "GFX942SIM_CODE_OBJECT": str(code_object),
        }
        command = [str(onnxc_commands.BINARIES / "onnxc-run"), "model.so", "--device", "hip"]
        for name in self.inputs:
            command += ["--input", f"{name}={name}.npy"]
        for name in self.outputs:
            command += ["--expect", f"{name}=expected/{name}.npy"]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@dataclass
class Network:
    """A test file's facts about its model.

    outputs: those that are compared. expected: by name; None: what the CPU gives. kernels: texts of its device
    sourcethat must be in it, or the mutations would not run.
    """

    graph: onnx.GraphProto
    inputs: dict[str, Array]
    outputs: list[str]
    expected: dict[str, Array] | None = None
    opset: int = 20
    kernels: tuple[str, ...] = ()


def make_model(folder: Path, network: Network) -> Model:
    opsets = [helper.make_opsetid("", network.opset)]
    onnx.save(helper.make_model(network.graph, opset_imports=opsets), str(folder / "model.onnx"))
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "cpu,hip")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "source", "--target", "cpu,hip", "--emit", "source")
    for name, array in network.inputs.items():
        np.save(folder / f"{name}.npy", array)
    if network.expected is None:
        files = {name: folder / f"{name}.npy" for name in network.inputs}
        onnxc_commands.run_files(folder / "model.so", files, network.outputs, folder / "expected")
    else:
        (folder / "expected").mkdir()
        for name, array in network.expected.items():
            np.save(folder / "expected" / f"{name}.npy", array)
    device_source = folder / "source.device.hip"
    source = device_source.read_text()
    for text in network.kernels:
        assert text in source
    return Model(folder, source, list(network.inputs), network.outputs, device_libraries(device_source).split())


def replaced(text: str, change: Change) -> str:
    assert change.before in text, f"there is no '{change.before}' any more: write the mutation anew"
    return text.replace(change.before, change.after)


def changed_kernels(model: Model, mutation: Mutation) -> Path:
    """A folder with the changed headers, to be looked through before the others."""
    folder = model.folder / "kernels"
    shutil.rmtree(folder, ignore_errors=True)
    for change in mutation.changes:
        header = folder / KERNELS / change.file
        header.parent.mkdir(parents=True, exist_ok=True)
        before = header if header.exists() else REPOSITORY / "src" / KERNELS / change.file
        header.write_text(replaced(before.read_text(), change))
    return folder


def changed_assembly(text: str, change: Change) -> str:
    """The first such text of the convolution's kernel replaced."""
    at = text.find(change.before, text.index("\nkernel1:"))
    assert at >= 0, f"there is no '{change.before}' any more: write the mutation anew"
    return text[:at] + change.after + text[at + len(change.before) :]


def check_unchanged(model: Model) -> None:
    for code_object in (
        model.compile(model.source, None),
        model.assemble(model.compile(model.source, None, "-S").read_text()),
    ):
        done = model.run(code_object)
        assert done.returncode == 0, done.stderr
        for name in model.outputs:
            assert f"output '{name}': equal" in done.stdout


def check_found(model: Model, mutation: Mutation) -> None:
    if mutation.assembly:
        text = model.compile(model.source, None, "-S").read_text()
        code_object = model.assemble(changed_assembly(text, mutation.changes[0]))
    elif mutation.changes[0].file:
        code_object = model.compile(model.source, changed_kernels(model, mutation))
    else:
        code_object = model.compile(replaced(model.source, mutation.changes[0]), None)
    done = model.run(code_object)
    assert done.returncode == (4 if mutation.report == WRONG_RESULT else 1), done.stdout + done.stderr
    assert mutation.report in done.stdout + done.stderr


class MutationTests:
    def test_unchanged_kernels_pass(self, model: Model) -> None:
        check_unchanged(model)

    def test_mutation_is_found(self, model: Model, mutation: Mutation) -> None:
        check_found(model, mutation)
