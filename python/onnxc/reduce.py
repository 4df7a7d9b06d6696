"""Reduces a model that fails to the least nodes that still fail in the same way.

    python -m onnxc.reduce failing.onnx -o small.onnx --random 0
    python -m onnxc.reduce failing.onnx -o small.onnx --input x=x.npy --option=-O0 --tolerance 1e-4

A failure is one of: onnxc refuses the model or ends otherwise, a run gives an error, a result differs from
onnxruntime's. Nodes are left out by halves, quarters and so on (A. Zeller, R. Hildebrandt: Simplifying and isolating
failure-inducing input, 2002), at last one by one, until none can be left out. An input of a node that stays, made by
one that is left out, becomes an input of the model, with the value that onnxruntime computes for it and the dims that
were free. Or it becomes another tensor of that type and shape, which the lost one was computed from, or a constant. The
inputs' values are written beside the result, as small.onnx.NAME.npy, in place of those of an earlier result. A model
that onnxruntime does not run is reduced if onnxc refuses it. Needs onnx and onnxruntime.
"""

import argparse
import glob
import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from onnxc import packages

try:
    import onnx
    import onnxruntime  # noqa: F401, for onnxc.reference
    from onnx import helper
except ModuleNotFoundError as error:
    raise packages.missing(error, "onnxc.reduce", __name__ == "__main__") from None

from onnxc import reference
from onnxc.compiler import compile as compile_model
from onnxc.errors import CompileError, RunError
from onnxc.graphs.reduction import Array, Feeds, Part, Search, Test
from onnxc.input_files import check_outputs, files_of_model

# ------------------------------------------------------------------------------------------------------- what fails


RUN = "run: "
COMPILE = "compile, exit code "
OPTIONS = f"{COMPILE}2: "  # they are at fault


def without_names(line: str) -> str:
    """Messages of one kind are equal without what they quote, list and count."""
    return re.sub(r"'[^']*'|\[[^]]*\]|(?<!exit code )\d+", "", line).replace("nodes ", "node ")[:120]


def is_same_failure(wanted: str, found: str) -> bool:
    """Whether both are of one kind. If a message lists nodes, the rest of a model may have fewer of them."""
    if wanted.startswith(RUN):
        return found.startswith(RUN)
    first, *details = map(without_names, wanted.splitlines() or [""])
    found_first, *found_details = map(without_names, found.splitlines() or [""])
    return first == found_first and bool(found_details) == bool(details) and set(found_details) <= set(details)


def shown(failure: str) -> str:
    """In one line."""
    text = " ".join(failure.split())
    return text if len(text) <= 200 else text[:197] + "..."


def differs(result: Array, expected: Array, tolerance: float) -> bool:
    """Beyond the tolerance times the largest magnitude; or in shape, type, NaN or infinities."""
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return True
    if result.size == 0:
        return False
    wide, reference = result.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(reference)
    if not np.array_equal(wide[~finite], reference[~finite], equal_nan=True) or not np.isfinite(wide[finite]).all():
        return True
    magnitude = float(np.abs(reference[finite]).max(initial=0))
    return bool(np.abs(wide[finite] - reference[finite]).max(initial=0) > tolerance * max(magnitude, 1e-30))


def failure_of(model: onnx.ModelProto, feeds: Feeds, options: Sequence[str], tolerance: float) -> str | None:
    """The failure; nothing if all is well. ValueError if onnxruntime would have to say it, and does not run it."""
    with tempfile.TemporaryDirectory(prefix="onnxc-") as folder:
        file = Path(folder) / "model.onnx"
        onnx.save(model, file)
        try:
            session = compile_model(file, options=options)
        except CompileError as error:
            return f"{COMPILE}{error.exit_code}: {without_file(str(error), file)}"
    with session:
        try:
            expected = reference.open_session(model).run(None, feeds)
        except Exception as error:  # onnxruntime's have no class in common
            raise ValueError(
                f"the model compiles, but onnxruntime does not run it, so that its right results are not known: {error}"
            ) from error
        try:
            results = session.run(None, feeds)
        except RunError as error:
            return f"{RUN}{error}"
    is_different = any(differs(a, b, tolerance) for a, b in zip(results, expected, strict=True))
    return "result" if is_different else None


def without_file(message: str, file: Path) -> str:
    """A message of the command, without its warnings, and the command's name and the file's in front of it."""
    start = re.search(r"^onnxc: (?=(internal )?error: )", message, re.MULTILINE)
    text = message[start.end() :] if start else message
    return text.removeprefix("error: ").removeprefix(f"{str(file)!r}: ")


# --------------------------------------------------------------------------------------------------------- reducing


def reduce_model(model: onnx.ModelProto, feeds: Feeds, failure: Test) -> tuple[onnx.ModelProto, Feeds, str]:
    """The least part found that fails as the whole does, its inputs and the failure. ValueError if nothing fails."""
    wanted = failure(model, feeds)
    if wanted is None:
        raise ValueError("nothing fails: there is nothing to reduce")
    if wanted.startswith(OPTIONS):
        raise ValueError(f"--option: {wanted.removeprefix(OPTIONS)}")
    search = Search(failure, lambda found: is_same_failure(wanted, found))
    search.last = wanted
    part = search.least(Part(model, feeds))
    return part.model, part.feeds, search.last


# ---------------------------------------------------------------------------------------------------------- command


def random_feeds(model: onnx.ModelProto, seed: int, dims: Mapping[str, int]) -> Feeds:
    """Integers from -4 to 4, which most types hold; free dims are as given, else 4."""
    random = np.random.default_rng(seed)
    constants = {each.name for each in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else dims.get(dim.dim_param, 4) for dim in tensor.shape.dim]
        numbers = random.integers(-4, 5, shape)
        feeds[value.name] = np.asarray(numbers).astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return feeds


def load_model(file: Path) -> onnx.ModelProto:
    """ValueError, which names the file, if it is not a model."""
    try:
        return onnx.load(file)
    except OSError as error:
        raise ValueError(f"{str(file)!r}: {error.strerror}") from error
    except Exception as error:  # protobuf's, and onnx's own of external data
        raise ValueError(f"{str(file)!r} is not an ONNX model, or lacks its external data: {error}") from error


def load_values(texts: Sequence[str], known: Collection[str]) -> Feeds:
    """Inputs given as NAME=FILE.npy. ValueError, which names what is wrong."""
    values = {}
    for text in texts:
        name, _, file = text.partition("=")
        if name not in known:
            names = ", ".join(repr(each) for each in known)
            raise ValueError(f"--input {text}: the model has no input {name!r}; it has {names or 'none'}")
        try:
            values[name] = np.load(file)
        except OSError as error:
            raise ValueError(f"--input {text}: {file!r}: {error.strerror or error}") from error
        except ValueError as error:
            raise ValueError(f"--input {text}: {file!r} is not an .npy file: {error}") from error
    return values


def seed(text: str) -> int:
    """ValueError, which argparse tells with the option's name, for what is not one."""
    if not text.isdecimal():
        raise ValueError
    return int(text)


def tolerance(text: str) -> float:
    """ValueError, as seed."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def check_dims(sizes: Mapping[str, int], model: onnx.ModelProto) -> None:
    """ValueError for a dim that no input has."""
    dims = [dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param]
    for name in sizes:
        if name not in dims:
            known = ", ".join(repr(each) for each in dict.fromkeys(dims))
            raise ValueError(f"--dim {name}: the inputs have no dim of this name; they have {known or 'none'}")


def sizes_of(texts: Sequence[str]) -> dict[str, int]:
    """Dims given as NAME=SIZE. ValueError for another form."""
    sizes = {}
    for text in texts:
        name, _, size = text.partition("=")
        if not name or not size.isdecimal():
            raise ValueError(f"--dim {text}: give it as NAME=SIZE, such as --dim N=2")
        sizes[name] = int(size)
    return sizes


def write(model: onnx.ModelProto, feeds: Feeds, output: Path) -> None:
    """The model, and its inputs' values beside it in place of those of an earlier result."""
    onnx.save(model, output)
    for file in output.parent.glob(f"{glob.escape(output.name)}.*.npy"):
        file.unlink()
    for name, value in feeds.items():
        np.save(f"{output}.{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.npy", value)


def inputs_of(model: Path, values: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The files that the command reads."""
    yield from files_of_model("MODEL", model)
    for text in values:
        yield "--input", Path(text.partition("=")[2])


def outputs_of(output: Path) -> Iterator[tuple[str, Path]]:
    """The files that are there and that it replaces or removes: any tensor may become an input of the small model."""
    yield "-o", output
    for file in output.parent.glob(f"{glob.escape(output.name)}.*.npy"):
        yield "-o", file


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m onnxc.reduce", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--random", type=seed, default=0, metavar="SEED", help="values of inputs that are not given")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="of random inputs")
    parser.add_argument("--option", action="append", default=[], help="of onnxc, such as --option=-O0")
    parser.add_argument("--tolerance", type=tolerance, default=1e-3, help="over the largest magnitude (default: 1e-3)")
    given = parser.parse_args(arguments)
    try:
        sizes = sizes_of(given.dim)
    except ValueError as error:
        parser.error(str(error))

    def failure(part: onnx.ModelProto, inputs: Feeds) -> str | None:
        return failure_of(part, inputs, given.option, given.tolerance)

    try:
        if not given.output.parent.is_dir():
            raise ValueError(f"-o {given.output}: there is no folder {str(given.output.parent)!r}")
        check_outputs(outputs_of(given.output), inputs_of(given.model, given.input))
        model = load_model(given.model)
        check_dims(sizes, model)
        feeds = random_feeds(model, given.random, sizes)
        feeds |= load_values(given.input, feeds.keys())
        small, inputs, found = reduce_model(model, feeds, failure)
    except ValueError as error:
        print(f"onnxc.reduce: {error}", file=sys.stderr)
        return 1
    write(small, inputs, given.output)
    left = f"{len(small.graph.node)} of {len(model.graph.node)} nodes"
    print(f"{given.output}: {left} fail in the same way ({shown(found)})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
