"""Whether onnxc computes what shape arithmetic means, with dims that are known, free, and some of each.

Each form of a graph is held against onnxruntime at the sizes of every run that it takes, and against the other forms:
known or free, a graph has the same shapes, the same integers and the same exact floats. Floats that are not exact may
differ by what their roundings explain (evaluation.py).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from models.tensor_files import Array
from onnxc import CompileError, InferenceSession, RunError
from onnxc import compile as compile_model
from tests.random.shape_arithmetic.evaluation import Value
from tests.random.shape_arithmetic.graphs import FREE, Drawn, Form, build_model, feeds, runs_of

# An error is what onnxruntime's result may be off by; onnxc's may be as much on the other side.
BOTH_SIDES = 2

# The refusals of onnxc, as docs/shapes.md says: a rank that only a run knows, and what is like it.
LIMITS = {
    r"how many values it has must be known when the model is compiled": "a tensor whose rank only a run knows",
    r"the kernel's size must be known when the model is compiled": "a kernel without a size",
    r"is known only when the model runs; it must have shape": "a list of scales whose length only a run knows",
    r"the last dim of the indices must be known when the model is compiled": "the same",
}

Results = dict[int, dict[str, Array]]  # by run, by the output's name


class Refused(Exception):
    """A form of a graph that onnxc does not compile or run; the message is onnxc's."""


def form_name(form: Form) -> str:
    return form if isinstance(form, str) else f"known, run {form}"


# ------------------------------------------------------------------------------------------------------------ running


def results_of(drawn: Sequence[Drawn], form: Form, options: Sequence[str], folder: Path) -> Results:
    """The results of graphs that stand side by side in one model. Raises Refused."""
    graphs = [each.graph for each in drawn]
    onnx.save(build_model(graphs, form), folder / "model.onnx")
    try:
        with compile_model(folder / "model.onnx", options=options, threads=1) as session:
            return {run: run_once(session, feeds(graphs, run)) for run in runs_of(form)}
    except CompileError as error:
        raise Refused(f"does not compile, exit code {error.exit_code}: {error}") from error
    except RunError as error:
        raise Refused(f"does not run: {error}") from error


def run_once(session: InferenceSession, inputs: dict[str, Array]) -> dict[str, Array]:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def results_of_each(
    drawn: Sequence[Drawn], form: Form, options: Sequence[str], folder: Path
) -> dict[str, Results | str]:
    """For each graph, by its prefix, its results, or why there are none. Graphs that are refused together are
    divided."""
    if not drawn:
        return {}
    try:
        together = results_of(drawn, form, options, folder)
    except Refused as refusal:
        if len(drawn) == 1:
            return {drawn[0].graph.prefix: str(refusal)}
        parts = divided(drawn, str(refusal))
        of_parts = (results_of_each(part, form, options, folder) for part in parts)
        return {prefix: result for of_part in of_parts for prefix, result in of_part.items()}
    return {
        each.graph.prefix: {
            run: {output.name: results[output.name] for output in each.graph.outputs}
            for run, results in together.items()
        }
        for each in drawn
    }


def divided(drawn: Sequence[Drawn], refusal: str) -> list[Sequence[Drawn]]:
    """Each graph that the refusal names by itself, and the others; halves, if it names none."""
    named = [each for each in drawn if f"'{each.graph.prefix}" in refusal]
    if not named:
        return [drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]]
    names = {each.graph.prefix for each in named}
    return [*([each] for each in named), [each for each in drawn if each.graph.prefix not in names]]


# ---------------------------------------------------------------------------------------------------------- comparing


def difference(output: Value, found: Array, wanted: Array, run: int) -> str | None:
    """The results that differ beyond the output's error."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype} {list(found.shape)} where {wanted.dtype} {list(wanted.shape)} is expected"
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    is_same = (one == other) | (np.isnan(one) & np.isnan(other))
    if output.errors is not None and found.shape == output.errors[run].shape:
        with np.errstate(invalid="ignore"):
            is_same |= np.abs(one - other) <= BOTH_SIDES * output.errors[run]
    if is_same.all():
        return None
    place = tuple(int(each) for each in np.argwhere(~is_same)[0])
    count = f"{int((~is_same).sum())} of {found.size} elements"
    return f"{count}, first at {list(place)}: {found[place]} where {wanted[place]} is expected"


def faults(drawn: Drawn, results: dict[Form, Results | str]) -> list[str]:
    """The fault of a graph, given the results of its forms."""
    found: list[str] = []
    for form, of_form in results.items():
        if isinstance(of_form, str):
            if limit_of(of_form) is None:
                found.append(f"{form_name(form)}: {of_form}")
            continue
        for run, of_run in of_form.items():
            for output in drawn.graph.outputs:
                differs = difference(output, of_run[output.name], drawn.expected[run][output.name], run)
                if differs is not None:
                    found.append(f"{form_name(form)} at run {run}, {made_by(drawn, output)}: {differs}")
    return found + [f"known and free differ: {each}" for each in own_differences(drawn, results)]


def own_differences(drawn: Drawn, results: dict[Form, Results | str]) -> list[str]:
    """The results of forms that differ from the free one, whatever onnxruntime says."""
    free = results[FREE]
    if isinstance(free, str):
        return []
    found = []
    for form, of_form in results.items():
        if form == FREE or isinstance(of_form, str):
            continue
        for run, of_run in of_form.items():
            for output in drawn.graph.outputs:
                differs = difference(output, of_run[output.name], free[run][output.name], run)
                if differs is not None:
                    found.append(
                        f"{form_name(form)} at run {run}, {made_by(drawn, output)}: {differs} by the free form"
                    )
    return found


def made_by(drawn: Drawn, output: Value) -> str:
    node = next(node for node in drawn.graph.nodes if output.name in node.output)
    return f"{output.name} ({node.op_type})"


def limit_of(refusal: str) -> str | None:
    """The documented limit that a refusal names."""
    return next((reason for pattern, reason in LIMITS.items() if re.search(pattern, refusal)), None)


@dataclass(frozen=True)
class Verdict:
    """Keyed by the graphs' prefixes: the fault in some form, and which of the others a documented limit stops."""

    wrong: dict[str, list[str]]
    limited: list[str]


def judge(drawn: Sequence[Drawn], forms: Sequence[Form], options: Sequence[str], folder: Path) -> Verdict:
    """The free form is one of the forms."""
    of_forms = {form: results_of_each(drawn, form, options, folder) for form in forms}
    verdict = Verdict({}, [])
    for each in drawn:
        results = {form: of_graphs[each.graph.prefix] for form, of_graphs in of_forms.items()}
        found = faults(each, results)
        if found:
            verdict.wrong[each.graph.prefix] = found
        elif any(isinstance(of_form, str) for of_form in results.values()):
            verdict.limited.append(each.graph.prefix)
    return verdict
