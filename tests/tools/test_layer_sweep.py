"""tools/layer_sweep: no layer takes more than five times onnxruntime's time, and none gives other values."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import onnxc
from tools.layer_sweep import sweep as sweep_module
from tools.layer_sweep.families import FAMILIES, drawn_layers, fixed_layers, quick_layers
from tools.layer_sweep.layer import Layer
from tools.layer_sweep.sweep import Row, difference, sweep, table
from tools.operator_timing import Operator, Pair, Times

pytestmark = pytest.mark.usefixtures("commands")

PARTS = 40


def faults_of(rows: Sequence[Row]) -> list[str]:
    return [str(row) for row in rows if row.fails(sweep_module.LIMIT)]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_layers_are_not_slow_beyond_reason(part: int) -> None:
    assert faults_of(list(sweep(itertools.islice(fixed_layers(), part, None, PARTS)))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_drawn_layers_are_not_slow_beyond_reason(seed: int) -> None:
    assert faults_of(list(sweep(drawn_layers(15, seed)))) == []


def test_a_few_layers() -> None:
    rows = list(sweep(itertools.islice(quick_layers(), 0, None, 8)))
    assert len(rows) >= 3
    assert faults_of(rows) == []


def test_rows_are_the_same_each_time() -> None:
    names = [layer.name for layer in fixed_layers()]
    assert len(names) == len(set(names))
    assert {name.split(" ")[0] for name in names} >= {family.name.split(" ")[0] for family in FAMILIES}
    first, again = (list(drawn_layers(5, 3)) for _ in range(2))
    assert [layer.name for layer in first] == [layer.name for layer in again]
    for one, other in zip(first, again, strict=True):
        for name, array in one.operator.inputs.items():
            np.testing.assert_array_equal(array, other.operator.inputs[name])


RELU = Layer("Relu", Operator("Relu", {"x": np.ones((2, 3), np.float32)}))


def test_a_slow_layer_is_found_and_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def slow(_: Pair, turns: int, seconds: float) -> Times:
        measured.append(turns)
        return Times(1.03, 0.1) if len(measured) != 2 else Times(0.63, 0.1)

    monkeypatch.setattr(Pair, "measure", slow)
    [row] = sweep([RELU])
    assert row.ratio == pytest.approx(6.0)
    assert row.fails(5.0)
    assert len(measured) == 3
    assert table([row]).splitlines()[2:] == ["| Relu | 0.630 | 0.100 | 6.00 |"]


def test_other_values_and_refusals_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise onnxc.CompileError("no such operator", 1)

    with monkeypatch.context() as patched:
        patched.setattr("onnxc.compile", refuse)
        [row] = sweep([RELU])
    assert row.fault == "refused: no such operator"
    monkeypatch.setattr("onnxc.InferenceSession.run", lambda *_: [np.full((2, 3), 2, np.float32)])
    [row] = sweep([RELU])
    assert row.fault == "6 of 6 values differ"
    assert row.fails(1e9)


def test_what_onnxruntime_refuses_is_no_row() -> None:
    assert list(sweep([Layer("unheard", Operator("Unheard", {"x": np.zeros(1, np.float32)}))])) == []


@pytest.mark.parametrize(
    ("got", "wanted", "text"),
    [
        (np.array([1.0, np.nan], np.float32), np.array([1.0005, np.nan], np.float32), ""),
        (np.array([1.0], np.float32), np.array([1.002], np.float32), "1 of 1 values differ"),
        (np.array([np.inf], np.float32), np.array([1], np.float32), "1 of 1 values differ"),
        (np.zeros(2, np.float32), np.zeros(1, np.float32), "float32[2] for float32[1]"),
        (np.arange(200, dtype=np.uint8), np.arange(1, 201, dtype=np.uint8), "200 of 200 values differ by up to 1"),
        (np.array([1] + [5] * 199, np.uint8), np.array([2] + [5] * 199, np.uint8), ""),
        (np.array([1] + [5] * 199), np.array([2] + [5] * 199), "1 of 200 values differ by up to 1"),
    ],
)
def test_differences(got: np.ndarray, wanted: np.ndarray, text: str) -> None:
    assert difference(got, wanted) == text
