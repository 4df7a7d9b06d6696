"""Which operators shape arithmetic is drawn from: every one of ONNX that takes numbers, as its schemas say.

An operator is drawn if it has one to three required inputs that may be numbers. LEFT_OUT has the others, with the
reason; a test holds that list against the schemas, so that an operator of a later version is drawn or named.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, defs, helper

from tests.random.drawing import Drawing

Schema: TypeAlias = Any  # onnx.defs.OpSchema; onnx has no types
Option = defs.OpSchema.FormalParameterOption

# onnxruntime neither takes nor gives arrays of bfloat16 in Python, so that this type is tried by the other tests.
TYPES = {
    f"tensor({name})": np.dtype(numpy_name)
    for name, numpy_name in [
        ("int64", "int64"), ("int32", "int32"), ("float", "float32"), ("double", "float64"), ("float16", "float16"),
        ("bool", "bool"), ("uint8", "uint8"), ("int8", "int8"), ("int16", "int16"), ("uint16", "uint16"),
        ("uint32", "uint32"), ("uint64", "uint64"),
    ]
}  # fmt: skip
# Which of the types that an operator takes is asked for, and how often.
TYPE_WEIGHT = {"int64": 8, "float32": 10, "int32": 3, "float64": 3, "float16": 1, "bool": 2}

RANDOM = "its result is a matter of chance"
LAYER = "a layer of networks: its inputs have three axes or more that must fit each other, and no size is made by it"
TRAINING = "a loss, which training has"
LEFT_OUT = {
    "Bernoulli": RANDOM,
    "Multinomial": RANDOM,
    "RandomNormalLike": RANDOM,
    "RandomUniformLike": RANDOM,
    "Attention": LAYER,
    "Col2Im": LAYER,
    "DeformConv": LAYER,
    "GRU": LAYER,
    "LSTM": LAYER,
    "MaxRoiPool": LAYER,
    "MaxUnpool": LAYER,
    "NonMaxSuppression": LAYER,
    "RNN": LAYER,
    "RoiAlign": LAYER,
    "RotaryEmbedding": LAYER,
    "TensorScatter": LAYER,
    "NegativeLogLikelihoodLoss": TRAINING,
    "SoftmaxCrossEntropyLoss": TRAINING,
    "Identity": "in every graph already, as what the other operators are tried against",
    "ImageDecoder": "its input is a file",
    "OptionalGetElement": "its input is an optional",
    "Scan": "its body is a graph; tests/random/random_loops.py draws them",
    "SequenceConstruct": "its result is a sequence",
    "SplitToSequence": "its result is a sequence",
    "TfIdfVectorizer": "its attributes are a vocabulary",
}
# These are drawn by rules of their own (consumers.py): their bodies are graphs, or their inputs must fit each other.
OF_CONSUMERS = {"If", "Loop", "Resize"}


def schemas(opset: int) -> dict[str, Schema]:
    """The operators of an operator set, by name."""
    names = {schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == ""}
    found = {}
    for name in sorted(names):
        try:
            schema = defs.get_schema(name, opset, "")
        except defs.SchemaError:
            continue
        if not schema.deprecated:
            found[name] = schema
    return found


def required_inputs(schema: Schema) -> list[Any]:
    return [each for each in schema.inputs if each.option != Option.Optional]


def takes_numbers(schema: Schema) -> bool:
    """Whether one to three inputs are required and each may be numbers."""
    required = required_inputs(schema)
    return 1 <= len(required) <= 3 and all(set(each.types) & TYPES.keys() for each in required)


def numeric_operators(opset: int) -> list[Schema]:
    """The operators of an operator set that are drawn."""
    return [
        schema
        for schema in schemas(opset).values()
        if takes_numbers(schema) and schema.name not in LEFT_OUT and schema.name not in OF_CONSUMERS
    ]


def of_one_input(opset: int) -> list[Schema]:
    """Those of one required input, if that may be numbers."""
    return [schema for schema in numeric_operators(opset) if len(required_inputs(schema)) == 1]


# ------------------------------------------------------------------------------------------------------- attributes

SWITCHES = [
    "keepdims", "noop_with_empty_axes", "select_last_index", "exclusive", "reverse", "sorted", "largest", "upper",
    "transA", "transB", "fmod", "detect_negative", "detect_positive", "count_include_pad", "ceil_mode", "allowzero",
    "align_corners", "onesided", "periodic",
]  # fmt: skip
FRACTIONS = [0.5, 0.7, 1.1, 1.5, 2.0, 3.0, 0.1, -0.3, 0.25, 1 / 3]
CAST_TYPES = [
    TensorProto.INT64, TensorProto.INT64, TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT32,
    TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8,
]  # fmt: skip


def axis(drawing: Drawing, rank: int) -> int:
    return drawing.between(-max(1, rank), max(1, rank) - 1)


def axes(drawing: Drawing, rank: int) -> list[int]:
    count = drawing.between(1, max(1, rank))
    return [int(each) for each in drawing.random.permutation(max(1, rank))[:count]]


def windows(longest: int) -> Callable[[Drawing, int], list[int]]:
    return lambda drawing, rank: [drawing.between(1, longest) for _ in range(max(1, rank - 2))]


def equation(drawing: Drawing, rank: int) -> str:
    letters = "abcd"[:rank]
    return drawing.one_of([f"{letters}->", f"{letters}->{letters[::-1]}", f"{letters},{letters}->", f"{letters},->"])


# For an operator that gives a name a meaning of its own, by "Operator.name".
ATTRIBUTES: dict[str, Callable[[Drawing, int], Any]] = {
    **{name: lambda drawing, rank: drawing.below(2) for name in SWITCHES},
    **{name: lambda drawing, rank: drawing.one_of(FRACTIONS) for name in ("alpha", "beta", "bias", "lambd")},
    "axis": axis,
    "axes": axes,
    "gamma": lambda drawing, rank: drawing.one_of([0.5, 1.1]),
    "to": lambda drawing, rank: drawing.one_of(CAST_TYPES),
    "perm": lambda drawing, rank: [int(each) for each in drawing.random.permutation(rank)],
    "start": lambda drawing, rank: drawing.between(-2, 2),
    "end": lambda drawing, rank: drawing.between(-2, 4),
    "direction": lambda drawing, rank: drawing.one_of(["LEFT", "RIGHT"]),
    "approximate": lambda drawing, rank: drawing.one_of(["none", "tanh"]),
    "equation": equation,
    "k": lambda drawing, rank: drawing.between(-2, 2),
    "p": lambda drawing, rank: drawing.between(1, 2),
    "size": lambda drawing, rank: drawing.one_of([1, 3]),
    "blocksize": lambda drawing, rank: drawing.between(1, 2),
    "num_groups": lambda drawing, rank: 1,
    "num_outputs": lambda drawing, rank: drawing.between(1, 3),
    "kernel_shape": windows(3),
    "strides": windows(2),
    "batch_axis": lambda drawing, rank: drawing.below(2),
    "time_axis": lambda drawing, rank: drawing.below(2),
    "ScatterElements.reduction": lambda drawing, rank: drawing.one_of(["none", "add", "mul"]),
    "Pad.mode": lambda drawing, rank: drawing.one_of(["constant", "reflect", "edge"]),
    "DepthToSpace.mode": lambda drawing, rank: drawing.one_of(["DCR", "CRD"]),
    "EyeLike.dtype": lambda drawing, rank: drawing.one_of([TensorProto.FLOAT, TensorProto.INT64]),
    "ConstantOfShape.value": lambda drawing, rank: helper.make_tensor(
        "value", TensorProto.INT64, [1], [drawing.between(-1, 3)]
    ),
}
# Weights have the sizes of a kernel already. TopK that is not sorted may give any order.
NEVER = {"Conv.kernel_shape", "ConvTranspose.kernel_shape", "ConvInteger.kernel_shape", "TopK.sorted"}


def attributes(drawing: Drawing, schema: Schema, rank: int) -> dict[str, Any]:
    """Those that are required, and now and then others, for a first input of this rank."""
    drawn = {}
    for name, attribute in sorted(schema.attributes.items()):
        full_name = f"{schema.name}.{name}"
        choose = ATTRIBUTES.get(full_name, ATTRIBUTES.get(name))
        if choose is None or full_name in NEVER or not (attribute.required or drawing.chance(0.4)):
            continue
        value = choose(drawing, rank)
        if value != [] and fits_type(attribute, value):
            drawn[name] = value
    return drawn


def fits_type(attribute: Any, value: Any) -> bool:
    """Whether an attribute is of the value's type: what is called `axes` is one number somewhere."""
    made: onnx.AttributeProto = helper.make_attribute(attribute.name, value)
    return int(made.type) == int(attribute.type.value)
