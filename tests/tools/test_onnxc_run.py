"""onnxc-run and the C host, on a hand-written model (tests/runtime/fake_model.cpp): y = x * weights + k, z = sums."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (numpy then knows bfloat16 by its name)
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES, SIMULATOR, compile_model

MODEL = BINARIES.parent / "tests" / "fake_model.so"
X = np.arange(12, dtype=np.float32).reshape(3, 4)
K = np.array([10, 20, 30, 40], dtype=np.float32)
T = X * np.array([1, 2, 3, 4], dtype=np.float32)
Y = T + K
Z = T.sum(axis=1)
K_NAME = "k\n"


def run(*arguments: str | Path, code: int = 0, model: Path = MODEL) -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "onnxc-run"), str(model), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "k.npy", K)
    return ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"{K_NAME}={tmp_path / 'k.npy'}"]


def test_writes_outputs(inputs: list[str], tmp_path: Path) -> None:
    done = run(*inputs, "--output", tmp_path / "out")
    assert done.stdout == ""
    assert done.stderr == ""
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), Y)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "z.npy"), Z)


def test_random_inputs_need_no_dims(tmp_path: Path) -> None:
    run("--random", "1", "--output", tmp_path)
    assert np.load(tmp_path / "y.npy").shape == (1, 4)


def test_an_element_near_zero_is_judged_by_the_tensor(inputs: list[str], tmp_path: Path) -> None:
    for off, code in ((0.5e-4 * np.abs(Y).max(), 0), (3e-4 * np.abs(Y).max(), 4)):
        np.save(tmp_path / "y.npy", np.where(np.abs(Y) == np.abs(Y).min(), Y + off, Y).astype(np.float32))
        run(*inputs, "--expect", f"y={tmp_path / 'y.npy'}", code=code)


def compiled(nodes: list[onnx.NodeProto], x: int, y: int, dims: list[int], folder: Path, **constants: Any) -> Path:
    """A model.so from x to y, beside its model.onnx."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", x, dims)],
        [helper.make_tensor_value_info("y", y, dims)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / "model.onnx")
    return compile_model(folder / "model.onnx", folder / "model.so")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_files_of_float32_are_rounded_to_the_input(dtype: str, tmp_path: Path) -> None:
    number = {"bfloat16": TensorProto.BFLOAT16, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE}[dtype]
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    model = compiled([cast], number, TensorProto.FLOAT, [64], tmp_path)
    x = (np.random.default_rng(0).standard_normal(64) * 10).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    run("--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path, model=model)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x.astype(np.dtype(dtype)).astype(np.float32))


def test_verifies_a_group_normalization_that_is_written_as_nodes(tmp_path: Path) -> None:
    """The nodes that PyTorch exports; the compiler finds the operator in them, and keeps other sums than the nodes
    do."""
    nodes = [
        helper.make_node("Reshape", ["x", "groups"], ["grouped"]),
        helper.make_node("InstanceNormalization", ["grouped", "ones", "zeros"], ["normal"], name="norm"),
        helper.make_node("Reshape", ["normal", "sizes"], ["whole"]),
        helper.make_node("Mul", ["whole", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["y"]),
    ]
    dims = [1, 16, 3, 4, 5]
    scale = np.linspace(1, 2, 16, dtype=np.float32).reshape(16, 1, 1, 1)
    constants: dict[str, Any] = {
        "groups": np.array([0, 8, -1]),
        "sizes": np.array(dims),
        "scale": scale,
        "bias": -scale,
    }
    constants |= {"ones": np.ones(8, np.float32), "zeros": np.zeros(8, np.float32)}
    model = compiled(nodes, TensorProto.FLOAT, TensorProto.FLOAT, dims, tmp_path, **constants)
    assert "PASSED" in run("--random", "0", "--verify", tmp_path / "model.onnx", model=model).stdout


def test_reads_fortran_order_and_tensor_protos(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    (tmp_path / "k.pb").write_bytes(numpy_helper.from_array(K).SerializeToString())
    run("--input", f"x={tmp_path / 'x.npy'}", "--input", f"{K_NAME}={tmp_path / 'k.pb'}", "--output", tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), Y)


def test_expectations_decide_the_exit_code(inputs: list[str], tmp_path: Path) -> None:
    wrong = Y.copy()
    wrong[1, 2] += 0.5
    np.save(tmp_path / "y.npy", wrong)
    np.save(tmp_path / "z.npy", Z)
    expected = ["--expect", f"y={tmp_path / 'y.npy'}", "--expect", f"z={tmp_path / 'z.npy'}"]
    done = run(*inputs, *expected, code=4)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("output 'y': 1 of 12 elements differs; worst at [1, 2]: 48, expected 48.5 (")
    assert lines[1].startswith("output 'z': equal (")
    assert lines[2] == "FAILED: 1 of 2 outputs differs"
    run(*inputs, *expected, "--atol", "z:0.5", code=4)
    assert run(*inputs, *expected, "--atol", "y:0.5").stdout.endswith("PASSED: 2 outputs equal\n")
    result = json.loads(run(*inputs, *expected, "--json", code=4).stdout)
    assert not result["passed"]
    assert result["outputs"][0]["worst"] == {"index": [1, 2], "actual": 48.0, "expected": 48.5}


def test_not_a_number_is_never_equal(tmp_path: Path) -> None:
    x = X.copy()
    x[0, 0] = np.nan
    y = x * np.array([1, 2, 3, 4], dtype=np.float32) + K
    for name, array in (("x", x), ("k", K), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    arguments = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"{K_NAME}={tmp_path / 'k.npy'}"]
    arguments += ["--expect", f"y={tmp_path / 'y.npy'}"]
    run(*arguments, code=4)
    run(*arguments, "--equal-nan")


def test_random_inputs_are_the_same_each_time(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        run("--random", "7", "--dim", "N=5", "--output", tmp_path / folder)
    run("--random", "8", "--shapes", "x:5x4", "--output", tmp_path / "c")
    a, b, c = (np.load(tmp_path / folder / "y.npy") for folder in "abc")
    np.testing.assert_array_equal(a, b)
    assert a.shape == c.shape == (5, 4)
    assert (a != c).any()


def test_onnx_test_layout(tmp_path: Path) -> None:
    for number, factor in ((0, 1), (1, 2), (10, 3)):
        folder = tmp_path / f"test_data_set_{number}"
        folder.mkdir()
        t = T * np.float32(factor)
        for stem, array in (("input_0", X * np.float32(factor)), ("input_1", K), ("output_0", t + K)):
            (folder / f"{stem}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
        (folder / "output_1.pb").write_bytes(numpy_helper.from_array(t.sum(axis=1)).SerializeToString())
    done = run(tmp_path)
    assert [line.split(":")[0] for line in done.stdout.splitlines()[:-1]] == [
        f"test_data_set_{number}" for number in (0, 0, 1, 1, 10, 10)
    ]
    assert done.stdout.endswith("PASSED: 6 outputs equal\n")
    (folder / "output_0.pb").write_bytes(numpy_helper.from_array(T).SerializeToString())
    assert run(tmp_path, code=4).stdout.endswith("FAILED: 1 of 6 outputs differs\n")
    assert run(folder, code=4).stdout.endswith("FAILED: 1 of 2 outputs differs\n")


def test_a_folder_without_tests_is_told_by_its_first_file(tmp_path: Path) -> None:
    message = run(tmp_path, code=1).stderr
    assert (
        f"there is no '{tmp_path / 'input_0.pb'}', nor the same as .npy; a folder of tests has a file for each"
        in message
    )


def test_a_model_that_a_volume_took() -> None:
    command = [str(BINARIES / "onnxc-run"), "--volume", "ct.nii.gz", str(MODEL), "--window", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert (
        "MODEL is required; --volume takes all words that follow it, so that the model stands before it" in done.stderr
    )
    without = subprocess.run(command[:1], capture_output=True, text=True, timeout=60, check=False)
    assert without.stderr == "onnxc-run: error: MODEL is required (onnxc-run --help lists the options)\n"


def test_trace_writes_every_tensor(inputs: list[str], tmp_path: Path) -> None:
    done = run(*inputs, "--trace", tmp_path / "trace")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["tensor", "t", "y", "z"]
    np.testing.assert_array_equal(np.load(tmp_path / "trace" / "t.npy"), T)
    rows = json.loads((tmp_path / "trace" / "trace.json").read_text())["tensors"]
    assert rows[0]["dims"] == [3, 4]
    assert rows[0]["max"] == 44
    assert rows[0]["mean"] == T.mean()
    assert rows[1]["nodes"] == ["add (Add)", "sum (ReduceSum)"]


def test_profile_names_the_nodes(inputs: list[str]) -> None:
    result = json.loads(run(*inputs, "--profile", "--json").stdout)
    assert [step["nodes"] for step in result["steps"]] == [["scale (Mul)"], ["add (Add)", "sum (ReduceSum)"]]
    assert sum(step["percentage"] for step in result["steps"]) == pytest.approx(100)
    assert result["steps"][0]["gflops"] > 0
    assert result["steps"][1]["gflops"] is None
    assert result["peak_gflops"] > result["steps"][0]["gflops"]
    assert result["peak_gigabytes_read"] > 0
    assert result["memory"]["working"] == result["memory"]["least_working"] > 0
    assert result["process_peak_bytes"] > result["memory"]["working"]
    text = run(*inputs, "--profile").stdout
    assert "add (Add) + sum (ReduceSum)" in text
    assert "this process held" in text


def test_benchmark_prints_one_object(inputs: list[str]) -> None:
    result = json.loads(run(*inputs, "--bench", "20", "--threads", "1", "--json").stdout)
    assert list(result) == [
        "model", "device", "iterations", "latency_ms", "throughput", "inputs", "threads", "precision",
    ]  # fmt: skip
    assert list(result["latency_ms"]) == ["min", "mean", "median", "p90", "p95", "p99"]
    assert result["threads"] == 1
    assert result["iterations"] >= 20
    assert result["latency_ms"]["min"] <= result["latency_ms"]["median"] <= result["latency_ms"]["p99"]


def test_information(tmp_path: Path) -> None:
    result = json.loads(run("--info", "--json").stdout)
    assert result["inputs"][0] == {
        "name": "x",
        "datatype": "FP32",
        "shape": [-1, 4],
        "dtype": "float32",
        "dims": ["N", 4],
    }
    assert result["inputs"][1]["name"] == K_NAME
    assert result["model"] == {"model": "fake"}
    assert "float32 [N, 4]" in run("--info").stdout
    assert result["memory"] is None
    assert "memory: depends on the dims; give each symbol a size with --dim" in run("--info").stdout


def test_memory_of_given_dims() -> None:
    # t and an unused buffer of 3 padded rows, and a thread's scratch, each in multiples of 64 bytes.
    working = 128 + 128 + 64
    expected = {
        "weights": 128,
        "working": working,
        "least_working": working,
        "inputs_and_outputs": 48 + 16 + 48 + 12,
        "states": 0,
    }
    options = ["--dim", "N=3", "--threads", "1", "--info"]
    assert json.loads(run(*options, "--json").stdout)["memory"] == expected
    assert "0.0 MiB of working memory (least possible 0.0)" in run(*options).stdout


def test_memory_is_told_without_taking_it() -> None:
    rows = 10**12
    told = json.loads(run("--dim", f"N={rows}", "--threads", "1", "--info", "--json").stdout)["memory"]
    assert told["inputs_and_outputs"] == rows * (16 + 16 + 4) + 16


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "input 'x' has no value: give --input x=FILE.npy, or --random SEED"),
        (["--input", "w=a.npy"], 2, "--input w=a.npy: expected NAME=FILE with one of the names"),
        (["--input", "x=missing.npy"], 1, "missing.npy"),
        (["--random", "1", "--dim", "N=3", "--device", "hip"], 1, "has no code for a GPU"),
        (
            ["--random", "1", "--dim", "N=3", "--device", "hip:one"],
            2,
            "--device hip:one: expected cpu, gpu, or gpu:N, the GPU of number N, such as gpu:1",
        ),
        (["--random", "1", "--dim", "N=3", "--hip-graph"], 2, "--hip-graph: give --device gpu as well"),
        (["--random", "1", "--shapes", "x:3x5"], 1, "input 'x': dim 1 must be 4; the inputs are 'x' 3x5, 'k?' 4"),
        (["--random", "1", "--shapes", "x:3"], 2, "--shapes: input 'x' has rank 2, and 1 dim is given"),
        (["--no-such-option"], 2, "there is no option '--no-such-option'"),
        (["--randon", "1"], 2, "there is no option '--randon'; did you mean --random?"),
    ],
)
def test_mistakes(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    done = run(*arguments, code=code)
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("ONNXC_THREADS", "x", "a number of threads from 1 to 1024 is expected"),
        ("ONNXC_SEED", "x", "an integer is expected"),
    ],
)
def test_a_variable_with_an_impossible_value(
    variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    message = run("--random", "1", "--dim", "N=3", code=2).stderr
    assert f"the environment variable {variable} is '{value}'; {expected}" in message


def test_debians_hip_finds_no_gpu() -> None:
    """The HIP runtime that Debian has, on a machine without a GPU."""
    model = MODEL.with_name("fake_device_model.so")
    options = ["--random", "1", "--dim", "N=3", "--device", "hip"]
    command = [str(BINARIES / "onnxc-run"), str(model), *options]
    environment = {**os.environ, "ONNXC_HIP_LIBRARY": "libamdhip64.so.5"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 1
    assert re.search(
        r"hipInit: .+ \(HIP error \d+\); HIP finds no AMD GPU, or this user may not open /dev/kfd; "
        "the model also runs on the CPU",
        done.stderr,
    ), done.stderr


@pytest.mark.parametrize("target", ["hip", "cpu,hip"])
def test_the_cpu_is_named_only_if_the_model_runs_on_it(target: str, tmp_path: Path) -> None:
    text = '<ir_version: 9, opset_import: ["" : 18]> m (float[9] x) => (float[9] y) { y = Exp (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    compile_model(tmp_path / "m.onnx", tmp_path / "m.so", "--target", target)
    expected = "the model also runs on the CPU" if "cpu" in target else "compile it with --target cpu,gpu to run it on"
    other = {"the model also runs on the CPU", "compile it with --target cpu,gpu to run it on"} - {expected}
    lacks = [("hip:9", str(SIMULATOR), "there is no GPU 9"), ("hip", "libamdhip64.so.5", "HIP finds no AMD GPU")]
    for device, library, reason in lacks:
        command = [str(BINARIES / "onnxc-run"), str(tmp_path / "m.so"), "--random", "0", "--device", device]
        environment = {**os.environ, "ONNXC_HIP_LIBRARY": library}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.returncode == 1
        assert reason in done.stderr
        assert expected in done.stderr
        assert not any(each in done.stderr for each in other), done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dim", "Q=3"], "--dim: the model has no dim 'Q'; "),
        (
            ["--rtol", "q:1", "--expect", "y=y.npy"],
            "--rtol: the model has no output 'q'; did you mean 'y'? it has 'y', 'z'",
        ),
        (
            ["--atol", "yy:1", "--expect", "y=y.npy"],
            "--atol: the model has no output 'yy'; did you mean 'y'? it has 'y', 'z'",
        ),
    ],
)
def test_names_that_the_model_does_not_have(options: list[str], message: str) -> None:
    assert message in run("--random", "0", *options, code=2).stderr


def test_a_folder_that_does_not_exist_is_told_before_the_work(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    for option in ("--profile", "--trace-events"):
        message = run("--random", "0", f"{option}={missing / 'x.html'}", code=1).stderr
        assert f"{option} '{missing / 'x.html'}': there is no folder '{missing}'; make it first" in message


def test_wrong_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    done = run("--input", f"x={tmp_path / 'x.npy'}", code=1)
    assert "holds float64, and input 'x' is float32: convert it first" in done.stderr
    (tmp_path / "x.pb").write_bytes(b"\xff\xff\xff\xff")
    done = run("--input", f"x={tmp_path / 'x.pb'}", code=1)
    assert "is not a serialized TensorProto" in done.stderr
    short = onnx.TensorProto(data_type=1, dims=[3, 4], raw_data=b"1234")
    (tmp_path / "x.pb").write_bytes(short.SerializeToString())
    run("--input", f"x={tmp_path / 'x.pb'}", code=1)


def test_files_that_are_no_model(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_text("hello")
    found = run(model=tmp_path / "a.so", code=1).stderr
    assert "is not a shared object" in found
    assert "compile the model first, as onnxc model.onnx -o model.so" in found
    (tmp_path / "a.onnx").write_text("hello")
    found = run(model=tmp_path / "a.onnx", code=1).stderr
    assert f"compile it first, as onnxc {tmp_path / 'a.onnx'} -o {tmp_path / 'a.so'}" in found
    whole = Path("/proc/self/exe").resolve().read_bytes()
    for size in (10, 64, 1000, len(whole) - 1):
        (tmp_path / "a.so").write_bytes(whole[:size])
        assert "is cut short" in run(model=tmp_path / "a.so", code=1).stderr
    (tmp_path / "a.so").unlink()
    os.mkfifo(tmp_path / "a.so")
    assert "not a regular file" in run(model=tmp_path / "a.so", code=1).stderr
    assert "no such file" in run(model=tmp_path / "b.so", code=1).stderr


def test_another_cpu_is_told_what_is_missing() -> None:
    done = run("--random", "1", "--dim", "N=2", model=MODEL.with_name("fake_model_other_cpu.so"), code=1)
    assert "this model was compiled for 'cpu x86-64', and this CPU lacks avx1024" in done.stderr


def test_host_in_c() -> None:
    source = Path(__file__).parents[2] / "tools" / "examples" / "run_model.c"
    assert len(source.read_text().splitlines()) < 60
    command = [str(BINARIES / "run_model"), str(MODEL)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env={**os.environ})
    assert done.stdout.splitlines() == [
        "output 0: 16 4 (256 bytes of dtype 1)",
        "output 1: 16 (64 bytes of dtype 1)",
    ]
