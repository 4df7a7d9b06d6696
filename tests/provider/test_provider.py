"""onnxc as an execution provider: what it takes of a graph, and that sessions compute what the CPU provider does."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import onnxc
from tests.onnxc_commands import BINARIES
from tests.provider.models import (
    CPU,
    FLOAT,
    PROVIDER,
    Array,
    compare,
    make,
    open_with_onnxc,
    operators_by_provider,
    random_array,
    register,
    residual_network,
)

node = helper.make_node


def split_model() -> onnx.ModelProto:
    """An operator of onnxruntime's that onnxc lacks, between two that it has, and a way around it. The model says which
    shape its result has, as onnxruntime does not."""
    model = make(
        [
            node("MatMul", ["x", "w"], ["a"], name="before"),
            node("Relu", ["a"], ["b"]),
            node("CDist", ["b", "b"], ["c"], name="distances", domain="com.microsoft", metric="euclidean"),
            node("MatMul", ["c", "b"], ["d"]),
            node("Tanh", ["d"], ["y"], name="after"),
        ],
        {"x": (FLOAT, ["N", 5])},
        {"y": (FLOAT, ["N", 7])},
        {"w": random_array(1, 5, 7)},
    )
    model.graph.value_info.append(helper.make_tensor_value_info("c", FLOAT, ["N", "N"]))
    return model


def test_a_library_that_onnxruntime_knows() -> None:
    register()
    [device] = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]
    assert device.ep_vendor == "onnxc"
    assert device.device.type == onnxruntime.OrtHardwareDeviceType.CPU


PROGRAM = """
import sys
import onnxruntime
for _ in range(2):
    onnxruntime.register_execution_provider_library("onnxc", sys.argv[1])
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "OnnxcExecutionProvider"]
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(devices, {})
    session = onnxruntime.InferenceSession(sys.argv[2], options)
    print(session.get_providers()[0], session.run(None, {"x": [[-1.0, 2.0]]})[0].tolist())
    del session, options, devices
    onnxruntime.unregister_execution_provider_library("onnxc")
"""


def test_it_can_be_unregistered_and_registered_again(tmp_path: Path) -> None:
    onnx.save(make([node("Relu", ["x"], ["y"])], {"x": (FLOAT, [1, 2])}, {"y": (FLOAT, [1, 2])}), tmp_path / "m.onnx")
    words = [sys.executable, "-c", PROGRAM, onnxc.ep_path(), str(tmp_path / "m.onnx")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{PROVIDER} [[0.0, 2.0]]"] * 2


def test_an_installation_without_the_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "onnxc").touch()
    monkeypatch.setenv("ONNXC_BIN", str(tmp_path / "bin"))
    with pytest.raises(onnxc.OnnxcError, match=r"lib/libonnxc_ep\.so is missing; install onnxc again"):
        onnxc.ep_path()


def test_a_network_of_any_size_is_one_node(tmp_path: Path) -> None:
    model = residual_network()
    session = open_with_onnxc(model, all_of_it=True, profile=tmp_path / "profile")
    assert session.get_providers() == [PROVIDER, CPU]
    for n, d, h, w in ((1, 4, 16, 16), (2, 5, 17, 12), (1, 4, 16, 16)):
        compare(session, model, {"x": random_array(n, n, 3, d, h, w)})
    assert {provider: len(nodes) for provider, nodes in operators_by_provider(session).items()} == {PROVIDER: 3}


def moved(array: Array, offset: int) -> Array:
    """The same, `offset` bytes further than memory begins: of numpy's arrays onnxruntime gives the address on."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = (offset - memory.ctypes.data) % 64
    view: Array = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert view.ctypes.data % 64 == offset
    return view


def test_tensors_that_are_aligned_to_their_elements_alone() -> None:
    model = make(
        [node("MatMul", ["x", "w"], ["m"]), node("Softmax", ["m"], ["y"])],
        {"x": (FLOAT, ["N", 48])},
        {"y": (FLOAT, ["N", 64])},
        {"w": random_array(1, 48, 64)},
    )
    session = open_with_onnxc(model, all_of_it=True)
    x = random_array(0, 5, 48)
    expected = session.run(None, {"x": x})[0]
    for offset in (0, 4, 60):
        given, taken = moved(x, offset), moved(np.full_like(expected, np.nan), offset)
        binding = session.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, given.shape, given.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.float32, taken.shape, taken.ctypes.data)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(taken, expected)
    odd = moved(x, 2)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, odd.shape, odd.ctypes.data)
    binding.bind_output("y")
    with pytest.raises(Exception, match="data lies 2 bytes past a multiple of 4, and a float32 needs one"):
        session.run_with_iobinding(binding)


def test_a_part_that_is_lacked_is_left_and_the_rest_is_compiled(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = split_model()
    session = open_with_onnxc(model, profile=tmp_path / "profile")
    said = capfd.readouterr().err
    assert said.count("onnxc compiles 4 of 5 nodes, in 2 parts, and leaves the others to onnxruntime") == 1
    assert "'distances': CDist of com.microsoft" in said
    for n in (3, 8):
        compare(session, model, {"x": random_array(n, n, 5)})
    ran = operators_by_provider(session)
    assert ran[CPU] == ["CDist", "CDist"]
    assert len(ran[PROVIDER]) == 4


@pytest.mark.parametrize(
    ("has_shape", "taken"),
    [(True, "3 of 5 nodes, in 2 parts"), (False, "1 of 5 nodes, in 1 part")],
    ids=["shape", "no-rank"],
)
def test_values_that_are_no_tensors_are_left(has_shape: bool, taken: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A node that reads a sequence's element is compiled if the model gives the rank of the element."""
    model = make(
        [
            node("Relu", ["x"], ["a"]),
            node("SplitToSequence", ["a"], ["b"], axis=1, keepdims=1),
            node("SequenceAt", ["b", "i"], ["c"]),
            node("Exp", ["c"], ["d"]),
            node("Neg", ["d"], ["y"]),
        ],
        {"x": (FLOAT, ["N", 3]), "i": (TensorProto.INT64, [])},
        {"y": (FLOAT, ["N", 1])},
    )
    if has_shape:
        model.graph.value_info.append(helper.make_tensor_value_info("c", FLOAT, ["N", 1]))
    session = open_with_onnxc(model)
    said = capfd.readouterr().err
    assert said.count(f"onnxc compiles {taken}") == 1
    assert "values that are not tensors of numbers" in said
    assert ("values whose rank onnxruntime does not know" in said) != has_shape
    compare(session, model, {"x": random_array(1, 4, 3), "i": np.array(2)})


def test_a_graph_of_which_nothing_can_be_compiled_is_the_cpus(capfd: pytest.CaptureFixture[str]) -> None:
    model = make(
        [node("CDist", ["x", "x"], ["y"], domain="com.microsoft", metric="euclidean")],
        {"x": (FLOAT, ["N", 5])},
        {"y": (FLOAT, ["N", "N"])},
    )
    session = open_with_onnxc(model)
    assert capfd.readouterr().err.count("onnxc compiles 0 of 1 node, in 0 parts") == 1
    compare(session, model, {"x": random_array(2, 4, 5)})


def test_a_machine_without_a_compiler_is_told_so_and_the_cpu_provider_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    model = residual_network()
    session = open_with_onnxc(model)
    said = capfd.readouterr().err
    assert said.count("onnxc compiles 0 of") == 1
    assert "apt-get install clang-19 lld-19" in said
    compare(session, model, {"x": random_array(3, 1, 3, 4, 8, 8)})


@pytest.mark.parametrize(
    ("operators", "inputs"),
    [
        pytest.param([node("LeakyRelu", ["x"], ["y"], alpha=0.3)], {}, id="number"),
        pytest.param(
            [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Softmax", ["t"], ["y"], axis=0)], {}, id="integers"
        ),
        pytest.param([node("Gelu", ["x"], ["y"], approximate="tanh")], {}, id="text"),
        pytest.param(
            [
                node("Shape", ["x"], ["s"]),
                node("ConstantOfShape", ["s"], ["c"], value=helper.make_tensor("v", FLOAT, [1], [2.5])),
                node("Mul", ["x", "c"], ["y"]),
            ],
            {},
            id="tensor",
        ),
        pytest.param([node("Mul", ["x", "scalar"], ["y"])], {"scalar": (FLOAT, [])}, id="scalar"),
        pytest.param([node("Clip", ["x", "", "most"], ["y"])], {"most": (FLOAT, [])}, id="input that is not given"),
    ],
)
def test_attributes_and_inputs(operators: list[onnx.NodeProto], inputs: dict[str, tuple[int, list[int]]]) -> None:
    model = make(operators, {"x": (FLOAT, ["N", None]), **inputs}, {"y": (FLOAT, [None, None])})
    session = open_with_onnxc(model, all_of_it=True)
    compare(session, model, {"x": random_array(4, 3, 5), **{name: np.array(0.7, np.float32) for name in inputs}})


def test_lists_of_numbers_and_of_texts() -> None:
    model = make(
        [
            node(
                "RNN",
                ["x", "w", "r"],
                ["y", "last"],
                hidden_size=3,
                direction="bidirectional",
                activations=["LeakyRelu", "Tanh"],
                activation_alpha=[0.2],
            )
        ],
        {"x": (FLOAT, ["T", "N", 4])},
        {"y": (FLOAT, ["T", 2, "N", 3]), "last": (FLOAT, [2, "N", 3])},
        {"w": random_array(1, 2, 3, 4), "r": random_array(2, 2, 3, 3)},
    )
    compare(open_with_onnxc(model, all_of_it=True), model, {"x": random_array(3, 5, 2, 4)})


def test_types() -> None:
    """An input, a constant and an output of each, all of them ends of the type's range."""
    types = (np.float16, np.float64, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.bool_)
    inputs, outputs, constants, operators, arrays = {}, {}, {}, [], {}
    for number, each in enumerate(types):
        ends = [0, 1] if each is np.bool_ else [np.finfo(each).min, 3] if np.issubdtype(each, np.floating) else None
        array: Array = np.array(ends or [np.iinfo(each).min, np.iinfo(each).max], each)
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
        inputs[f"x{number}"], outputs[f"y{number}"] = (element, ["N"]), (element, ["M"])
        arrays[f"x{number}"], constants[f"k{number}"] = array, array[::-1].copy()
        operators.append(node("Concat", [f"x{number}", f"k{number}"], [f"y{number}"], axis=0))
    session = open_with_onnxc(make(operators, inputs, outputs, constants), all_of_it=True)
    for (name, array), found in zip(arrays.items(), session.run(None, arrays), strict=True):
        np.testing.assert_array_equal(found, np.concatenate([array, array[::-1]]), err_msg=name, strict=True)


def branch(name: str, *nodes: onnx.NodeProto, constants: dict[str, Array] | None = None) -> onnx.GraphProto:
    tensors = [onnx.numpy_helper.from_array(value, key) for key, value in (constants or {}).items()]
    output = helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, ["N", 3])
    return helper.make_graph(nodes, name, [], [output], tensors)


def test_control_flow_is_taken_with_what_is_in_it() -> None:
    """The branches read a value and a constant of the graph around them, and one has a constant of its own."""
    model = make(
        [
            node("Relu", ["x"], ["a"]),
            node(
                "If",
                ["c"],
                ["b"],
                then_branch=branch("then", node("MatMul", ["a", "w"], ["t"])),
                else_branch=branch("else", node("Add", ["a", "own"], ["e"]), constants={"own": random_array(5, 3)}),
            ),
            node("Add", ["b", "w0"], ["y"]),
        ],
        {"x": (FLOAT, ["N", 3]), "c": (TensorProto.BOOL, [])},
        {"y": (FLOAT, ["N", 3])},
        {"w": random_array(6, 3, 3), "w0": random_array(7, 3)},
    )
    session = open_with_onnxc(model, all_of_it=True)
    for condition in (True, False):
        compare(session, model, {"x": random_array(8, 4, 3), "c": np.array(condition)})


def test_sizes_that_only_a_run_knows() -> None:
    model = make(
        [node("NonZero", ["x"], ["i"]), node("Cast", ["i"], ["f"], to=FLOAT), node("Neg", ["f"], ["y"])],
        {"x": (FLOAT, ["N", 3])},
        {"y": (FLOAT, [2, None])},
    )
    session = open_with_onnxc(model, all_of_it=True)
    x = np.array([[0, 1, 2], [0, 0, 3]], np.float32)
    compare(session, model, {"x": x})
    compare(session, model, {"x": x * 0})  # an output without elements


def test_a_run_that_the_model_refuses_is_an_error_of_the_session() -> None:
    model = make(
        [node("Concat", ["x", "k"], ["a"], axis=1), node("Relu", ["a"], ["y"])],
        {"x": (FLOAT, ["N", 3])},
        {"y": (FLOAT, [2, 5])},
        {"k": random_array(1, 2, 2)},
    )
    session = open_with_onnxc(model, all_of_it=True)
    with pytest.raises(Exception, match=r"dim 0 of input 'x' must be 2: N = 2 .*; the inputs are 'x' 4x3"):
        session.run(None, {"x": random_array(2, 4, 3)})
    compare(session, model, {"x": random_array(3, 2, 3)})


def kept_models(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.so"))


def noting_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compiled models are kept in cache/, and the command notes each call in a file, which is returned."""
    monkeypatch.setenv("ONNXC_MODEL_CACHE", str(folder / "cache"))
    calls = folder / "calls"
    (folder / "onnxc").write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {BINARIES / "onnxc"} "$@"\n')
    (folder / "onnxc").chmod(0o755)
    monkeypatch.setenv("ONNXC_BIN", str(folder))
    return calls


def test_a_second_session_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = noting_command(tmp_path, monkeypatch)
    model = residual_network()
    for _ in range(2):
        compare(open_with_onnxc(model, all_of_it=True), model, {"x": random_array(1, 1, 3, 4, 8, 8)})
    assert len(calls.read_text().splitlines()) == 1
    assert len(kept_models(tmp_path / "cache")) == 1
    model.graph.initializer[0].raw_data = bytes(len(model.graph.initializer[0].raw_data))
    compare(open_with_onnxc(model, all_of_it=True), model, {"x": random_array(1, 1, 3, 4, 8, 8)})
    assert len(kept_models(tmp_path / "cache")) == 2, "other weights are another model"


def test_a_second_session_of_a_graph_in_parts_calls_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calls = noting_command(tmp_path, monkeypatch)
    model = split_model()
    for _ in range(2):
        compare(open_with_onnxc(model), model, {"x": random_array(1, 4, 5)})
        assert "'distances': CDist of com.microsoft" in capfd.readouterr().err
    assert len(calls.read_text().splitlines()) == 4  # the whole, its faulty parts, and two parts


def test_options_are_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_MODEL_CACHE", str(tmp_path / "cache"))
    model = residual_network()
    session = open_with_onnxc(model, options={"options": "--march x86-64-v3 -O1"}, all_of_it=True)
    compare(session, model, {"x": random_array(1, 1, 3, 4, 8, 8)})
    [file] = kept_models(tmp_path / "cache")
    assert onnxc.InferenceSession(file).information["options"].startswith("--target cpu --march x86-64-v3 -O1")


def test_what_was_opened_longest_ago_leaves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    old = [folder / f"{number:064x}.so" for number in range(2)]
    for number, file in enumerate(old):
        file.write_bytes(bytes(1000))
        os.utime(file, (number, number))
    (folder / "own.so").write_bytes(b"a model that the user keeps here")
    os.utime(folder / "own.so", (0, 0))
    monkeypatch.setenv("ONNXC_MODEL_CACHE", str(folder))
    monkeypatch.setenv("ONNXC_MODEL_CACHE_BYTES", "1")
    compare(open_with_onnxc(residual_network()), residual_network(), {"x": random_array(1, 1, 3, 4, 8, 8)})
    [newest] = set(kept_models(folder)) - {folder / "own.so"}
    assert newest not in old


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_runs_take_the_threads_of_the_session(threads: int) -> None:
    model = residual_network()
    before = threads_of_this_process()
    session = open_with_onnxc(model, threads=threads, all_of_it=True)
    x = {"x": random_array(1, 2, 3, 8, 32, 32)}
    compare(session, model, x)
    session.run(None, x)
    assert threads_of_this_process() == before + threads - 1


def test_several_threads_run_one_session() -> None:
    model = residual_network()
    session = open_with_onnxc(model, all_of_it=True)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for round_number in range(5):
                compare(session, model, {"x": random_array(seed, 1, 3, 4, 8 + seed, 8 + round_number)})
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
