"""Tensors of strings in the Python package and at the C ABI: what is taken, what is given, and what is refused."""

import ctypes
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxc
from onnxc import abi
from tests.python.test_session import save_model

pytestmark = pytest.mark.usefixtures("commands")

CODE = 'x"; system("id"); /* \x1b[31m'


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = a + "-" + b, whether a is b, and the constant, for a and b of [N]."""
    strings = {name: helper.make_tensor_value_info(name, TensorProto.STRING, ["N"]) for name in "aby"}
    nodes = [
        helper.make_node("Constant", [], ["dash"], value=numpy_helper.from_array(np.array("-", object))),
        helper.make_node("Constant", [], ["code"], value_strings=[CODE, "-"]),
        helper.make_node("StringConcat", ["a", "dash"], ["t"]),
        helper.make_node("StringConcat", ["t", "b"], ["y"]),
        helper.make_node("Equal", ["a", "b"], ["e"]),
        helper.make_node("Identity", ["code"], ["c"]),
    ]
    path = tmp_path_factory.mktemp("strings") / "model.onnx"
    graph = helper.make_graph(
        nodes,
        "g",
        [strings["a"], strings["b"]],
        [
            strings["y"],
            helper.make_tensor_value_info("e", TensorProto.BOOL, ["N"]),
            helper.make_tensor_value_info("c", TensorProto.STRING, [2]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


@pytest.fixture(scope="module")
def session(model: Path) -> onnxc.InferenceSession:
    return onnxc.compile(model, model.with_suffix(".so"))


def test_it_says_that_they_are_strings(session: onnxc.InferenceSession) -> None:
    assert [info.type for info in session.get_inputs()] == ["tensor(string)"] * 2
    assert [info.type for info in session.get_outputs()] == ["tensor(string)", "tensor(bool)", "tensor(string)"]


@pytest.mark.parametrize(
    "a",
    [["é", "", "a\0b"], np.array(["é", "", "a\0b"], object), np.array(["é".encode(), b"", b"a\0b"], object)],
    ids=["list", "objects", "bytes"],
)
def test_str_and_bytes_are_taken(session: onnxc.InferenceSession, a: Any) -> None:
    y, equal, constant = session.run(None, {"a": a, "b": np.array(["é", "b", "a"])})
    assert y.dtype == object
    assert y.tolist() == ["é-é", "-b", "a\0b-a"]
    assert equal.tolist() == [True, False, False]
    assert constant.tolist() == [CODE, "-"]


def test_arrays_of_fixed_width_and_other_layouts_are_taken(session: onnxc.InferenceSession) -> None:
    wide = np.array([["a", "x"], ["bb", "x"]]).astype(">U3")
    y = session.run(["y"], {"a": wide[:, 0], "b": np.array([b"1", b"22"])})[0]
    assert y.tolist() == ["a-1", "bb-22"]
    assert session.run(["y"], {"a": np.zeros(0, object), "b": np.zeros(0, "U1")})[0].shape == (0,)


def test_bytes_that_are_no_text_come_back(session: onnxc.InferenceSession) -> None:
    y = session.run(["y"], {"a": np.array([b"\xff\x00\xfe"], object), "b": np.array([""])})[0]
    assert y[0].encode("utf-8", "surrogateescape") == b"\xff\x00\xfe-"


def test_outputs_stay_as_they_were_after_further_runs(session: onnxc.InferenceSession) -> None:
    texts = [f"{i} {'long' * i}" for i in range(200)]
    results = [session.run(["y"], {"a": texts[i:], "b": texts[i:]})[0] for i in (0, 100, 0, 150)]
    for i, result in zip((0, 100, 0, 150), results, strict=True):
        assert result.tolist() == [f"{each}-{each}" for each in texts[i:]]


def test_many_runs_of_one_session_at_once(session: onnxc.InferenceSession) -> None:
    wrong: list[str] = []

    def run(number: int) -> None:
        for i in range(20):
            text = f"{number} {i}" * 50
            y = session.run(["y"], {"a": [text] * 9, "b": [text] * 9})[0]
            if y.tolist() != [f"{text}-{text}"] * 9:
                wrong.append(text)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_no_string_is_refused(session: onnxc.InferenceSession) -> None:
    with pytest.raises(onnxc.OnnxcError, match="an array of str or bytes, found an element of float"):
        session.run(None, {"a": np.array(["a", 1.5], object), "b": ["x", "y"]})
    with pytest.raises(onnxc.RunError, match="input 1 'b': expected the dtype string, found float32"):
        session.run(None, {"a": ["a"], "b": np.zeros(1, np.float32)})


def test_strings_where_numbers_belong_are_refused(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    numbers = onnxc.compile(save_model(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"])], [x], y))
    with pytest.raises(onnxc.RunError, match="input 0 'x': expected the dtype float32, found string"):
        numbers.run(None, {"x": ["1"]})


def test_memory_of_other_libraries_has_no_strings(session: onnxc.InferenceSession) -> None:
    given = {"a": np.array(["a"], object), "b": np.array(["b"], object)}
    with pytest.raises(onnxc.OnnxcError, match="numpy type object cannot be given"):
        session.run_tensors(given)
    with pytest.raises(
        onnxc.OnnxcError, match="'y': strings and elements of less than a byte are given only as new arrays"
    ):
        session.run(None, given, out={"y": np.empty(1, object)})


class String(ctypes.Structure):
    _fields_ = (("text", ctypes.c_void_p), ("size", ctypes.c_int64))


def string(text: bytes | None, size: int) -> String:
    """The text must live as long."""
    return String(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), size)


def call(session: onnxc.InferenceSession, a: Any, b: Any, y_bytes: int) -> Any:
    """A run through the table itself, with memory for y that begins as rubbish; returns y."""
    dims = (ctypes.c_int64 * 1)(len(a))
    y, equal, constant = (String * len(a))(), (ctypes.c_bool * len(a))(), (String * 2)()
    ctypes.memset(y, 0xAB, ctypes.sizeof(y))

    def value(memory: Any, dtype: int = 8, size: int | None = None) -> abi.Value:
        size = ctypes.sizeof(memory) if size is None else size
        return abi.Value(dtype=dtype, rank=1, dims=dims, data=ctypes.addressof(memory), bytes=size)

    outputs = (abi.Value * 3)(value(y, size=y_bytes), value(equal, 9), value(constant))
    outputs[2].dims = None
    session.call_run(
        (abi.Value * 2)(value(a), value(b)), outputs, abi.RunOptions(struct_size=ctypes.sizeof(abi.RunOptions))
    )
    return y


def test_the_c_abi_has_texts_with_their_sizes(session: onnxc.InferenceSession) -> None:
    a, b = (String * 2)(string(b"one", 2), string(None, 0)), (String * 2)(string(b"x", 1), string(b"y", 1))
    y = call(session, a, b, 32)
    assert [ctypes.string_at(each.text, each.size) for each in y] == [b"on-x", b"-y"]


def test_the_c_abi_refuses_what_is_no_string(session: onnxc.InferenceSession) -> None:
    good = (String * 2)(string(b"x", 1), string(b"y", 1))
    for bad, message in (
        (string(None, 5), "input 0 'a': the string at 1 has 5 bytes, and its text is null"),
        (string(b"x", -1), "input 0 'a': the string at 1 has -1 bytes"),
    ):
        with pytest.raises(onnxc.RunError, match=re.escape(message)):
            call(session, (String * 2)(string(b"x", 1), bad), good, 32)
    with pytest.raises(onnxc.RunError, match="output 0 'y': dims 2 need 32 bytes, and data has 16"):
        call(session, good, good, 16)
    assert len(call(session, good, good, 32)) == 2


def test_no_string_of_a_model_becomes_source(model: Path, tmp_path: Path) -> None:
    onnxc.command.execute([model], tmp_path / "model.cpp", ["--emit", "source"])
    source = (tmp_path / "model.cpp").read_text()
    assert "system(" not in source
    assert "string_count" in source


def test_a_gpu_has_no_place_for_them(model: Path) -> None:
    with pytest.raises(onnxc.CompileError, match="input 'a': it is a tensor of strings, which GPUs do not support"):
        onnxc.compile(model, device="hip")


def test_the_node_is_named_that_makes_them(tmp_path: Path) -> None:
    x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]), helper.make_tensor_value_info("y", 8, [1])
    path = save_model(tmp_path / "m.onnx", [helper.make_node("Cast", ["x"], ["y"], "to_text", to=8)], [x], y)
    with pytest.raises(onnxc.CompileError, match=r"node 'to_text' (.*Cast.*): it has a tensor of strings, 'y'"):
        onnxc.compile(path, device="hip")
