"""The optimizers of ai.onnx.preview.training, against ONNX's reference evaluator."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.ops.case import Case, case, random, with_unknown_dims
from tests.ops.oracle import expected_outputs
from tests.ops.table import EVERYWHERE, table_test

DOMAIN = "ai.onnx.preview.training"


def step(operator: str, states: int, name: str, steps: int = 3, tensors: int = 1, dtype: Any = np.float32,
         **settings: Any) -> Case:  # fmt: skip
    shapes = [(2, 3), (5,), (1, 2, 2)][:tensors]
    rate = np.array(0.1, dtype)
    values = [random(*shape, dtype=dtype, seed=part) for part in range(2) for shape in shapes]
    # Second moments are sums of squares.
    kept = [np.abs(random(*shape, dtype=dtype, seed=5 + part)) for part in range(states) for shape in shapes]
    one = case(
        operator, rate, np.array(steps), *values, *kept, name=name, domain=DOMAIN, outputs=(1 + states) * tensors,
        **settings,
    )  # fmt: skip
    # The evaluator gives Adam's results of one tensor in float64.
    return replace(one, expected=tuple(array.astype(dtype) for array in expected_outputs(one)))


def cases() -> list[Case]:
    regular: dict[str, Any] = {"norm_coefficient": 0.01}
    adagrad = {**regular, "epsilon": 1e-5, "decay_factor": 0.1}
    adam = {**regular, "alpha": 0.95, "beta": 0.85, "epsilon": 1e-2, "norm_coefficient_post": 0.02}
    momentum = {**regular, "alpha": 0.95, "beta": 0.85}
    result = []
    for steps in (0, 1, 7):
        for tensors in (1, 3):
            name = f"{tensors} tensors, step {steps}"
            result += [
                step("Adagrad", 1, name, steps, tensors, **adagrad),
                step("Adam", 2, name, steps, tensors, **adam),
                step("Momentum", 1, f"{name} standard", steps, tensors, mode="standard", **momentum),
                step("Momentum", 1, f"{name} nesterov", steps, tensors, mode="nesterov", **momentum),
            ]
    result += [
        step("Adagrad", 1, "defaults"),
        step("Adam", 2, "defaults"),
        step("Adagrad", 1, "float64", dtype=np.float64, **adagrad),
    ]
    return result


CASES = cases()
pytestmark = pytest.mark.filterwarnings("ignore")
test_optimizers = table_test("optimizers", CASES, EVERYWHERE)
test_unknown_dims = table_test("optimizers_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])
