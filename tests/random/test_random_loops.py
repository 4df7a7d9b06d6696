"""Random Loops, Scans and Ifs around kernels against onnxruntime, on the CPU and on the simulated GPU.

Graphs are compiled ten at a time. One that fails stays in build/failed-graphs.
"""

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from onnxc import CompileError, InferenceSession, RunError
from onnxc import compile as compile_model
from tests import compare, onnxc_commands
from tests.models.tensor_files import Array
from tests.onnxruntime_sessions import open_session
from tests.random.random_loops import RandomLoops, build_model, feeds, random_loops

FAILED = onnxc_commands.REPOSITORY / "build" / "failed-graphs"
# Softmax, norms and Winograd's transforms round; the weights make nothing larger for long.
TOLERANCE = 1e-4
RUNS = 3

TOGETHER = 10  # graphs in one model
ALWAYS, MORE = 4, 900  # models
ALWAYS_ON_GPU, MORE_ON_GPU = 1, 100
ON_CPU = [pytest.param(seed, marks=[] if seed < ALWAYS else [pytest.mark.slow]) for seed in range(MORE)]
ON_GPU = [
    pytest.param(seed, marks=[] if seed < MORE + ALWAYS_ON_GPU else [pytest.mark.slow])
    for seed in range(MORE, MORE + MORE_ON_GPU)
]


def difference(graphs: Sequence[RandomLoops], options: Sequence[str], device: str, folder: Path) -> str | None:
    """What differs from onnxruntime."""
    model = build_model(graphs)
    onnx.save(model, folder / "model.onnx")
    try:
        session = compile_model(folder / "model.onnx", options=options, device=device, threads=2)
    except CompileError as error:
        return f"does not compile: {error}"
    reference = open_session(model, optimized=False, threads=1)
    with session:
        for run in range(RUNS):
            inputs = {name: array for graph in graphs for name, array in feeds(graph, run).items()}
            found = difference_of_run(session, [*reference.run(None, inputs)], inputs)
            if found is not None:
                return f"run {run}: {found}"
    return None


def difference_of_run(session: InferenceSession, expected: Sequence[Array], inputs: dict[str, Array]) -> str | None:
    try:
        results = session.run(None, inputs)
    except RunError as error:
        return str(error)
    for output, result, wanted in zip(session.get_outputs(), results, expected, strict=True):
        if result.size == wanted.size == 0:
            continue  # onnxruntime does not always know the shape of what no round has collected
        found = compare.mismatch(result, wanted, TOLERANCE)
        if found is not None:
            return f"output {output.name}: {found}"
    return None


def check(seed: int, options: Sequence[str], device: str, folder: Path) -> None:
    graphs = [random_loops(TOGETHER * seed + i) for i in range(TOGETHER)]
    if difference(graphs, options, device, folder) is None:
        return
    failures = []
    FAILED.mkdir(parents=True, exist_ok=True)
    for graph in graphs:
        found = difference([graph], options, device, folder)
        if found is not None:
            kept = FAILED / f"{graph.prefix}loops.onnx"
            onnx.save(build_model([graph]), kept)
            failures.append(f"{kept} {' '.join(options)} on {device}: {found}")
    pytest.fail("\n".join(failures) or f"seed {seed}: the graphs differ only together")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("seed", ON_CPU)
def test_equals_onnxruntime(seed: int, tmp_path: Path) -> None:
    check(seed, ("-O0",) if seed % 8 == 3 else (), "cpu", tmp_path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("seed", ON_GPU)
def test_equals_onnxruntime_on_the_gpu(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
    check(seed, (), "hip", tmp_path)
