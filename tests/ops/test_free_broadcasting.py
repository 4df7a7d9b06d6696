"""Operators that broadcast, with every dim free: which of two dims is 1 is known only in a run, and changes.

Each model is compiled once and run with all the ways in which its dims may be 1. Small integers, so that all is exact.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxc import RunError
from onnxc import compile as compile_model
from tests.onnxruntime_sessions import open_session
from tests.security.test_cost import merged_rows

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}


@dataclass(frozen=True)
class Broadcast:
    """Inputs by the letters of their dims. A capital is that dim or 1."""

    operator: str
    inputs: Sequence[str]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    kinds: str = ""  # of the inputs: f, or b for booleans


CASES = {
    "Add": Broadcast("Add", ["AB", "AB"]),
    "of another rank": Broadcast("Sub", ["C", "ABC"]),
    "Sum of three": Broadcast("Sum", ["AB", "AB", "B"]),
    "Max of three": Broadcast("Max", ["AB", "B", "AB"]),
    "Mean": Broadcast("Mean", ["A", "A", "A"]),
    "Where": Broadcast("Where", ["AB", "AB", "AB"], {}, "bff"),
    "And": Broadcast("And", ["AB", "AB"], {}, "bb"),
    "Equal": Broadcast("Equal", ["AB", "AB"]),
    "Pow": Broadcast("Pow", ["AB", "AB"]),
    "PRelu": Broadcast("PRelu", ["abc", "BC"]),
    "PRelu of one slope": Broadcast("PRelu", ["abc", "C"]),
    "MatMul": Broadcast("MatMul", ["Abc", "Acd"]),
    "MatMul of ranks 4 and 3": Broadcast("MatMul", ["ABcd", "Bdc"]),
    "MatMul of ranks 2 and 3": Broadcast("MatMul", ["bc", "Acd"]),
    "Gemm": Broadcast("Gemm", ["ab", "bc", "AC"]),
    "Gemm, turned": Broadcast("Gemm", ["ba", "cb", "C"], {"transA": 1, "transB": 1, "beta": 2.0}),
    "Einsum": Broadcast("Einsum", ["Abc", "Acd"], {"equation": "zij,zjk->zik"}),
}  # fmt: skip


def dims_of(case: Broadcast, ones: frozenset[tuple[int, int]]) -> list[list[int]]:
    return [
        [1 if (i, axis) in ones else SIZES[letter.lower()] for axis, letter in enumerate(letters)]
        for i, letters in enumerate(case.inputs)
    ]


def choices(case: Broadcast) -> list[frozenset[tuple[int, int]]]:
    """Which dims are 1."""
    may = [(i, axis) for i, letters in enumerate(case.inputs) for axis, c in enumerate(letters) if c.isupper()]
    sets = [frozenset(chosen) for count in range(len(may) + 1) for chosen in itertools.combinations(may, count)]
    return sets[:: max(1, len(sets) // 24)]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("options", [(), ("-O0",)], ids=["", "-O0"])
@pytest.mark.parametrize("name", CASES)
def test_broadcasts(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    case = CASES[name]
    kinds = case.kinds or "f" * len(case.inputs)
    types = {"f": TensorProto.FLOAT, "b": TensorProto.BOOL}
    names = [f"x{i}" for i in range(len(case.inputs))]
    inputs = [
        helper.make_tensor_value_info(each, types[kind], [f"{each}_{axis}" for axis in range(len(letters))])
        for each, kind, letters in zip(names, kinds, case.inputs, strict=True)
    ]
    node = helper.make_node(case.operator, names, ["y"], **case.attributes)
    # Its result is read once more, so that it is also fused.
    more = helper.make_node("Identity" if case.operator in ("And", "Equal") else "Neg", ["y"], ["z"])
    outputs = [onnx.ValueInfoProto(name="z")]
    model = helper.make_model(
        helper.make_graph([node, more], "free", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )  # fmt: skip
    kind = TensorProto.BOOL if case.operator in ("And", "Equal") else TensorProto.FLOAT
    model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(kind, None))
    onnx.save(model, tmp_path / "model.onnx")
    reference = open_session(model, optimized=False, threads=1)
    random = np.random.default_rng(0)
    with compile_model(tmp_path / "model.onnx", options=options) as session:
        for ones in choices(case):
            arrays = [
                random.integers(0, 2, dims).astype(bool) if kind == "b" else random.integers(0, 4, dims).astype("f")
                for kind, dims in zip(kinds, dims_of(case, ones), strict=True)
            ]
            feeds = dict(zip(names, arrays, strict=True))
            [result], [expected] = session.run(None, feeds), reference.run(None, feeds)
            shapes = [array.shape for array in arrays]
            assert result.shape == expected.shape, shapes
            if case.operator == "Mean":  # of three: a division
                np.testing.assert_allclose(result, expected, rtol=2e-7, err_msg=str(shapes))
            else:
                np.testing.assert_array_equal(result, expected, str(shapes))


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("options", [(), ("-O0",)], ids=["", "-O0"])
def test_what_was_broadcast_is_broadcast_again(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Rows of all batches become one batch in between, so that sizes are products of broadcast ones."""
    (tmp_path / "model.onnx").write_bytes(merged_rows(3).SerializeToString())
    reference = open_session(tmp_path / "model.onnx", threads=1)
    random = np.random.default_rng(0)
    # The dims of x, k and m before the last; of the second and third sum too, each pair is equal or has a 1.
    runs = [
        ([2, 3], [2, 1], [1, 6]), ([1, 1], [1, 1], [1, 1]), ([1, 5], [1, 5], [1, 5]), ([1, 1], [1, 4], [1, 4]),
        ([1, 4], [1, 1], [1, 1]), ([0, 3], [1, 1], [1, 1]), ([1, 1], [0, 1], [1, 1]), ([1, 0], [1, 0], [1, 1]),
        ([1, 1], [1, 1], [0, 1]), ([3, 1], [1, 1], [1, 1]), ([1, 2], [1, 2], [3, 2]),
    ]  # fmt: skip
    taken = 0
    with compile_model(tmp_path / "model.onnx", options=options) as session:
        for dims in runs:
            feeds = {
                name: random.integers(-4, 5, [*each, 4]).astype("f") for name, each in zip("xkm", dims, strict=True)
            }
            try:
                [expected] = reference.run(None, feeds)
            except Exception:  # of whatever type: dims that do not fit
                with pytest.raises(RunError):
                    session.run(None, feeds)
                continue
            [result] = session.run(None, feeds)
            assert result.shape == expected.shape, dims
            np.testing.assert_array_equal(result, expected, str(dims))
            taken += 1
    assert taken >= 7
