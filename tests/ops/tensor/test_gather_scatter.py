"""Gather, Scatter and OneHot families: negative indices, every reduction, the index ranks that others got wrong."""

from typing import Any

import numpy as np

from models.tensor_files import Array
from tests.ops.case import Case, Constant, case, constant, graph_case, random, small_integers, type_id
from tests.ops.table import EVERYWHERE, table_test

X = random(4, 3, 5)


def indices(values: object, dtype: type = np.int64) -> Array:
    return np.array(values, dtype)


def gather_cases() -> list[Case]:
    cases = []
    for axis in (0, 1, 2, -1, -3):
        for picked in (indices(1), indices([2, 0, -1]), indices([[0, 1], [2, -2]])):
            cases.append(case("Gather", X, picked, name=f"axis {axis} by {list(picked.shape)}", axis=axis))
    cases += [
        case("Gather", X, Constant(indices([2, 0])), name="constant indices", axis=1),
        case("Gather", Constant(X), indices([2, 0, 0]), name="of a constant", axis=0),
        case("Gather", X, indices([1, 0], np.int32), name="int32 indices", axis=2),
        case("Gather", X, np.zeros((0,), np.int64), name="no indices", axis=1),
        case("Gather", X, indices([1, 0]), opset=1, axis=1),
        case("Gather", X, indices([1, 0]), opset=11, axis=-1),
        case("Gather", random(5, 2, dtype=np.int64), indices([4, 4, 1]), name="int64"),
        case("Gather", random(5, 2, dtype=np.bool_), indices([4, 0]), name="bool"),
        case("Gather", random(5, 2, dtype=np.float16), indices([4, 0]), name="float16"),
    ]
    return cases


def gather_elements_cases() -> list[Case]:
    generator = np.random.default_rng(5)
    cases = []
    for axis in (0, 1, 2, -1):
        size = X.shape[axis]
        picked = generator.integers(-size, size, (4, 3, 5))
        cases.append(case("GatherElements", X, picked, name=f"axis {axis}", axis=axis))
        narrow = generator.integers(-size, size, (2, 3, 4))
        cases.append(case("GatherElements", X, narrow, name=f"axis {axis}, fewer", axis=axis))
    cases.append(case("GatherElements", X, indices([[[1]], [[0]]], np.int32), name="int32 indices", axis=1))
    cases.append(case("GatherElements", X, generator.integers(0, 3, (4, 7, 5)), name="more", opset=11, axis=1))
    return cases


def gather_nd_cases() -> list[Case]:
    generator = np.random.default_rng(6)

    def places(*shape: int, dims: tuple[int, ...]) -> Array:
        return np.stack([generator.integers(-size, size, shape) for size in dims], axis=-1)

    return [
        case("GatherND", X, places(2, dims=(4, 3, 5)), name="elements"),
        case("GatherND", X, places(2, 3, dims=(4, 3)), name="rows"),
        case("GatherND", X, places(6, dims=(4,)), name="slices"),
        case("GatherND", X, places(4, 2, dims=(3, 5)), name="batch 1", batch_dims=1),
        case("GatherND", X, places(4, 2, dims=(3,)), name="batch 1, rows", batch_dims=1),
        case("GatherND", X, places(4, 3, dims=(5,)), name="batch 2", batch_dims=2),
        case("GatherND", X, indices([1, 2]), name="one row"),
        case("GatherND", X, places(2, dims=(4, 3, 5)), opset=11),
        case("GatherND", X, places(4, 2, dims=(3,)), opset=12, batch_dims=1),
    ]


# On truths a sum and a maximum are "or", a product and a minimum "and", as NumPy has it.
OF_TRUTHS = {"add": np.logical_or, "max": np.logical_or, "mul": np.logical_and, "min": np.logical_and}


def truths(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape) < 0.5


def combined(reduction: str, x: Array, places: tuple[Array, ...], updates: Array) -> Array:
    """onnxruntime has no maximum and minimum of truths."""
    result = x.copy()
    OF_TRUTHS[reduction].at(result, places, updates)
    return result


def scatter_elements_cases() -> list[Case]:
    generator = np.random.default_rng(7)
    cases = []
    for axis in (0, 1, 2, -1):
        size = X.shape[axis]
        # Along the axis every index at most once: a repeated one without reduction is undefined.
        picked = np.argsort(generator.random(X.shape), axis=axis)
        picked = np.where(generator.random(X.shape) < 0.3, picked - size, picked)
        cases.append(case("ScatterElements", X, picked, random(*X.shape, seed=1), name=f"axis {axis}", axis=axis))
    duplicates = generator.integers(-3, 3, (4, 6, 5))
    for reduction in ("add", "mul", "max", "min"):
        for dtype in (np.float32, np.int32, np.int64):
            x, updates = small_integers(4, 3, 5, dtype=dtype), small_integers(4, 6, 5, dtype=dtype, seed=1)
            cases.append(
                case(
                    "ScatterElements",
                    x,
                    duplicates,
                    updates,
                    name=f"{reduction} {type_id(dtype)}",
                    axis=1,
                    reduction=reduction,
                )
            )
    for reduction in OF_TRUTHS:
        x, updates = truths(4, 3, 5), truths(4, 6, 5, seed=1)
        rows, columns = np.arange(4)[:, None, None], np.arange(5)[None, None, :]
        expected = [combined(reduction, x, (rows, duplicates, columns), updates)]
        given: dict[str, Any] = {"axis": 1, "reduction": reduction, "expected": expected}
        cases.append(case("ScatterElements", x, duplicates, updates, name=f"{reduction} bool", **given))
    narrow = indices([[[0], [2]], [[1], [0]]])
    cases += [
        case("ScatterElements", X, narrow, random(2, 2, 1, seed=1), name="fewer updates", axis=1),
        case("ScatterElements", X, narrow.astype(np.int32), random(2, 2, 1, seed=1), name="int32 indices", axis=1),
        case("ScatterElements", X, narrow, random(2, 2, 1, seed=1), opset=11, axis=1),
        case("ScatterElements", X, narrow, random(2, 2, 1, seed=1), opset=13, axis=-2),
        case("ScatterElements", X, narrow, random(2, 2, 1, seed=1), opset=16, axis=1, reduction="add"),
        case("Scatter", X, narrow, random(2, 2, 1, seed=1), opset=9, axis=1),
        case(
            "ScatterElements",
            np.array([2], np.int32),
            indices([0]),
            np.array([3], np.int32),
            name="mul of one",
            reduction="mul",
            expected=[np.array([6], np.int32)],
        ),
        # Twice the same place from one row (openvinotoolkit/openvino#29154).
        case(
            "ScatterElements",
            np.zeros((1, 2, 3), np.float32),
            indices([[[0, 1, 2], [0, 1, 1]]]),
            np.ones((1, 2, 3), np.float32),
            name="duplicates add",
            axis=2,
            reduction="add",
            expected=[np.array([[[1, 1, 1], [1, 2, 0]]], np.float32)],
        ),
        case(
            "ScatterElements",
            np.ones((6, 3), np.float32),
            np.zeros((0, 1), np.int64),
            np.zeros((0, 1), np.float32),
            name="no updates",
        ),
    ]
    return cases


def scatter_nd_cases() -> list[Case]:
    cases = [
        # The rank of the indices and the length of one index are apart (onnx/onnx-mlir#3611).
        case("ScatterND", random(4, 5), indices([[0, 1], [2, 3], [-1, -5]]), random(3, seed=1), name="elements"),
        case("ScatterND", random(4, 5), indices([[2], [0]]), random(2, 5, seed=1), name="rows"),
        case(
            "ScatterND",
            random(4, 5),
            indices([[[0], [3]], [[1], [2]]]),
            random(2, 2, 5, seed=1),
            name="rows by a table",
        ),
        case("ScatterND", X, indices([[-1, 0], [0, 2]]), random(2, 5, seed=1), name="rows of slices"),
        case("ScatterND", X, indices([3, 1]), random(5, seed=1), name="one row"),
        case("ScatterND", random(4, 5), indices([[2], [0]]), random(2, 5, seed=1), opset=11),
        case("ScatterND", random(4, 5), indices([[2], [0]]), random(2, 5, seed=1), opset=13),
        case("ScatterND", random(4, 5), indices([[2], [2]]), random(2, 5, seed=1), opset=16, reduction="add"),
    ]
    duplicates = indices([[1], [1], [0], [1]])
    for reduction in ("add", "mul", "max", "min"):
        for dtype in (np.float32, np.int64):
            x, updates = small_integers(3, 5, dtype=dtype), small_integers(4, 5, dtype=dtype, seed=1)
            cases.append(
                case("ScatterND", x, duplicates, updates, name=f"{reduction} {type_id(dtype)}", reduction=reduction)
            )
    for reduction in OF_TRUTHS:
        x, updates = truths(3, 5), truths(4, 5, seed=1)
        expected = [combined(reduction, x, (duplicates[:, 0],), updates)]
        cases.append(
            case("ScatterND", x, duplicates, updates, name=f"{reduction} bool", reduction=reduction, expected=expected)
        )
    return cases


def one_hot(picked: Array, depth: int, values: Array, axis: int) -> Array:
    """An index out of [-depth, depth) sets nothing."""
    places = np.where(picked < 0, picked + depth, picked)
    hot = np.expand_dims(places, -1) == np.arange(depth)
    return np.moveaxis(np.where(hot, values[1], values[0]), -1, axis)


def one_hot_cases() -> list[Case]:
    cases = []
    values = np.array([-1.0, 2.5], np.float32)
    table = indices([[0, 2, -1], [4, -5, 3]])
    for axis in (-1, 0, 1, 2, -2):
        cases.append(
            case(
                "OneHot",
                table,
                constant(5, np.int64),
                values,
                name=f"axis {axis}",
                axis=axis,
                expected=[one_hot(table, 5, values, axis)],
            )
        )
    outside = indices([0, 7, -1, -9, 3])
    rows: list[tuple[str, Array, Array, Array]] = [
        ("out of range", outside, np.array(3, np.int64), values),
        ("depth of shape [1]", indices([0, 2]), np.array([3], np.int64), values),
        ("int64 values", table, np.array(5, np.int64), np.array([0, 1], np.int64)),
        ("float depth", table, np.array(5.0, np.float32), values),
        ("float indices", table.astype(np.float32), np.array(5, np.int64), values),
        ("int32 indices", table.astype(np.int32), np.array(5, np.int64), values),
    ]
    for name, picked, depth, pair in rows:
        expected = one_hot(picked, int(depth.reshape(())), pair, -1)
        cases.append(case("OneHot", picked, Constant(depth), pair, name=name, expected=[expected]))
    cases.append(
        case(
            "OneHot",
            indices(range(10)) % 6,
            constant(6, np.int64),
            values,
            name="axis 0",
            opset=9,
            axis=0,
            expected=[one_hot(indices(range(10)) % 6, 6, values, 0)],
        )
    )
    return cases


GATES = np.array([[0.25, 0.75], [0.5, 0.5], [1, 0.125]], np.float32)
EXPERTS = indices([[1, 3], [0, 2], [3, 1]])
ROUTED = np.array([[0, 0.25, 0, 0.75], [0.5, 0, 0.5, 0], [0, 0.125, 0, 1]], np.float32)


def routing_cases() -> list[Case]:
    """Three ways to spread gates over experts that must agree (iree-org/iree#21028)."""
    inputs = {"experts": EXPERTS, "gates": GATES}
    return [
        graph_case(
            "routing by ScatterElements",
            [
                ("Shape", "experts", "shape"),
                ("Gather", "shape zero", "tokens", {"axis": 0}),
                ("Concat", "tokens four", "dims", {"axis": 0}),
                ("ConstantOfShape", "dims", "table"),
                ("ScatterElements", "table experts gates", "scattered", {"axis": 1}),
                ("Transpose", "scattered", "turned", {"perm": [1, 0]}),
                ("Transpose", "turned", "y", {"perm": [1, 0]}),
            ],
            inputs,
            {"zero": indices([0]), "four": indices([4])},
            expected=(ROUTED,),
        ),
        graph_case(
            "routing by ScatterND",
            [
                ("Expand", "rows shape", "row_table"),
                ("Reshape", "row_table column", "row_column"),
                ("Reshape", "experts column", "expert_column"),
                ("Concat", "row_column expert_column", "places", {"axis": 1}),
                ("Reshape", "gates flat", "updates"),
                ("ScatterND", "table places updates", "y"),
            ],
            inputs,
            {
                "rows": indices([[0], [1], [2]]),
                "shape": indices([3, 2]),
                "column": indices([-1, 1]),
                "flat": indices([-1]),
                "table": np.zeros((3, 4), np.float32),
            },
            expected=(ROUTED,),
        ),
        graph_case(
            "routing by OneHot",
            [
                ("OneHot", "experts depth values", "hot", {"axis": -1}),
                ("Cast", "hot", "mask", {"to": 1}),
                ("Unsqueeze", "gates last", "wide"),
                ("Mul", "mask wide", "weighted"),
                ("ReduceSum", "weighted one", "y", {"keepdims": 0}),
            ],
            inputs,
            {"depth": indices(4), "values": indices([0, 1]), "last": indices([-1]), "one": indices([1])},
            expected=(ROUTED,),
        ),
        *[
            graph_case(
                f"sum of an expanded range over axis {axis}",
                [
                    ("Range", "zero tokens one", "range"),
                    ("Unsqueeze", "range first", "row"),
                    ("Expand", "row table", "rows"),
                    ("Reshape", "rows column", "flat"),
                    ("Expand", "flat wide", "repeated"),
                    ("Cast", "repeated", "floats", {"to": 1}),
                    ("Reshape", "floats cube", "volume"),
                    ("Add", "volume x", "moved"),
                    ("ReduceSum", "moved axis", "y", {"keepdims": 0}),
                ],
                {"x": np.zeros((3,), np.float32)},
                {
                    "zero": indices(0),
                    "tokens": indices(5),
                    "one": indices(1),
                    "first": indices([0]),
                    "table": indices([4, 5]),
                    "column": indices([-1, 1]),
                    "wide": indices([20, 3]),
                    "cube": indices([4, 5, 3]),
                    "axis": indices([axis]),
                },
                expected=(total,),
            )
            for axis, total in (
                (0, np.repeat(np.arange(5, dtype=np.float32) * 4, 3).reshape(5, 3)),
                (1, np.full((4, 3), 10, np.float32)),
            )
        ],
    ]


CASES = [
    *gather_cases(),
    *gather_elements_cases(),
    *gather_nd_cases(),
    *scatter_elements_cases(),
    *scatter_nd_cases(),
    *one_hot_cases(),
    *routing_cases(),
]
test_gather_scatter = table_test("gather_scatter", CASES, EVERYWHERE)
