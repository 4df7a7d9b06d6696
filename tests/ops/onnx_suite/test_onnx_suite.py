"""ONNX's own node tests of the operators that onnxc compiles: the inputs and outputs that ONNX publishes with them.

An operator's cases are all of the newest version; older versions and what the suite leaves out stand in the other
tables.
"""

import re
import warnings
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from models.tensor_files import Array
from tests.ops.case import Case, Node
from tests.ops.table import table_test

# The reason for which a case is left out, by its name.
LEFT_OUT = {
    "a type that onnxc does not compile": (r"float4e|float6e|_str(_|$)|string|identity_(opt|sequence)"),
    "onnxruntime and PyTorch, which onnxc follows, take the number of outputs where ONNX takes scale * input": (
        r"resize_downsample_scales_(linear|cubic)_align_corners"
    ),
    "random numbers of numpy's generator": r"training_dropout(?!_zero_ratio)",
    "inputs and outputs that are sequences": r"if_opt|if_seq|loop13_seq|loop16_seq",
}

# Expected outputs that are written with four digits.
TOLERANCES = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad": 5e-4,
    # Expected values with four decimals.
    "test_gridsample_bicubic": 1e-4,
    "test_roialign_aligned_false": 2e-4,
    "test_roialign_aligned_true": 2e-4,
}

NAMES = """
Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift
BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Col2Im Compress Concat ConstantOfShape Conv
ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout Einsum
Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool
GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity If
InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop
LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min
Mish Mod Mul Neg NonMaxSuppression NonZero Not OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear
RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign Round STFT Scan Scatter
ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth
Split Sqrt Squeeze Sub Sum Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu
Unique Unsqueeze Upsample Where Xor
"""
OPERATORS = frozenset(NAMES.split())

# Operators without a row of their own: onnxc compiles the body that ONNX gives for them.
FUNCTION_NAMES = """
Attention BlackmanWindow CausalConvWithState CenterCropPad DynamicQuantizeLinear FlexAttention HammingWindow
HannWindow LinearAttention NegativeLogLikelihoodLoss RotaryEmbedding SoftmaxCrossEntropyLoss SwiGLU
"""
FUNCTIONS = frozenset(FUNCTION_NAMES.split())

# The suite's other operators, by what they would need.
NOT_YET = {
    "inputs and outputs that are sequences (tests/onnx_suite)": (
        "OptionalGetElement OptionalHasElement SequenceInsert SequenceMap SplitToSequence"
    ),
    "strings": "LabelEncoder RegexFullMatch StringConcat StringNormalizer StringSplit",
    "random numbers": "Bernoulli",
    "a row": "TreeEnsemble",
    "floats as integers of the same bits": "BitCast",
    "an image decoder": "ImageDecoder",
    "a domain of its own (tests/ops/training, tests/ops/ml, tests/onnx_suite)": (
        "Adagrad Adam ArrayFeatureExtractor Binarizer Momentum"
    ),
}
NOT_TESTED = frozenset(["Constant"])  # a value of the model, not a computation


def as_array(value: Any) -> Array:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def is_left_out(name: str) -> bool:
    return any(re.search(pattern, name, re.IGNORECASE) for pattern in LEFT_OUT.values())


def newest_opset(operator: str, opset: int) -> int:
    """The newest operator set in which the operator is the one of `opset`, so that most cases share a model."""
    newest = onnx.defs.onnx_opset_version()
    same = onnx.defs.get_schema(operator, opset).since_version == onnx.defs.get_schema(operator).since_version
    return newest if same else opset


def as_case(test: Any) -> Case:
    graph = test.model.graph
    given, expected = test.data_sets[0]
    arrays = {value.name: as_array(array) for value, array in zip(graph.input, given, strict=True)}
    opset = next(each.version for each in test.model.opset_import if not each.domain)
    return Case(
        name=test.name.removeprefix("test_"),
        nodes=tuple(as_node(node) for node in graph.node),
        inputs=arrays,
        constants={},
        outputs=tuple(value.name for value in graph.output),
        opset=newest_opset(graph.node[0].op_type, opset) if operator(test) in OPERATORS else opset,
        expected=tuple(as_array(array) for array in expected),
        tolerance=TOLERANCES.get(test.name),
    )


def as_node(node: onnx.NodeProto) -> Node:
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return Node(node.op_type, tuple(node.input), tuple(node.output), attributes, node.domain)


def suite() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return list(collect_testcases(None))


def operator(test: Any) -> str | None:
    """The operator that a test is of; None if it tests a function's body, written out as nodes."""
    nodes = test.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 else None


SUITE = suite()
CASES = [as_case(test) for test in SUITE if operator(test) in OPERATORS and not is_left_out(test.name)]
test_onnx_suite = table_test("onnx_suite", CASES)


def test_every_operator_has_its_place() -> None:
    """Each operator of the suite is tested, or stands in the table of those that onnxc lacks."""
    lacking = [name for names in NOT_YET.values() for name in names.split()]
    assert len(lacking) == len(set(lacking))
    assert not OPERATORS & FUNCTIONS
    assert not (OPERATORS | FUNCTIONS).intersection(lacking)
    found = {name for test in SUITE if (name := operator(test))}
    assert found == OPERATORS | FUNCTIONS | NOT_TESTED | set(lacking)
