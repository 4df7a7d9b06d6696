"""A compile and a run whose machine fails once, at one allocation or system call after another: a status or an error,
the old output whole, and nothing left behind.

tests/security/failing_machine.c is what fails. It counts from the moment at which the model is opened: what fails
before main begins is the loader's. An allocation that fails within ONNX's library, where it makes its schemas, ends the
compiler by a signal: known, and expected here.
"""

import errno
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")

OLD = b"the output of another day"
FAULTS = [
    ("malloc", errno.ENOMEM, 40), ("open", errno.EIO, 40), ("open", errno.EMFILE, 8), ("read", errno.EIO, 12),
    ("read", errno.EINTR, 12), ("read", -1, 12), ("write", errno.ENOSPC, 20), ("write", errno.EINTR, 8),
    ("write", -1, 8),
    ("rename", errno.EIO, 8), ("mmap", errno.ENOMEM, 12), ("pipe", errno.EMFILE, 8), ("spawn", errno.EAGAIN, 8),
]  # fmt: skip
OF_ONNX = pytest.mark.xfail(reason="ONNX's library makes its schemas as if memory never failed", strict=False)
CASES = [
    pytest.param(
        function, error, most, id=f"{function}-{errno.errorcode.get(error, 'short')}",
        marks=OF_ONNX if function == "malloc" else [],
    )
    for function, error, most in FAULTS
]  # fmt: skip


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("failing") / "failing_machine.so"
    source = Path(__file__).with_name("failing_machine.c")
    subprocess.run(["clang-19", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution with a function behind it, and constants to fold."""
    weights = np.random.default_rng(0).standard_normal((4, 2, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Add", ["w", "w"], ["w2"]),
        helper.make_node("Conv", ["x", "w2"], ["a"], pads=[1] * 4),
        helper.make_node("Tanh", ["a"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def run(
    command: list[str | Path], failing: Path, after: str, what: tuple[str, int], at: int, folder: Path
) -> tuple[int, str, int]:
    """The exit code, what was said and the number of calls."""
    count = folder / "count"
    environment = {
        **os.environ, "LD_PRELOAD": str(failing), "ONNXC_FAIL_FUNCTION": what[0], "ONNXC_FAIL_WITH": str(what[1]),
        "ONNXC_FAIL_AT": str(at), "ONNXC_FAIL_AFTER": after, "ONNXC_FAIL_COUNT": str(count),
        "TMPDIR": str(folder / "temporary"),
    }  # fmt: skip
    count.unlink(missing_ok=True)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
    calls = int(count.read_text()) if count.exists() else 0
    return done.returncode, done.stderr.decode(errors="replace"), calls


def places(calls: int, most: int) -> list[int]:
    """The first ones, the last one, and some between, farther and farther apart."""
    every = {round(place) for place in np.geomspace(1, max(1, calls), most)}
    return sorted(every | set(range(1, min(calls, most // 2) + 1)))


@pytest.mark.parametrize(("function", "error", "most"), CASES)
@pytest.mark.parametrize("stage", ["--emit", "so"])
def test_compile(model: Path, failing: Path, tmp_path: Path, function: str, error: int, most: int, stage: str) -> None:
    output = tmp_path / "model.so"
    (tmp_path / "temporary").mkdir()
    options = ["--emit", "ir"] if stage == "--emit" else []
    if stage == "so":
        most = min(most, 6)  # clang takes its time
    command: list[str | Path] = [BINARIES / "onnxc", model, "-o", output, "-q", "-j", "1", *options]
    code, said, calls = run(command, failing, "model.onnx", (function, error), 0, tmp_path)
    assert code == 0, said
    output.unlink()
    for at in places(calls, most):
        output.write_bytes(OLD)
        code, said, _ = run(command, failing, "model.onnx", (function, error), at, tmp_path)
        where = f"{function} {at} of {calls}: {code} {said[:500]}"
        assert code in (0, 1), where
        if code == 1:
            assert said.startswith("onnxc: error: "), where
            assert output.read_bytes() == OLD, where
        else:
            assert output.read_bytes() != OLD, where
        assert not list((tmp_path / "temporary").iterdir()), where
        assert {path.name for path in tmp_path.iterdir()} <= {"temporary", "count", "model.so"}, where


@pytest.mark.parametrize(("function", "error"), [("malloc", errno.ENOMEM), ("mmap", errno.ENOMEM), ("read", errno.EIO)])
def test_run(model: Path, failing: Path, tmp_path: Path, function: str, error: int) -> None:
    (tmp_path / "temporary").mkdir()
    shared_object = tmp_path / "model.so"
    subprocess.run([BINARIES / "onnxc", model, "-o", shared_object, "-q"], check=True)
    np.save(tmp_path / "x.npy", np.ones((2, 2, 6, 6), np.float32))
    command: list[str | Path] = [BINARIES / "onnxc-run", shared_object, "--input", f"x={tmp_path / 'x.npy'}"]
    code, said, calls = run(command, failing, "model.so", (function, error), 0, tmp_path)
    assert code == 0, said
    for at in places(calls, 40):
        code, said, _ = run(command, failing, "model.so", (function, error), at, tmp_path)
        assert code in (0, 1), f"{function} {at} of {calls}: {code} {said[:500]}"
        assert code == 0 or said.strip(), f"{function} {at} of {calls} says nothing"
