"""Compiling from Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from onnxc import command
from onnxc.input_files import check_outputs, files_of_model
from onnxc.session import InferenceSession


def compile(
    model: str | Path,
    output: str | Path | None = None,
    *,
    march: str | None = None,
    dims: Mapping[str, int | str] | None = None,
    outputs: Sequence[str] | None = None,
    options: Sequence[str] = (),
    threads: int = 0,
    device: str = "cpu",
    hip_graph: bool = False,
) -> InferenceSession:
    """Compiles a model file and loads the result.

    output: the file in which to keep the model.so; without it the file is gone once it is loaded.
    march: the CPU to compile for, such as "x86-64-v3"; this machine's own by default.
    dims: values or ranges of symbolic dims, such as {"N": 4, "D": "16..512"}.
    outputs: the outputs to keep; all by default.
    options: further options of the command, as written there.
    threads, device, hip_graph: as InferenceSession takes them. A model for "hip" runs on a GPU alone;
        options=["--target", "cpu,hip"] makes one for both.

    Raises CompileError with the command's message, ArgumentError for an output that is the model or its external data.
    """
    if output is not None:
        check_outputs([("output", Path(output))], files_of_model("model", Path(model)))
    words = [*options] if "--target" in options else [*command.target_options(device), *options]
    if march is not None:
        words += ["--march", march]
    for name, value in (dims or {}).items():
        words += ["--dim", f"{name}={value}"]
    if outputs is not None:
        words += ["--outputs", ",".join(outputs)]
    if output is None:
        return InferenceSession.of_library(command.compile_and_load(Path(model), words), threads, device, hip_graph)
    command.execute(Path(model), Path(output), words)
    return InferenceSession(output, threads=threads, device=device, hip_graph=hip_graph)
