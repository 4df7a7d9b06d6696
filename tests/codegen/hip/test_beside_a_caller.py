"""A model beside another user of the GPU, such as PyTorch: streams and devices, on the simulator."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from models.tensor_files import Array
from onnxc import abi, library
from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.case import random
from tools.commands import REPOSITORY
from tools.simulated_gpu.hip import HIP_OPTIONS, Hip, compile_kernels

MODEL = """<ir_version: 9, opset_import: ["" : 18]>
model (float[N, 4, 6, 6] x) => (y) {
  a = Conv <pads = [1, 1, 1, 1]> (x, w)
  b = Relu (a)
  y = Conv (b, v)
}"""
# The caller's own work in its stream just before.
PRODUCER = """
extern "C" __global__ void produce(const float* from, float* x, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) x[i] = 2 * from[i];
}
"""
BLOCKING, NON_BLOCKING = 0, 1
GLOBAL, THREAD_LOCAL = 0, 1


class Caller:
    """A program that uses the GPU and runs a model on it through the C ABI."""

    def __init__(self, folder: Path) -> None:
        self.hip, self.folder = Hip(), folder
        self.w, self.v = random(5, 4, 3, 3), random(3, 5, 1, 1)
        model = parse_model(MODEL)
        weights = {"w": self.w, "v": self.v}
        model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
        onnx.save(model, folder / "model.onnx")
        onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", "--target", "hip")
        self.library = library.load(folder / "model.so")
        self.api = library.table_of(self.library)
        self.code = compile_kernels(PRODUCER, HIP_OPTIONS, folder)

    def stream(self, flags: int = NON_BLOCKING) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.hip.hipStreamCreateWithFlags(ctypes.byref(handle), flags)
        return handle

    def create(self, flags: int = 0, device: int = 0) -> ctypes.c_void_p:
        instance = ctypes.c_void_p()
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        options = abi.Options(struct_size=ctypes.sizeof(abi.Options), flags=flags, device=1, device_index=device)
        status = self.api.create(ctypes.byref(options), ctypes.byref(instance), error, abi.ERROR_SIZE)
        assert status == abi.OK, error.value
        return instance

    def value(self, data: Any, shape: tuple[int, ...], is_on_device: bool) -> abi.Value:
        dims = (ctypes.c_int64 * len(shape))(*shape)
        size = 4 * int(np.prod(shape))
        return abi.Value(dtype=1, device=int(is_on_device), rank=len(shape), dims=dims, data=data, bytes=size)

    def run(self, instance: Any, x: abi.Value, y: abi.Value, **options: Any) -> None:
        run_options = abi.RunOptions(struct_size=ctypes.sizeof(abi.RunOptions), **options)
        status = self.api.run(instance, ctypes.byref(x), 1, ctypes.byref(y), 1, ctypes.byref(run_options))
        assert status == abi.OK, self.api.last_error(instance)

    def expected(self, x: Array) -> Array:
        padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        hidden = np.maximum(np.einsum("nchwij,ocij->nohw", windows, self.w), 0)
        return np.einsum("nchw,oc->nohw", hidden, self.v[..., 0, 0]).astype(np.float32)


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    return Caller(tmp_path_factory.mktemp("caller"))


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))


@pytest.fixture(params=["late", "early"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GFX942SIM_STREAMS", request.param)
    return str(request.param)


class Values:
    """An input that the caller computes on the GPU in some stream, and room for the output."""

    def __init__(self, caller: Caller, seed: int = 0) -> None:
        self.caller, self.hip = caller, caller.hip
        x = random(2, 4, 6, 6, seed=seed)
        self.count, self.shape = x.size, x.shape
        self.expected = caller.expected(2 * x)
        self.source, self.produced = self.hip.upload(x), self.hip.upload(np.full_like(x, np.nan))
        self.result = self.hip.upload(np.full_like(self.expected, np.nan))
        self.module = self.hip.load(caller.code)

    def produce(self, stream: Any = None) -> None:
        arguments = (self.source, self.produced, ctypes.c_int(self.count))
        self.hip.launch(self.module, "produce", 5, 64, *arguments, stream=stream)

    def run(self, instance: Any, **options: Any) -> None:
        x = self.caller.value(self.produced, self.shape, True)
        self.caller.run(instance, x, self.caller.value(self.result, self.expected.shape, True), **options)

    def is_right(self) -> bool:
        return bool(np.allclose(self.hip.download(self.result, self.expected), self.expected, rtol=1e-5, atol=1e-5))


@pytest.fixture
def instance(caller: Caller) -> Iterator[ctypes.c_void_p]:
    handle = caller.create()
    yield handle
    caller.api.destroy(handle)


pytestmark = pytest.mark.usefixtures("commands")


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize("flags", [0, abi.ENQUEUE])
def test_what_the_null_stream_has_just_produced_is_waited_for(caller: Caller, instance: Any, flags: int) -> None:
    values = Values(caller)
    values.produce()
    values.run(instance, flags=flags)
    # The download is of the null stream too, and waits for the run.
    assert values.is_right()


@pytest.mark.usefixtures("order")
def test_large_tensors_of_the_host_go_through_more_pieces_than_there_are(tmp_path: Path) -> None:
    """Pinned pieces are used again, by the input and then by the output, and working memory by runs of other sizes."""
    model = '<ir_version: 9, opset_import: ["" : 18]>m (float[N] x, float[1] w) => (y) { y = Mul (x, w) }'
    onnx.save(parse_model(model), tmp_path / "model.onnx")
    file = onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", "--target", "hip")
    with InferenceSession(file, device="hip") as session:
        for count in (5 << 20, 100, (1 << 20) + 1):
            x = random(count, seed=count)
            (y,) = session.run(None, {"x": x, "w": np.array([2], np.float32)})
            np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.usefixtures("order")
def test_a_named_stream_is_run_in_and_the_weights_are_there(caller: Caller, instance: Any) -> None:
    values, stream = Values(caller), caller.stream()
    values.produce(stream)
    values.run(instance, stream=stream)
    caller.hip.hipStreamSynchronize(stream)
    assert values.is_right()


def test_an_own_stream_waits_for_nobody(caller: Caller, instance: Any) -> None:
    values = Values(caller)
    values.produce()
    values.run(instance, flags=abi.OWN_STREAM)
    assert not values.is_right()
    # By now it has been produced.
    values.run(instance, flags=abi.OWN_STREAM)
    assert values.is_right()


def test_a_run_returns_when_it_is_enqueued_or_done(caller: Caller, instance: Any, tmp_path: Path) -> None:
    values, log = Values(caller), tmp_path / "log"
    values.produce()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GFX942SIM_LOG", str(log))
        values.run(instance)  # makes room, for which it waits
        before = log.read_text()
        values.run(instance, flags=abi.ENQUEUE)
        assert log.read_text() == before
        values.run(instance)
        # The caller's kernel, and those of three runs.
        assert log.read_text().count("\n") == 3 * (before.count("\n") - 1) + 1


@pytest.mark.usefixtures("order")
def test_runs_of_one_instance_in_several_streams_keep_apart(caller: Caller, instance: Any) -> None:
    """They use the same working memory."""
    all_values = [Values(caller, seed) for seed in range(3)]
    streams = [caller.stream() for _ in all_values]
    for values in all_values:
        values.produce()
    caller.hip.hipDeviceSynchronize()
    for _ in range(2):
        for values, stream in zip(all_values, streams, strict=True):
            values.run(instance, stream=stream)
    caller.hip.hipDeviceSynchronize()
    assert [values.is_right() for values in all_values] == [True] * 3


@pytest.mark.parametrize("flags", [0, abi.HIP_GRAPH])
def test_a_caller_captures_a_run_in_a_graph_of_its_own(caller: Caller, flags: int) -> None:
    hip, handle = caller.hip, caller.create(flags)
    values, stream = Values(caller), caller.stream()
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    values.run(handle, stream=stream)  # makes room
    hip.hipStreamSynchronize(stream)
    hip.hipStreamBeginCapture(stream, 0)
    values.produce(stream)
    values.run(handle, stream=stream)
    hip.hipStreamEndCapture(stream, ctypes.byref(graph))
    hip.hipGraphInstantiate(ctypes.byref(executable), graph, None, None, ctypes.c_size_t(0))
    assert not values.is_right()
    hip.hipGraphLaunch(executable, stream)
    hip.hipStreamSynchronize(stream)
    assert values.is_right()
    values.run(handle)
    caller.api.destroy(handle)


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL])
def test_weights_go_up_beside_a_capture_of_the_caller(caller: Caller, mode: int) -> None:
    """The null stream would spoil it if the stream that captures waits for it, and an allocation one for all threads,
    as PyTorch's are."""
    hip, stream, graph = caller.hip, caller.stream(BLOCKING), ctypes.c_void_p()
    made: list[Any] = []
    hip.hipStreamBeginCapture(stream, mode)
    thread = threading.Thread(target=lambda: made.append(caller.create()))
    thread.start()
    thread.join()
    hip.hipStreamEndCapture(stream, ctypes.byref(graph))
    values = Values(caller)
    values.produce()
    values.run(made[0])
    assert values.is_right()
    caller.api.destroy(made[0])


def current_device(hip: Hip) -> int:
    device = ctypes.c_int(-1)
    hip.hipGetDevice(ctypes.byref(device))
    return device.value


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize("modes", ["spx", "cpx", "cpx,nps4"])
def test_two_gpus_at_once(caller: Caller, monkeypatch: pytest.MonkeyPatch, modes: str) -> None:
    """Whole ones, or two dies of one."""
    monkeypatch.setenv("GFX942SIM_DEVICES", "2")
    monkeypatch.setenv("GFX942SIM_PARTITION", modes)
    hip = caller.hip
    instances = [caller.create(device=device) for device in range(2)]
    all_values = []
    for device in range(2):
        hip.hipSetDevice(device)
        all_values.append(Values(caller, device))
        all_values[-1].produce()
    # The thread's device is another than that of the run.
    hip.hipSetDevice(1)
    all_values[0].run(instances[0])
    assert current_device(hip) == 1
    hip.hipSetDevice(0)
    all_values[1].run(instances[1])
    assert current_device(hip) == 0
    assert [values.is_right() for values in all_values] == [True] * 2
    hip.hipSetDevice(1)
    for handle in instances:
        caller.api.destroy(handle)
    assert current_device(hip) == 1
    hip.hipSetDevice(0)


def test_python_sessions_on_two_gpus(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GFX942SIM_DEVICES", "2")
    x = random(3, 4, 6, 6)
    for device in ("hip:0", "hip:1"):
        with InferenceSession(caller.folder / "model.so", device=device) as session:
            np.testing.assert_allclose(session.run(None, {"x": x})[0], caller.expected(x), rtol=1e-5, atol=1e-5)
    with pytest.raises(RunError, match="there is no GPU 2: HIP sees 2"):
        InferenceSession(caller.folder / "model.so", device="hip:2")


LOADED_LIBRARY = """
import ctypes, os, sys
import numpy as np
from onnxc.session import InferenceSession
folder, loaded = sys.argv[1:]
if loaded:
    ctypes.CDLL(loaded)
InferenceSession(folder + "/model.so", device="hip").run(None, {"x": np.zeros((1, 4, 6, 6), np.float32)})
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "libamdhip64" in line}))
"""


@pytest.mark.parametrize("name", ["", "libamdhip64.so", "libamdhip64.so.6", "libamdhip64-1a2b3c.so.6"])
def test_a_library_that_is_loaded_is_the_one(caller: Caller, tmp_path: Path, name: str) -> None:
    """As the one that PyTorch brings; the machine has a newer one."""
    machine, package = tmp_path / "machine", tmp_path / "package"
    for folder in (machine, package):
        folder.mkdir()
    newest = shutil.copy(onnxc_commands.SIMULATOR, machine / "libamdhip64.so.7")
    loaded = shutil.copy(onnxc_commands.SIMULATOR, package / name) if name else ""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(machine), "PYTHONPATH": str(REPOSITORY / "python")}
    environment.pop("ONNXC_HIP_LIBRARY")
    command = [sys.executable, "-c", LOADED_LIBRARY, str(caller.folder), str(loaded)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == [str(loaded or newest)]
