"""The weights' section of a model.so: how it is loaded, what other tools make of it, and the memory of a compile."""

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnxc_commands import BINARIES, compile_model, run_arrays

pytestmark = pytest.mark.usefixtures("commands")
MIB = 1 << 20


def save_convolution(path: Path, channels: int) -> Path:
    """A convolution of 3x3x3, whose weights take four times as much after Winograd's transform."""
    weights = np.random.default_rng(0).integers(-2, 3, (channels, channels, 3, 3, 3)).astype(np.float32)
    weights += np.float32(0.125)  # Winograd of four outputs is not taken for integers
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 6)],
        "g",
        [value("x", TensorProto.FLOAT, [1, channels, "d", "h", "w"])],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def lines_of_readelf(option: str, library: Path, word: str) -> list[list[str]]:
    shown = subprocess.run(["readelf", "-W", option, library], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in shown.splitlines() if word in line.split()]


def test_weights_are_a_segment_that_is_only_read(tmp_path: Path) -> None:
    library = compile_model(save_convolution(tmp_path / "model.onnx", 16), tmp_path / "model.so")
    segments = lines_of_readelf("-l", library, "LOAD")
    offset, address, _, size, size_in_memory, *flags, _ = segments[-1][1:]
    assert flags == ["R"]
    assert size == size_in_memory
    assert int(offset, 16) + int(size, 16) == library.stat().st_size, "they end the file"
    assert sorted(segments, key=lambda words: int(words[2], 16)) == segments, "in the order of their addresses"
    [section] = lines_of_readelf("-S", library, ".lrodata")
    assert section[section.index(".lrodata") + 1] == "PROGBITS"
    assert int(section[section.index("PROGBITS") + 1], 16) == int(address, 16)


@pytest.mark.parametrize("strip", ["strip", "llvm-strip-19"])
def test_a_stripped_library_computes_the_same(strip: str, tmp_path: Path) -> None:
    library = compile_model(save_convolution(tmp_path / "model.onnx", 16), tmp_path / "model.so")
    stripped = tmp_path / "stripped.so"
    subprocess.run([strip, library, "-o", stripped], check=True)
    assert stripped.stat().st_size < library.stat().st_size
    x = {"x": np.random.default_rng(1).standard_normal((1, 16, 3, 5, 6)).astype(np.float32)}
    expected, found = (run_arrays(each, x, ["y"], tmp_path / each.stem)["y"] for each in (library, stripped))
    np.testing.assert_array_equal(expected, found)


def test_a_compiler_that_adds_a_note_of_its_own(tmp_path: Path) -> None:
    """Such as one that a distribution has wrapped. The linker puts its build id into the segment of our note."""
    compiler = tmp_path / "clang++-19"
    compiler.write_text('#!/bin/sh\nexec /usr/bin/clang++-19 "$@" -Wl,--build-id=sha1\n')
    compiler.chmod(0o755)
    model = save_convolution(tmp_path / "model.onnx", 16)
    expected = compile_model(model, tmp_path / "model.so")
    library = compile_model(model, tmp_path / "noted.so", "--compiler", str(compiler))
    assert lines_of_readelf("-n", library, "Build")
    x = {"x": np.random.default_rng(1).standard_normal((1, 16, 3, 5, 6)).astype(np.float32)}
    outputs = [run_arrays(each, x, ["y"], tmp_path / each.stem)["y"] for each in (expected, library)]
    np.testing.assert_array_equal(outputs[0], outputs[1])


def test_a_compile_holds_the_weights_once(tmp_path: Path) -> None:
    """At most the size of the model.so and one and a half of the model, beside what the smallest model takes."""

    def peak_of(model: Path, library: Path) -> int:
        process = subprocess.Popen([str(BINARIES / "onnxc"), str(model), "-o", str(library), "-q"])
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        return usage.ru_maxrss * 1024

    small, large = save_convolution(tmp_path / "small.onnx", 16), save_convolution(tmp_path / "large.onnx", 512)
    of_compiler, library = peak_of(small, tmp_path / "small.so"), tmp_path / "large.so"
    peak = peak_of(large, library)
    assert library.stat().st_size > 3 * large.stat().st_size > 75 * MIB, "transformed weights"
    assert peak <= of_compiler + library.stat().st_size + 1.5 * large.stat().st_size
