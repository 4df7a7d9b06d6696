"""A host that keeps a model for long: many threads, many loads, a fork, sizes that change, and a process that stays as
it was. tests/security/long_running.c is the host; it looks at every result, to the bit."""

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests.onnxc_commands import BINARIES, REPOSITORY, compile_model

pytestmark = pytest.mark.usefixtures("commands")

COMPILER = BINARIES.parent / "lib" / "libonnxc_compiler.so"
THREADS = 64


def save(path: Path, channels: int, middle: int) -> Path:
    """Convolutions of free sizes, a normalisation, a pool and what joins them: working memory of several tensors."""
    random = np.random.default_rng(0)

    def weights(*dims: int) -> Array:
        return (random.standard_normal(dims) / np.sqrt(np.prod(dims[1:]))).astype(np.float32)

    constants = {
        "w1": weights(middle, channels, 3, 3, 3), "w2": weights(middle, middle, 3, 3, 3),
        "w3": weights(1, middle, 1, 1, 1),
        "scale": np.ones(middle, np.float32), "shift": np.zeros(middle, np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1] * 6),
        helper.make_node("InstanceNormalization", ["a", "scale", "shift"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "w2"], ["d"], pads=[1] * 6),
        helper.make_node("Add", ["d", "a"], ["e"]),
        helper.make_node("Softplus", ["e"], ["f"]),
        helper.make_node("Conv", ["f", "w3"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, "D", "H", "W"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("host") / "long_running"
    headers = [f"-I{folder}" for folder in (REPOSITORY / "runtime" / "include", REPOSITORY / "src" / "library")]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    source = Path(__file__).with_name("long_running.c")
    subprocess.run(["clang-19", *flags, *headers, source, "-o", program, "-ldl"], check=True)
    return program


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    return compile_model(save(folder / "model.onnx", 2, 8), folder / "model.so")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its tensors are large beside the program."""
    folder = tmp_path_factory.mktemp("large")
    return compile_model(save(folder / "model.onnx", 1, 16), folder / "model.so")


def numbers(host: Path, mode: str, *words: str | Path) -> list[int]:
    done = subprocess.run([host, mode, *words], capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [int(line) for line in done.stdout.split()]


# In make test 6,400 runs, half of them on the instance that all share; else 100,000 of each thread.
@pytest.mark.parametrize("runs", [100, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_threads(host: Path, small: Path, runs: int) -> None:
    served, busy = numbers(host, "threads", small, str(THREADS), str(runs))
    assert served + busy == THREADS * runs / 2
    assert served > 0


@pytest.mark.parametrize("rounds", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_loaded_and_dropped(host: Path, small: Path, rounds: int) -> None:
    before, after = numbers(host, "dlopen", small, str(rounds))
    assert before > 0
    assert after <= 1.01 * before, f"{before} KiB after {rounds // 10} rounds, {after} after {rounds}"


def test_a_child_of_fork(host: Path, small: Path) -> None:
    [milliseconds] = numbers(host, "fork", small)
    assert milliseconds <= 1000


@pytest.mark.parametrize("rounds", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_memory_of_random_sizes(host: Path, large: Path, rounds: int) -> None:
    """Working memory is that of the largest run, whatever comes after it."""
    [largest], [all_sizes] = numbers(host, "sizes", large, "0"), numbers(host, "sizes", large, str(rounds))
    assert largest > 20_000, "tensors, and not the program alone"
    assert all_sizes <= 1.05 * largest, f"{all_sizes} KiB, the largest run alone {largest}"


def test_the_process_stays_as_it_was(host: Path, small: Path, tmp_path: Path) -> None:
    """Signal handlers, locale, floating-point modes, folder, files, environment; and the caller's rounding upwards and
    flushing of denormals do not reach the constants of what is compiled."""
    model, output = small.with_name("model.onnx"), tmp_path / "compiled.so"
    assert numbers(host, "manners", small, COMPILER, model, output) == []
    assert output.read_bytes() == small.read_bytes()
