"""The two commands under test, as functions: onnxc compiles a model, onnxc-run runs a model.so."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models import tensor_files
from models.tensor_files import Array
from tools.commands import BINARIES, CUDA_STAND_IN, REPOSITORY, SIMULATOR

__all__ = ["BINARIES", "CUDA_STAND_IN", "REPOSITORY", "SIMULATOR"]  # the tests take them from here

TIME_LIMIT_SECONDS = 900


class CommandFailure(Exception):
    """A command that ended with another exit code than 0. `code` is negative for a signal."""

    def __init__(self, command: Sequence[str], code: int, message: str) -> None:
        shown = " ".join(command[:8]) + (f" ... ({len(command)} words)" if len(command) > 8 else "")
        super().__init__(f"{shown}\nexit code {code}\n{message.strip()}")
        self.code = code
        self.message = message


# Outputs and working memory begin as NaN, so that what was never written shows.
ENVIRONMENT = {
    **os.environ,
    "ONNXC_POISON": "1",
    "ONNXC_HIP_LIBRARY": str(SIMULATOR),
    "ONNXC_CUDA_LIBRARY": str(CUDA_STAND_IN),
}


def execute(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env=ENVIRONMENT,
            timeout=TIME_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandFailure(command, -9, f"no end after {TIME_LIMIT_SECONDS} s") from error
    if done.returncode != 0:
        raise CommandFailure(command, done.returncode, done.stderr)
    return done


def compile_model(model: Path, shared_object: Path, *options: str) -> Path:
    execute([str(BINARIES / "onnxc"), str(model), "-o", str(shared_object), *options])
    return shared_object


def dump_shapes(model: Path, file: Path) -> dict[str, Any]:
    """The report of `--dump-shapes` on a model: inputs, outputs and nodes, each dim an integer or an expression."""
    execute([str(BINARIES / "onnxc"), str(model), f"--dump-shapes={file}"])
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def output_file(folder: Path, name: str) -> Path:
    """The file to which onnxc-run writes the output `name`: other characters than letters, digits, `.`, `_`, `-` become
    `_`."""
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    array = folder / f"{stem}.npy"
    return array if array.exists() else folder / f"{stem}.pb"


def run_files(
    shared_object: Path, inputs: Mapping[str, Path], outputs: Sequence[str], folder: Path, *options: str
) -> dict[str, Array]:
    """Runs a model on files; writes each output under `folder` and returns those named."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(BINARIES / "onnxc-run"), str(shared_object)]
    for name, path in inputs.items():
        command += ["--input", f"{name}={path}"]
    execute([*command, "--output", str(folder), *options])
    return {name: tensor_files.load(output_file(folder, name)) for name in outputs}


def run_arrays(
    shared_object: Path, inputs: Mapping[str, Array], outputs: Sequence[str], folder: Path, *options: str
) -> dict[str, Array]:
    """Runs a model on arrays, which are written under `folder` first."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: tensor_files.save(array, folder / f"input_{i}") for i, (name, array) in enumerate(inputs.items())}
    return run_files(shared_object, files, outputs, folder / "outputs", *options)
