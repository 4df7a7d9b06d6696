"""Shape, Size, Range, ConstantOfShape, EyeLike, Constant and what else makes tensors out of sizes."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.ops.case import Case, Constant, case, constant, graph_case, ints, random, type_id
from tests.ops.table import EVERYWHERE, table_test

X = random(2, 3, 4, 5)


def shape_cases() -> list[Case]:
    return [
        case("Shape", X),
        case("Shape", X, name="start", start=1),
        case("Shape", X, name="start and end", start=1, end=3),
        case("Shape", X, name="negative", start=-3, end=-1),
        case("Shape", X, name="beyond", start=-10, end=10),
        case("Shape", X, name="empty", start=3, end=1),
        case("Shape", np.array(1.0, np.float32), name="scalar"),
        case("Shape", X, opset=1),
        case("Shape", X, opset=13),
        case("Size", X),
        case("Size", X, opset=1),
        case("Size", np.zeros((2, 0), np.float32), name="empty"),
    ]


def range_cases() -> list[Case]:
    rows = [
        ("int64", 2, 11, 3, np.int64),
        ("int64 down", 10, -3, -4, np.int64),
        ("int32", 0, 7, 1, np.int32),
        ("float32", 0.5, 4.0, 0.75, np.float32),
        ("float64", 3.0, -1.0, -0.5, np.float64),
        ("empty", 5, 2, 1, np.int64),
    ]
    return [
        case("Range", constant(start, dtype), constant(limit, dtype), constant(delta, dtype), name=name)
        for name, start, limit, delta, dtype in rows
    ]


def constant_cases() -> list[Case]:
    values = {
        "tensor": {"value": numpy_helper.from_array(random(2, 3))},
        "float": {"value_float": 2.5},
        "floats": {"value_floats": [1.5, -2.0, 3.25]},
        "int": {"value_int": -7},
        "ints": {"value_ints": [3, -1, 2**40]},
    }
    # A result of only constants has no input; the sum keeps the graph with one.
    cases = []
    for name, attributes in values.items():
        kind = TensorProto.FLOAT if "float" in name or name == "tensor" else TensorProto.INT64
        cases.append(
            graph_case(
                f"Constant of {name}",
                [("Constant", "", "c", attributes), ("Cast", "x", "t", {"to": kind}), ("Add", "c t", "y")],
                {"x": np.array(1.0, np.float32)},
                {},
            )
        )
    for dtype, value in ((np.float32, 1.5), (np.int64, -3), (np.bool_, True), (np.float16, 0.5), (np.uint8, 200)):
        filling = helper.make_tensor("value", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], [value])
        cases.append(case("ConstantOfShape", ints(2, 3), name=type_id(dtype), value=filling))
    cases += [
        case("ConstantOfShape", ints(4, 2), name="default"),
        case("ConstantOfShape", ints(), name="scalar"),
        case("ConstantOfShape", ints(2, 0), name="empty"),
        case("ConstantOfShape", ints(3), opset=9),
    ]
    return cases


def eye_cases() -> list[Case]:
    x = random(3, 5)
    return [
        case("EyeLike", x),
        case("EyeLike", x, name="above", k=2),
        case("EyeLike", x, name="below", k=-1),
        case("EyeLike", x, name="outside", k=7),
        case("EyeLike", x, name="int64", dtype=TensorProto.INT64),
        case("EyeLike", random(4, 4, dtype=np.int32), name="of int32"),
        case("EyeLike", x, opset=9, k=1),
    ]


def shape_arithmetic_cases() -> list[Case]:
    """Sizes computed as exporters compute them, used if the compiler must know them."""
    return [
        graph_case(
            "upsample to twice the size",
            [
                ("Shape", "x", "shape"),
                ("Slice", "shape two four", "spatial"),
                ("Mul", "spatial factor", "doubled"),
                ("Slice", "shape zero two", "leading"),
                ("Concat", "leading doubled", "sizes", {"axis": 0}),
                ("Resize", "x   sizes", "y", {"mode": "nearest"}),
            ],
            {"x": X},
            {name: np.array([value]) for name, value in (("two", 2), ("four", 4), ("zero", 0), ("factor", 2))},
        ),
        graph_case(
            "flatten by a product",
            [
                ("Shape", "x", "shape"),
                ("Gather", "shape picked", "dims", {"axis": 0}),
                ("ReduceProd", "dims", "product", {"keepdims": 1}),
                ("Shape", "x", "batch", {"start": 0, "end": 1}),
                ("Concat", "batch product", "target", {"axis": 0}),
                ("Reshape", "x target", "y"),
            ],
            {"x": X},
            {"picked": np.array([1, 2, 3])},
        ),
        graph_case(
            "floor and ceiling of float sizes",
            [
                ("Shape", "x", "shape", {"start": 2, "end": 4}),
                ("Cast", "shape", "floats", {"to": 1}),
                ("Mul", "floats scale", "scaled"),
                ("Floor", "scaled", "rounded"),
                ("Cast", "rounded", "wanted", {"to": 7}),
                ("Shape", "x", "leading", {"start": 0, "end": 2}),
                ("Concat", "leading wanted", "target", {"axis": 0}),
                ("ConstantOfShape", "target", "y"),
            ],
            {"x": X},
            {"scale": np.array([1.5], np.float32)},
        ),
        graph_case(
            "expand by Where and Equal",
            [
                ("Shape", "x", "shape"),
                ("Equal", "target minus_one", "keep"),
                ("Where", "keep ones target", "filled"),
                ("Expand", "x filled", "expanded"),
                ("Add", "expanded shape_sum", "y"),
                ("Size", "shape", "unused"),
            ],
            {"x": random(3, 1, 4)},
            {
                "target": np.array([-1, 5, -1]),
                "minus_one": np.array([-1]),
                "ones": np.array([1, 1, 1]),
                "shape_sum": np.array(0.5, np.float32),
            },
        ),
    ]


def scalar_like_cases() -> list[Case]:
    return [
        case("Identity", Constant(random(2, 3)), name="of a constant"),
        case("CumSum", ints(1, 2, 3, 4), constant(0, np.int64), name="of a constant"),
    ]


CASES = [
    *shape_cases(),
    *range_cases(),
    *constant_cases(),
    *eye_cases(),
    *shape_arithmetic_cases(),
    *scalar_like_cases(),
]
test_shape_like = table_test("shape_like", CASES, EVERYWHERE)
