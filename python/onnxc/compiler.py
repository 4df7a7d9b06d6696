"""Calls the command onnxc."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnxc.errors import CompileError, OnnxcError
from onnxc.session import InferenceSession, load_library


def compile(
    model: str | Path,
    output: str | Path | None = None,
    *,
    march: str | None = None,
    dims: Mapping[str, int | str] | None = None,
    outputs: Sequence[str] | None = None,
    options: Sequence[str] = (),
    threads: int = 0,
) -> InferenceSession:
    """Compiles a model file and loads the result.

    output: where to keep the model.so; without it the file is gone once it is loaded.
    march: the CPU to compile for, such as "x86-64-v3"; this machine's own by default.
    dims: values or ranges of symbolic dims, such as {"N": 4, "D": "16..512"}.
    outputs: the outputs to keep; all by default.
    options: further options of the command, as written there.
    threads: as InferenceSession takes it.

    Raises CompileError with the command's message.
    """
    words = list(options)
    if march is not None:
        words += ["--march", march]
    for name, value in (dims or {}).items():
        words += ["--dim", f"{name}={value}"]
    if outputs is not None:
        words += ["--outputs", ",".join(outputs)]
    if output is None:
        return InferenceSession.of_library(compile_and_load(Path(model), words), threads)
    _execute(Path(model), Path(output), words)
    return InferenceSession(output, threads=threads)


def compile_and_load(model: Path, options: Sequence[str]) -> ctypes.CDLL:
    """Compiles into a temporary folder. A loaded library stays whole after its file is removed."""
    with tempfile.TemporaryDirectory(prefix="onnxc-") as folder:
        shared_object = Path(folder) / f"{model.stem}.so"
        _execute(model, shared_object, options)
        return load_library(shared_object)


def _execute(model: Path, output: Path, options: Sequence[str]) -> None:
    # "./" keeps a file whose name starts with a dash from being read as an option.
    words = [str(path) if path.is_absolute() else os.path.join(".", path) for path in (model, output)]
    command = [_find_command(), words[0], "-o", words[1], *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CompileError(done.stderr.strip() or f"onnxc ended with code {done.returncode}", done.returncode)


def _find_command() -> str:
    """$ONNXC_BIN/onnxc, else build/bin of the source tree that this file is in, else onnxc on the PATH."""
    folder = os.environ.get("ONNXC_BIN")
    places = [Path(folder)] if folder else [Path(__file__).resolve().parents[2] / "build" / "bin"]
    for place in places:
        if (place / "onnxc").is_file():
            return str(place / "onnxc")
    found = shutil.which("onnxc")
    if found is None:
        raise OnnxcError("the command onnxc is not found: put it on the PATH, or set ONNXC_BIN to its folder")
    return found
