"""Every operator of one numeric input over a model's sizes, as ONNX lists them: integers, fractions, and both negated.

Evaluator, interpreter and compiled code agree with onnxruntime: with free dims a run computes what the evaluator does
not know, with known ones all is folded. Operators that are not drawn at all are named, with the reason.
"""

from pathlib import Path

import pytest

from tests.random.shape_arithmetic.consumers import Consumers
from tests.random.shape_arithmetic.graphs import FREE, random_arithmetic
from tests.random.shape_arithmetic.judge import judge
from tests.random.shape_arithmetic.operators import (
    LEFT_OUT,
    OF_CONSUMERS,
    numeric_operators,
    of_one_input,
    schemas,
    takes_numbers,
)
from tests.random.shape_arithmetic.table import table
from tests.random.test_random_shape_arithmetic import quick_compiler

__all__ = ["quick_compiler"]

NEWEST = 24
# Since which version onnxruntime has no kernel.
WITHOUT_KERNEL = {"GlobalLpPool": 22}
OPSETS = [NEWEST, *(pytest.param(opset, marks=[pytest.mark.slow]) for opset in (11, 13, 18))]


@pytest.mark.usefixtures("commands", "quick_compiler")
@pytest.mark.parametrize("opset", OPSETS)
def test_every_operator_over_sizes(opset: int, tmp_path: Path) -> None:
    drawn: dict[str, int] = {}
    rows = table(opset, of_one_input(opset), lambda name, kinds: drawn.update({name: kinds}))
    unknown = {name for name, since in WITHOUT_KERNEL.items() if opset >= since}
    assert {name for name, kinds in drawn.items() if kinds == 0} == unknown, "drawn for no kind of numbers"
    verdict = judge(rows, (FREE, 0, 1), (), tmp_path)
    wrong = verdict.wrong
    assert not verdict.limited
    assert not wrong, "\n".join(f"{name[:-1]}: {text}" for name, texts in wrong.items() for text in texts[:3])


@pytest.mark.parametrize("opset", [11, 18, NEWEST])
def test_what_is_left_out_is_what_would_be_drawn(opset: int) -> None:
    """No name in the list is of an operator that ONNX does not have, or that would not be drawn anyway."""
    numeric = {schema.name for schema in schemas(NEWEST).values() if takes_numbers(schema)}
    assert LEFT_OUT.keys() | OF_CONSUMERS <= numeric
    of_version = {schema.name for schema in schemas(opset).values() if takes_numbers(schema)}
    drawn = {schema.name for schema in numeric_operators(opset)}
    assert drawn == of_version - LEFT_OUT.keys() - OF_CONSUMERS


@pytest.mark.slow
def test_every_operator_is_drawn_in_random_graphs() -> None:
    found = {node.op_type for seed in range(4_000) for node in random_arithmetic(seed, NEWEST).graph.nodes}
    assert {schema.name for schema in numeric_operators(NEWEST)} - WITHOUT_KERNEL.keys() | OF_CONSUMERS <= found


def test_consumers_are_drawn() -> None:
    builder = Consumers(0, NEWEST)
    builder.begin()
    for _ in range(200):
        builder.draw_consumer()
    found = {node.op_type for node in builder.nodes}
    assert (
        OF_CONSUMERS | {"Range", "Tile", "Expand", "ConstantOfShape", "Pad", "Slice", "Split", "TopK", "Reshape"}
        <= found
    )
