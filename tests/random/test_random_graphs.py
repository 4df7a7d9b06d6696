"""Random networks against onnxruntime, at several sizes of their free dims, on the CPU and on the simulated GPU.

A network that fails stays in build/failed-graphs with the size it failed at.
"""

from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxc import CompileError, InferenceSession, RunError
from onnxc import compile as compile_model
from tests import compare, onnxc_commands
from tests.models.tensor_files import Array
from tests.onnxruntime_sessions import open_session
from tests.random.random_graphs import random_graph, sizes_of

FAILED = onnxc_commands.REPOSITORY / "build" / "failed-graphs"
# Some twenty layers, each of which adds a few roundings; a softmax or a norm over few elements makes them larger.
TOLERANCE = 1e-4

ALWAYS, MORE = 24, 400
SEEDS = [pytest.param(seed, marks=[] if seed < ALWAYS else [pytest.mark.slow]) for seed in range(MORE)]
ALWAYS_ON_GPU, MORE_ON_GPU = 4, 100
GPU_SEEDS = [
    pytest.param(seed, marks=[] if seed < 1000 + ALWAYS_ON_GPU else [pytest.mark.slow])
    for seed in range(1000, 1000 + MORE_ON_GPU)
]


def run(session: InferenceSession, x: Array) -> list[Array] | str:
    try:
        return session.run(None, {"x": x})
    except RunError as error:
        return str(error)


def difference(seed: int, options: tuple[str, ...], device: str, folder: Path) -> str | None:
    """What differs from onnxruntime, at the first size that does."""
    graph = random_graph(seed)
    file = folder / "model.onnx"
    onnx.save(graph.model, file)
    reference = open_session(graph.model, optimized=False, threads=1)
    try:
        session = compile_model(file, options=options, device=device, threads=2)
    except CompileError as error:
        return f"does not compile: {error}"
    random = np.random.default_rng(seed)
    with session:
        for dims in sizes_of(graph, seed):
            x = random.standard_normal(dims).astype(np.float32)
            results = run(session, x)
            try:
                expected = reference.run(None, {"x": x})
            except Exception as error:  # whatever type it has: a size that the network forbids
                if isinstance(results, str):
                    continue
                return f"x {list(dims)}: onnxruntime refuses what onnxc runs: {error}"
            if isinstance(results, str):
                return f"x {list(dims)}: {results}"
            for output, result, wanted in zip(reference.get_outputs(), results, expected, strict=True):
                found = compare.mismatch(result, wanted, TOLERANCE)
                if found is not None:
                    return f"x {list(dims)}, output {output.name}: {found}"
    return None


def check(seed: int, options: tuple[str, ...], device: str, folder: Path) -> None:
    found = difference(seed, options, device, folder)
    if found is None:
        return
    FAILED.mkdir(parents=True, exist_ok=True)
    kept = FAILED / f"seed{seed}.onnx"
    onnx.save(random_graph(seed).model, kept)
    pytest.fail(f"{kept} {' '.join(options)} on {device}: {found}")


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_onnxruntime(seed: int, tmp_path: Path) -> None:
    check(seed, ("-O0",) if seed % 8 == 7 else (), "cpu", tmp_path)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("seed", GPU_SEEDS)
def test_equals_onnxruntime_on_the_gpu(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))
    check(seed, (), "hip", tmp_path)
