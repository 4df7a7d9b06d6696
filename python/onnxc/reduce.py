"""Reduces a model that fails to the least nodes that still fail in the same way.

    python -m onnxc.reduce model.onnx -o small.onnx --random 0
    python -m onnxc.reduce model.onnx -o small.onnx --input x=x.npy --option=-O0 --tolerance 1e-4

A failure is one of: onnxc refuses the model or ends otherwise, a run gives an error, a result differs from
onnxruntime's. Nodes are left out by halves, quarters and so on (A. Zeller, R. Hildebrandt: Simplifying and isolating
failure-inducing input, 2002). What a node that stays reads of one that is left out becomes an input, with the value
that onnxruntime computes for it; the inputs' values are written beside the result, as small.onnx.NAME.npy. Needs onnx
and onnxruntime.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from onnxc import reference
from onnxc.compiler import compile as compile_model
from onnxc.errors import CompileError, RunError

Array = NDArray[Any]
Feeds = dict[str, Array]
Test = Callable[[onnx.ModelProto, Feeds], str | None]


# ------------------------------------------------------------------------------------------------------- what fails


def without_names(message: str) -> str:
    """Messages of one kind are equal without what they quote and count."""
    return re.sub(r"'[^']*'|\d+", "", message.splitlines()[0] if message else "")[:120]


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
    """What fails, in words that stay the same while the model is reduced; nothing where all is well."""
    with tempfile.TemporaryDirectory(prefix="onnxc-") as folder:
        file = Path(folder) / "model.onnx"
        onnx.save(model, file)
        try:
            session = compile_model(file, options=options)
        except CompileError as error:
            return f"compile, exit code {error.exit_code}: {without_names(str(error).split(': ', 2)[-1])}"
    with session:
        try:
            expected = reference.open_session(model).run(None, feeds)
        except Exception:  # a model that onnxruntime does not take shows nothing
            return None
        try:
            results = session.run(None, feeds)
        except RunError:
            return "run"
    is_different = any(differs(a, b, tolerance) for a, b in zip(results, expected, strict=True))
    return "result" if is_different else None


# --------------------------------------------------------------------------------------------------------- reducing


def names_read(node: onnx.NodeProto) -> set[str]:
    """Those of the graph around it that a node reads, in its subgraphs too."""
    read = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            made = {value.name for value in (*graph.input, *graph.initializer)}
            for inner in graph.node:
                read |= names_read(inner) - made
                made |= set(inner.output)
            read |= {value.name for value in graph.output} - made
    return read


class Reduction:
    """A model, its inputs' values and those of every tensor of the graph."""

    def __init__(self, model: onnx.ModelProto, feeds: Feeds) -> None:
        self.model = model
        self.feeds = feeds
        self.initializers = {each.name: each for each in model.graph.initializer}
        self.inputs = {each.name: each for each in model.graph.input}
        self.outputs = {each.name: each for each in model.graph.output}
        self.values = self._values()

    def _values(self) -> Feeds:
        made = [name for node in self.model.graph.node for name in node.output]
        every = reference.with_outputs(self.model, [*made, *self.outputs])
        return {**self.feeds, **reference.compute(reference.open_session(every), self.feeds)}

    def _value_info(self, name: str) -> onnx.ValueInfoProto:
        value = self.values[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    def part(self, kept: Iterable[int]) -> tuple[onnx.ModelProto, Feeds]:
        """The model of these nodes alone."""
        nodes = [self.model.graph.node[i] for i in sorted(kept)]
        made = {name for node in nodes for name in node.output}
        read = [name for node in nodes for name in sorted(names_read(node))]
        given = [name for name in dict.fromkeys(read) if name not in made]
        constants = [self.initializers[name] for name in given if name in self.initializers]
        inputs = [self.inputs.get(name) or self._value_info(name) for name in given if name not in self.initializers]
        results = [
            name for node in nodes for name in node.output if name and (name in self.outputs or name not in read)
        ]
        outputs = [self.outputs.get(name) or self._value_info(name) for name in results if name in self.values]
        graph = helper.make_graph(nodes, "reduced", inputs, outputs, constants)
        model = helper.make_model(
            graph,
            opset_imports=self.model.opset_import,
            ir_version=self.model.ir_version,
            functions=self.model.functions,
        )
        return model, {each.name: self.values[each.name] for each in inputs}


def reduce_model(model: onnx.ModelProto, feeds: Feeds, failure: Test) -> tuple[onnx.ModelProto, Feeds, str]:
    """The least part found that fails as the whole does, its inputs and the failure.

    ValueError where nothing fails, or where onnxruntime does not know what the values within the model are.
    """
    wanted = failure(model, feeds)
    if wanted is None:
        raise ValueError("nothing fails: there is nothing to reduce")
    try:
        reduction = Reduction(model, feeds)
    except Exception as error:
        raise ValueError(
            f"onnxruntime does not run the model, so that the values in it are not known: {error}"
        ) from error

    def still_fails(kept: Sequence[int]) -> bool:
        try:
            return bool(kept) and failure(*reduction.part(kept)) == wanted
        except Exception:  # a part that is no model
            return False

    kept = list(range(len(model.graph.node)))
    if not still_fails(kept):
        return model, feeds, wanted
    size = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        for start in range(0, len(kept), size):
            fewer = [*kept[:start], *kept[start + size :]]
            if still_fails(fewer):
                kept = fewer
                break
        if len(kept) == before:
            if size == 1:
                break
            size = max(1, size // 2)
        size = max(1, min(size, len(kept) // 2))
    return *reduction.part(kept), wanted


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


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m onnxc.reduce", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--random", type=int, default=0, metavar="SEED", help="values of inputs that are not given")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="of random inputs")
    parser.add_argument("--option", action="append", default=[], help="of onnxc, such as --option=-O0")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="over the largest magnitude (default: 1e-3)")
    given = parser.parse_args(arguments)
    model = onnx.load(given.model)
    feeds = random_feeds(
        model, given.random, {name: int(size) for name, _, size in (d.partition("=") for d in given.dim)}
    )
    for text in given.input:
        name, _, file = text.partition("=")
        feeds[name] = np.load(file)

    def failure(part: onnx.ModelProto, inputs: Feeds) -> str | None:
        return failure_of(part, inputs, given.option, given.tolerance)

    try:
        small, inputs, kind = reduce_model(model, feeds, failure)
    except ValueError as error:
        print(f"onnxc.reduce: {error}", file=sys.stderr)
        return 1
    onnx.save(small, given.output)
    for name, value in inputs.items():
        np.save(f"{given.output}.{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.npy", value)
    print(f"{given.output}: {len(small.graph.node)} of {len(model.graph.node)} nodes fail in the same way ({kind})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
