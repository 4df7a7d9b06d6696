"""The results of a node of shape arithmetic in each run, by onnxruntime, and how far they are determined.

A number is exact if IEEE's arithmetic leaves no choice: of integers, and of floats by operations that are rounded
correctly. Others have an error, which grows as an operator moves its result when its inputs move by theirs. If that
could change an integer, a comparison or a place, the model has no right result, and the node is not drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from models.tensor_files import Array
from onnxc.graphs.subgraphs import names_read
from tests.onnxruntime_sessions import open_session
from tests.random.drawing import RUNS
from tests.random.shape_arithmetic.not_drawn import (
    LARGEST_FLOAT,
    LARGEST_INTEGER,
    LARGEST_SIZE,
    LARGEST_TENSOR,
    reason_against,
)

MOST_AXES = 5

# Rounded correctly, or not at all.
EXACT = {
    "Abs", "Add", "Cast", "CastLike", "Ceil", "CenterCropPad", "Clip", "Compress", "Concat", "ConstantOfShape",
    "DepthToSpace", "Div", "Dropout", "Expand", "EyeLike", "Flatten", "Floor", "Gather", "GatherElements", "GatherND",
    "GlobalMaxPool", "Hardmax", "Identity", "If", "Loop", "Max", "MaxPool", "Min", "Mod", "Mul", "Neg", "OneHot", "Pad",
    "Range", "Reciprocal", "ReduceMax", "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Round", "ScatterElements",
    "ScatterND", "Sign", "Slice", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "ThresholdedRelu", "Tile", "TopK",
    "Transpose", "Trilu", "Unique", "Unsqueeze", "Where",
}  # fmt: skip
# Exact if inputs and results are integers, whatever the order of a sum. A power of two integers is one in any library
# of mathematics.
EXACT_FOR_INTEGERS = {
    "CumSum", "Einsum", "Gemm", "MatMul", "Mean", "Pow", "ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "Sum",
}  # fmt: skip
# Each result is a sum of the whole signal by factors that are rounded themselves.
FOURIER = {"DFT", "STFT"}
# The operators that a product may be fused with, so that it is not rounded on the way (-ffp-contract=on).
FUSES_PRODUCTS = {"Add", "Sub", "Sum", "Mean"}
# In float16 results that are not stored may stay in float32, so that even one operation has an error.
ROUNDINGS = {np.dtype(np.float16): 2, np.dtype(np.float32): 16, np.dtype(np.float64): 64}
# onnxruntime computes these in float32, also of doubles, or by constants that it rounds to float32; of the
# normalizations ONNX's stash_type says so.
IN_FLOAT32 = {"Gelu", "GroupNormalization", "HardSwish", "LayerNormalization", "RMSNormalization", "Shrink"}
# Beyond it nothing is said by a comparison.
LARGEST_ERROR = {np.dtype(np.float16): 2e-2, np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-3}
# How many times its error an input is moved: what stays as it is so far from it is determined.
SAFETY = 4


class Unfit(Exception):
    """A node cannot be drawn: onnxruntime refuses it, it is not determined, or its result is too large."""


@dataclass(frozen=True)
class Value:
    """A tensor in each run. No errors if it is exact."""

    name: str
    arrays: tuple[Array, ...]
    errors: tuple[Array, ...] | None = None
    holds_product: bool = False  # rounded, unless an addition after it is fused with it

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self.arrays[0].dtype

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @property
    def is_exact(self) -> bool:
        return self.errors is None

    @property
    def least_size(self) -> int:
        return min(array.size for array in self.arrays)

    def within(self, low: float, high: float) -> bool:
        return all(array.size == 0 or (array.min() >= low and array.max() <= high) for array in self.arrays)


def is_float(array: Array) -> bool:
    return array.dtype.kind == "f"


def is_integral(array: Array) -> bool:
    """Whether its numbers are integers that float32 holds exactly."""
    wide = array.astype(np.float64)
    return bool(np.isfinite(wide).all() and (wide == np.rint(wide)).all() and np.abs(wide).max(initial=0) < 2**20)


# -------------------------------------------------------------------------------------------------------- evaluating


def check_results(of_runs: Sequence[Sequence[Array]]) -> None:
    """The results of a node have one type and rank in all runs, and are small."""
    for arrays in zip(*of_runs, strict=True):
        if any(not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub" for array in arrays):
            raise Unfit("not a tensor of numbers")
        if len({array.ndim for array in arrays}) > 1 or arrays[0].ndim > MOST_AXES:
            raise Unfit("its rank")
        for array in arrays:
            finite = (
                np.abs(array[np.isfinite(array)].astype(np.float64))
                if is_float(array)
                else np.abs(array.astype(np.float64))
            )
            if array.size > LARGEST_TENSOR or max(array.shape, default=0) > 4 * LARGEST_SIZE:
                raise Unfit("too many elements")
            if finite.max(initial=0) > (LARGEST_FLOAT if is_float(array) else LARGEST_INTEGER):
                raise Unfit("numbers too large")


def model_of(node: onnx.NodeProto, inputs: Mapping[str, Value], opset: int) -> onnx.ModelProto:
    """A model of only the node."""
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.rank)
        for name, value in inputs.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", given, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 19 else 10)


class NodeSession:
    """A node in onnxruntime."""

    def __init__(self, node: onnx.NodeProto, inputs: Mapping[str, Value], opset: int) -> None:
        self.node = node
        self.inputs = inputs
        try:
            self.session = open_session(model_of(node, inputs, opset), optimized=False, threads=1)
        except Exception as error:  # of whatever type
            raise Unfit(str(error)) from error

    def run(self, feeds: Mapping[str, Array]) -> list[Array]:
        reason = reason_against(self.node, [feeds[name] for name in self.node.input if name])
        if reason is not None:
            raise Unfit(reason)
        try:
            results: list[Array] = self.session.run(None, dict(feeds))
        except Exception as error:
            raise Unfit(str(error)) from error
        return results


def check_range(feeds: Sequence[Mapping[str, Array]], results: Sequence[Sequence[Array]]) -> None:
    """onnxruntime may keep what lies between nodes of float16 in float32, so that no infinity arises."""
    for given, made in zip(feeds, results, strict=True):
        is_finite = all(np.isfinite(each).all() for each in given.values() if is_float(each))
        if is_finite and any(each.dtype == np.float16 and np.isinf(each).any() for each in made):
            raise Unfit("beyond the range of float16")


def evaluate(node: onnx.NodeProto, values: Mapping[str, Value], opset: int) -> list[Value]:
    """The results of the node, if the values are all that it may read. Raises Unfit."""
    inputs = {name: values[name] for name in sorted(names_read(node))}
    session = NodeSession(node, inputs, opset)
    feeds = [{name: value.arrays[run] for name, value in inputs.items()} for run in range(RUNS)]
    results = [session.run(each) for each in feeds]
    check_results(results)
    check_range(feeds, results)
    errors = [errors_of(session, feeds[run], results[run], run) for run in range(RUNS)]
    product = any(value.holds_product for value in inputs.values()) or node.op_type == "Mul"
    made = []
    for index, name in enumerate(name for name in node.output if name):
        arrays = tuple(each[index] for each in results)
        moved = tuple(each[index] for each in errors)
        is_exact = not any(each.any() for each in moved)
        made.append(Value(name, arrays, None if is_exact else moved, product and is_float(arrays[0])))
    return made


def errors_of(session: NodeSession, feeds: Mapping[str, Array], results: Sequence[Array], run: int) -> list[Array]:
    """For each result its error in a run."""
    given = list(feeds.values())
    errors = [own_error(session.node, session.inputs, given, result) for result in results]
    if not all(value.is_exact for value in session.inputs.values()):
        for sample in range(4):
            for index, moved in enumerate(session.run(moved_inputs(session.inputs, run, sample))):
                movement = distance(moved, results[index])
                errors[index] = np.maximum(errors[index], own_error_of_none(results[index]) + movement / SAFETY)
    for result, error in zip(results, errors, strict=True):
        magnitude = np.where(np.isfinite(result), np.abs(result.astype(np.float64)), 1)
        if is_float(result) and (error > LARGEST_ERROR[result.dtype] * np.maximum(1, magnitude)).any():
            raise Unfit("not determined")
        if not is_float(result) and error.any():
            raise Unfit("not determined")
    return errors


def own_error_of_none(result: Array) -> Array:
    return np.zeros(result.shape)


def distance(moved: Array, result: Array) -> Array:
    """How far a result moved."""
    if moved.shape != result.shape:
        raise Unfit("not determined")
    one, other = moved.astype(np.float64), result.astype(np.float64)
    is_same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        return np.where(is_same, 0, np.where(np.isfinite(one) & np.isfinite(other), np.abs(one - other), np.inf))


def moved_inputs(inputs: Mapping[str, Value], run: int, sample: int) -> dict[str, Array]:
    """All by more than their errors: up, down, or either."""
    random = np.random.default_rng([run, sample])
    moved = {}
    for name, value in inputs.items():
        array = value.arrays[run]
        if value.errors is None:
            moved[name] = array
            continue
        sign = [1, -1][sample] if sample < 2 else random.choice([-1, 1], array.shape)
        moved[name] = (array + SAFETY * sign * value.errors[run]).astype(array.dtype)
    return moved


def own_error(node: onnx.NodeProto, inputs: Mapping[str, Value], given: Sequence[Array], result: Array) -> Array:
    """The error that the node's own arithmetic may add."""
    if not is_float(result) or result.size == 0:
        return np.zeros(result.shape)
    magnitude = np.where(np.isfinite(result), np.abs(result.astype(np.float64)), 0)
    epsilon = float(np.finfo(result.dtype).eps)
    if result.dtype == np.float16:
        is_short = bool((16 * magnitude == np.rint(16 * magnitude)).all() and magnitude.max() < 128)
        return np.zeros(result.shape) if is_short and node.op_type in EXACT else 2 * epsilon * (magnitude + 1)
    largest = max(
        (float(np.abs(each[np.isfinite(each)]).max(initial=0)) for each in given if is_float(each)), default=0
    )
    is_fused = node.op_type in FUSES_PRODUCTS and any(value.holds_product for value in inputs.values())
    if is_fused and not all(is_integral(each) for each in given):
        return np.full(result.shape, 2 * epsilon * max(largest, 1))
    if node.op_type == "Range":  # onnxruntime adds the step in each round, ONNX multiplies it
        return np.full(result.shape, epsilon * result.size * magnitude.max())
    if node.op_type in EXACT:
        return np.zeros(result.shape)
    if node.op_type in EXACT_FOR_INTEGERS and all(is_integral(each) for each in [*given, result]):
        return np.zeros(result.shape)
    if node.op_type in FOURIER:
        largest = float(np.abs(given[0].astype(np.float64)).sum())
    if node.op_type in IN_FLOAT32:
        epsilon = max(epsilon, float(np.finfo(np.float32).eps))
    return ROUNDINGS[result.dtype] * epsilon * np.maximum(magnitude, max(1.0, largest))
