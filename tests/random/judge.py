"""Whether onnxc computes what a graph means: onnxruntime says it, and if they differ a float64 evaluation judges."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from models.tensor_files import Array
from onnxc import InferenceSession, RunError
from tests.onnxruntime_sessions import open_session
from tests.random.drawing import RUNS, Tensor
from tests.random.random_graphs import DOUBLE, FLOAT, RandomGraph, build_model, feed

# In a whole graph results are integers; Winograd's transforms round what they were made of.
NEAR_INTEGER = 0.05
# For other types: some ten layers that add a few roundings each, over the largest magnitude.
TOLERANCE = 1e-4
# How much farther from the float64 result than onnxruntime a result may be that is beyond the tolerance.
WORSE_THAN_ONNXRUNTIME = 4


class Refused(Exception):
    """onnxruntime does not run it."""


class MeanVarianceNormalization(OpRun):  # type: ignore[misc]
    """ONNX's function body has constants of float32, which do not mix with float64.

    Numbers that are equal but for roundings have no result that one could be held to, as the body adds but 1e-9 to
    their deviation: NaN says so here, and in what is computed from it.
    """

    op_domain = ""

    def _run(self, x: Array, axes: Sequence[int] = (0, 2, 3)) -> tuple[Array]:
        over = tuple(axes)
        deviation = x.std(over, keepdims=True)
        is_determined = deviation > 1e-6 * np.abs(x).max(over, keepdims=True, initial=0)
        return ((x - x.mean(over, keepdims=True)) / np.where(is_determined, deviation + 1e-9, np.nan),)


class GlobalMaxPool(OpRun):  # type: ignore[misc]
    """ONNX's own gives volumes an axis too many."""

    op_domain = ""

    def _run(self, x: Array) -> tuple[Array]:
        return (x.max(tuple(range(2, x.ndim)), keepdims=True),)


def reference(graph: RandomGraph, opset: int, run: int) -> list[Array]:
    model = build_model([graph], opset, as_type=FLOAT)
    try:
        session = open_session(model, optimized=False, threads=1)
        results: list[Array] = session.run(None, {graph.input: feed(graph, run)})
    except Exception as error:  # of whatever type
        raise Refused(str(error)) from error
    return results


def evaluate_in_float64(graph: RandomGraph, opset: int, run: int) -> list[Array]:
    model = build_model([graph], opset, as_type=DOUBLE)
    for node in model.graph.node:
        if (
            node.op_type == "GroupNormalization" and opset >= 21
        ):  # whose function body computes in the type that it names
            node.attribute.append(helper.make_attribute("stash_type", onnx.TensorProto.DOUBLE))
    values = feed(graph, run)
    wide = values if graph.kind.is_integer else values.astype(np.float64)
    evaluator = ReferenceEvaluator(model, new_ops=[MeanVarianceNormalization, GlobalMaxPool])
    results: list[Array] = evaluator.run(None, {graph.input: wide})
    return results


def as_given(graph: RandomGraph, run: int) -> Array:
    """The input in the type that the model has it in."""
    values = feed(graph, run)
    return values.astype(ml_dtypes.bfloat16 if graph.kind.name == "bfloat16" else graph.kind.name)


def largest_difference(a: Array, b: Array) -> float:
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0))


def difference(graph: RandomGraph, tensor: Tensor, result: Array, expected: Array, run: int, opset: int) -> str | None:
    """The fault of a result of a run; nothing if it is right, or has no right value (NaN in float64)."""
    dims = tuple(dim[run] for dim in tensor.dims)
    if result.shape != expected.shape or result.shape != dims:
        return f"shape {result.shape}, onnxruntime {expected.shape}, drawn as {dims}"
    if result.size == 0:
        return None
    found, wanted = result.astype(np.float64), expected.astype(np.float64)
    if not np.isfinite(found).all():
        return f"{int((~np.isfinite(found)).sum())} of {found.size} elements are not finite"
    error = largest_difference(found, wanted)
    if graph.whole:
        allowed = 0 if tensor.exact or graph.kind.is_integer else NEAR_INTEGER
        return None if error <= allowed else f"differs by {error:.4g} where integers are expected, allowed {allowed}"
    scale = float(np.abs(wanted).max())
    if error <= TOLERANCE * max(scale, 1e-3):
        return None
    index = [each.name for each in graph.outputs].index(tensor.name)
    try:
        truth = evaluate_in_float64(graph, opset, run)[index]
    except (RuntimeError, TypeError) as refusal:
        return f"differs by {error:.4g} of {scale:.4g}; ONNX's evaluator does not judge: {refusal}"
    is_determined = ~np.isnan(truth)
    found, wanted, truth = found[is_determined], wanted[is_determined], truth[is_determined]
    ours, theirs = largest_difference(found, truth), largest_difference(wanted, truth)
    # If onnxruntime has NaN, nothing excuses a difference from the float64 result.
    excused = WORSE_THAN_ONNXRUNTIME * theirs if np.isfinite(theirs) else 0
    if ours <= max(TOLERANCE * float(np.abs(truth).max(initial=0)), excused):
        return None
    return f"differs by {error:.4g} of {scale:.4g}; from float64 by {ours:.4g}, onnxruntime by {theirs:.4g}"


def compare(session: InferenceSession, graphs: Sequence[RandomGraph], opset: int) -> dict[str, str]:
    """For each graph that is wrong in some run, by its prefix, what is."""
    wrong: dict[str, str] = {}
    for run in range(RUNS):
        feeds = {graph.input: as_given(graph, run) for graph in graphs}
        try:
            results = session.run(None, feeds)
        except RunError as error:
            for graph in graphs:
                if graph.prefix in str(error) or len(graphs) == 1:
                    wrong.setdefault(graph.prefix, f"run {run}: {error}")
            return wrong or {graphs[0].prefix: f"run {run}: {error}"}
        by_name = dict(zip([output.name for output in session.get_outputs()], results, strict=True))
        for graph in graphs:
            if graph.prefix in wrong:
                continue
            try:
                expected = reference(graph, opset, run)
            except Refused as refusal:
                # Nothing can be wrong in what is empty; kernels of onnxruntime do not take every empty tensor.
                if any(0 in (dim[run] for dim in tensor.dims) for tensor in graph.outputs):
                    continue
                wrong[graph.prefix] = f"run {run}: onnxruntime refuses what onnxc runs: {refusal}"
                continue
            for tensor, wanted in zip(graph.outputs, expected, strict=True):
                if tensor.name not in by_name:
                    wrong[graph.prefix] = f"the model has no output {tensor.name}"
                    break
                found = difference(graph, tensor, by_name[tensor.name], wanted, run, opset)
                if found is not None:
                    made_by = next(node.op_type for node in graph.nodes if tensor.name in node.output)
                    wrong[graph.prefix] = (
                        f"run {run}, {[d[run] for d in graph.dims]}: {tensor.name} ({made_by}) {found}"
                    )
                    break
    return wrong
