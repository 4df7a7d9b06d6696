"""The Python package: compile, load, run, and what it says when it cannot."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnxc
from models import tensor_files
from onnxc import command
from onnxc.dtypes import NUMBERS
from tests.onnxc_commands import SIMULATOR

pytestmark = pytest.mark.usefixtures("commands")

REAL_TYPES = [
    np.float32,
    np.float64,
    np.float16,
    ml_dtypes.bfloat16,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.bool_,
]


def save_model(
    path: Path, nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], *outputs: onnx.ValueInfoProto
) -> Path:
    graph = helper.make_graph(nodes, "test", inputs, list(outputs))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


@pytest.fixture(scope="module")
def difference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled model: y = a - b and z = -a, for a and b of [N, 3] float32."""
    folder = tmp_path_factory.mktemp("difference")
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "abyz"}
    nodes = [helper.make_node("Sub", ["a", "b"], ["y"]), helper.make_node("Neg", ["a"], ["z"])]
    model = save_model(folder / "model.onnx", nodes, [values["a"], values["b"]], values["y"], values["z"])
    onnxc.compile(model, folder / "model.so").close()
    return folder / "model.so"


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([[5, 3, 1], [4, 2, 0]], np.float32)


def test_describes_inputs_and_outputs(difference: Path) -> None:
    with onnxc.InferenceSession(difference) as session:
        described = [(value.name, value.shape, value.type) for value in session.get_inputs() + session.get_outputs()]
        assert described == [(name, ["N", 3], "tensor(float)") for name in "abyz"]
        assert isinstance(session.information, dict)


def test_the_command_is_found_in_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """sysconfig fails if two threads ask it first: it is asked when the package is imported."""

    def fail(*_: object) -> None:
        raise AttributeError("userbase")

    monkeypatch.setattr("sysconfig.get_path", fail)
    assert command.version().startswith("onnxc ")


def test_runs_and_selects_outputs(difference: Path) -> None:
    session = onnxc.InferenceSession(difference, threads=2)
    assert session.threads == 2
    y, z = session.run(None, {"a": A, "b": B})
    np.testing.assert_array_equal(y, A - B)
    np.testing.assert_array_equal(z, -A)
    z, y = session.run(["z", "y"], {"b": B, "a": A})
    np.testing.assert_array_equal(y, A - B)
    np.testing.assert_array_equal(z, -A)


def test_tells_the_sizes_of_symbols(difference: Path) -> None:
    session = onnxc.InferenceSession(difference)
    unknown = "no sizes are known, since nothing has run yet or the last inputs were refused: run first"
    with pytest.raises(onnxc.RunError, match=unknown):
        session.symbol_values()
    session.run(None, {"a": A, "b": B})
    assert session.symbol_values() == {"N": 2}
    with pytest.raises(onnxc.RunError, match="must be"):
        session.run(None, {"a": A[:, :1], "b": B})
    with pytest.raises(onnxc.RunError, match=unknown):
        session.symbol_values()


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("ONNXC_THREADS", "x", "a number of threads from 1 to 1024 is expected"),
        ("ONNXC_THREADS", "0", "a number of threads from 1 to 1024 is expected"),
        ("ONNXC_SEED", "1.5", "an integer is expected"),
    ],
)
def test_a_variable_with_an_impossible_value(
    difference: Path, variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(onnxc.ArgumentError, match=f"the environment variable {variable} is '{value}'; {expected}"):
        onnxc.InferenceSession(difference)


def test_arguments_are_told_in_python_s_words(difference: Path) -> None:
    """No name of the C interface."""
    with pytest.raises(onnxc.ArgumentError, match="the number of threads is 5000, and it ranges from 0 "):
        onnxc.InferenceSession(difference, threads=5000)
    with pytest.raises(
        onnxc.ArgumentError, match="hip_graph: a graph is asked for, and the model is to run on the CPU"
    ):
        onnxc.InferenceSession(difference, hip_graph=True)
    with pytest.raises(onnxc.RunError, match="has no code for a GPU; compile it with --target gpu"):
        onnxc.InferenceSession(difference, device="hip")


@pytest.mark.parametrize(("rest", "size"), [(0, 12), (3, 15)])
def test_the_sizes_of_dims_that_must_be_multiples(rest: int, size: int, tmp_path: Path) -> None:
    """Rows of 4, from the first to the last one whole: the model counts D//4 and asks that D is 4*n or 4*n + 3."""
    shape = helper.make_node("Constant", [], ["shape"], value_ints=[-1, 4])
    back = helper.make_node("Constant", [], ["back"], value_ints=[-1])
    pads = helper.make_node("Constant", [], ["pads"], value_ints=[0, (4 - rest) % 4])
    nodes = [
        shape,
        back,
        pads,
        helper.make_node("Pad", ["x", "pads"], ["padded"]),
        helper.make_node("Reshape", ["padded", "shape"], ["rows"]),
        helper.make_node("Reshape", ["rows", "back"], ["y"]),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [dim]) for name, dim in (("x", "D"), ("y", None))]
    model = save_model(tmp_path / "model.onnx", nodes, values[:1], values[1])
    session = onnxc.compile(model)
    session.run(None, {"x": np.zeros(size, np.float32)})
    assert session.symbol_values()["D"] == size


def test_takes_arrays_of_any_layout(difference: Path) -> None:
    session = onnxc.InferenceSession(difference)
    reversed_rows = A[::-1]
    big_endian = B.astype(">f4")
    fortran = np.asfortranarray(A)
    np.testing.assert_array_equal(session.run(["y"], {"a": reversed_rows, "b": big_endian})[0], A[::-1] - B)
    np.testing.assert_array_equal(session.run(["y"], {"a": fortran, "b": B})[0], A - B)
    assert session.run(["y"], {"a": A[:0], "b": B[:0]})[0].shape == (0, 3)


@pytest.mark.parametrize("dtype", REAL_TYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_type(dtype: type, tmp_path: Path) -> None:
    number = NUMBERS[np.dtype(dtype)]
    x, y = (helper.make_tensor_value_info(name, number, shape) for name, shape in (("x", [2, 3]), ("y", [3, 2])))
    model = save_model(tmp_path / "model.onnx", [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])], [x], y)
    values: tensor_files.Array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    [result] = onnxc.compile(model).run(None, {"x": values})
    assert result.dtype == values.dtype
    np.testing.assert_array_equal(result, values.T)


def test_refuses_wrong_values(difference: Path) -> None:
    session = onnxc.InferenceSession(difference)
    with pytest.raises(onnxc.OnnxcError, match=r"missing: \['b'\], unknown: \['c'\]"):
        session.run(None, {"a": A, "c": B})
    with pytest.raises(onnxc.OnnxcError, match=r"unknown: \['w'\]"):
        session.run(["w"], {"a": A, "b": B})
    for wrong, status in ((B.astype(np.float64), 4), (B[0], 5), (B[:, :2], 6), (B[:1], 6)):
        with pytest.raises(onnxc.RunError, match="b") as caught:
            session.run(None, {"a": A, "b": wrong})
        assert caught.value.status == status
    np.testing.assert_array_equal(session.run(["y"], {"a": A, "b": B})[0], A - B)


def test_closed_session(difference: Path) -> None:
    session = onnxc.InferenceSession(difference)
    session.close()
    with pytest.raises(onnxc.OnnxcError, match="closed"):
        session.run(None, {"a": A, "b": B})


def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(onnxc.OnnxcError, match=r"missing\.so"):
        onnxc.InferenceSession(tmp_path / "missing.so")
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(onnxc.CompileError, match=r"text\.onnx") as caught:
        onnxc.compile(tmp_path / "text.onnx")
    assert caught.value.exit_code == 1
    with pytest.raises(onnxc.OnnxcError, match="onnxc_get_api"):
        onnxc.InferenceSession(next(Path("/lib").glob("*-linux-gnu/libm.so.6")))


def test_compile_options(difference: Path) -> None:
    model = difference.with_name("model.onnx")
    session = onnxc.compile(model, dims={"N": 2}, outputs=["z"])
    assert [value.name for value in session.get_outputs()] == ["z"]
    assert session.get_outputs()[0].shape == [2, 3]
    with pytest.raises(onnxc.CompileError) as caught:
        onnxc.compile(model, options=["--no-such-option"])
    assert caught.value.exit_code == 2


def test_replays_a_hip_graph(difference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    with onnxc.compile(difference.with_name("model.onnx"), device="hip", hip_graph=True) as session:
        assert session.captured_graphs == 0
        for a in (A, A + 1, -A):
            np.testing.assert_array_equal(session.run(["y"], {"a": a, "b": B})[0], a - B)
            assert session.captured_graphs == 1
        session.run(None, {"a": A[:1], "b": B[:1]})
        np.testing.assert_array_equal(session.run(["z"], {"a": A, "b": B})[0], -A)
        assert session.captured_graphs == 2
    with pytest.raises(
        onnxc.ArgumentError, match="hip_graph: a graph is asked for, and the model is to run on the CPU"
    ):
        onnxc.InferenceSession(difference, hip_graph=True)


def test_runs_on_a_gpu(difference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    with onnxc.compile(difference.with_name("model.onnx"), device="hip:0") as session:
        y, z = session.run(None, {"a": A, "b": B})
    np.testing.assert_array_equal(y, A - B)
    np.testing.assert_array_equal(z, -A)


def test_devices_that_are_not_there(difference: Path) -> None:
    with pytest.raises(onnxc.OnnxcError, match="device is 'tpu', expected"):
        onnxc.InferenceSession(difference, device="tpu")
    for device in ("gpu", "hip:0", "cuda:1"):
        with pytest.raises(onnxc.RunError, match="has no code for a GPU"):
            onnxc.InferenceSession(difference, device=device)


def test_writes_into_arrays_of_the_caller(difference: Path) -> None:
    with onnxc.InferenceSession(difference) as session:
        y = np.full((2, 3), np.nan, np.float32)
        z, same = session.run(["z", "y"], {"a": A, "b": B}, out={"y": y})
        assert same is y
        np.testing.assert_array_equal(y, A - B)
        np.testing.assert_array_equal(z, -A)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.empty((2, 4), np.float32), "'y'.*dims is 2x4.*the model gives 2x3"),
        (np.empty(6, np.float32), "'y'.*expected rank 2.*found rank 1"),
        (np.empty((2, 3), np.float64), "'y'.*expected the dtype float32, found float64"),
        (np.empty((2, 3), ">f4"), "cannot be given"),
        (np.empty((3, 2), np.float32).T, "'y' must be writable, row-major"),
        (np.frombuffer(bytes(24), np.float32).reshape(2, 3), "'y' must be writable"),
        ([[1.0, 2.0, 3.0]] * 2, "'y' must be a numpy array, found list"),
    ],
)
def test_refuses_arrays_that_an_output_does_not_fit(difference: Path, array: Any, message: str) -> None:
    with onnxc.InferenceSession(difference) as session, pytest.raises(onnxc.OnnxcError, match=message):
        session.run(None, {"a": A, "b": B}, out={"y": array})


def test_refuses_an_output_that_is_not_there_or_is_an_input(difference: Path) -> None:
    with onnxc.InferenceSession(difference) as session:
        with pytest.raises(onnxc.OnnxcError, match=r"unknown: .*'q'"):
            session.run(None, {"a": A, "b": B}, out={"q": np.empty((2, 3), np.float32)})
        mine = A.copy()
        with pytest.raises(onnxc.OnnxcError, match="overlap"):
            session.run(None, {"a": mine, "b": B}, out={"y": mine})
