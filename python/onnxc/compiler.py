"""Compiling from Python."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnxc import arguments, command
from onnxc.input_files import check_outputs, files_of_model
from onnxc.session import InferenceSession, check_graph, checked_device


def compile(
    model: str | Path | Sequence[str | Path],
    output: str | Path | None = None,
    *,
    march: str | None = None,
    dims: Mapping[str, int | str] | None = None,
    outputs: Sequence[str] | None = None,
    state: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    threads: int | None = 0,
    device: str = "cpu",
    entry: str | None = None,
    hip_graph: bool = False,
) -> InferenceSession:
    """Compiles a model file and loads the result.

    model: the file; of several files, which need an output, each becomes an entry of the model.so, named after the
        file. They share the weights that are equal.
    output: the file in which to keep the model.so; without it the file is gone once it is loaded.
    march: the CPU to compile for, such as "x86-64-v3"; this machine's own by default.
    dims: values or ranges of symbolic dims, such as {"N": 4, "D": "16..512"}.
    outputs: the outputs to keep; all by default.
    state: for inputs the outputs that become their memory, such as {"cache": "next_cache"}: states, which a run finds
        as the run before left them.
    options: further options of the command, as written there.
    threads, device, entry, hip_graph: as InferenceSession takes them. A model for "gpu" runs only on a GPU;
        options=["--target", "cpu,gpu"] makes one for both.

    Raises CompileError with the command's message, ArgumentError for an argument that cannot be done, such as an output
    that is the model or its external data.
    """
    files = _files(model)
    target = None if output is None else arguments.path("output", output)
    threads = arguments.count("threads", threads)
    check_graph(checked_device(device), hip_graph)
    options = arguments.texts("options", options, "words of the command, such as ['-O1']")
    if target is not None:
        check_outputs([("output", target)], [file for each in files for file in files_of_model("model", each)])
    elif len(files) > 1:
        raise arguments.refused("output", output, "a file for the model.so of several models")
    words = [*options] if "--target" in options else [*command.target_options(device, options), *options]
    if march is not None:
        words += ["--march", arguments.text("march", march, "the name of a CPU, such as 'x86-64-v3'")]
    for name, value in arguments.mapping("dims", {} if dims is None else dims, "sizes").items():
        words += ["--dim", f"{name}={_size(name, value)}"]
    if outputs is not None:
        expected = "one name of an output or more"
        kept = arguments.texts("outputs", outputs, expected)
        if not kept:
            raise arguments.refused("outputs", outputs, expected)
        words += ["--outputs", ",".join(kept)]
    for name, output_name in arguments.mapping("state", {} if state is None else state, "names of outputs").items():
        expected = "the name of an output"
        words += ["--state", f"{name}={arguments.text(f'state[{name!r}]', output_name, expected)}"]
    if target is None:
        return InferenceSession.of_library(command.compile_and_load(files[0], words), threads, device, entry, hip_graph)
    command.execute(files, target, words)
    return InferenceSession(target, threads=threads, device=device, entry=entry, hip_graph=hip_graph)


def _files(model: str | Path | Sequence[str | Path]) -> list[Path]:
    if isinstance(model, str | os.PathLike):
        return [arguments.path("model", model)]
    expected = "the path of a file, or a list of paths"
    files = [arguments.path(f"model[{i}]", each) for i, each in enumerate(arguments.sequence("model", model, expected))]
    if not files:
        raise arguments.refused("model", model, expected)
    return files


def _size(name: str, value: int | str) -> int | str:
    """A text is for the command to read."""
    expected = "a size, or a text such as '16..512'"
    return value if isinstance(value, str) else arguments.whole(f"dims[{name!r}]", value, 0, expected)
