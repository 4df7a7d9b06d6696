"""The graphs that random shape arithmetic may draw, and the faults that its judge sees."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from models.tensor_files import Array
from tests.random.drawing import RUNS
from tests.random.shape_arithmetic import judge as judge_module
from tests.random.shape_arithmetic.builder import INTEGER, ShapeDrawing
from tests.random.shape_arithmetic.evaluation import Unfit, Value
from tests.random.shape_arithmetic.graphs import FREE, Drawn, Form, random_arithmetic
from tests.random.shape_arithmetic.judge import Results, difference, faults
from tests.random.shape_arithmetic.not_drawn import reason_against

FLOAT = np.dtype(np.float32)


def drawing(*numbers: float) -> tuple[ShapeDrawing, str]:
    """With a constant of these numbers."""
    made = ShapeDrawing(0, 20)
    return made, made.constant(np.array(numbers, np.float32))


@pytest.mark.parametrize(
    ("operators", "is_exact"),
    [
        (["Sqrt"], True),
        (["Neg", "Floor", "Abs"], True),
        (["Exp"], False),
        (["Sqrt", "Sin", "Neg"], False),
    ],
)
def test_operations_that_are_rounded_correctly_are_exact(operators: list[str], is_exact: bool) -> None:
    made, name = drawing(4, 9, 2)
    for operator in operators:
        name = made.apply(operator, [name]).name
    assert made.known[name].is_exact == is_exact


def test_an_integer_that_a_rounding_decides_is_not_drawn() -> None:
    """The logarithm of an exponential may lie on either side of the integer; that of 3.5 does not."""
    made, name = drawing(3)
    back = made.apply("Log", [made.apply("Exp", [name]).name])
    with pytest.raises(Unfit, match="not determined"):
        made.as_type(back, INTEGER)
    made, name = drawing(3.5)
    back = made.apply("Log", [made.apply("Exp", [name]).name])
    assert made.as_type(back, INTEGER).arrays[0] == 3


@pytest.mark.parametrize(("operator", "number"), [("Floor", 2), ("Ceil", 2), ("Round", 2.5)])
def test_so_is_a_jump_between_floats(operator: str, number: float) -> None:
    made, name = drawing(number)
    back = made.apply("Exp", [made.apply("Log", [name]).name])
    with pytest.raises(Unfit, match="not determined"):
        made.apply(operator, [back.name])


def test_a_product_that_a_sum_may_be_fused_with_has_an_error() -> None:
    made, name = drawing(7)
    product = made.apply("Mul", [name, made.constant(np.array(1.1, np.float32))])
    assert product.is_exact
    assert not made.apply("Add", [product.name, name]).is_exact
    integers = made.apply("Mul", [name, made.constant(np.array(3, np.float32))])
    assert made.apply("Add", [integers.name, name]).is_exact


@pytest.mark.parametrize(
    ("operator", "numbers", "other"),
    [
        ("Div", np.array([4, 2]), np.array([2, 0])),
        ("Pow", np.array([9]), np.array([40])),
        ("Mod", np.array([1]), np.array([0])),
    ],
)
def test_what_integers_do_not_hold_is_not_drawn(operator: str, numbers: Array, other: Array) -> None:
    made = ShapeDrawing(0, 20)
    with pytest.raises(Unfit):
        made.apply(operator, [made.constant(numbers), made.constant(other)])


FLOATS, FLOATS_AND_NAN = np.array([[1, 2]], np.float32), np.array([[1, np.nan]], np.float32)
ONE, NONE = np.array([1]), np.zeros(0, np.int64)
SCALE, LONGER = np.ones(1, np.float32), np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "is_drawn"),
    [
        ("ReduceMax", [FLOATS], {}, True),
        ("ReduceMax", [FLOATS_AND_NAN], {}, False),
        ("ReduceSum", [FLOATS_AND_NAN], {}, True),
        ("ReduceMin", [np.array(3)], {}, True),
        ("ReduceMin", [np.array(3)], {"axes": [0]}, False),
        ("DynamicQuantizeLinear", [FLOATS_AND_NAN], {}, False),
        ("Split", [FLOATS], {}, True),
        ("Split", [FLOATS, ONE], {}, True),
        ("Split", [FLOATS, NONE], {}, False),
        ("OneHot", [FLOATS, np.array(4), np.array([0, 1])], {}, True),
        ("OneHot", [FLOATS / 2, np.array(4), np.array([0, 1])], {}, False),
        ("STFT", [np.ones((1, 4, 1), np.float32), np.array(1), LONGER], {}, True),
        ("STFT", [np.ones((1, 4, 1), np.float32), np.array(1), np.array(2)], {}, True),
        ("STFT", [np.ones((1, 4, 1), np.float32), np.array(1), np.array(2, np.float32)], {}, False),
        ("GroupNormalization", [np.ones((1, 2, 1), np.float32), LONGER, LONGER], {"num_groups": 1}, True),
        ("GroupNormalization", [np.ones((1, 2, 1), np.float32), LONGER, SCALE], {"num_groups": 1}, False),
    ],
)
def test_what_onnx_does_not_determine_is_not_drawn(
    operator: str, inputs: list[Array], attributes: dict[str, Any], is_drawn: bool
) -> None:
    node = helper.make_node(operator, [f"x{i}" for i in range(len(inputs))], ["y"], **attributes)
    assert (reason_against(node, inputs) is None) == is_drawn


def test_a_rank_that_sizes_decide_is_not_drawn() -> None:
    made = ShapeDrawing(0, 20)
    name = made.constant(np.ones((1, 3), np.float32))
    assert made.apply("Squeeze", [name, made.ints(0)]).rank == 1
    with pytest.raises(Unfit, match="rank"):
        made.apply("Squeeze", [name])


def test_the_error_of_a_range_is_that_of_its_largest_number() -> None:
    """A number near zero has the error of the operands of its subtraction."""
    made = ShapeDrawing(0, 20)
    ends = [made.constant(np.array(number)) for number in (3.0, -0.5, -0.58)]
    whole = made.apply("Range", ends)
    assert whole.errors is not None
    assert whole.errors[0].min() >= np.finfo(float).eps * 3


def value(array: Array, error: float | None = None) -> Value:
    errors = None if error is None else (np.full(array.shape, error),) * RUNS
    return Value("y", (array,) * RUNS, errors)


@pytest.mark.parametrize(
    ("output", "found", "differs"),
    [
        (value(np.array([3, 4])), np.array([3, 4]), False),
        (value(np.array([3, 4])), np.array([3, 5]), True),
        (value(np.array([3, 4])), np.array([3, 4], np.int32), True),
        (value(np.array([3, 4])), np.array([[3, 4]]), True),
        (value(np.array([1.5])), np.array([1.5 + 1e-12]), True),
        (value(np.array([1.5]), 1e-6), np.array([1.5 + 1e-6]), False),
        (value(np.array([1.5]), 1e-6), np.array([1.5 + 3e-6]), True),
        (value(np.array([np.nan, np.inf])), np.array([np.nan, np.inf]), False),
        (value(np.array([np.nan, 1.0]), 1e-6), np.array([0.0, 1.0]), True),
    ],
)
def test_results_differ_beyond_their_error(output: Value, found: Array, differs: bool) -> None:
    assert (difference(output, found, output.arrays[0], 0) is not None) == differs


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return random_arithmetic(5, 20)


def results(drawn: Drawn, *runs: int) -> Results:
    return {run: dict(drawn.expected[run]) for run in runs}


def changed(array: Array) -> Array:
    return np.concatenate([array.reshape(-1), array.reshape(-1)[:1]])


def test_right_results_have_no_fault(drawn: Drawn) -> None:
    assert faults(drawn, {FREE: results(drawn, 0, 1, 2), 1: results(drawn, 1)}) == []


def test_a_wrong_form_is_named_as_wrong_and_as_different_from_the_other(drawn: Drawn) -> None:
    name = drawn.graph.outputs[0].name
    known = results(drawn, 1)
    known[1][name] = changed(known[1][name])
    found = faults(drawn, {FREE: results(drawn, 0, 1, 2), 1: known})
    assert len(found) == 2
    assert found[0].startswith(f"known, run 1 at run 1, {name}")
    assert found[1].startswith(f"known and free differ: known, run 1 at run 1, {name}")


def test_forms_that_differ_are_seen_whatever_is_expected(drawn: Drawn) -> None:
    """Were onnxruntime wrong as the one form is, the other form would tell."""
    name = drawn.graph.outputs[0].name
    known, expected = results(drawn, 1), tuple(dict(each) for each in drawn.expected)
    known[1][name] = expected[1][name] = changed(known[1][name])
    found = faults(replace(drawn, expected=expected), {FREE: results(drawn, 0, 1, 2), 1: known})
    assert any(each.startswith("known and free differ") for each in found)


def test_a_refusal_is_a_fault_unless_it_is_a_limit(drawn: Drawn) -> None:
    right = results(drawn, 1)
    assert faults(drawn, {FREE: "does not compile, exit code 3: no", 1: right}) == [
        "free: does not compile, exit code 3: no"
    ]
    limit = "does not compile, exit code 1: how many values it has must be known when the model is compiled"
    assert faults(drawn, {FREE: limit, 1: right}) == []


def drawn_as(prefix: str, drawn: Drawn) -> Drawn:
    return replace(drawn, graph=replace(drawn.graph, prefix=prefix))


def test_a_refusal_divides_a_group(drawn: Drawn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The graphs that it names are tried one by one, and a refusal that names none is halved; others are judged by
    their results."""
    group = [drawn_as(f"g{number}_", drawn) for number in range(8)]
    tried = []

    def results_of(part: Sequence[Drawn], form: Form, options: Sequence[str], folder: Path) -> Results:
        names = [each.graph.prefix for each in part]
        tried.append(names)
        if "g2_" in names:
            raise judge_module.Refused(
                "does not compile, exit code 1: node 'g2_n3': the last dim of the indices must be "
                "known when the model is compiled"
            )
        if "g5_" in names:
            raise judge_module.Refused("does not compile, exit code 3: internal error")
        return results(drawn, 0, 1, 2)

    monkeypatch.setattr(judge_module, "results_of", results_of)
    verdict = judge_module.judge(group, (FREE,), (), tmp_path)
    assert tried[1] == ["g2_"]
    assert tried[2] == [f"g{number}_" for number in (0, 1, 3, 4, 5, 6, 7)]
    assert verdict.limited == ["g2_"]
    assert verdict.wrong == {"g5_": ["free: does not compile, exit code 3: internal error"]}
