"""Which nodes are not drawn, and why: ONNX does not say what they give, or onnxruntime is known to differ from it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from models.tensor_files import Array

LARGEST_INTEGER = 30_000  # so that products of two stay within int32
LARGEST_FLOAT = 1e6
LARGEST_TENSOR = 2_000  # elements
LARGEST_SIZE = 60  # of what an operator makes a size of

Inputs = Sequence[Array]


@dataclass(frozen=True)
class Rule:
    reason: str
    operators: Collection[str]
    applies: Callable[[onnx.NodeProto, Inputs], bool]


def wide(array: Array) -> Array:
    return array.astype(np.float64)


def is_integer(array: Array) -> bool:
    return array.dtype.kind in "iu"


def attribute(node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    return next((each for each in node.attribute if each.name == name), None)


def is_set(node: onnx.NodeProto, name: str) -> bool:
    given = attribute(node, name)
    return given is not None and given.i != 0


def shrinks_below_zero(node: onnx.NodeProto, inputs: Inputs) -> bool:
    bias = attribute(node, "bias")
    return inputs[0].dtype.kind == "u" and bias is not None and bool((wide(inputs[0]) < bias.f).any())


def scales_to_same_size(node: onnx.NodeProto, inputs: Inputs) -> bool:
    given = attribute(node, "scales")
    scales = np.array(given.floats) if given is not None else inputs[-1]
    if is_integer(scales) or scales.size != inputs[0].ndim:
        return False
    sizes = np.floor(np.array(inputs[0].shape, np.float32) * scales)
    return bool((sizes == inputs[0].shape).all() and (scales != 1).any())


def is_half_of_complex(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return is_set(node, "onesided") and not is_set(node, "inverse") and inputs[0].shape[-1:] == (2,)


def varies_too_little(node: onnx.NodeProto, inputs: Inputs) -> bool:
    """The elements of a channel, beside their mean."""
    x = wide(inputs[0])
    axes = tuple(range(2, x.ndim))
    return x.size > 0 and bool((x.var(axis=axes) < 1e-4 * x.mean(axis=axes) ** 2).any())


# ----------------------------------------------------------------------------------------- what ONNX does not determine


def divides_by_zero(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return is_integer(inputs[1]) and bool((inputs[1] == 0).any())


def shifts_too_far(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return bool((inputs[1] >= 8 * inputs[1].dtype.itemsize).any())


def leaves_the_integers(node: onnx.NodeProto, inputs: Inputs) -> bool:
    if not any(is_integer(each) for each in inputs):
        return False
    base, exponent = (float(np.abs(wide(each)).max(initial=0)) for each in inputs)
    return bool((wide(inputs[1]) < 0).any()) or not min(max(2, base), 2**32) ** min(exponent, 31) <= 2**31


def overflows_as_product(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return bool(np.prod(np.minimum(np.abs(wide(inputs[0])) + 1, 2**31)) > 2**30)


def does_not_fit_type(node: onnx.NodeProto, inputs: Inputs) -> bool:
    to = inputs[1].dtype if node.op_type == "CastLike" else helper.tensor_dtype_to_np_dtype(node.attribute[0].i)
    if inputs[0].dtype.kind != "f" or to.kind not in "iu":
        return False
    numbers, limits = np.trunc(wide(inputs[0])), np.iinfo(to)
    return not bool(((numbers >= limits.min) & (numbers <= limits.max)).all())


def names_axis_twice(node: onnx.NodeProto, inputs: Inputs) -> bool:
    """Or one that the tensor does not have."""
    given, rank = attribute(node, "axes"), inputs[0].ndim
    axes = list(given.ints) if given is not None else []
    if len(inputs) > 1:
        axes = [int(axis) for axis in inputs[1].reshape(-1)]
    return not all(-rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) < len(axes)


def holds_nan(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return not is_integer(inputs[0]) and bool(np.isnan(inputs[0]).any())


def is_not_finite(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return not bool(np.isfinite(inputs[0]).all())


def is_long(node: onnx.NodeProto, inputs: Inputs) -> bool:
    if not all(each.size == 1 for each in inputs):
        return True
    start, limit, delta = (float(each.reshape(-1)[0]) for each in inputs)
    return not (delta and (limit - start) / delta <= LARGEST_SIZE)


def makes_large_size(node: onnx.NodeProto, inputs: Inputs) -> bool:
    sizes = [wide(each) for each in (inputs[1:] if len(inputs) > 1 else inputs) if is_integer(each)]
    if any(np.abs(each).max(initial=0) > LARGEST_SIZE for each in sizes):
        return True
    data = max(each.size for each in inputs) if node.op_type == "Tile" else 1
    return bool(data * np.prod([float(np.prod(np.maximum(each, 1))) for each in sizes]) > 4 * LARGEST_TENSOR)


# --------------------------------------------------------------------------------------- differences of onnxruntime
# from ONNX


def has_window_beyond_tensor(node: onnx.NodeProto, inputs: Inputs) -> bool:
    given = attribute(node, "kernel_shape")
    sizes = list(given.ints) if given is not None else list(inputs[1].shape[2:])
    return any(size > extent for size, extent in zip(sizes, inputs[0].shape[2:], strict=False))


def has_equal_numbers(node: onnx.NodeProto, inputs: Inputs) -> bool:
    given = attribute(node, "axes")
    axes = tuple(given.ints) if given is not None else (0, 2, 3)
    return any(axis >= inputs[0].ndim for axis in axes) or bool((wide(inputs[0]).std(axes) <= 1e-3).any())


def has_larger_slope(node: onnx.NodeProto, inputs: Inputs) -> bool:
    try:
        return np.broadcast_shapes(inputs[0].shape, inputs[1].shape) != inputs[0].shape
    except ValueError:
        return True


def has_other_rank(node: onnx.NodeProto, inputs: Inputs) -> bool:
    return any(each.ndim != rank for each, rank in zip(inputs, RANKS[node.op_type], strict=False) if rank is not None)


# For each input, if ONNX asks for one.
RANKS: dict[str, Sequence[int | None]] = {
    "BlackmanWindow": (0,), "Compress": (None, 1), "DFT": (None, 0, 0), "GroupNormalization": (None, 1, 1),
    "HammingWindow": (0,), "HannWindow": (0,), "STFT": (None, 0),
}  # fmt: skip
REDUCTIONS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
]  # fmt: skip
# Those whose kernels have no case for an empty tensor.
FOLDS = [
    *REDUCTIONS, "ArgMax", "ArgMin", "AveragePool", "BitShift", "CumSum", "DFT", "Det", "DynamicQuantizeLinear",
    "Einsum", "Gemm", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "GroupNormalization", "Hardmax",
    "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax", "LpNormalization", "LpPool", "MatMul",
    "MaxPool", "Mean", "MeanVarianceNormalization", "QuantizeLinear", "RMSNormalization", "STFT", "Softmax", "TopK",
    "Unique",
]  # fmt: skip
# Their choice depends on the order of their numbers.
ORDERS = ["ArgMax", "ArgMin", "GlobalMaxPool", "Hardmax", "MaxPool", "ReduceMax", "ReduceMin", "TopK", "Unique"]
MAKES_SIZES = [
    "AffineGrid", "BlackmanWindow", "CenterCropPad", "ConstantOfShape", "Expand", "HammingWindow", "HannWindow", "Loop",
    "OneHot", "Pad", "Resize", "Tile", "DFT", "STFT",
]  # fmt: skip

RULES = [
    Rule("training mode, whose result is a matter of chance", ["Dropout"],
         lambda node, inputs: len(inputs) > 1 and inputs[-1].dtype == bool and bool(inputs[-1].any())),
    Rule("an integer divided by 0", ["Div", "Mod"], divides_by_zero),
    Rule("a shift by as many bits as there are", ["BitShift"], shifts_too_far),
    Rule("a power that the integers do not hold", ["Pow"], leaves_the_integers),
    Rule("a product that the integers do not hold", ["ReduceProd"], overflows_as_product),
    Rule("a float that the integer type does not hold", ["Cast", "CastLike"], does_not_fit_type),
    Rule("an axis that is named twice, or one of a scalar: onnxruntime takes both", [*REDUCTIONS, "Squeeze"],
         names_axis_twice),
    Rule("an empty list of parts, which onnxruntime takes for no list", ["Split"],
         lambda node, inputs: len(inputs) > 1 and inputs[1].size == 0),
    Rule("indices of no axis", ["GatherND", "ScatterND"],
         lambda node, inputs: inputs[1].ndim == 0 or inputs[1].shape[-1] == 0),
    Rule("indices of an axis without elements, which onnxruntime does not look at if it copies nothing",
         ["GatherND", "ScatterND"], lambda node, inputs: inputs[0].size == 0),
    Rule("a scale by which the size stays: onnxruntime copies, ONNX interpolates at other places",
         ["Resize", "Upsample"], scales_to_same_size),
    Rule("the extreme of numbers one of which is NaN: it is NaN by numpy, PyTorch and onnxc, ONNX does not say, and "
         "onnxruntime's depends on the place", ORDERS, holds_nan),
    Rule("steps of a scale of 0", ["QuantizeLinear"], lambda node, inputs: not inputs[1].all()),
    Rule("a number below 0 of an unsigned type: ONNX does not say what it wraps to", ["Shrink"], shrinks_below_zero),
    Rule("half of the transform of signals with imaginary parts: ONNX has none, onnxruntime gives one", ["DFT"],
         is_half_of_complex),
    Rule("bytes for numbers that have no range", ["DynamicQuantizeLinear"], is_not_finite),
    Rule("an infinity by a weight of 0: whether a place that lies on an element reads the next one, ONNX does not say",
         ["Resize"], is_not_finite),
    Rule("a long range", ["Range"], is_long),
    Rule("a large tensor", MAKES_SIZES, makes_large_size),
    Rule("onnxruntime's result of an empty tensor does not have ONNX's shape", FOLDS,
         lambda node, inputs: inputs[0].size == 0),
    Rule("a kernel without channels, which onnxc refuses", ["Conv", "ConvInteger", "ConvTranspose"],
         lambda node, inputs: inputs[1].size == 0),
    Rule("a step or a frame of no elements, by which onnxruntime divides", ["STFT"],
         lambda node, inputs: any(is_integer(each) and not each.all() for each in inputs)),
    Rule("a window of no axis, at which onnxruntime ends its process", ["STFT"],
         lambda node, inputs: any(not is_integer(each) and each.ndim != 1 for each in inputs[2:])),
    Rule("a window larger than its tensor: ONNX rounds the size down, onnxruntime to zero",
         ["AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool"], has_window_beyond_tensor),
    Rule("numbers that are equal have no normal form; onnxruntime gives NaN", ["MeanVarianceNormalization"],
         has_equal_numbers),
    Rule("a scale of 0 by ONNX; onnxruntime's is 1", ["DynamicQuantizeLinear"],
         lambda node, inputs: not inputs[0].any()),
    Rule("indices that are fractions: ONNX casts them to integers, onnxruntime finds none equal", ["OneHot"],
         lambda node, inputs: not bool((inputs[0] == np.trunc(wide(inputs[0]))).all())),
    Rule("a slope that has axes which its tensor lacks: onnxruntime broadcasts both", ["PRelu"],
         has_larger_slope),
    Rule("onnxruntime sums exponentials in integers, ONNX in floats", ["ReduceLogSumExp"],
         lambda node, inputs: is_integer(inputs[0])),
    Rule("a list of no axes, which onnxruntime takes for no list", ["Squeeze"],
         lambda node, inputs: len(inputs) > 1 and inputs[1].size == 0),
    Rule("a rank that ONNX does not allow, and onnxruntime does", list(RANKS), has_other_rank),
    Rule("numbers that are nearly equal: onnxruntime subtracts their scaled mean from the scaled bias",
         ["InstanceNormalization"], varies_too_little),
    Rule("scales of another number than channels, which onnxruntime does not compare",
         ["GroupNormalization", "InstanceNormalization"],
         lambda node, inputs: any(each.shape != inputs[0].shape[1:2] for each in inputs[1:])),
]  # fmt: skip


def reason_against(node: onnx.NodeProto, inputs: Inputs) -> str | None:
    """Why a node is not drawn."""
    return next((rule.reason for rule in RULES if node.op_type in rule.operators and rule.applies(node, inputs)), None)
