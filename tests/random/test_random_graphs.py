"""Random networks against onnxruntime and a float64 evaluation, at several sizes of their free dims, on the CPU and on
the simulated GPU. Half of them and more are of integers, which must be equal.

Graphs are compiled together, a group at a time: for this machine, without optimisation, and for AVX2. One that fails is
reduced to its least nodes and stays in build/failed-graphs.
"""

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from onnxc import CompileError
from onnxc import compile as compile_model
from onnxc.reduce import failure_of, reduce_model
from tests import onnxc_commands
from tests.random import judge
from tests.random.drawing import RUNS
from tests.random.random_graphs import RandomGraph, build_model, opset_of, random_graph

FAILED = onnxc_commands.REPOSITORY / "build" / "failed-graphs"
TOGETHER = 25  # graphs in one model
ALWAYS, MORE = 4, 80  # groups
ALWAYS_ON_GPU, MORE_ON_GPU = 1, 10
OPTIONS: Sequence[tuple[str, ...]] = [(), ("-O0",), ("--march", "x86-64-v3"), ()]


def groups(first: int, always: int, more: int) -> list[object]:
    return [
        pytest.param(group, marks=[] if group < first + always else [pytest.mark.slow])
        for group in range(first, first + more)
    ]


def failures(
    graphs: Sequence[RandomGraph], opset: int, options: Sequence[str], device: str, folder: Path
) -> dict[str, str]:
    """For each graph that fails, by its prefix, how."""
    file = folder / "model.onnx"
    onnx.save(build_model(graphs, opset), file)
    try:
        session = compile_model(file, options=[*options, "--max-seconds", "300"], device=device, threads=2)
    except CompileError as error:
        if len(graphs) == 1:
            return {graphs[0].prefix: f"does not compile: {error}"}
        found: dict[str, str] = {}
        for graph in graphs:
            found |= failures([graph], opset, options, device, folder)
        return found or {graphs[0].prefix: f"only together: {error}"}
    with session:
        return judge.compare(session, graphs, opset)


def keep(graph: RandomGraph, opset: int) -> Path:
    """The file of the network, as it is."""
    FAILED.mkdir(parents=True, exist_ok=True)
    kept = FAILED / f"{graph.prefix}graph.onnx"
    onnx.save(build_model([graph], opset), kept)
    return kept


def keep_reduced(graph: RandomGraph, opset: int, options: Sequence[str]) -> str:
    """The file of the least part that fails, as far as it is found."""
    kept, model = keep(graph, opset), build_model([graph], opset)
    for run in range(RUNS):
        try:
            feeds = {graph.input: judge.as_given(graph, run)}
            small, _, kind = reduce_model(model, feeds, lambda m, f: failure_of(m, f, options, judge.TOLERANCE))
        except Exception:  # onnxruntime may not take the type, or only a comparison of its own kind finds the failure
            continue
        onnx.save(small, kept)
        return f"{kept} ({len(small.graph.node)} of {len(graph.nodes)} nodes, {kind})"
    return str(kept)


def check(group: int, options: Sequence[str], device: str, folder: Path) -> None:
    opset = opset_of(group)
    graphs = [random_graph(TOGETHER * group + i, opset) for i in range(TOGETHER)]
    found = failures(graphs, opset, options, device, folder)
    texts = [
        f"{keep_reduced(graph, opset, options)} {' '.join(options)} on {device}: {found[graph.prefix]}"
        for graph in graphs
        if graph.prefix in found
    ]
    assert not texts, "\n".join(texts)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("group", groups(0, ALWAYS, MORE))
def test_equals_onnxruntime(group: int, tmp_path: Path) -> None:
    check(group, OPTIONS[group % len(OPTIONS)], "cpu", tmp_path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("group", groups(1000, ALWAYS_ON_GPU, MORE_ON_GPU))
def test_equals_onnxruntime_on_the_gpu(group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
    check(group, (), "hip", tmp_path)


def test_half_of_the_graphs_are_exact() -> None:
    graphs = [random_graph(seed, 20) for seed in range(400)]
    assert sum(graph.whole for graph in graphs) >= len(graphs) / 2
