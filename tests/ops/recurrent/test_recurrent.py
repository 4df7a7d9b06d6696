"""RNN, GRU and LSTM: directions, layouts, lengths of sequences, activations and every optional input."""

from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, Constant, case, random
from tests.ops.table import EVERYWHERE, table_test

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
OPSET = 14


def weights(*shape: int, seed: int = 0) -> Constant:
    return Constant(random(*shape, seed=seed) * np.float32(0.5))


def recurrent(
    op: str,
    name: str,
    optional: dict[int, Array | Constant] | None = None,
    steps: int = STEPS,
    dtype: Any = np.float32,
    computed_weights: bool = False,
    opset: int = OPSET,
    **attributes: Any,
) -> Case:
    """A node with X, W and R, the optional inputs by their position, and every output."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    dims = (BATCH, steps, INPUTS) if attributes.get("layout") else (steps, BATCH, INPUTS)
    inputs: list[Array | Constant | None] = [
        random(*dims).astype(dtype),
        weights(directions, rows, INPUTS, seed=1),
        weights(directions, rows, HIDDEN, seed=2),
    ]
    for position, value in sorted((optional or {}).items()):
        inputs += [None] * (position - len(inputs)) + [value]
    if computed_weights:
        inputs = [value.values if isinstance(value, Constant) else value for value in inputs]
    converted: list[Array | Constant | None] = [
        Constant(value.values.astype(dtype))
        if isinstance(value, Constant) and value.values.dtype == np.float32
        else value
        for value in inputs
    ]
    return case(
        op,
        *converted,
        name=name,
        opset=opset,
        outputs=3 if op == "LSTM" else 2,
        hidden_size=HIDDEN,
        **attributes,
    )


def bias(op: str, directions: int = 1) -> Constant:
    return weights(directions, 2 * GATES[op] * HIDDEN, seed=3)


def states(op: str, directions: int = 1, batch_first: bool = False) -> dict[int, Array | Constant]:
    dims = (BATCH, directions, HIDDEN) if batch_first else (directions, BATCH, HIDDEN)
    positions = (5, 6) if op == "LSTM" else (5,)
    return {position: random(*dims, seed=position) for position in positions}


LENGTHS = np.array([2, 5, 3], np.int32)


def common_cases(op: str) -> list[Case]:
    two = "bidirectional"
    cases = [
        recurrent(op, "plain"),
        recurrent(op, "bias", {3: bias(op)}),
        recurrent(op, "states", {3: bias(op), **states(op)}),
        recurrent(op, "reverse", {3: bias(op), **states(op)}, direction="reverse"),
        recurrent(op, two, {3: bias(op, 2), **states(op, 2)}, direction=two),
        recurrent(op, "computed weights", {3: bias(op), **states(op)}, computed_weights=True),
        recurrent(op, "one step", {3: bias(op)}, steps=1),
        recurrent(op, "clip", {3: bias(op)}, clip=0.3),
        recurrent(op, "version 7", {3: bias(op)}, opset=7),
        recurrent(op, "version 22", {3: bias(op)}, opset=22),
        recurrent(op, "float64", {3: bias(op)}, dtype=np.float64),
    ]
    for direction in ("forward", "reverse", two):
        directions = 1 + (direction == two)
        optional = {3: bias(op, directions), 4: LENGTHS, **states(op, directions)}
        cases.append(recurrent(op, f"lengths {direction}", optional, direction=direction))
        # onnxruntime has no kernel for batches first; ONNX's evaluator has, without lengths.
        batch_first = {3: bias(op, directions), **states(op, directions, batch_first=True)}
        cases.append(recurrent(op, f"batch first {direction}", batch_first, direction=direction, layout=1))
    return cases


def activation_cases() -> list[Case]:
    cases = []
    functions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("Relu", {}),
        ("Sigmoid", {}),
        ("Softsign", {}),
        ("Softplus", {}),
        ("LeakyRelu", {"activation_alpha": [0.2]}),
        ("ThresholdedRelu", {"activation_alpha": [0.3]}),
        ("Elu", {"activation_alpha": [0.7]}),
        ("HardSigmoid", {"activation_alpha": [0.3], "activation_beta": [0.4]}),
        ("Affine", {"activation_alpha": [0.8], "activation_beta": [0.1]}),
        ("ScaledTanh", {"activation_alpha": [0.8], "activation_beta": [1.2]}),
    )
    for name, numbers in functions:
        cases.append(recurrent("RNN", name, {3: bias("RNN")}, activations=[name], **numbers))
    cases += [
        recurrent("RNN", "two activations", {3: bias("RNN", 2)}, direction="bidirectional",
                  activations=["LeakyRelu", "Elu"], activation_alpha=[0.1, 0.6]),
        recurrent("GRU", "activations", {3: bias("GRU", 2)}, direction="bidirectional",
                  activations=["HardSigmoid", "Softsign", "sigmoid", "LeakyRelu"], activation_alpha=[0.3, 0.2],
                  activation_beta=[0.4]),
        recurrent("LSTM", "activations", {3: bias("LSTM")}, activations=["HardSigmoid", "Softsign", "Elu"],
                  activation_alpha=[0.3, 0.7], activation_beta=[0.4]),
    ]  # fmt: skip
    return cases


def own_cases() -> list[Case]:
    peepholes = {3: bias("LSTM"), **states("LSTM"), 7: weights(1, 3 * HIDDEN, seed=8)}
    linear = {3: bias("GRU", 2), **states("GRU", 2), 4: LENGTHS}
    return [
        recurrent("LSTM", "peepholes", peepholes),
        recurrent("LSTM", "peepholes, lengths", {**peepholes, 4: LENGTHS}, direction="reverse"),
        recurrent("LSTM", "input_forget", peepholes, input_forget=1),
        recurrent("GRU", "linear_before_reset", {3: bias("GRU"), **states("GRU")}, linear_before_reset=1),
        recurrent("GRU", "linear_before_reset, no bias", linear_before_reset=1),
        recurrent("GRU", "linear_before_reset, lengths", linear, linear_before_reset=1, direction="bidirectional"),
    ]


CASES = [*(one for op in GATES for one in common_cases(op)), *activation_cases(), *own_cases()]
test_recurrent = table_test("recurrent", CASES, EVERYWHERE)
