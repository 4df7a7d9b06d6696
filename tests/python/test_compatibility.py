"""Programs written for onnxruntime: each runs with either module, and gives the same."""

import pickle
import threading
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import onnxc

pytestmark = pytest.mark.usefixtures("commands")

A = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = a + a and z = -a, for a of [N, 3] float32."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "ayz"]
    nodes = [helper.make_node("Add", ["a", "a"], ["y"]), helper.make_node("Neg", ["a"], ["z"])]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:])
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def plain(ort: Any, model: Path) -> list[Any]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    session = ort.InferenceSession(str(model), sess_options=options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: A}
    described = [(value.name, value.shape, value.type) for value in session.get_inputs() + session.get_outputs()]
    return [described, session.get_providers(), *session.run(None, feed), *session.run(["z"], feed, ort.RunOptions())]


def from_bytes(ort: Any, model: Path) -> list[Any]:
    session = ort.InferenceSession(model.read_bytes(), None, [("CPUExecutionProvider", {})])
    return list(session.run([output.name for output in session.get_outputs()], {"a": A}))


def bound(ort: Any, model: Path) -> list[Any]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("a", A)
    for name in ("z", "y"):
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    return list(binding.copy_outputs_to_cpu())


def asynchronous(ort: Any, model: Path) -> list[Any]:
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    done = threading.Event()
    heard: list[Any] = []

    def callback(results: Any, user_data: Any, error: str) -> None:
        heard.extend([*results, user_data, error])
        done.set()

    session.run_async(["y"], {"a": A}, callback, "mine")
    assert done.wait(60)
    return heard


@pytest.mark.parametrize("program", [plain, from_bytes, bound, asynchronous])
def test_a_program_gives_the_same(program: Any, model: Path) -> None:
    ours, theirs = program(onnxc, model), program(onnxruntime, model)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        if isinstance(their, np.ndarray):
            np.testing.assert_array_equal(our, their)
        else:
            assert our == their


def test_an_asynchronous_error_is_told(model: Path) -> None:
    heard: list[Any] = []
    done = threading.Event()

    def callback(results: Any, user_data: Any, error: str) -> None:
        heard.extend([results, error])
        done.set()

    onnxc.InferenceSession(model).run_async(None, {}, callback, None)
    assert done.wait(60)
    assert heard[0] is None
    assert "missing: ['a']" in heard[1]


def test_providers_choose_the_device(model: Path) -> None:
    session = onnxc.InferenceSession(model, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_modelmeta().producer_name == "onnxc"
    assert "options" in session.get_modelmeta().custom_metadata_map
    with pytest.raises(onnxc.OnnxcError, match="providers: onnxc has none of"):
        onnxc.InferenceSession(model, providers=["CUDAExecutionProvider"])


def work(session: onnxc.InferenceSession) -> Any:
    return session.run(["z"], {"a": A})[0]


def test_a_session_is_pickled_by_its_path(model: Path, tmp_path: Path) -> None:
    onnxc.compile(model, tmp_path / "model.so").close()
    session = onnxc.InferenceSession(tmp_path / "model.so", threads=1)
    np.testing.assert_array_equal(work(pickle.loads(pickle.dumps(session))), -A)
    with get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(work, (session,)), -A)
    with pytest.raises(TypeError, match="output="):
        pickle.dumps(onnxc.compile(model))
