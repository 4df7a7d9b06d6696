"""The stand-in for libamdhip64 as a HIP host program sees it."""

import ctypes
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.simulated_gpu.hip import DEVICE_TO_HOST, HIP_OPTIONS, Hip, HipError, compile_kernels

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION, NO_BINARY, NOT_FOUND, LAUNCH_FAILURE = 1, 2, 9, 209, 500, 719

SOURCE = """
extern "C" __global__ void scale(const float* x, float* y, float factor, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = factor * x[i];
}
extern "C" __global__ void stray(float* y) { y[__builtin_amdgcn_workitem_id_x()] = 1; }
extern "C" __global__ void wide(const float* x, float* y) {
  typedef float Four __attribute__((ext_vector_type(4)));
  int i = __builtin_amdgcn_workitem_id_x();
  ((Four*)y)[i] = ((const Four*)x)[i];
}
extern "C" __global__ void sizes(int* out) {
  if (__builtin_amdgcn_workitem_id_x() == 0) out[0] = __builtin_amdgcn_workgroup_size_x();
  if (__builtin_amdgcn_workitem_id_x() == 0) out[1] = __builtin_amdgcn_grid_size_x();
}
"""


@pytest.fixture(scope="module")
def hip() -> Hip:
    return Hip()


@pytest.fixture(scope="module")
def module(hip: Hip, tmp_path_factory: pytest.TempPathFactory) -> ctypes.c_void_p:
    return hip.load(compile_kernels(SOURCE, HIP_OPTIONS, tmp_path_factory.mktemp("kernels")))


def test_runs_a_kernel(hip: Hip, module: ctypes.c_void_p) -> None:
    x = np.arange(100, dtype=np.float32)
    source, target = hip.upload(x), hip.allocate(x.nbytes)
    hip.launch(module, "scale", 2, 64, source, target, ctypes.c_float(3), ctypes.c_int(100))
    np.testing.assert_array_equal(hip.download(target, x), 3 * x)
    hip.hipFree(source)
    hip.hipFree(target)


def test_packed_arguments(hip: Hip, module: ctypes.c_void_p) -> None:
    class Arguments(ctypes.Structure):
        _fields_ = (("x", ctypes.c_void_p), ("y", ctypes.c_void_p), ("factor", ctypes.c_float), ("n", ctypes.c_int))

    x = np.arange(64, dtype=np.float32)
    source, target = hip.upload(x), hip.allocate(x.nbytes)
    arguments = Arguments(source, target, 2, 64)
    function = ctypes.c_void_p()
    hip.hipModuleGetFunction(ctypes.byref(function), module, b"scale")

    def launch(size: int) -> None:
        bytes_given = ctypes.c_size_t(size)
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(arguments), 2, ctypes.addressof(bytes_given), 3)
        hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, None, extra)

    launch(ctypes.sizeof(arguments))
    np.testing.assert_array_equal(hip.download(target, x), 2 * x)
    with pytest.raises(HipError) as refused:
        launch(20)
    assert refused.value.code == INVALID_CONFIGURATION


def test_hidden_arguments(hip: Hip, module: ctypes.c_void_p) -> None:
    target = hip.upload(np.zeros(2, np.int32))
    hip.launch(module, "sizes", 3, 128, target)
    assert list(hip.download(target, np.zeros(2, np.int32))) == [128, 384]


def test_fault_is_a_launch_failure_with_a_report(
    hip: Hip, module: ctypes.c_void_p, capfd: pytest.CaptureFixture[str]
) -> None:
    target = hip.allocate(4 * 10)
    hip.launch(module, "stray", 1, 64, target)
    with pytest.raises(HipError) as failed:
        hip.hipDeviceSynchronize()
    assert failed.value.code == LAUNCH_FAILURE
    report = capfd.readouterr().err
    assert "kernel stray: writes 4 bytes" in report
    assert "0 bytes past the end of a device allocation (40 bytes)" in report
    assert "lane 10" in report


def test_refusals(hip: Hip, module: ctypes.c_void_p) -> None:
    target = hip.allocate(64)
    for code, call in (
        (OUT_OF_MEMORY, lambda: hip.allocate(1 << 40)),
        (INVALID_VALUE, lambda: hip.hipFree(ctypes.c_void_p(target.value + 4 if target.value else 0))),
        (INVALID_VALUE, lambda: hip.download(target, np.zeros(17, np.float32))),
        (INVALID_CONFIGURATION, lambda: hip.launch(module, "stray", 1, 1025, target)),
        (NOT_FOUND, lambda: hip.launch(module, "absent", 1, 64, target)),
        (NO_BINARY, lambda: hip.load(Path("/proc/self/exe").read_bytes())),
    ):
        with pytest.raises(HipError) as refused:
            call()
        assert refused.value.code == code
    assert hip.library.hipGetLastError() == NO_BINARY
    assert hip.library.hipGetLastError() == 0


def test_use_after_free_is_refused(hip: Hip) -> None:
    target = hip.allocate(64)
    hip.hipFree(target)
    with pytest.raises(HipError):
        hip.download(target, np.zeros(1, np.float32))


def test_graph(hip: Hip, module: ctypes.c_void_p) -> None:
    x = np.ones(64, np.float32)
    buffer = hip.upload(x)
    stream, graph, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    hip.hipStreamCreate(ctypes.byref(stream))
    hip.hipStreamBeginCapture(stream, 0)
    hip.launch(module, "scale", 1, 64, buffer, buffer, ctypes.c_float(2), ctypes.c_int(64), stream=stream)
    hip.hipStreamEndCapture(stream, ctypes.byref(graph))
    np.testing.assert_array_equal(hip.download(buffer, x), x)
    hip.hipGraphInstantiate(ctypes.byref(executable), graph, None, None, ctypes.c_size_t(0))
    for _ in range(3):
        hip.hipGraphLaunch(executable, stream)
    hip.hipStreamSynchronize(stream)
    np.testing.assert_array_equal(hip.download(buffer, x), 8 * x)
    hip.hipGraphExecDestroy(executable)
    hip.hipGraphDestroy(graph)
    hip.hipStreamDestroy(stream)


GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
NON_BLOCKING = 1
UNSUPPORTED, INVALIDATED, UNMATCHED, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = 900, 901, 903, 906, 907, 908


class Capture:
    """A stream that captures, and the calls that a capture may meet."""

    def __init__(self, hip: Hip, module: ctypes.c_void_p, mode: int, flags: int = NON_BLOCKING) -> None:
        self.hip, self.module = hip, module
        self.values = np.ones(64, np.float32)
        self.buffer = hip.upload(self.values)
        self.stream, self.graph = ctypes.c_void_p(), ctypes.c_void_p()
        hip.hipStreamCreateWithFlags(ctypes.byref(self.stream), flags)
        hip.hipStreamBeginCapture(self.stream, mode)

    def scale(self, stream: ctypes.c_void_p | None) -> None:
        arguments = (self.buffer, self.buffer, ctypes.c_float(2), ctypes.c_int(64))
        self.hip.launch(self.module, "scale", 1, 64, *arguments, stream=stream)

    def end(self) -> None:
        self.hip.hipStreamEndCapture(self.stream, ctypes.byref(self.graph))

    def calls(self) -> dict[str, Callable[[], Any]]:
        host = self.values.ctypes.data_as(ctypes.c_void_p)
        size = ctypes.c_size_t(self.values.nbytes)
        return {
            "hipMalloc": lambda: self.hip.allocate(4),
            "hipFree": lambda: self.hip.hipFree(self.buffer),
            "hipMemcpy": lambda: self.hip.hipMemcpy(host, self.buffer, size, DEVICE_TO_HOST),
            "hipMemset": lambda: self.hip.hipMemset(self.buffer, 0, size),
            "hipDeviceSynchronize": lambda: self.hip.hipDeviceSynchronize(),
            "hipModuleUnload": lambda: self.hip.hipModuleUnload(self.module),
        }


def expect_refusal(code: int, call: Callable[[], Any]) -> None:
    with pytest.raises(HipError) as refused:
        call()
    assert refused.value.code == code


CALLS = ("hipMalloc", "hipFree", "hipMemcpy", "hipMemset", "hipDeviceSynchronize", "hipModuleUnload")
# Those that HIP refuses in the relaxed mode as well, and from any thread.
WAITING = {"hipMemcpy": IMPLICIT, "hipMemset": IMPLICIT, "hipDeviceSynchronize": UNSUPPORTED}


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("call", CALLS)
def test_calls_that_a_capture_does_not_allow_spoil_it(call: str, mode: int, hip: Hip, module: ctypes.c_void_p) -> None:
    if mode == RELAXED and call not in WAITING:
        return
    capture = Capture(hip, module, mode)
    capture.scale(capture.stream)
    expect_refusal(WAITING.get(call, UNSUPPORTED), capture.calls()[call])
    expect_refusal(INVALIDATED, lambda: capture.scale(capture.stream))
    expect_refusal(INVALIDATED, capture.end)
    assert not capture.graph
    # Over with its end.
    capture.scale(capture.stream)
    hip.hipStreamSynchronize(capture.stream)
    np.testing.assert_array_equal(hip.download(capture.buffer, capture.values), 2 * capture.values)
    hip.hipStreamDestroy(capture.stream)


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_other_threads_during_a_capture(mode: int, hip: Hip, module: ctypes.c_void_p) -> None:
    capture = Capture(hip, module, mode)
    codes: list[int] = []

    def allocate() -> None:
        codes.append(hip.library.hipMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(4)))
        codes.append(hip.library.hipStreamEndCapture(capture.stream, ctypes.byref(capture.graph)))

    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()
    assert codes == [UNSUPPORTED if mode == GLOBAL else 0, 0 if mode == RELAXED else WRONG_THREAD]
    if mode == GLOBAL:
        expect_refusal(INVALIDATED, capture.end)
    elif mode == THREAD_LOCAL:
        capture.end()
    hip.hipStreamDestroy(capture.stream)


def test_a_stream_that_captures_cannot_be_waited_for(hip: Hip, module: ctypes.c_void_p) -> None:
    capture = Capture(hip, module, RELAXED)
    expect_refusal(UNSUPPORTED, lambda: hip.hipStreamSynchronize(capture.stream))
    expect_refusal(INVALIDATED, capture.end)
    expect_refusal(UNMATCHED, capture.end)
    hip.hipStreamDestroy(capture.stream)


def test_the_null_stream_during_a_capture(hip: Hip, module: ctypes.c_void_p) -> None:
    """It waits for other streams, unless they were made not to be waited for."""
    apart = Capture(hip, module, THREAD_LOCAL)
    apart.scale(None)
    apart.end()
    blocking = Capture(hip, module, THREAD_LOCAL, flags=0)
    expect_refusal(IMPLICIT, lambda: blocking.scale(None))
    expect_refusal(INVALIDATED, blocking.end)
    for capture in (apart, blocking):
        hip.hipStreamDestroy(capture.stream)


@pytest.mark.parametrize("call", ["hipEventSynchronize", "hipEventQuery"])
def test_an_event_of_a_capture_cannot_be_waited_for(call: str, hip: Hip, module: ctypes.c_void_p) -> None:
    capture, event = Capture(hip, module, THREAD_LOCAL), ctypes.c_void_p()
    hip.hipEventCreateWithFlags(ctypes.byref(event), 2)
    hip.hipEventRecord(event, capture.stream)
    expect_refusal(CAPTURED_EVENT, lambda: getattr(hip, call)(event))
    expect_refusal(INVALIDATED, capture.end)
    hip.hipEventDestroy(event)
    hip.hipStreamDestroy(capture.stream)


def test_a_graph_is_not_launched_into_a_capture(hip: Hip, module: ctypes.c_void_p) -> None:
    """HIP would launch it at once, beside the capture."""
    inner, executable = Capture(hip, module, THREAD_LOCAL), ctypes.c_void_p()
    inner.scale(inner.stream)
    inner.end()
    # A graph itself cannot be launched.
    assert hip.library.hipGraphLaunch(inner.graph, inner.stream) != 0
    hip.hipGraphInstantiateWithFlags(ctypes.byref(executable), inner.graph, ctypes.c_ulonglong(0))
    outer = Capture(hip, module, THREAD_LOCAL)
    expect_refusal(UNSUPPORTED, lambda: hip.hipGraphLaunch(executable, outer.stream))
    expect_refusal(INVALIDATED, outer.end)
    # Outside of it as often as one likes.
    for _ in range(2):
        hip.hipGraphLaunch(executable, outer.stream)
    hip.hipStreamSynchronize(outer.stream)
    np.testing.assert_array_equal(hip.download(inner.buffer, inner.values), 4 * inner.values)
    hip.hipGraphExecDestroy(executable)
    hip.hipGraphDestroy(inner.graph)
    for capture in (inner, outer):
        hip.hipStreamDestroy(capture.stream)


@pytest.mark.parametrize(("x", "y", "words"), [(4, 16, "reads 16 bytes"), (16, 8, "writes 16 bytes")])
def test_natural_alignment(
    hip: Hip,
    module: ctypes.c_void_p,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    x: int,
    y: int,
    words: str,
) -> None:
    """Asked for, each access must be aligned to its size, although the hardware does not ask for that."""
    memory = hip.upload(np.zeros(16, np.float32))
    pointers = [ctypes.c_void_p((memory.value or 0) + offset) for offset in (x, y)]
    hip.launch(module, "wide", 1, 1, *pointers)
    hip.hipDeviceSynchronize()
    monkeypatch.setenv("GFX942SIM_ALIGNMENT", "natural")
    hip.launch(module, "wide", 1, 1, memory, memory)
    hip.hipDeviceSynchronize()
    hip.launch(module, "wide", 1, 1, *pointers)
    with pytest.raises(HipError) as failed:
        hip.hipDeviceSynchronize()
    assert failed.value.code == LAUNCH_FAILURE
    report = capfd.readouterr().err
    assert words in report
    assert "which is not a multiple of 16" in report


def test_device_is_a_gfx942(hip: Hip) -> None:
    properties = ctypes.create_string_buffer(4096)
    hip.hipGetDevicePropertiesR0600(properties, 0)
    assert properties.raw[1160:].startswith(b"gfx942:")
    wave = ctypes.c_int()
    hip.hipDeviceGetAttribute(ctypes.byref(wave), 87, 0)
    assert wave.value == 64


def test_log_of_launches(hip: Hip, module: ctypes.c_void_p, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GFX942SIM_LOG", str(tmp_path / "log"))
    buffer = hip.upload(np.ones(64, np.float32))
    hip.launch(module, "scale", 1, 64, buffer, buffer, ctypes.c_float(2), ctypes.c_int(64))
    hip.hipDeviceSynchronize()
    entry = json.loads((tmp_path / "log").read_text())
    assert entry["kernel"] == "scale"
    assert entry["waves"] == 1
    assert entry["stored_bytes"] == 256


def test_takes_launches_for_a_profile(hip: Hip, module: ctypes.c_void_p) -> None:
    hip.library.gfx942sim_take_launches.restype = ctypes.c_char_p
    hip.library.gfx942sim_take_launches()
    buffer = hip.upload(np.ones(64, np.float32))
    for _ in range(2):
        hip.launch(module, "scale", 1, 64, buffer, buffer, ctypes.c_float(2), ctypes.c_int(64))
    hip.hipDeviceSynchronize()
    launches = [json.loads(line) for line in hip.library.gfx942sim_take_launches().splitlines()]
    assert [launch["kernel"] for launch in launches] == ["scale", "scale"]
    assert launches[0]["bound"] == "latency"
    assert launches[0]["modelled_us"] > 0
    assert hip.library.gfx942sim_take_launches() == b""
