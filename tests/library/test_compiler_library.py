"""libonnxc_compiler.so, as a program in C and one in Python hold it."""

import ctypes
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxc import InferenceSession
from tests.onnxc_commands import BINARIES, REPOSITORY

LIBRARY = BINARIES.parent / "lib" / "libonnxc_compiler.so"
HEADER = REPOSITORY / "src" / "library" / "onnxc_compiler.h"
OUTPUT, TIMES = 0, 1


class Request(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("model", ctypes.c_char_p),
        ("model_bytes", ctypes.c_char_p),
        ("model_size", ctypes.c_size_t),
        ("output", ctypes.c_char_p),
        ("options", ctypes.POINTER(ctypes.c_char_p)),
        ("option_count", ctypes.c_size_t),
        ("message", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)),
        ("context", ctypes.c_void_p),
    )


class Heard(list[tuple[int, str]]):
    """The messages of a compile."""

    def of(self, kind: int) -> str:
        return "".join(text for each, text in self if each == kind)


def open_library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(LIBRARY))
    library.onnxc_compile.argtypes = (ctypes.POINTER(Request), ctypes.c_char_p, ctypes.c_size_t)
    library.onnxc_compiler_version.restype = ctypes.c_char_p
    return library


def compile_model(
    model: str, output: Path | None = None, options: Sequence[str] = (), content: bytes | None = None
) -> tuple[int, str, Heard]:
    """Status, error and messages."""
    heard = Heard()
    sink = Request._fields_[7][1](lambda _, kind, text: heard.append((kind, text.decode())))
    words = (ctypes.c_char_p * len(options))(*(word.encode() for word in options))
    request = Request(
        size=ctypes.sizeof(Request),
        model=model.encode(),
        model_bytes=content,
        model_size=len(content or b""),
        output=str(output).encode() if output else None,
        options=words,
        option_count=len(options),
        message=sink,
    )
    error = ctypes.create_string_buffer(4096)
    status = open_library().onnxc_compile(ctypes.byref(request), error, len(error))
    return status, error.value.decode(), heard


def small_model() -> bytes:
    weights = numpy_helper.from_array(np.ones((3, 2, 3, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 2, 5, 6))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("N", 3, 5, 6))],
        [weights],
    )
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]).SerializeToString())


def check_model(shared_object: Path) -> None:
    x = np.arange(2 * 2 * 5 * 6, dtype=np.float32).reshape(2, 2, 5, 6)
    y = InferenceSession(shared_object).run(None, {"x": x})[0]
    padded = np.pad(x.sum(1), ((0, 0), (1, 1), (1, 1)))
    expected = sum(padded[:, i : i + 5, j : j + 6] for i in range(3) for j in range(3))
    np.testing.assert_array_equal(y, np.repeat(np.asarray(expected)[:, None], 3, axis=1))


def test_from_a_file_and_from_bytes(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(small_model())
    assert compile_model(str(tmp_path / "model.onnx"), tmp_path / "file.so")[:2] == (0, "")
    assert compile_model("-memory.onnx", tmp_path / "bytes.so", content=small_model())[:2] == (0, "")
    check_model(tmp_path / "file.so")
    check_model(tmp_path / "bytes.so")
    assert (tmp_path / "file.so").read_bytes() == (tmp_path / "bytes.so").read_bytes()


def test_an_output_may_replace_what_an_earlier_compile_read(tmp_path: Path) -> None:
    """Each compile has inputs of its own: the first one's model, which is one no longer, may become an output."""
    (tmp_path / "first.onnx").write_bytes(small_model())
    assert compile_model(str(tmp_path / "first.onnx"), tmp_path / "first.so")[:2] == (0, "")
    (tmp_path / "first.onnx").rename(tmp_path / "second.so")
    (tmp_path / "second.onnx").write_bytes(small_model())
    assert compile_model(str(tmp_path / "second.onnx"), tmp_path / "second.so")[:2] == (0, "")
    status, error, _ = compile_model(str(tmp_path / "second.onnx"), tmp_path / "second.onnx")
    assert status == 1
    assert "is the same file as MODEL" in error


def test_external_data_lies_beside_the_name_of_the_bytes(tmp_path: Path) -> None:
    model = onnx.load_model_from_string(small_model())
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="data", size_threshold=0)
    content = (tmp_path / "model.onnx").read_bytes()
    assert compile_model(str(tmp_path / "model.onnx"), tmp_path / "model.so", content=content)[:2] == (0, "")
    check_model(tmp_path / "model.so")
    status, error, _ = compile_model("/nowhere/model.onnx", tmp_path / "other.so", content=content)
    assert status == 1
    assert "data" in error
    assert not (tmp_path / "other.so").exists()


def test_a_compile_forgets_what_an_earlier_one_read(tmp_path: Path) -> None:
    """A process goes on: a deleted model's inode becomes another file's, here the file itself becomes an output."""
    model, weights = tmp_path / "model.onnx", tmp_path / "weights"
    onnx.save(onnx.load_model_from_string(small_model()), model, save_as_external_data=True, location="weights",
              size_threshold=0)  # fmt: skip
    assert compile_model(str(model), tmp_path / "first.so")[:2] == (0, "")
    for file in (model, weights):
        status, error, _ = compile_model(str(model), file)
        assert status == 1
        assert "which is an input and would be lost" in error
    for file in (model, weights):
        assert compile_model("memory.onnx", file, content=small_model())[:2] == (0, "")
        check_model(file)


def test_reports_are_messages_and_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, error, heard = compile_model(
        "m", content=small_model(), options=["--dump-shapes", "--report", "--time-passes"]
    )
    assert (status, error) == (0, "")
    assert "N, 3, 5, 6" in heard.of(OUTPUT)
    assert "conv" in heard.of(OUTPUT)
    assert "total" in heard.of(TIMES)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("status", "options", "content", "part"),
    [
        (1, (), b"no model", "error: 'm': it is not an ONNX model"),
        (2, ("--no-such-option",), None, "--no-such-option"),
        (2, ("--dim", "N=x"), None, "NAME=4 or NAME=1..8 is expected"),
        (2, ("--run-pass", "simplify"), None, "--run-pass"),
        (2, ("other.onnx",), None, "only the command takes several MODELs"),
    ],
)
def test_errors_are_values(
    tmp_path: Path, status: int, options: tuple[str, ...], content: bytes | None, part: str
) -> None:
    output = None if "--run-pass" in options else tmp_path / "model.so"
    found, error, _ = compile_model("m", output, options, content if content is not None else small_model())
    assert found == status
    assert part in error
    assert not (tmp_path / "model.so").exists()


def test_a_request_of_another_version_is_refused() -> None:
    error = ctypes.create_string_buffer(20)
    assert open_library().onnxc_compile(ctypes.byref(Request(size=8)), error, len(error)) == 2
    assert error.value == b"error: the request "  # cut to the room that it has
    assert open_library().onnxc_compile(None, None, 0) == 2


def test_several_threads(tmp_path: Path) -> None:
    results: dict[int, int] = {}

    def work(number: int) -> None:
        results[number] = compile_model("m", tmp_path / f"{number}.so", content=small_model())[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), 0)
    check_model(tmp_path / "3.so")


def test_a_program_in_c(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(
        """#include "onnxc_compiler.h"
#include <stdio.h>
int main(int argc, char** argv) {
  const char* const options[] = {"--march", "x86-64-v3"};
  onnxc_compile_request request = {0};
  char error[256];
  request.size = sizeof request;
  request.model = argv[1];
  request.output = argv[2];
  request.options = options;
  request.option_count = 2;
  const onnxc_compile_status status = onnxc_compile(&request, error, sizeof error);
  if (status != ONNXC_COMPILE_OK) puts(error);
  return argc == 3 ? (int)status : 100;
}
"""
    )
    (tmp_path / "model.onnx").write_bytes(small_model())
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{HEADER.parent}"]
    link = [f"-L{LIBRARY.parent}", "-lonnxc_compiler", f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run(["clang-19", *flags, "main.c", *link, "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main", "model.onnx", "model.so"], cwd=tmp_path, check=True)
    check_model(tmp_path / "model.so")


def test_only_the_c_functions_are_exported() -> None:
    shown = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[-1] for line in shown.splitlines()) == ["onnxc_compile", "onnxc_compiler_version"]
    assert open_library().onnxc_compiler_version() == b"0.1.0"
