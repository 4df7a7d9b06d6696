"""A compile and a run whose machine fails once, at one allocation or system call after another, or lacks something for
good: a status or an error, the old output whole, and nothing left behind.

tests/security/failing_machine.c is what fails, and lacking_machine.c what is not there. The former counts from the
moment at which the model is opened: what fails before main begins is the loader's. An allocation that fails within
ONNX's library when it makes its schemas, ends the compiler by a signal: known, and expected here.
"""

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    """A convolution with a function after it, and constants to fold."""
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


# --------------------------------------------------------------------------------------------------------------- lacks


@dataclass(frozen=True)
class Lack:
    """compiled, run: what the commands say in exit code 1; nothing if they do without. warned: what both say first.
    closed: a standard stream. preloaded: what lacking_machine.c takes away."""

    compiled: str = ""
    run: str = ""
    warned: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[int, int] = field(default_factory=dict)
    closed: int | None = None
    preloaded: str = ""


LACKS = {
    "threads": Lack(warned="no thread can be made", preloaded="threads"),
    "the folder /proc": Lack("the C++ compiler could not run", preloaded="proc"),  # clang does not find its own files
    "TMPDIR": Lack("cannot make a temporary folder in '/nowhere'", environment={"TMPDIR": "/nowhere"}),
    "a home": Lack(environment={"HOME": "/nowhere"}),
    "a home that can be written": Lack(environment={"HOME": "/proc", "XDG_CACHE_HOME": "/proc"}),
    "a name of a home": Lack(environment={"HOME": ""}),
    "the locale": Lack(environment={"LC_ALL": "xx_XX.UTF-8", "LANG": "xx_XX"}),
    "standard input": Lack(closed=0),
    "standard output": Lack(closed=1),
    "standard error": Lack(closed=2),
    "descriptors": Lack("Too many open files", limits={resource.RLIMIT_NOFILE: 4}),
    "descriptors of a compiler": Lack("Too many open files", limits={resource.RLIMIT_NOFILE: 8}),
    "sizes of files": Lack("File too large", "File too large", limits={resource.RLIMIT_FSIZE: 100}),
    "memory": Lack("the C++ compiler could not run", limits={resource.RLIMIT_AS: 100 << 20}),
    "locked memory": Lack(limits={resource.RLIMIT_MEMLOCK: 0}),
    "a stack of 8 MiB": Lack(limits={resource.RLIMIT_STACK: 256 << 10}),
}


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("lacking") / "lacking_machine.so"
    source = Path(__file__).with_name("lacking_machine.c")
    subprocess.run(["clang-19", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


@pytest.fixture(scope="module")
def shared_object(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compiled") / "model.so"
    subprocess.run([BINARIES / "onnxc", model, "-o", path, "-q"], check=True)
    return path


def restricted(lack: Lack) -> Callable[[], None]:
    def restrict() -> None:
        for limit, value in lack.limits.items():
            resource.setrlimit(limit, (value, value))
        if lack.closed is not None:
            os.close(lack.closed)

    return restrict


def execute_without(lack: Lack, command: list[str | Path], lacking: Path, folder: Path) -> tuple[int, str]:
    (folder / "temporary").mkdir(exist_ok=True)
    preloaded = {"LD_PRELOAD": str(lacking), "ONNXC_LACKS": lack.preloaded} if lack.preloaded else {}
    environment = {**os.environ, "TMPDIR": str(folder / "temporary"), **preloaded, **lack.environment}
    done = subprocess.run(
        command, env=environment, capture_output=True, timeout=300, check=False, preexec_fn=restricted(lack),
    )  # fmt: skip
    assert not list((folder / "temporary").iterdir()), done.stderr
    return done.returncode, done.stderr.decode(errors="replace")


def judge(code: int, said: str, name: str, fault: str, warned: str) -> None:
    """name: of the command."""
    assert code == (1 if fault else 0), f"{code} {said}"
    if fault:
        assert f"{name}: error: " in said
        assert fault in said
    assert warned in said
    assert "bug" not in said


@pytest.mark.parametrize("name", LACKS)
def test_a_compile_on_a_machine_without(name: str, model: Path, lacking: Path, tmp_path: Path) -> None:
    lack, output = LACKS[name], tmp_path / "out" / "model.so"
    output.parent.mkdir()
    output.write_bytes(OLD)
    code, said = execute_without(lack, [BINARIES / "onnxc", model, "-o", output], lacking, tmp_path)
    judge(code, said, "onnxc", lack.compiled, lack.warned)
    assert (output.read_bytes() == OLD) == (code != 0)
    assert [path.name for path in output.parent.iterdir()] == ["model.so"]


@pytest.mark.parametrize("name", LACKS)
def test_a_run_on_a_machine_without(name: str, shared_object: Path, lacking: Path, tmp_path: Path) -> None:
    lack = LACKS[name]
    np.save(tmp_path / "x.npy", np.ones((2, 2, 6, 6), np.float32))
    words: list[str | Path] = ["--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out"]
    code, said = execute_without(lack, [BINARIES / "onnxc-run", shared_object, *words], lacking, tmp_path)
    judge(code, said, "onnxc-run", lack.run, lack.warned)
    made = list((tmp_path / "out").glob("*")) if (tmp_path / "out").exists() else []
    assert [path.name for path in made] == (["y.npy"] if code == 0 else [])


def test_a_profile_on_fewer_threads_than_asked_for(shared_object: Path, lacking: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [BINARIES / "onnxc-run", shared_object, "--random", "0", "--profile", "--threads", "4"]
    judge(*execute_without(LACKS["threads"], command, lacking, tmp_path), "onnxc-run", "", "no thread can be made")
