"""ONNX's node tests again: with dims that the compiler does not know, and with inputs that it does.

A model of unknown dims is right for whatever sizes a run brings, even if two of them happen to be equal or 1; one whose
inputs are all constants is computed by the compiler itself.
"""

from dataclasses import replace

from tests.ops.case import Case
from tests.ops.onnx_suite.test_onnx_suite import CASES, NAMES
from tests.ops.table import table_test

# Operands whose dims say what loops or what rank there is: a kernel, an index's length, and a list of sizes or axes.
KNOWN_DIMS = {
    **dict.fromkeys([name for name in NAMES.split() if name.startswith("Reduce")], (1,)),
    "ConvInteger": (1,), "QLinearConv": (3,), "GRU": (1, 2), "LSTM": (1, 2), "RNN": (1, 2),
    "Resize": (1, 2, 3), "Squeeze": (1,), "Unsqueeze": (1,), "Upsample": (1,),
    "AffineGrid": (1,), "Col2Im": (1, 2), "DeformConv": (1, 3), "MaxUnpool": (2,),
    "Conv": (1, 2), "ConvTranspose": (1, 2), "GatherND": (1,), "ScatterND": (1,), "ConstantOfShape": (0,),
    "Expand": (1,), "Pad": (1, 3), "Reshape": (1,), "Slice": (1, 2, 3, 4), "Split": (1,), "Tile": (1,), "TopK": (1,),
}  # fmt: skip


def with_unknown_dims(one: Case) -> Case:
    (node,) = one.nodes
    known = {node.inputs[i] for i in KNOWN_DIMS.get(node.op_type, ()) if i < len(node.inputs)}
    return replace(one, unknown=frozenset(one.inputs) - known)


def with_constant_inputs(one: Case) -> Case:
    return replace(one, inputs={}, constants={**one.constants, **one.inputs})


def with_constant_weights(one: Case) -> Case:
    """A convolution as networks have it: the filter is constant, the volume of any size."""
    (node,) = one.nodes
    weights = {name: one.inputs[name] for name in node.inputs[1:] if name in one.inputs}
    volume = {name: array for name, array in one.inputs.items() if name not in weights}
    return replace(
        one, name=f"{one.name} of constant weights", inputs=volume, constants=weights, unknown=frozenset(volume)
    )


UNKNOWN = [with_unknown_dims(one) for one in CASES]
CONVOLUTIONS = [with_constant_weights(one) for one in CASES if one.nodes[0].op_type in ("Conv", "ConvTranspose")]


def sampled(cases: list[Case]) -> list[Case]:
    """One in six always runs: each is a variant of a case that does."""
    return [replace(one, slow=one.slow or position % 12 != 0) for position, one in enumerate(cases)]


test_unknown_dims = table_test("onnx_suite_unknown_dims", sampled(UNKNOWN) + CONVOLUTIONS, ["default"])
test_constant_inputs = table_test(
    "onnx_suite_constant_inputs", sampled([with_constant_inputs(one) for one in CASES]), ["default"]
)
