"""The commands that the reference pages show, and a folder in which they can be run."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nibabel
import numpy as np
import onnx
from onnx import numpy_helper

from tests import onnxc_commands, onnxruntime_sessions
from tests.onnxc_commands import BINARIES, REPOSITORY

REFERENCE = REPOSITORY / "docs" / "reference"

# A U-Net of one level.
MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
unet (float[N, 1, D, H, W] x) => (logits) <float[5] scales = {1, 1, 2, 2, 2}> {
  [encoder] a = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w0)
  [encoder_relu] b = Relu(a)
  [down] c = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (b)
  [up] d = Resize <mode = "nearest"> (c, , scales)
  [join] features = Concat <axis = 1> (d, b)
  [head] logits = Conv(features, w1)
}
"""


@dataclass(frozen=True)
class Example:
    page: str
    command: str
    exit_code: int


def examples(page: Path) -> list[Example]:
    """Indented lines that call one of the commands; a comment may give the exit code."""
    pattern = r"^ {4}((?:[A-Z_]+=\S+ )*(?:onnxc|onnxc-run|python -m onnxc\.\w+)(?: .*?)?)(?:\s+# (.*))?$"
    found = []
    for command, comment in re.findall(pattern, page.read_text(), re.MULTILINE):
        code = re.match(r"exit code (\d)", comment)
        found.append(Example(page.name, command, int(code[1]) if code else 0))
    return found


def prepare(folder: Path) -> None:
    """The files that the examples read."""
    model = onnx.parser.parse_model(MODEL)
    random = np.random.default_rng(0)
    for name, dims in (("w0", (8, 1, 3, 3, 3)), ("w1", (3, 16, 1, 1, 1))):
        weights = random.standard_normal(dims).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    onnx.save(model, folder / "model.onnx")
    x = random.standard_normal((1, 1, 16, 16, 16)).astype(np.float32)
    [logits] = onnxruntime_sessions.open_session(model).run(None, {"x": x})
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", logits)
    np.save(folder / "wrong.npy", logits + 1)
    tests = folder / "test_data_set_0"
    tests.mkdir()
    for name, array in (("input_0", x), ("output_0", logits)):
        (tests / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    model.graph.node[2].attribute[0].ints[:] = [3, 3, 3]
    model.graph.node[2].attribute.append(onnx.helper.make_attribute("pads", [1, 1, 1, 0, 0, 0]))
    onnx.save(model, folder / "other.onnx")
    voxels = random.integers(-1000, 1000, (34, 36, 40)).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), folder / "ct.nii.gz")
    voxels.tofile(folder / "ct.raw")
    for name in ("a", "b"):
        np.save(folder / f"{name}.npy", voxels[None].astype(np.float32))
    for name, options in (("model", []), ("fleet", ["--march", "x86-64-v3,x86-64-v4"])):
        onnxc_commands.compile_model(folder / "model.onnx", folder / f"{name}.so", *options)
    onnxc_commands.compile_model(folder / "model.onnx", folder / "gpu.so", "--target", "hip")


def run(example: Example, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **onnxc_commands.ENVIRONMENT,
        "PATH": f"{BINARIES}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "python"),
    }
    if with_zig := os.environ.get("ONNXC_WHEEL_VENV"):
        environment["VIRTUAL_ENV"] = with_zig
    command = ["bash", "-euo", "pipefail", "-c", example.command]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
