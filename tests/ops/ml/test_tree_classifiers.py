"""TreeEnsembleClassifier against onnxruntime, or ONNX's text if onnxruntime differs from it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import Case, build_model, case
from tests.ops.ml.test_trees import DOMAIN, Forest, rows
from tests.ops.table import EVERYWHERE, table_test
from tests.ops.text import string_table

TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
LABELS: dict[int, list[int]] = {2: [5, -7], 3: [12, 3, 7]}


def attributes_of(forest: Forest, classes: int, only: int | None = None, positive: bool = False) -> dict[str, Any]:
    """For a forest whose targets are classes, or that adds to the class `only`."""
    found = {
        name.replace("target_", "class_"): value for name, value in forest.as_regressor().items() if name != "n_targets"
    }
    if only is not None:
        found["class_ids"] = [only] * len(found["class_ids"])
    if positive:
        found["class_weights"] = [abs(weight) / 16 for weight in found["class_weights"]]
    return {**found, "classlabels_int64s": LABELS[classes]}


def classifier(attributes: dict[str, Any], x: Array, name: str, expected: list[Array] | None = None) -> Case:
    return case(
        "TreeEnsembleClassifier", x, domain=DOMAIN, domain_version=3, name=name, outputs=2, expected=expected,
        **attributes,
    )  # fmt: skip


def best(scores: Array, classes: int) -> list[Array]:
    return [np.array(LABELS[classes])[scores.argmax(1)], scores]


def cases() -> list[Case]:
    x = rows(23)
    three, two, one = Forest([4, 6, 2, 5], 3, seed=1), Forest([5, 3, 4], 2, seed=4), Forest([4, 3, 5], 1, seed=2)
    base = [0.5, -1.0, 2.0]
    found = []
    for transform in TRANSFORMS:
        many = {**attributes_of(three, 3), "post_transform": transform}
        # In onnxruntime a class that no leaf of a row adds to is not its greatest, even if the others are negative;
        # with a base value it may be.
        found.append(classifier({**many, "base_values": base}, x, f"three {transform}"))
        for positive in (False, True):
            for only in (0, 1):
                # onnxruntime writes one of two scores there.
                if transform == "PROBIT" and only == 0:
                    continue
                pair = {**attributes_of(one, 2, only, positive), "post_transform": transform}
                found.append(classifier(pair, x, f"class {only} alone {transform} {positive}"))
    probability = {**attributes_of(one, 2, 0, True), "base_values": [0.25]}
    found += [
        classifier(probability, x, "base of a probability"),
        classifier({**attributes_of(one, 2, 0), "base_values": [0.25]}, x, "base of a score"),
        classifier({**probability, "post_transform": "LOGISTIC"}, x, "base, LOGISTIC"),
        classifier({**attributes_of(three, 3), "base_values": base}, rows(7, np.int64), "int64"),
        classifier({**attributes_of(three, 3), "base_values": base}, rows(7, np.float64), "float64"),
    ]
    # onnxruntime gives label 1 or 0 here, whatever the labels are.
    for name, offset in (("two classes", [0.0, 0.0]), ("a base for each of two classes", [0.5, -1.0])):
        attributes = {**attributes_of(two, 2), "base_values": offset}
        found.append(classifier(attributes, x, name, best(two.sums(x, np.array(offset)), 2)))
    unscored = best(three.sums(x, np.zeros(3)), 3)
    found.append(classifier(attributes_of(three, 3), x, "without a base", unscored))
    return found


test_classifiers = table_test("tree_classifiers", cases(), EVERYWHERE)


def string_cases() -> list[Case]:
    forest = Forest([4, 6, 2, 5], 3, seed=1)
    attributes = {**attributes_of(forest, 3), "base_values": [0.5, -1.0, 2.0]}
    del attributes["classlabels_int64s"]
    return [classifier({**attributes, "classlabels_strings": ["cat", "", "猫"]}, rows(23), "strings")]


test_strings = string_table.table_test(string_cases())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classlabels_int64s": [4]}, "labels of two classes or more are expected, found 1"),
        ({"post_transform": "TANH"}, "attribute 'post_transform' is 'TANH', none of NONE, LOGISTIC, SOFTMAX"),
        ({"post_transform": "PROBIT"}, "is PROBIT, and there is one score for both classes"),
        ({"base_values": [0.5, 1.0]}, "has 2 values, and of 2 classes leaves add only to number 0"),
        ({"classlabels_strings": ["a", "b"]}, "one of the attributes 'classlabels_int64s' and 'classlabels_strings'"),
        ({"class_weights": [1.0]}, "attribute 'class_weights' has 1 value"),
    ],
)
def test_refusals(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    one = classifier({**attributes_of(Forest([3], 1), 2, 0), **changed}, rows(2), "")
    outputs: list[Array] = [np.zeros(2, np.int64), np.zeros((2, 2), np.float32)]
    onnx.save(build_model([one], {one: outputs}), tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    assert message in str(failure.value)
