"""One model.so for several CPUs: each CPU has its code and gives onnxruntime's results; weights are there once."""

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests import onnxc_commands
from tests.onnxruntime_sessions import open_session

pytestmark = pytest.mark.usefixtures("commands")

FLAGS = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
HAS_AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= FLAGS
HAS_ZEN4 = HAS_AVX512 and {"avx512_vnni", "avx512_bf16"} <= FLAGS


def weights(*dims: int) -> Array:
    """Different in each element, and of a size that keeps sums of a layer near 1."""
    count = int(np.prod(dims))
    values = np.random.default_rng(count).standard_normal(dims) / np.sqrt(count / dims[0])
    return values.astype(np.float32)


def save(nodes: list[onnx.NodeProto], constants: dict[str, Array], channels: int, folder: Path) -> Path:
    graph = helper.make_graph(
        nodes,
        "cpus",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, "D", "H", "W"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def small_network(folder: Path) -> Path:
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"], pads=[1] * 6),
        helper.make_node("Sigmoid", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["c"], strides=[2, 2, 2], pads=[1] * 6),
        helper.make_node("GlobalAveragePool", ["c"], ["y"]),
    ]
    return save(nodes, {"v": weights(20, 3, 3, 3, 3), "w": weights(37, 20, 3, 3, 3)}, 3, folder)


def wide_network(folder: Path) -> Path:
    """Weights of 11 MB, and little code."""
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], pads=[1] * 6), helper.make_node("Conv", ["a", "w"], ["y"])]
    return save(nodes, {"v": weights(320, 256, 3, 3, 3), "w": weights(320, 320, 1, 1, 1)}, 256, folder)


def information(shared_object: Path) -> dict[str, object]:
    done = onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), "--info", "--json"])
    content: dict[str, object] = json.loads(done.stdout)
    return content


def run(shared_object: Path, x: Array, folder: Path) -> Array:
    return onnxc_commands.run_arrays(shared_object, {"x": x}, ["y"], folder)["y"]


def refused(model: Path, *options: str) -> onnxc_commands.CommandFailure:
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(model, model.with_name("model.so"), *options)
    return failure.value


def test_each_cpu_gives_the_same_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_network(tmp_path)
    # In any order.
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", "--march", "x86-64-v4,x86-64-v3")
    found = information(shared_object)
    assert found["target"] == "cpu x86-64-v3, cpu x86-64-v4"
    assert found["march_here"] == ("x86-64-v4" if HAS_AVX512 else "x86-64-v3")
    for march in ["x86-64-v3", "x86-64-v4"] if HAS_AVX512 else ["x86-64-v3"]:
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_MARCH", march)
        assert information(shared_object)["march_here"] == march
        alone = onnxc_commands.compile_model(model, tmp_path / "alone.so", "--march", march)
        for dims in ((1, 3, 9, 10, 33), (2, 3, 17, 5, 8)):
            x = np.random.default_rng(7).standard_normal(dims).astype(np.float32)
            [expected] = open_session(model).run(None, {"x": x})
            y = run(shared_object, x, tmp_path / "run")
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=2e-6)
            # The code for a CPU is what a file only for it has.
            np.testing.assert_array_equal(y, run(alone, x, tmp_path / "alone"))


def functions_with_wide_registers(shared_object: Path) -> set[str]:
    shown = subprocess.run(
        ["llvm-objdump-19", "-d", "--demangle", "--no-show-raw-insn", str(shared_object)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found, function = set(), ""
    for line in shown.splitlines():
        if line.endswith(">:"):
            function = line.split("<", 1)[1]
        elif "%zmm" in line:
            found.add(function)
    return found


# An inline function of both would else be that of either, and an old CPU meet an instruction that it lacks.
def test_no_cpu_uses_the_code_of_another(tmp_path: Path) -> None:
    shared_object = onnxc_commands.compile_model(
        small_network(tmp_path), tmp_path / "model.so", "--march", "x86-64-v3,x86-64-v4"
    )
    wide = functions_with_wide_registers(shared_object)
    for kernel in ("StemWinogradConvolution", "DirectConvolution", "StemWinogradRows"):
        assert any(f"onnxc_x86_64_v4::kernels::avx512::{kernel}" in name for name in wide)
    assert {name for name in wide if "onnxc_x86_64_v4::" not in name} == set()


def test_weights_that_cpus_pack_alike_are_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = wide_network(tmp_path)
    one = onnxc_commands.compile_model(model, tmp_path / "one.so", "--march", "x86-64-v4")
    two = onnxc_commands.compile_model(model, tmp_path / "two.so", "--march", "x86-64-v4,znver4")
    assert one.stat().st_size < two.stat().st_size <= 1.15 * one.stat().st_size
    assert information(one)["weights_bytes"] == information(two)["weights_bytes"]
    if not HAS_AVX512:
        return
    x = np.random.default_rng(3).standard_normal((1, 256, 4, 5, 6)).astype(np.float32)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_MARCH", "x86-64-v4")
    np.testing.assert_array_equal(run(two, x, tmp_path / "two"), run(one, x, tmp_path / "one"))


def quantized_network(folder: Path) -> Path:
    """A convolution between QuantizeLinear and DequantizeLinear, whose sums are integers."""
    integers = np.random.default_rng(5).integers(-127, 128, (16, 32, 3, 3, 3)).astype(np.int8)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["i", "t", "z"], ["w"]),
        helper.make_node("Conv", ["d", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    constants: dict[str, Array] = {
        "s": np.array(0.5, np.float32),
        "t": np.array(0.25, np.float32),
        "z": np.array(0, np.int8),
        "i": integers,
    }
    return save(nodes, constants, 32, folder)


def test_each_cpu_has_its_best_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = quantized_network(tmp_path)
    marches = ["x86-64-v3", "znver4"]
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", "--march", ",".join(marches))
    x = np.random.default_rng(1).integers(-60, 60, (1, 32, 6, 7, 5)).astype(np.float32) / 2
    [expected] = open_session(model).run(None, {"x": x})
    for march in marches if HAS_ZEN4 else marches[:1]:
        monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_MARCH", march)
        alone = onnxc_commands.compile_model(model, tmp_path / "alone.so", "--march", march)
        assert information(shared_object)["steps"] == information(alone)["steps"]
        # Sums of integers are exact.
        np.testing.assert_array_equal(run(shared_object, x, tmp_path / march), expected)


def test_a_cpu_without_code_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_network(tmp_path)
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", "--march", "x86-64-v3,sapphirerapids")
    x = np.zeros((1, 3, 4, 4, 4), np.float32)
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_MARCH", "haswell")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        run(shared_object, x, tmp_path / "run")
    assert (
        "ONNXC_MARCH is 'haswell', and this model was compiled for 'cpu x86-64-v3, cpu sapphirerapids'"
        in failure.value.message
    )
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_MARCH", "sapphirerapids")
    if "avx512_fp16" in FLAGS:
        assert np.isfinite(run(shared_object, x, tmp_path / "run")).all()
        return
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        run(shared_object, x, tmp_path / "run")
    assert "this CPU lacks" in failure.value.message
    assert "avx512fp16" in failure.value.message
    assert "ONNXC_MARCH asks for sapphirerapids" in failure.value.message


def test_a_model_asks_for_matrix_tiles_where_it_uses_them(tmp_path: Path) -> None:
    model = quantized_network(tmp_path)
    x = np.random.default_rng(1).integers(-60, 60, (1, 32, 6, 7, 5)).astype(np.float32) / 2
    tiles = onnxc_commands.compile_model(model, tmp_path / "tiles.so", "--march", "sapphirerapids")
    if {"amx_tile", "amx_int8", "avx512_fp16"} <= FLAGS:
        np.testing.assert_array_equal(run(tiles, x, tmp_path / "run"), open_session(model).run(None, {"x": x})[0])
        return
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        run(tiles, x, tmp_path / "run")
    assert "amx-tile, amx-bf16, amx-int8 (it is '" in failure.value.message
    assert "AMX needs the system's permission too" in failure.value.message
    floats = onnxc_commands.compile_model(small_network(tmp_path), tmp_path / "floats.so", "--march", "sapphirerapids")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        run(floats, np.zeros((1, 3, 4, 4, 4), np.float32), tmp_path / "run")
    assert "AMX" not in failure.value.message
    assert "amx" not in failure.value.message


def test_verify_compares_the_cpu_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reference is a file for one CPU, which does not ask for another."""
    model = small_network(tmp_path)
    shared_object = onnxc_commands.compile_model(model, tmp_path / "model.so", "--march", "x86-64-v3,sapphirerapids")
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "ONNXC_MARCH", "x86-64-v3")
    options = ["--random", "0", "--dim", "N=1", "--dim", "D=4", "--dim", "H=5", "--dim", "W=6", "--verify", str(model)]
    onnxc_commands.execute([str(onnxc_commands.BINARIES / "onnxc-run"), str(shared_object), *options])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--march", "x86-64-v3,x86-64-v3"), "--march names 'x86-64-v3' twice"),
        (("--march", "alderlake,x86-64-v4"), "add a CPU whose features both have, such as x86-64-v3"),
        (("--march", "x86-64-v3,x86-64-v4", "--target", "hip"), "--target hip has no code for any"),
        (("--march", "x86-64-v3,x86-64-v4", "--emit", "source"), "give one with --emit source or ir"),
    ],
)
def test_cpus_that_cannot_be(options: tuple[str, ...], text: str, tmp_path: Path) -> None:
    failure = refused(small_network(tmp_path), *options)
    assert failure.code == 2
    assert text in failure.message
