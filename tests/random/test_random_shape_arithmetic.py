"""Random shape arithmetic against onnxruntime and against itself: dims known, free, and some of each.

Graphs are compiled together, a group at a time, without clang's optimisation: what is tried is what onnxc derives of
sizes. One that fails is reduced to its least nodes and stays in build/failed-graphs.
"""

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from onnxc.reduce import failure_of, reduce_model
from tests.random.drawing import RUNS
from tests.random.quick import unoptimising_compiler
from tests.random.random_graphs import opset_of
from tests.random.shape_arithmetic.graphs import FREE, MIXED, Drawn, Form, build_model, feeds, random_arithmetic
from tests.random.shape_arithmetic.judge import Verdict, form_name, judge
from tests.random.test_random_graphs import FAILED, groups

TOGETHER = 25  # graphs in one model
ALWAYS, MORE = 4, 80  # groups
MOST_LIMITED = 8  # of a group's graphs, by what onnxc refuses as documented; mostly one or two are
OPTIONS: Sequence[tuple[str, ...]] = [(), (), ("-O0",)]
TOLERANCE = 1e-4


def options_of(group: int) -> tuple[str, ...]:
    return OPTIONS[group % len(OPTIONS)]


def forms_of(group: int) -> Sequence[Form]:
    """All dims free, and none, at the sizes of a run; in each second group also those whose size changes."""
    return (FREE, group % RUNS, MIXED) if group % 2 else (FREE, group % RUNS)


def drawn_group(group: int) -> list[Drawn]:
    return [random_arithmetic(TOGETHER * group + i, opset_of(group)) for i in range(TOGETHER)]


def keep(drawn: Drawn) -> Path:
    """The file of the graph, as it is."""
    FAILED.mkdir(parents=True, exist_ok=True)
    kept = FAILED / f"{drawn.graph.prefix}sizes.onnx"
    onnx.save(build_model([drawn.graph], FREE), kept)
    return kept


def keep_reduced(drawn: Drawn, options: Sequence[str]) -> str:
    """The file in which the graph is kept, reduced if it fails by itself in a way that onnxc.reduce sees."""
    kept = keep(drawn)
    forms: list[tuple[Form, int]] = [*((FREE, run) for run in range(RUNS)), *((run, run) for run in range(RUNS))]
    for form, run in forms:
        try:
            small, _, kind = reduce_model(
                build_model([drawn.graph], form), feeds([drawn.graph], run),
                lambda model, inputs: failure_of(model, inputs, options, TOLERANCE),
            )  # fmt: skip
        except Exception:  # it does not fail so, or onnxruntime does not take a part of it
            continue
        onnx.save(small, kept)
        nodes = f"{len(small.graph.node)} of {len(drawn.graph.nodes)} nodes"
        return f"{kept} ({form_name(form)}, run {run}, {nodes}, {kind.splitlines()[0]})"
    return str(kept)


def verdict_of(drawn: Sequence[Drawn], group: int, folder: Path) -> Verdict:
    return judge(drawn, forms_of(group), options_of(group), folder)


def check(group: int, folder: Path) -> None:
    check_drawn(drawn_group(group), group, folder)


def check_alone(seed: int, group: int, folder: Path) -> None:
    check_drawn([random_arithmetic(seed, opset_of(group))], group, folder)


def check_drawn(drawn: Sequence[Drawn], group: int, folder: Path) -> None:
    verdict = verdict_of(drawn, group, folder)
    wrong = verdict.wrong
    texts = [
        "\n    ".join([keep_reduced(each, options_of(group)), *wrong[each.graph.prefix][:4]])
        for each in drawn
        if each.graph.prefix in wrong
    ]
    assert not texts, "\n".join(texts)
    assert len(verdict.limited) <= MOST_LIMITED, "most of what is drawn must be compared"


@pytest.fixture
def quick_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "compiler").mkdir()
    monkeypatch.setenv("ONNXC_CXX", str(unoptimising_compiler(tmp_path / "compiler")))


@pytest.mark.usefixtures("commands", "quick_compiler")
@pytest.mark.parametrize("group", groups(0, ALWAYS, MORE))
def test_equals_onnxruntime_and_itself(group: int, tmp_path: Path) -> None:
    check(group, tmp_path)
