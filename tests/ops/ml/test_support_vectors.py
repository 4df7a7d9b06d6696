"""SVMRegressor and SVMClassifier, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.case import Case, build_model, case, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test
from tests.ops.text import string_table

DOMAIN = "ai.onnx.ml"
FEATURES = 5
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def numbers(*shape: int, seed: int) -> list[float]:
    values: list[float] = np.random.default_rng(seed).standard_normal(shape).ravel().tolist()
    return values


def given(attributes: dict[str, Any]) -> dict[str, Any]:
    """Those that are not empty."""
    return {name: value for name, value in attributes.items() if value != []}


def regressor(x: Array, name: str, supports: int = 7, **more: Any) -> Case:
    attributes: dict[str, Any] = {
        "kernel_params": [0.3, 0.5, 3.0],
        "n_supports": supports,
        "support_vectors": numbers(supports, FEATURES, seed=1),
        "coefficients": numbers(supports or FEATURES, seed=2),
        "rho": [0.25],
    }
    return case("SVMRegressor", x, domain=DOMAIN, name=name, **given({**attributes, **more}))


def regressor_cases() -> list[Case]:
    x = random(11, FEATURES)
    found = [regressor(x, kernel, kernel_type=kernel) for kernel in KERNELS]
    return [
        *found,
        regressor(x, "square", kernel_type="POLY", kernel_params=[0.3, 0.5, 2.0]),
        regressor(x, "one class", kernel_type="RBF", one_class=1),
        regressor(x, "linear", supports=0),
        regressor(random(FEATURES), "one row", kernel_type="RBF"),
    ]


def classifier(x: Array, per_class: list[int], name: str, **more: Any) -> Case:
    classes, supports = len(per_class), sum(per_class)
    attributes: dict[str, Any] = {
        "kernel_params": [0.3, 0.5, 3.0],
        "vectors_per_class": per_class,
        "support_vectors": numbers(supports, FEATURES, seed=1),
        "coefficients": numbers(classes - 1, supports, seed=2),
        "rho": numbers(classes * (classes - 1) // 2, seed=3),
        "classlabels_ints": [7, -2, 30, 11][:classes],
    }
    return case("SVMClassifier", x, domain=DOMAIN, name=name, outputs=2, **given({**attributes, **more}))


def classifier_cases() -> list[Case]:
    x = random(17, FEATURES)
    found = []
    for kernel in KERNELS:
        found.append(classifier(x, [3, 2, 4, 1], f"four {kernel}", kernel_type=kernel))
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        settings = {"kernel_type": "RBF", "post_transform": transform}
        found.append(classifier(x, [3, 5, 2], f"three {transform}", **settings))
        found.append(classifier(x, [3, 5], f"two {transform}", **settings))
    # PROBIT of a number near 1/2 is a difference of close ones in float32; test_tree_classifiers.py has it of exact
    # scores.
    for transform in ("NONE", "SOFTMAX"):
        for per_class in ([3, 5], [3, 5, 2], [3, 2, 4, 1]):
            pairs = len(per_class) * (len(per_class) - 1) // 2
            probability = {"prob_a": numbers(pairs, seed=6), "prob_b": numbers(pairs, seed=7)}
            name = f"probabilities of {len(per_class)} {transform}"
            found.append(classifier(x, per_class, name, kernel_type="RBF", post_transform=transform, **probability))
    linear: dict[str, Any] = {"coefficients": numbers(3, FEATURES, seed=4), "rho": [0.25], "support_vectors": []}
    linear = {**linear, "vectors_per_class": []}
    return [
        *found,
        classifier(x, [3, 2, 1], "linear", **linear),
        classifier(random(4, FEATURES, dtype=np.int64), [3, 2, 1], "int64", kernel_type="RBF"),
        classifier(random(4, FEATURES, dtype=np.float64), [3, 2, 1], "float64", kernel_type="RBF"),
    ]


CASES = [*regressor_cases(), *classifier_cases()]
test_support_vectors = table_test("support_vectors", CASES, EVERYWHERE)
test_unknown_dims = table_test("support_vectors_unknown_dims", [with_unknown_dims(one) for one in CASES], ["default"])


def string_case() -> Case:
    """With small whole numbers, whose sums are exact in any order."""
    exact = {
        "support_vectors": [float(i % 5 - 2) for i in range(6 * FEATURES)],
        "coefficients": [float(i % 3 - 1) for i in range(2 * 6)],
        "rho": [0.5, -1.5, 0.0],
    }
    x = np.round(random(9, FEATURES) * 2)
    return classifier(x, [3, 2, 1], "strings", classlabels_strings=["a", "猫", ""], classlabels_ints=[], **exact)


test_strings = string_table.table_test([string_case()])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kernel_type": "CUBE"}, "attribute 'kernel_type' is 'CUBE', none of LINEAR, POLY, RBF, SIGMOID"),
        ({"kernel_params": [1.0]}, "attribute 'kernel_params' has 1 value; gamma, coef0 and degree are expected"),
        ({"support_vectors": [1.0, 2.0]}, "attribute 'support_vectors' has 2 values, for 6 vectors"),
        ({"coefficients": [1.0]}, "1 coefficient is given for 6 support vectors"),
        ({"rho": [1.0]}, "12 coefficients and 1 value of 'rho' are given; 3 classes and 6 support vectors"),
        ({"vectors_per_class": [6]}, "attribute 'vectors_per_class' has 1 value, for 3 classes"),
        ({"vectors_per_class": [7, -2, 1]}, "attribute 'vectors_per_class' holds -2"),
        ({"prob_a": [1.0] * 3}, "attributes 'prob_a' and 'prob_b' have 3 and 0 values; 3 classes have 3 pairs"),
        ({"classlabels_ints": [3]}, "labels of two classes or more are expected, found 1"),
    ],
)
def test_refusals(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    one = classifier(random(2, FEATURES), [3, 2, 1], "", **changed)
    outputs: list[Array] = [np.zeros(2, np.int64), np.zeros((2, 3), np.float32)]
    onnx.save(build_model([one], {one: outputs}), tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    assert message in str(failure.value)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_of_other_features(tmp_path: Path, kernel: str) -> None:
    """With a size that a run tells: one feature does not stand for all."""
    one = with_unknown_dims(regressor(random(2, FEATURES), "", kernel_type=kernel))
    onnx.save(build_model([one], {one: [np.zeros((2, 1), np.float32)]}), tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        session.run(None, {"c0_x0": random(3, FEATURES)})
        for features in (1, FEATURES - 1, FEATURES + 1):
            with pytest.raises(RunError):
                session.run(None, {"c0_x0": random(3, features)})
