"""Ensembles of decision trees, in both of ONNX's forms, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from models.tensor_files import Array
from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.case import Case, build_model, case, random, with_unknown_dims
from tests.ops.table import EVERYWHERE, table_test

DOMAIN = "ai.onnx.ml"
FEATURES = 6

TESTS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


class Forest:
    """Random trees, as a list of nodes: (tree, id, test, feature, number, id if it holds, id if it does not).

    A leaf has no test. Numbers are such that features meet some of them exactly.
    """

    def __init__(self, depths: list[int], targets: int, tests: int = 1, seed: int = 0) -> None:
        self.generator = np.random.default_rng(seed)
        self.targets = targets
        self.tests = tests
        self.nodes: list[tuple[int, int, int | None, int, float, int, int]] = []
        self.weights: list[tuple[int, int, int, float]] = []  # tree, id, target, weight
        for tree, depth in enumerate(depths):
            self.size = 0
            self.grow(tree, depth)

    def grow(self, tree: int, depth: int) -> int:
        own = self.size
        self.size += 1
        draw = self.generator
        if depth == 0 or (own > 0 and draw.random() < 0.2):
            self.nodes.append((tree, own, None, 0, 0.0, 0, 0))
            # Multiples of 1/8 are added exactly in any order.
            self.weights.append((tree, own, int(draw.integers(self.targets)), float(draw.integers(-40, 40)) / 8))
            return own
        place = len(self.nodes)
        self.nodes.append((tree, own, None, 0, 0.0, 0, 0))
        test, feature, number = draw.integers(self.tests), draw.integers(FEATURES), draw.integers(-3, 4) / 2
        children = self.grow(tree, depth - 1), self.grow(tree, depth - 1)
        self.nodes[place] = (tree, own, int(test), int(feature), float(number), *children)
        return own

    def sums(self, x: Array, base: Array) -> Array:
        """Follows the text of TreeEnsembleRegressor, for trees whose tests are all BRANCH_LEQ."""
        node_of = {node[:2]: node for node in self.nodes}
        weight_of = {each[:2]: each[2:] for each in self.weights}
        result = np.tile(base, (len(x), 1))
        for row, features in enumerate(x):
            for tree in sorted({node[0] for node in self.nodes}):
                at = (tree, 0)
                while at not in weight_of:
                    _, _, _, feature, number, if_true, if_false = node_of[at]
                    at = (tree, if_true if features[feature] <= number else if_false)
                target, weight = weight_of[at]
                result[row, target] += weight
        return result.astype(np.float32)

    def as_regressor(self) -> dict[str, Any]:
        trees, ids, tests, features, numbers, if_true, if_false = map(list, zip(*self.nodes, strict=True))
        leaf_trees, leaf_ids, targets, weights = map(list, zip(*self.weights, strict=True))
        return {
            "nodes_treeids": trees,
            "nodes_nodeids": ids,
            "nodes_modes": ["LEAF" if test is None else TESTS[test] for test in tests],
            "nodes_featureids": features,
            "nodes_values": numbers,
            "nodes_truenodeids": if_true,
            "nodes_falsenodeids": if_false,
            "target_treeids": leaf_trees,
            "target_nodeids": leaf_ids,
            "target_ids": targets,
            "target_weights": weights,
            "n_targets": self.targets,
        }

    def as_ensemble(self, dtype: Any) -> dict[str, Any]:
        inner = [node for node in self.nodes if node[2] is not None]
        place = {(node[0], node[1]): index for index, node in enumerate(inner)}
        leaf = {each[:2]: index for index, each in enumerate(self.weights)}

        def successors(ids: list[int]) -> tuple[list[int], list[int]]:
            keys = [(node[0], each) for node, each in zip(inner, ids, strict=True)]
            return [place[key] if key in place else leaf[key] for key in keys], [int(key in leaf) for key in keys]

        if_true, true_is_leaf = successors([node[5] for node in inner])
        if_false, false_is_leaf = successors([node[6] for node in inner])
        return {
            "nodes_modes": numpy_helper.from_array(np.array([node[2] for node in inner], np.uint8)),
            "nodes_featureids": [node[3] for node in inner],
            "nodes_splits": numpy_helper.from_array(np.array([node[4] for node in inner], dtype)),
            "nodes_truenodeids": if_true,
            "nodes_trueleafs": true_is_leaf,
            "nodes_falsenodeids": if_false,
            "nodes_falseleafs": false_is_leaf,
            "leaf_targetids": [each[2] for each in self.weights],
            "leaf_weights": numpy_helper.from_array(np.array([each[3] for each in self.weights], dtype)),
            "tree_roots": [place[tree, 0] for tree in sorted({node[0] for node in inner})],
            "n_targets": self.targets,
        }


def rows(count: int, dtype: Any = np.float32) -> Array:
    """Halves, as the numbers of the tests are."""
    return (np.round(random(count, FEATURES) * 3) / 2).astype(dtype)


def regressor(forest: Forest, x: Array, name: str = "", expected: list[Array] | None = None, **more: Any) -> Case:
    attributes = {**forest.as_regressor(), **more}
    return case("TreeEnsembleRegressor", x, domain=DOMAIN, domain_version=3, name=name, expected=expected, **attributes)


def ensemble(forest: Forest, x: Array, name: str = "", **more: Any) -> Case:
    attributes = {**forest.as_ensemble(x.dtype), **more}
    return case("TreeEnsemble", x, domain=DOMAIN, domain_version=5, name=name, **attributes)


def regressor_cases() -> list[Case]:
    whole = Forest([4, 3, 5], 1)
    several = Forest([4, 6, 2, 5], 3, seed=1)
    mixed = Forest([5, 5], 2, tests=6, seed=2)
    x, gaps = rows(23), rows(19)
    gaps[::3, ::2] = np.nan
    integers, base = rows(7, np.int64), [0.5, -1.0, 2.0]
    nan_is_true = [int(value) for value in np.random.default_rng(3).integers(0, 2, len(several.nodes))]

    found = [
        regressor(whole, x, "one target"),
        regressor(several, x, "several targets"),
        regressor(several, gaps, "NaN", nodes_missing_value_tracks_true=nan_is_true),
        regressor(mixed, x, "all tests"),
        regressor(whole, x, "base", base_values=[0.5]),
        # onnxruntime leaves the base out if no leaf adds to a target.
        regressor(several, x, "a base for each", [several.sums(x, np.array(base))], base_values=base),
        regressor(whole, integers, "int64", [whole.sums(integers, np.zeros(1))]),
        regressor(whole, rows(7, np.float64), "float64"),
    ]
    found += [regressor(several, x, name, aggregate_function=name) for name in ("AVERAGE", "MIN", "MAX")]
    return found


def ensemble_cases() -> list[Case]:
    several, mixed = Forest([4, 6, 2, 5], 3, seed=1), Forest([5, 5], 2, tests=6, seed=2)
    return [
        one
        for dtype in (np.float32, np.float64)
        for one in (
            ensemble(several, rows(11, dtype), np.dtype(dtype).name),
            ensemble(mixed, rows(11, dtype), f"all tests, {np.dtype(dtype).name}"),
        )
    ]


test_regressors = table_test("tree_regressors", regressor_cases(), EVERYWHERE)
test_ensembles = table_test("tree_ensembles", ensemble_cases(), EVERYWHERE)


def refused(folder: Path, one: Case) -> str:
    onnx.save(build_model([one], {one: [np.zeros((2, 1), np.float32)]}), folder / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so")
    return str(failure.value)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("nodes_truenodeids", 1000, "tree 0 has no node 1000"),
        ("nodes_truenodeids", 0, "its node 0 is reached from itself: that is not a tree"),
        ("target_ids", 1, "a leaf adds to target 1 of 1"),
        ("nodes_featureids", -1, "attribute 'nodes_featureids' holds -1"),
        ("nodes_featureids", 6, "the trees ask for more features than a row has: 6 is less than 7"),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path: Path, attribute: str, value: int, message: str) -> None:
    forest = Forest([3], 1)
    changed: dict[str, Any] = {attribute: [value, *forest.as_regressor()[attribute][1:]]}
    assert message in refused(tmp_path, regressor(forest, rows(2), **changed))


def test_a_circle_is_refused(tmp_path: Path) -> None:
    forest = Forest([3], 1)
    names = ("nodes_truenodeids", "nodes_trueleafs")
    changed: dict[str, Any] = {name: [0, *forest.as_ensemble(np.float32)[name][1:]] for name in names}
    message = refused(tmp_path, ensemble(forest, rows(2), **changed))
    assert "its node 0 is reached from itself: that is not a tree" in message


def test_rows_of_too_few_features(tmp_path: Path) -> None:
    """Sizes that a run tells."""
    one = with_unknown_dims(regressor(Forest([3], 1), rows(2)))
    onnx.save(build_model([one], {one: [np.zeros((2, 1), np.float32)]}), tmp_path / "model.onnx")
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        session.run(None, {"c0_x0": rows(2)})
        with pytest.raises(RunError, match="the trees ask for more features than a row has"):
            session.run(None, {"c0_x0": rows(2)[:, :0]})
