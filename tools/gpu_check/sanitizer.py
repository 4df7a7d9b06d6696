"""Test models under NVIDIA's compute-sanitizer, if it is installed: accesses out of bounds, and races."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from tools.gpu_check.manifest import CheckedModel
from tools.gpu_check.results import FAILED, MEASURED, RIGHT, WRONG, Result
from tools.gpu_check.target import Target

PART = "sanitizer"
PROGRAM = "compute-sanitizer"
FOUND = 9  # the exit code if the tool found something
LIMIT_S = 100
# A process without PyTorch, whose own kernels would be looked at too.
RUN = """
import sys
import numpy, onnxc
model, device, *inputs = sys.argv[1:]
arrays = dict(zip(inputs[::2], map(numpy.load, inputs[1::2])))
onnxc.InferenceSession(model, device=device).run(None, arrays)
"""


def check(tool: str, model: CheckedModel, kind: str, folder: Path, target: Target) -> Result:
    def result(status: str, text: str) -> Result:
        return Result(PART, model.name, kind, tool, status, text)

    program = shutil.which(PROGRAM)
    if program is None:
        return result(MEASURED, f"left out: {PROGRAM} is not installed")
    inputs = [word for value in model.cases[0].inputs for word in (value.name, str(folder / value.file))]
    if any(np.load(path).dtype == np.uint16 for path in inputs[1::2]):
        return result(MEASURED, "left out: numpy has no bfloat16")
    command = [program, "--tool", tool, "--error-exitcode", str(FOUND), sys.executable, "-c", RUN]
    command += [str(folder / f"{kind}.so"), target.session, *inputs]
    environment = {**os.environ, "ONNXC_POISON": "1"}  # an allocation for each buffer
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return result(FAILED, f"no end after {LIMIT_S} s")
    if done.returncode == 0:
        return result(RIGHT, "")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip("= ")]
    return result(WRONG if done.returncode == FOUND else FAILED, " | ".join(lines[-4:])[:600])
