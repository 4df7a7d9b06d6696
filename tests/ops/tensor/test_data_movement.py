"""Reshape, Transpose, Slice, Concat, Split, Pad, Expand, Tile and the rest that moves elements without computing."""

import itertools
from dataclasses import replace

import numpy as np

from tests.ops.case import REAL, Case, case, constant, graph_case, ints, random, small_integers, type_id
from tests.ops.table import EVERYWHERE, table_test

X = random(2, 3, 4, 5)


def reshape_cases() -> list[Case]:
    shapes = ([6, 20], [-1], [2, -1, 5], [0, 0, -1], [0, -1], [1, 2, 3, 1, 20], [5, 4, 3, 2], [-1, 0, 4, 5])
    cases = [case("Reshape", X, ints(*shape), name=f"{shape}") for shape in shapes]
    empty = np.zeros((2, 0, 3), np.float32)
    cases += [
        case("Reshape", X, opset=1, shape=[2, -1, 5], expected=[X.reshape(2, -1, 5)]),
        case("Reshape", X, ints(0, -1), opset=5),
        case("Reshape", X, ints(0, -1), opset=13),
        case(
            "Reshape",
            empty,
            ints(3, 0, 7),
            name="allowzero",
            opset=14,
            allowzero=1,
            expected=[np.zeros((3, 0, 7), np.float32)],
        ),
        case("Reshape", empty, ints(0, 0, 1, 3), name="zero copies", opset=14),
        case("Reshape", constant(3.0).values, ints(1, 1), name="scalar to matrix"),
        case("Reshape", constant([3.0]).values, ints(), name="to scalar"),
    ]
    return cases


def flatten_cases() -> list[Case]:
    cases = [case("Flatten", X, name=f"axis {axis}", axis=axis) for axis in (0, 1, 2, 4, -1, -3)]
    cases += [
        case("Flatten", X),
        case("Flatten", X, opset=1, axis=2, expected=[X.reshape(6, 20)]),
        case("Flatten", X, opset=9, axis=3),
        case("Flatten", X, opset=11, axis=-2),
    ]
    return cases


def squeeze_cases() -> list[Case]:
    x = random(1, 3, 1, 4, 1)
    return [
        case("Squeeze", x, ints(0, 2)),
        case("Squeeze", x, ints(-1), name="negative"),
        case("Squeeze", x, name="all"),
        # A list of no axes names none of them (onnxruntime takes it for no list).
        case("Squeeze", x, ints(), name="none", expected=[x]),
        case("Squeeze", x, opset=1, axes=[0, 4], expected=[x.reshape(3, 1, 4)]),
        case("Squeeze", x, name="all", opset=1, expected=[x.reshape(3, 4)]),
        case("Squeeze", x, opset=11, axes=[-3]),
        case("Squeeze", x, ints(2), opset=13),
        case("Unsqueeze", X, ints(0, 3)),
        case("Unsqueeze", X, ints(-1, 1), name="unordered, negative"),
        case("Unsqueeze", X, constant([-6, 2], np.int64), name="of the result's rank"),
        case("Unsqueeze", X, opset=1, axes=[1, 4], expected=[X.reshape(2, 1, 3, 4, 1, 5)]),
        case("Unsqueeze", X, opset=11, axes=[-1]),
        case("Unsqueeze", X, ints(2), opset=13),
    ]


def transpose_cases() -> list[Case]:
    cases = [case("Transpose", X, name=f"{list(perm)}", perm=list(perm)) for perm in itertools.permutations(range(4))]
    cases += [
        case("Transpose", X, name="reversed"),
        case("Transpose", X, name="to last", opset=1, perm=[0, 2, 3, 1], expected=[X.transpose(0, 2, 3, 1)]),
        case("Transpose", random(2, 3, 4, 5, 6), name="rank 5", perm=[0, 2, 3, 4, 1]),
        case("Transpose", random(17, 33), name="[17, 33]"),
        case("Transpose", random(2, 1, 3), name="with one", perm=[1, 2, 0]),
    ]
    for dtype in (*REAL, np.bool_):
        x = random(3, 5, dtype=dtype)
        cases.append(case("Transpose", x, name=type_id(dtype), expected=[x.T.copy()]))
    # Around the tiles that the GPU exchanges through LDS: 16, 32, 64 and 128 elements of either axis.
    for rows, columns in ((8, 9), (15, 127), (16, 129), (17, 65), (31, 33), (32, 64), (63, 8), (65, 66), (130, 16)):
        x = random(2, rows, columns)
        tile = case("Transpose", x, name=f"tile [{rows}, {columns}]", perm=[0, 2, 1])
        cases += [tile, replace(tile, name=f"{tile.name} of unknown dims", unknown=frozenset(tile.inputs))]
    for dtype in (np.uint8, np.float16, np.int64, np.bool_):
        x = random(17, 66, dtype=dtype)
        cases.append(case("Transpose", x, name=f"tile {type_id(dtype)}", expected=[x.T.copy()]))
    return cases


def slice_cases() -> list[Case]:
    cases = []
    rows: list[tuple[str, list[int], list[int], list[int] | None, list[int] | None]] = [
        ("one axis", [1], [3], [2], None),
        ("two axes", [0, 1], [1, 4], [1, 3], None),
        ("default axes", [0, 1], [2, 3], None, None),
        ("step", [0], [5], [3], [2]),
        ("steps", [1, 0], [4, 5], [2, 3], [2, 3]),
        ("reversed", [-1], [-(2**63)], [3], [-1]),
        ("reversed by two", [3], [0], [2], [-2]),
        ("all reversed", [-1, -1], [-100, -100], [2, 3], [-1, -1]),
        ("negative bounds", [-3], [-1], [2], None),
        ("beyond the end", [1], [2**63 - 1], [1], None),
        ("negative axes", [0, 1], [1, 3], [-3, -1], None),
        ("empty", [3], [2], [2], None),
        ("starts beyond", [7], [9], [1], None),
        ("starts before", [-100], [2], [2], None),
    ]
    for name, starts, ends, axes, steps in rows:
        arguments = [ints(*starts), ints(*ends), ints(*axes) if axes else None, ints(*steps) if steps else None]
        while arguments[-1] is None:
            arguments.pop()
        cases.append(case("Slice", X, *arguments, name=name))
    cases += [
        case("Slice", X, constant([1], np.int32), constant([3], np.int32), constant([2], np.int32), name="int32"),
        case(
            "Slice",
            X,
            name="attributes",
            opset=1,
            starts=[0, 1],
            ends=[1, -1],
            axes=[1, 3],
            expected=[X[:, 0:1, :, 1:-1]],
        ),
        case("Slice", X, name="no axes", opset=1, starts=[1, 0], ends=[1000, 2], expected=[X[1:, 0:2]]),
        case("Slice", X, ints(4), ints(0), ints(3), ints(-2), opset=10, expected=[X[..., 4:0:-2]]),
        case("Slice", X, ints(1), ints(3), ints(-1), opset=11),
        case("Slice", X, ints(1), ints(3), ints(2), opset=13),
    ]
    return cases


def concat_cases() -> list[Case]:
    cases = []
    for axis in (0, 1, 3, -1, -3):
        shapes = [list(X.shape) for _ in range(3)]
        shapes[1][axis], shapes[2][axis] = 1, 7
        parts = [random(*shape, seed=i) for i, shape in enumerate(shapes)]
        cases.append(case("Concat", *parts, name=f"axis {axis}", axis=axis))
    a, b = random(2, 3), random(2, 4, seed=1)
    cases += [
        case("Concat", a, name="one", axis=1),
        case("Concat", a, np.zeros((2, 0), np.float32), b, name="an empty one", axis=1),
        case("Concat", a, a, name="twice the same", axis=0),
        case("Concat", a, b, opset=1, expected=[np.concatenate((a, b), axis=1)]),
        case("Concat", a, b, opset=4, axis=1),
        case("Concat", a, b, opset=11, axis=-1),
    ]
    for dtype in (*REAL, np.bool_):
        left, right = random(2, 3, dtype=dtype), random(2, 4, dtype=dtype, seed=1)
        cases.append(
            case("Concat", left, right, name=type_id(dtype), axis=1, expected=[np.concatenate((left, right), axis=1)])
        )
    return cases


def split_cases() -> list[Case]:
    x = random(4, 7, 6)
    parts = np.split(x, [2, 3], axis=1)
    return [
        case("Split", x, ints(2, 1, 4), name="sizes", outputs=3, axis=1),
        case("Split", x, name="equal", outputs=3, axis=-1, num_outputs=3),
        case("Split", x, name="last smaller", outputs=3, axis=1, num_outputs=3),
        case("Split", x, ints(0, 7), name="an empty part", outputs=2, axis=1),
        case("Split", x, name="into one", outputs=1, axis=0, num_outputs=1),
        case("Split", x, name="sizes", opset=1, outputs=3, axis=1, split=[2, 1, 4], expected=parts),
        case("Split", x, name="equal", opset=2, outputs=2),
        case("Split", x, name="sizes", opset=2, outputs=3, axis=1, split=[2, 1, 4]),
        case("Split", x, name="sizes", opset=11, outputs=3, axis=-2, split=[2, 1, 4]),
        case("Split", x, ints(2, 1, 4), name="sizes", opset=13, outputs=3, axis=1),
        case("Split", x, name="equal", opset=13, outputs=2),
    ]


def pad_cases() -> list[Case]:
    cases = []
    pads = [0, 1, 2, 0, 1, 0, 3, 2]
    value = constant(1.5)
    for mode in ("constant", "reflect", "edge"):
        cases += [
            case("Pad", X, ints(*pads), name=mode, mode=mode),
            case("Pad", X, ints(0, 0, 1, -2, 0, -1, 2, 1), name=f"{mode} crops", mode=mode),
            case("Pad", X, name="attributes " + mode, opset=2, mode=mode, pads=pads),
            case("Pad", X, ints(*pads), name=mode, opset=11, mode=mode),
            case("Pad", X, ints(*pads), name=mode, opset=13, mode=mode),
            case("Pad", X, ints(1, 2, 2, 3), None, ints(-1, 1), name=f"{mode} axes", mode=mode),
        ]
    cases += [
        case(
            "Pad",
            X,
            ints(0, 3, 9, 1, 2, 1, 6, 12),
            name="wrap",
            opset=19,
            mode="wrap",
            expected=[np.pad(X, ((0, 2), (3, 1), (9, 6), (1, 12)), mode="wrap")],
        ),
        case("Pad", X, ints(0, 0, 3, 4, 0, 0, 3, 4), name="longest reflect", mode="reflect"),
        case("Pad", X, ints(0, 0, 9, 7, 0, 0, 8, 6), name="long edge", mode="edge"),
        case("Pad", X, ints(*pads), value, name="value"),
        case("Pad", X, ints(*pads), constant(-np.inf), name="-inf"),
        case("Pad", X, ints(*([0] * 8)), name="none"),
        case("Pad", X, name="value", opset=2, pads=pads, value=-2.5),
        case(
            "Pad",
            X,
            name="paddings",
            opset=1,
            paddings=pads,
            value=0.5,
            expected=[np.pad(X, ((0, 1), (1, 0), (2, 3), (0, 2)), constant_values=0.5)],
        ),
        case("Pad", np.zeros((0, 2), np.float32), ints(1, 0, 2, 1), value, name="of nothing"),
    ]
    for dtype in (np.float64, np.float16, np.int32, np.int64, np.uint8, np.bool_):
        x = random(3, 4, dtype=dtype)
        cases.append(
            case(
                "Pad",
                x,
                ints(1, 0, 0, 2),
                constant(1, dtype),
                name=type_id(dtype),
                expected=[np.pad(x, ((1, 0), (0, 2)), constant_values=1)],
            )
        )
    return cases


def repetition_cases() -> list[Case]:
    x = random(3, 1, 4)
    return [
        case("Expand", x, ints(2, 3, 5, 4)),
        case("Expand", x, ints(1, 1), name="keeps larger dims"),
        case("Expand", x, ints(3, 5, 1), name="both ways"),
        case("Expand", x, ints(2, 1, 1, 1), name="only rank"),
        case("Expand", x, ints(3, 0, 4), name="to nothing"),
        case("Expand", np.array(2.5, np.float32), ints(2, 3), name="scalar"),
        case("Expand", x, ints(3, 2, 4), opset=8),
        case("Expand", random(3, 1, dtype=np.bool_), ints(3, 4), name="bool"),
        case("Expand", random(3, 1, dtype=np.int64), ints(2, 3, 4), name="int64"),
        case("Tile", x, ints(2, 3, 1)),
        case("Tile", x, ints(1, 1, 3), name="last"),
        case("Tile", x, ints(1, 0, 1), name="none"),
        case("Tile", X, ints(2, 1, 3, 2), opset=6),
        case("Tile", X, constant(2.0), constant(1.0), opset=1, expected=[np.concatenate((X, X), axis=1)]),
        case("Tile", random(3, 2, dtype=np.int32), ints(2, 2), name="int32"),
        case("Tile", random(3, 2, dtype=np.bool_), ints(2, 2), name="bool"),
    ]


def block_cases() -> list[Case]:
    depth, space = random(2, 12, 3, 5), random(2, 3, 4, 6)
    return [
        case("DepthToSpace", depth, name="DCR", blocksize=2),
        case("DepthToSpace", depth, name="CRD", blocksize=2, mode="CRD"),
        case("DepthToSpace", random(1, 9, 2, 4), name="three", blocksize=3, mode="CRD"),
        case("DepthToSpace", depth, opset=1, blocksize=2),
        case("DepthToSpace", depth, opset=11, blocksize=2, mode="DCR"),
        case("SpaceToDepth", space, blocksize=2),
        case("SpaceToDepth", space, opset=1, blocksize=2),
    ]


def triangle_cases() -> list[Case]:
    x = random(2, 4, 5)
    cases = []
    for upper in (0, 1):
        cases.append(case("Trilu", x, name=f"upper {upper}", upper=upper))
        for offset in (-2, 1, 10):
            cases.append(case("Trilu", x, constant(offset, np.int64), name=f"upper {upper} k {offset}", upper=upper))
    cases.append(case("Trilu", random(3, 3, dtype=np.int64), name="int64"))
    return cases


def reverse_cases() -> list[Case]:
    x = small_integers(4, 3, 2)
    lengths = constant([1, 4, 2], np.int64)
    return [
        case("ReverseSequence", x, lengths, name="time first", batch_axis=1, time_axis=0),
        case("ReverseSequence", x, constant([1, 2, 3, 2], np.int64), name="batch first", batch_axis=0, time_axis=1),
    ]


def chains() -> list[Case]:
    """Views of views, as the exporters write them."""
    x = random(2, 6, 4, 5)
    return [
        graph_case(
            "channel shuffle",
            [
                ("Reshape", "x s1", "a"),
                ("Transpose", "a", "b", {"perm": [0, 2, 1, 3, 4]}),
                ("Reshape", "b s2", "y"),
            ],
            {"x": x},
            {"s1": np.array([2, 2, 3, 4, 5]), "s2": np.array([2, 6, 4, 5])},
        ),
        graph_case(
            "roll by slices",
            [
                ("Slice", "x start end axis", "a"),
                ("Slice", "x zero start axis", "b"),
                ("Concat", "a b", "y", {"axis": 2}),
            ],
            {"x": x},
            {name: np.array([value]) for name, value in (("start", 3), ("end", 100), ("axis", 2), ("zero", 0))},
        ),
        graph_case(
            "shape arithmetic",
            [
                ("Shape", "x", "s"),
                ("Gather", "s i", "batch", {"axis": 0}),
                ("Concat", "batch rest", "t", {"axis": 0}),
                ("Reshape", "x t", "y"),
            ],
            {"x": x},
            {"i": np.array([0]), "rest": np.array([-1])},
        ),
        graph_case(
            "split, transpose, concat",
            [
                ("Split", "x", "a b", {"axis": 1, "num_outputs": 2}),
                ("Transpose", "a", "c", {"perm": [0, 1, 3, 2]}),
                ("Transpose", "b", "d", {"perm": [0, 1, 3, 2]}),
                ("Concat", "d c", "y", {"axis": 1}),
            ],
            {"x": x},
            {},
        ),
        graph_case("input is the output", [("Identity", "x", "y")], {"x": x}, {}),
        graph_case("two outputs of one value", [("Relu", "x", "y"), ("Identity", "y", "z")], {"x": x}, {}, ("y", "z")),
        graph_case(
            "output that depends on constants alone",
            [("Add", "c c", "y"), ("Relu", "x", "z")],
            {"x": x},
            {"c": random(2, 3)},
            ("y", "z"),
        ),
    ]


def slices_by_sizes() -> list[Case]:
    """Slices at expressions of a dim that the compiler is not told, negative only for some of its sizes."""
    names = ("zero", "one", "two", "three", "end", "before", "back")
    values = (0, 1, 2, 3, 2**31, -(2**31), -1)
    return [
        graph_case(
            f"Slice at sizes, {extent} elements",
            [
                ("Shape", "x", "s"),
                ("Gather", "s zero", "d", {"axis": 0}),
                ("Div", "d two", "half"),
                ("Neg", "half", "negative"),
                ("Sub", "d three", "less"),
                ("Slice", "x negative end", "y0"),
                ("Slice", "x zero less", "y1"),
                ("Slice", "x less end", "y2"),
                ("Slice", "x less before zero back", "y3"),
                ("Slice", "x negative less zero two", "y4"),
                ("Slice", "x one negative", "y5"),
            ],
            {"x": random(extent, 2)},
            {name: np.array([value]) for name, value in zip(names, values, strict=True)},
            ("y0", "y1", "y2", "y3", "y4", "y5"),
            unknown=frozenset({"x"}),
        )
        for extent in (0, 1, 2, 3, 5, 8)
    ]


CASES = [
    *reshape_cases(),
    *flatten_cases(),
    *squeeze_cases(),
    *transpose_cases(),
    *slice_cases(),
    *slices_by_sizes(),
    *concat_cases(),
    *split_cases(),
    *pad_cases(),
    *repetition_cases(),
    *block_cases(),
    *triangle_cases(),
    *reverse_cases(),
    *chains(),
]
test_data_movement = table_test("data_movement", CASES, EVERYWHERE)
