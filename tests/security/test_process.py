"""The process itself: files that it may overwrite, messages that cannot be written, and what it leaves when it is
ended."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES

pytestmark = pytest.mark.usefixtures("commands")
ONNXC = str(BINARIES / "onnxc")


def save(folder: Path, *, external: bool = False) -> Path:
    """A convolution, its weights in a file of their own if `external`, and a tensor that nothing needs."""
    weights = np.ones((8, 4, 3, 3), np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv1")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights, "unused")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    if external:
        for tensor in model.graph.initializer:
            (folder / f"{tensor.name}.bin").write_bytes(tensor.raw_data)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=f"{tensor.name}.bin")
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **options.pop("environment", {})}  # type: ignore[dict-item]
    stderr = options.pop("stderr", subprocess.PIPE)
    return subprocess.run(
        [ONNXC, *map(str, arguments)], stdout=subprocess.PIPE, stderr=stderr, env=environment, timeout=120, check=False,
        **options,  # type: ignore[call-overload]
    )  # fmt: skip


@pytest.mark.parametrize("options", [("-o",), ("--emit", "ir", "-o"), ("--dump-shapes",)], ids=["so", "ir", "shapes"])
def test_data_that_no_node_needs_is_not_overwritten(tmp_path: Path, options: tuple[str, ...]) -> None:
    """test_overwriting.py has all the other files."""
    model = save(tmp_path, external=True)
    target = tmp_path / "unused.bin"
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    command = [f"--dump-shapes={target}"] if options == ("--dump-shapes",) else [*options, str(target)]
    done = run(model, *command)
    assert done.returncode == 1
    assert b"is the same file as external data of MODEL" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_source_does_not_overwrite_data(tmp_path: Path) -> None:
    """The weights of `-o w --emit source` would be w.weights."""
    model = save(tmp_path, external=True)
    (tmp_path / "w.bin").rename(tmp_path / "w.weights")
    loaded = onnx.load(model, load_external_data=False)
    loaded.graph.initializer[0].external_data[0].value = "w.weights"
    onnx.save(loaded, model)
    assert run(model, "--emit", "source", "-o", tmp_path / "w").returncode == 1
    assert (tmp_path / "w.weights").stat().st_size == 8 * 4 * 9 * 4


@pytest.mark.parametrize("stderr", ["/dev/full", None], ids=["full", "closed"])
def test_messages_that_cannot_be_written(tmp_path: Path, stderr: str | None) -> None:
    model = save(tmp_path)
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    redirection = f"2>{stderr}" if stderr else "2>&-"
    for arguments, code in (("broken.onnx -o out.so", 1), ("model.onnx -o out.so --march no", 1), ("--no", 2),
                            ("model.onnx -o out.so -v --time-passes", 0)):  # fmt: skip
        script = f'"$1" {arguments} {redirection}'
        done = subprocess.run(["sh", "-c", script, "sh", ONNXC], cwd=tmp_path, check=False)
        assert done.returncode == code, arguments
    assert (tmp_path / "out.so").read_bytes().startswith(b"\x7fELF"), "no message went into the output"
    assert model.exists()


@pytest.mark.parametrize("option", ["--max-memory", "--max-nodes"])
def test_limits_are_not_negative(tmp_path: Path, option: str) -> None:
    model = save(tmp_path)
    for value in ("-1", "-5MB" if option == "--max-memory" else "-5"):
        assert run(model, "--dump-shapes", option, value).returncode == 2, value


def test_the_limit_on_memory_is_for_all_tensors(tmp_path: Path) -> None:
    tensors = [numpy_helper.from_array(np.ones(1000, np.float32), f"t{i}") for i in range(20)]
    graph = helper.make_graph(
        [helper.make_node("Sum", [tensor.name for tensor in tensors], ["y"])], "g", [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx", "--dump-shapes", "--max-memory", "100000").returncode == 0
    done = run(tmp_path / "m.onnx", "--dump-shapes", "--max-memory", "50000")
    assert done.returncode == 1
    assert b"the tensors before it 48000" in done.stderr


def test_a_sparse_tensor_does_not_grow_without_bound(tmp_path: Path) -> None:
    values, indices = (
        numpy_helper.from_array(np.ones(1, np.float32), "s"),
        numpy_helper.from_array(np.zeros(1, np.int64)),
    )
    graph = helper.make_graph(
        [helper.make_node("Relu", ["s"], ["y"])], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [300_000_000]))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    done = run(tmp_path / "m.onnx", "-o", tmp_path / "m.so")
    assert done.returncode == 1
    assert b"[300000000] needs 1200000000 bytes for 1 element that are not 0" in done.stderr


def test_limit_on_the_size_of_files(tmp_path: Path) -> None:
    done = run(
        save(tmp_path), "-o", tmp_path / "out.so",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )  # fmt: skip
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert not (tmp_path / "out.so").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    model = save(tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [ONNXC, str(model), "-o", str(tmp_path / "out.so"), "-q"], env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup around the tests would ignore SIGHUP
    ) as process:  # fmt: skip
        while process.poll() is None and not list(temporary.glob("*/model.cpp")):
            time.sleep(0.001)
        process.send_signal(number)
        assert process.wait(timeout=60) == -number
    assert list(temporary.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert not (tmp_path / "out.so").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_a_command_that_compiles_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """onnxc-run --verify runs onnxc, which runs clang."""
    model, temporary = save(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    assert run(model, "-o", tmp_path / "out.so").returncode == 0
    command = [str(BINARIES / "onnxc-run"), str(tmp_path / "out.so"), "--random", "0", "--verify", str(model)]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)}) as process:
        while process.poll() is None and not list(temporary.glob("onnxc-build*/model.cpp")):
            time.sleep(0.001)
        process.send_signal(number)
        assert process.wait(timeout=60) == -number
    assert list(temporary.iterdir()) == []


def test_an_interrupted_program_in_python_leaves_nothing(tmp_path: Path) -> None:
    model, temporary = save(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    package = str(Path(__file__).resolve().parents[2] / "python")
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": package, "ONNXC_BIN": str(BINARIES)}
    script = "import sys, onnxc; onnxc.InferenceSession(sys.argv[1])"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(model)], env=environment, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None and not list(temporary.glob("onnxc-build*/model.cpp")):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert list(temporary.iterdir()) == []


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """nohup onnxc ..."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [ONNXC, str(save(tmp_path)), "-o", str(tmp_path / "out.so"), "-q"],
        env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    ) as process:
        while process.poll() is None and not list(temporary.iterdir()):
            time.sleep(0.001)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 0
    assert (tmp_path / "out.so").exists()


@pytest.mark.parametrize("name", ["-x", "with space", "ä$(touch x)`'\""])
def test_names_of_temporary_folders(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    done = run(save(tmp_path), "-o", tmp_path / "out.so", environment={"TMPDIR": name}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "x").exists()


def test_a_line_break_in_the_name_of_the_temporary_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new\nline"
    folder.mkdir()
    done = run(save(tmp_path), "-o", tmp_path / "out.so", environment={"TMPDIR": str(folder)})
    assert done.returncode == 1
    assert b"set TMPDIR to another folder" in done.stderr
