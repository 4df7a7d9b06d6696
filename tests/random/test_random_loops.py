"""Random Loops, Scans and Ifs around kernels against onnxruntime, on the CPU and on the simulated GPU.

Graphs are compiled ten at a time. One that fails stays in build/failed-graphs.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from models.tensor_files import Array
from onnxc import CompileError, InferenceSession, RunError
from onnxc import compile as compile_model
from tests import compare, onnxc_commands
from tests.onnxruntime_sessions import open_session
from tests.random.random_loops import RandomLoops, build_model, feeds, random_loops

FAILED = onnxc_commands.REPOSITORY / "build" / "failed-graphs"
# Softmax, norms and Winograd's transforms round; the weights make nothing larger for long.
TOLERANCE = 1e-4
# A loop that squares a matrix makes more of a rounding: two of the first 4,600 graphs differ by 1.2e-4 and 1.4e-4,
# while onnxruntime's own results move by 1.8e-4 and 1.1e-4 when its inputs move by their last bit. So many times that
# is allowed.
ROUNDINGS = 8
# If all expected values are 0, a value that cancelled there has a rounding of its operands, about as large as the
# inputs: graph 6,828 has 1.2e-7 after a maximum with 0, -O0 and onnxruntime have 0.
CANCELLED = 4 * float(np.finfo(np.float32).eps)
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
    """The results that differ from onnxruntime."""
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
            found = difference_of_run(session, reference, inputs)
            if found is not None:
                return f"run {run}: {found}"
    return None


def difference_of_run(
    session: InferenceSession, reference: onnxruntime.InferenceSession, inputs: dict[str, Array]
) -> str | None:
    try:
        results = session.run(None, inputs)
    except RunError as error:
        return str(error)
    expected = reference.run(None, inputs)
    for i, (output, result, wanted) in enumerate(zip(session.get_outputs(), results, expected, strict=True)):
        if result.size == wanted.size == 0:
            continue  # onnxruntime does not always know the shape of what no round has collected
        found = compare.mismatch(result, wanted, TOLERANCE)
        if found is None or is_cancelled(result, wanted, inputs):
            continue
        found = compare.mismatch(result, wanted, max(TOLERANCE, ROUNDINGS * movement(reference, inputs, i, wanted)))
        if found is not None:
            return f"output {output.name}: {found}"
    return None


def is_cancelled(result: Array, wanted: Array, inputs: dict[str, Array]) -> bool:
    if result.shape != wanted.shape or result.dtype != np.float32 or wanted.any():
        return False
    largest = max(float(np.abs(array).max()) for array in inputs.values() if array.dtype == np.float32)
    return bool(np.abs(result).max() <= CANCELLED * largest)


def movement(reference: onnxruntime.InferenceSession, inputs: dict[str, Array], output: int, expected: Array) -> float:
    """How far onnxruntime's own output moves, over its largest magnitude, when each input moves to a neighbour."""
    random = np.random.default_rng(0)
    farthest = 0.0
    for _ in range(8):
        moved = {
            name: np.nextafter(array, np.where(random.random(array.shape) < 0.5, -np.inf, np.inf), dtype=array.dtype)
            if array.dtype == np.float32
            else array
            for name, array in inputs.items()
        }
        [result] = reference.run([reference.get_outputs()[output].name], moved)
        if result.shape == expected.shape and result.size > 0:
            farthest = max(farthest, compare.relative_error(result, expected))
    return farthest


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
