"""Sequences and optionals whose tensors the compiler knows; positions that only a run knows."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import onnxc_commands
from tests.ops.case import Case, case, graph_case, random
from tests.ops.control.test_control_flow import number, parse, truth
from tests.ops.table import ON_CPU, table_test
from tests.ops.test_run_time_dims import LEVELS, check_runs, numbers

X, Y, Z = random(2, 3, 4), random(2, 3, 4, seed=1), random(2, 5, 4, seed=2)
XYZ = {"x": X, "y": Y, "z": Z}
MAKE = ("SequenceConstruct", "x y z", "s")


def at(*places: int) -> dict[str, np.ndarray]:
    return {f"p{i}": np.array(place) for i, place in enumerate(places)}


CASES: list[Case] = [
    case("OptionalHasElement", X, opset=18, name="a tensor"),
    graph_case("no input", [("OptionalHasElement", "", "y")], {}, {}, opset=18),
    graph_case("an optional", [("Optional", "x", "o"), ("OptionalHasElement", "o", "y")], {"x": X}, {}, opset=18),
    case("OptionalGetElement", X, opset=18, name="of a tensor"),
    graph_case(
        "of an optional",
        [("Optional", "x", "o"), ("OptionalGetElement", "o", "e"), ("Neg", "e", "y")],
        {"x": X},
        {},
        opset=18,
    ),
    graph_case(
        "of an optional sequence",
        [MAKE, ("Optional", "s", "o"), ("OptionalGetElement", "o", "e"), ("SequenceAt", "e p0", "r")],
        XYZ,
        at(1),
        ("r",),
        opset=18,
    ),
    *(
        graph_case(f"at {place}", [MAKE, ("SequenceAt", "s p0", "r"), ("Neg", "r", "n")], XYZ, at(place), ("r", "n"))
        for place in (0, 2, -1, -3)
    ),
    graph_case("length", [MAKE, ("SequenceLength", "s", "n")], XYZ, {}, ("n",)),
    graph_case(
        "grows from nothing",
        [
            ("SequenceEmpty", "", "a"),
            ("SequenceInsert", "a z", "b"),
            ("SequenceInsert", "b x", "c"),
            ("SequenceInsert", "c y p0", "d"),
            ("SequenceAt", "d p0", "first"),
            ("SequenceAt", "d p1", "last"),
            ("SequenceLength", "d", "n"),
        ],
        XYZ,
        at(-2, 2),
        ("first", "last", "n"),
    ),
    graph_case(
        "behind the last",
        [MAKE, ("SequenceInsert", "s x p0", "t"), ("SequenceAt", "t p0", "r")],
        XYZ,
        at(3),
        ("r",),
    ),
    *(
        graph_case(
            f"erases {name}",
            [MAKE, ("SequenceErase", inputs, "t"), ("SequenceAt", "t p1", "r"), ("SequenceLength", "t", "n")],
            XYZ,
            at(-3, -1),
            ("r", "n"),
        )
        for name, inputs in (("the last", "s"), ("the first", "s p0"))
    ),
    graph_case("concatenates", [MAKE, ("ConcatFromSequence", "s", "r", {"axis": -2})], XYZ, {}, ("r",)),
    *(
        graph_case(
            f"stacks along {axis}",
            [
                ("SequenceConstruct", "x y", "s"),
                ("ConcatFromSequence", "s", "r", {"axis": axis, "new_axis": 1}),
            ],
            {"x": X, "y": Y},
            {},
            ("r",),
        )
        for axis in (0, 2, -1)
    ),
    *(
        graph_case(
            f"splits {name}",
            [("SplitToSequence", inputs, "s", attributes), ("SequenceAt", "s p0", "r"), ("SequenceLength", "s", "n")],
            {"z": Z},
            {**at(-1), "split": np.array(split)},
            ("r", "n"),
        )
        for name, inputs, split, attributes in (
            ("one by one", "z", 0, {"axis": 1}),
            ("and drops the axis", "z", 0, {"axis": -1, "keepdims": 0}),
            ("by two", "z split", 2, {"axis": 1}),
            ("by a list", "z split", [1, 0, 4], {"axis": 1}),
            ("by a list of one", "z split", [2], {"keepdims": 0}),
        )
    ),
    graph_case(
        "an Identity",
        [MAKE, ("Identity", "s", "t"), ("SequenceErase", "t p0", "u"), ("ConcatFromSequence", "t", "r", {"axis": 1})],
        XYZ,
        at(0),
        ("r",),
    ),
]
test_sequence = table_test("sequence", CASES, ON_CPU)


@pytest.mark.parametrize("options", LEVELS)
def test_positions_of_a_run(tmp_path: Path, options: Sequence[str]) -> None:
    """Tensors of several sizes, so that the size of a taken tensor is known only in that run."""
    model = parse("""
      model (int64 p, int64[1] q, float[A, 3] x, float[B, 3] y, float[C, 3] z) => (taken, inserted, erased) {
        s = SequenceConstruct(x, y, z)
        place = Squeeze(q)
        taken = SequenceAt(s, p)
        t = SequenceInsert(s, x, place)
        inserted = ConcatFromSequence <axis = 0> (t)
        u = SequenceErase(s, p)
        erased = ConcatFromSequence <axis = 0> (u)
      }
    """)
    runs = [
        {"p": number(p), "q": np.array([q], np.int64), "x": numbers(1, 3), "y": numbers(2, 3), "z": numbers(4, 3)}
        for p, q in ((0, 0), (1, 1), (2, 2), (-1, 3), (-2, -1), (-3, -3))
    ]
    check_runs(model, tmp_path, runs, options)


@pytest.mark.parametrize("options", LEVELS)
def test_branches_that_give_sequences(tmp_path: Path, options: Sequence[str]) -> None:
    model = parse("""
      model (bool c, float[N, 3] x, float[2, 3] y) => (joined, last) <int64 one = {1}> {
        s = If(c) <
          then_branch = a () => (t) { n = Neg(x) t = SequenceConstruct(n, y) },
          else_branch = b () => (u) { u = SequenceConstruct(y, x) }
        >
        joined = ConcatFromSequence <axis = 0> (s)
        last = SequenceAt(s, one)
      }
    """)
    runs = [{"c": truth(c), "x": numbers(n, 3), "y": numbers(2, 3)} for c, n in ((True, 4), (False, 4), (False, 1))]
    check_runs(model, tmp_path, runs, options)


# The rounds see the sequence of the round before, and choose by their number; a branch of theirs has a condition of a
# run. `sums` is collected.
LOOP = """
  model (bool c, float[N, 3] x, float[N, 3] y) => (whole, sums)
  <int64 n = {3}, bool yes = {1}, int64 zero = {0}, float two = {2.0}> {
    first = SequenceConstruct(x)
    s, sums = Loop(n, yes, first) <
      body = body (int64 i, bool keep, seq(float[M, 3]) before) => (bool next, seq(float[M, 3]) after, float total) {
        next = Identity(keep)
        last = SequenceAt(before, i)
        doubled = Mul(last, two)
        is_first = Equal(i, zero)
        chosen = If(c) <
          then_branch = d () => (t) { t = Add(doubled, y) },
          else_branch = e () => (u) {
            u = If(is_first) <then_branch = f () => (v) { v = Neg(doubled) }, else_branch = g () => (w) { w = Abs(y) }>
          }
        >
        after = SequenceInsert(before, chosen)
        total = ReduceSum <keepdims = 0> (chosen)
      }
    >
    whole = ConcatFromSequence <axis = 0> (s)
  }
"""


@pytest.mark.parametrize("options", LEVELS)
def test_loop_that_carries_a_sequence(tmp_path: Path, options: Sequence[str]) -> None:
    runs = [{"c": truth(c), "x": numbers(n, 3), "y": numbers(n, 3) - 1} for c, n in ((True, 2), (False, 2), (True, 5))]
    check_runs(parse(LOOP), tmp_path, runs, options)


def test_loop_without_a_round(tmp_path: Path) -> None:
    model = parse(LOOP.replace("n = {3}", "n = {-1}").replace("(whole, sums)", "(whole)"))
    check_runs(model, tmp_path, [{"c": truth(True), "x": numbers(2, 3), "y": numbers(2, 3)}])


@pytest.mark.parametrize("options", LEVELS)
def test_loop_of_a_run_that_adds_to_a_sequence(tmp_path: Path, options: Sequence[str]) -> None:
    """As torch.jit.script writes a list that grows; a tensor's state stands before and after the sequences."""
    model = parse("""
      model (int64 n, bool go, float[N, 3] x, int64 p) => (last, along, stacked, one, count, low)
      <float two = {2.0}, int64[1] axes = {1}> {
        e = SequenceEmpty()
        f = SequenceEmpty()
        last, s, low, t = Loop(n, go, x, e, x, f) <
          body = body (int64 i, bool keep, float[N, 3] a, seq(float[N, 3]) b, float[N, 3] c, seq(float[N]) d)
              => (bool next, float[N, 3] a2, seq(float[N, 3]) b2, float[N, 3] c2, seq(float[N]) d2) {
            next = Identity(keep)
            a2 = Mul(a, two)
            c2 = Sub(c, a)
            b2 = SequenceInsert(b, a2)
            sums = ReduceSum <keepdims = 0> (c2, axes)
            d2 = SequenceInsert(d, sums)
          }
        >
        along = ConcatFromSequence <axis = 1> (s)
        stacked = ConcatFromSequence <axis = -1, new_axis = 1> (t)
        one = SequenceAt(s, p)
        again = Identity(t)
        count = SequenceLength(again)
      }
    """)
    runs = [
        {"n": number(n), "go": truth(True), "x": numbers(rows, 3), "p": number(p)}
        for n, rows, p in ((3, 2, 0), (3, 2, -1), (1, 5, 0), (7, 1, 4))
    ]
    check_runs(model, tmp_path, runs, options)


@pytest.mark.parametrize("options", LEVELS)
def test_sequence_map(tmp_path: Path, options: Sequence[str]) -> None:
    """The body sees a sequence, a tensor and a value from outside; one sequence is made of tensors of several sizes."""
    model = parse("""
      model (float[A, 3] x, float[B, 3] y, float[3] w) => (sums, shapes) <float two = {2.0}> {
        s = SequenceConstruct(x, y, x)
        t, u = SequenceMap(s, w) <
          body = body (float[N, 3] each, float[3] weight) => (float[N, 3] a, int64[2] b) {
            scaled = Mul(each, two)
            a = Add(scaled, weight)
            b = Shape(each)
          }
        >
        sums = ConcatFromSequence <axis = 0> (t)
        shapes = ConcatFromSequence <axis = 0, new_axis = 1> (u)
      }
    """)
    check_runs(model, tmp_path, [{"x": numbers(2, 3), "y": numbers(5, 3), "w": numbers(3)}], options)


def test_an_output_that_is_a_sequence_is_an_output_for_each_tensor(tmp_path: Path) -> None:
    model = parse("""
      model (float[2, 6] x) => (seq(float[2, M]) parts, float[2, 6] y, seq(float[2, M]) again) <int64 two = {2}> {
        parts = SplitToSequence <axis = 1> (x, two)
        y = Neg(x)
        again = Identity(parts)
      }
    """)
    onnx.save(model, tmp_path / "model.onnx")
    shared_object = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    x = numbers(2, 6)
    parts = {f"{name}[{i}]": x[:, 2 * i : 2 * i + 2] for name in ("parts", "again") for i in range(3)}
    found = onnxc_commands.run_arrays(shared_object, {"x": x}, ["y", *parts], tmp_path / "run")
    for name, expected in {"y": -x, **parts}.items():
        assert np.array_equal(found[name], expected), name


REFUSED = {
    "a number of rounds that a run gives": (
        "(int64 n, float[2] x) => (y) <bool yes = {1}> { e = SequenceConstruct(x) "
        "s = Loop(n, yes, e) <body = b (int64 i, bool k, seq(float[2]) p) => (k, q) { q = SequenceInsert(p, x) }> "
        "y = ConcatFromSequence <axis = 0> (s) }",
        r"\(Loop\): it carries a sequence through rounds whose number only a run knows",
    ),
    "an output whose number of tensors only a run knows": (
        "(int64 n, float[2] x) => (seq(float[2]) s) <bool yes = {1}> { e = SequenceEmpty() "
        "s = Loop(n, yes, e) <body = b (int64 i, bool k, seq(float[2]) p) => (k, q) { q = SequenceInsert(p, x) }> }",
        "the output 's' is a sequence whose number of tensors only a run knows; drop it with --outputs",
    ),
    "branches of several lengths": (
        "(bool c, float[2] x) => (y) { s = If(c) <then_branch = a () => (t) { t = SequenceConstruct(x) }, "
        "else_branch = b () => (u) { u = SequenceConstruct(x, x) }> y = ConcatFromSequence <axis = 0> (s) }",
        r"\(If\): output 0: the branches give a sequence of 1 tensor and a sequence of 2 tensors, and only a run",
    ),
    "a position out of range": (
        "(float[2] x) => (y) <int64 p = {2}> { s = SequenceConstruct(x, x) y = SequenceAt(s, p) }",
        r"\(SequenceAt\): position 2 is out of range for a sequence of 2 tensors",
    ),
    "a split of unknown length": (
        "(float[N] x) => (y) { s = SplitToSequence(x) y = ConcatFromSequence <axis = 0> (s) }",
        r"\(SplitToSequence\): the axis has N elements: how many parts there are must be known .* --dim",
    ),
    "a split that a run gives": (
        "(float[6] x, int64 n) => (y) { s = SplitToSequence(x, n) y = ConcatFromSequence <axis = 0> (s) }",
        r"\(SplitToSequence\): input 1 \('n', split\) says how many parts there are, and must be known",
    ),
    "an operator on tensors": (
        "(float[2] x) => (y) { s = SequenceConstruct(x, x) y = Relu(s) }",
        r"\(Relu\): its input 's' is a sequence of 2 tensors, and a tensor is expected",
    ),
    "a tensor for a sequence": (
        "(float[2] x) => (y) <int64 p = {0}> { y = SequenceLength(x) }",
        r"\(SequenceLength\): input 0 \(input_sequence\) 'x' must be of one of the types",
    ),
    "an empty sequence": (
        "(float[2] x) => (y) { s = SequenceEmpty() y = ConcatFromSequence <axis = 0> (s) }",
        r"\(ConcatFromSequence\): the sequence 's' is empty",
    ),
    "a sequence with a gap": (
        '(float[2] x) => (y) { s = SequenceConstruct(x, "", x) y = ConcatFromSequence <axis = 0> (s) }',
        r"\(SequenceConstruct\): input 1 is missing",
    ),
    "another type": (
        "(float[2] x, int64[2] i) => (y) { s = SequenceConstruct(x) t = SequenceInsert(s, i) "
        "y = ConcatFromSequence <axis = 0> (t) }",
        r"\(SequenceInsert\): a tensor of int64 is put into a sequence of float32",
    ),
    "an input that is a sequence": (
        "(seq(float[2]) s) => (y) { y = ConcatFromSequence <axis = 0> (s) }",
        r"input 's': it is not a tensor; make it of tensors in the model \(SequenceConstruct, Optional\)",
    ),
    "an empty output": (
        "(float[2] x) => (seq(float[2]) s) { s = SequenceEmpty() }",
        "the model gives only empty sequences: there is nothing to compute",
    ),
}


@pytest.mark.parametrize(("graph", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(graph: str, message: str, tmp_path: Path) -> None:
    onnx.save(parse(f"model {graph}"), tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure, match=message):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
