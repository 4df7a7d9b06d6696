"""Streams, events, copies and several devices of the stand-in: what HIP leaves to chance goes wrong in it."""

import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.simulated_gpu.hip import DEVICE_TO_HOST, HIP_OPTIONS, HOST_TO_DEVICE, Hip, HipError, compile_kernels

INVALID_VALUE, INVALID_DEVICE, INVALID_HANDLE, NOT_READY, LAUNCH_FAILURE = 1, 101, 400, 600, 719
BLOCKING, NON_BLOCKING = 0, 1
COUNT = 64

SOURCE = """
extern "C" __global__ void add(const int* x, int* y, int amount) {
  int i = __builtin_amdgcn_workitem_id_x();
  y[i] = x[i] + amount;
}
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compile_kernels(SOURCE, HIP_OPTIONS, tmp_path_factory.mktemp("kernels"))


class Program:
    """Two devices, and kernels on device 0."""

    def __init__(self, hip: Hip, code: bytes) -> None:
        self.hip = hip
        self.code = code
        self.module = self.hip.load(code)

    def stream(self, flags: int) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.hip.hipStreamCreateWithFlags(ctypes.byref(handle), flags)
        return handle

    def event(self) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.hip.hipEventCreateWithFlags(ctypes.byref(handle), 2)
        return handle

    def zeros(self) -> ctypes.c_void_p:
        pointer = self.hip.upload(np.zeros(COUNT, np.int32))
        self.hip.hipDeviceSynchronize()
        return pointer

    def add(self, source: ctypes.c_void_p, target: ctypes.c_void_p, amount: int, stream: Any = None) -> None:
        self.hip.launch(self.module, "add", 1, COUNT, source, target, ctypes.c_int(amount), stream=stream)

    def copy(self, target: Any, source: Any, kind: int, stream: Any) -> None:
        self.hip.hipMemcpyAsync(target, source, ctypes.c_size_t(4 * COUNT), kind, stream)

    def first(self, pointer: ctypes.c_void_p) -> int:
        self.hip.hipDeviceSynchronize()
        return int(self.hip.download(pointer, np.zeros(COUNT, np.int32))[0])

    def pinned(self) -> tuple[ctypes.c_void_p, NDArray[np.int32]]:
        pointer = ctypes.c_void_p()
        self.hip.hipHostMalloc(ctypes.byref(pointer), ctypes.c_size_t(4 * COUNT), 0)
        array = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int32)), (COUNT,))
        return pointer, array


@pytest.fixture(params=["late", "early"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GFX942SIM_STREAMS", request.param)
    return str(request.param)


@pytest.fixture
def program(code: bytes, hip: Hip, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("GFX942SIM_DEVICES", "2")
    return Program(hip, code)


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def expect_refusal(code: int, call: Any, *arguments: Any) -> None:
    with pytest.raises(HipError) as refused:
        call(*arguments)
    assert refused.value.code == code


def test_nothing_happens_before_somebody_waits(program: Program) -> None:
    buffer, stream = program.zeros(), program.stream(NON_BLOCKING)
    result = np.full(COUNT, -1, np.int32)
    program.add(buffer, buffer, 5, stream)
    program.copy(address(result), buffer, DEVICE_TO_HOST, stream)
    assert result[0] == -1
    program.hip.hipStreamSynchronize(stream)
    assert result[0] == 5


@pytest.mark.usefixtures("order")
def test_the_order_of_one_stream_holds(program: Program) -> None:
    buffer, stream = program.zeros(), program.stream(NON_BLOCKING)
    for _ in range(4):
        program.add(buffer, buffer, 1, stream)
    assert program.first(buffer) == 4


@pytest.mark.parametrize("producer_first", [True, False])
@pytest.mark.usefixtures("order")
def test_the_null_stream_and_blocking_streams_wait_for_each_other(program: Program, producer_first: bool) -> None:
    buffer, result, blocking = program.zeros(), program.zeros(), program.stream(BLOCKING)
    producer, consumer = (blocking, None) if producer_first else (None, blocking)
    program.add(buffer, buffer, 7, producer)
    program.add(buffer, result, 1, consumer)
    program.hip.hipStreamSynchronize(consumer)
    assert program.first(result) == 8


def test_a_non_blocking_stream_does_not_wait_for_the_null_stream(program: Program) -> None:
    buffer, result, apart = program.zeros(), program.zeros(), program.stream(NON_BLOCKING)
    program.add(buffer, buffer, 7)
    program.add(buffer, result, 1, apart)
    program.hip.hipStreamSynchronize(apart)
    assert program.first(result) == 1


def test_work_that_nobody_waits_for_may_come_first(program: Program, order: str) -> None:
    """Writes over an input that another stream still reads."""
    buffer, result = program.zeros(), program.zeros()
    reader, writer = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    program.add(buffer, result, 1, reader)
    program.add(buffer, buffer, 100, writer)
    program.hip.hipStreamSynchronize(reader)
    assert program.first(result) == (101 if order == "early" else 1)


@pytest.mark.usefixtures("order")
def test_streams_take_turns(program: Program) -> None:
    """Two that use the same memory in between."""
    between, results = program.zeros(), [program.zeros(), program.zeros()]
    source = program.zeros()
    for amount, result in zip((1, 2), results, strict=True):
        stream = program.stream(NON_BLOCKING)
        program.add(source, between, amount, stream)
        program.add(between, result, 10, stream)
    assert [program.first(result) for result in results] == [11, 11]


@pytest.mark.usefixtures("order")
def test_events_order_streams(program: Program) -> None:
    buffer, result, event = program.zeros(), program.zeros(), program.event()
    producer, consumer = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    program.add(buffer, buffer, 7, producer)
    program.hip.hipEventRecord(event, producer)
    program.add(buffer, buffer, 1000, producer)
    program.hip.hipStreamWaitEvent(consumer, event, 0)
    program.add(buffer, result, 1, consumer)
    program.hip.hipStreamSynchronize(consumer)
    assert program.first(result) in (8, 1008)
    assert program.first(buffer) == 1007


def test_an_event_is_past_when_its_work_is(program: Program) -> None:
    buffer, stream, event = program.zeros(), program.stream(NON_BLOCKING), program.event()
    program.hip.hipEventSynchronize(event)
    program.add(buffer, buffer, 7, stream)
    program.hip.hipEventRecord(event, stream)
    expect_refusal(NOT_READY, program.hip.hipEventQuery, event)
    program.hip.hipEventQuery(event)
    program.add(buffer, buffer, 7, stream)
    expect_refusal(NOT_READY, program.hip.hipStreamQuery, stream)
    program.hip.hipStreamQuery(stream)
    assert program.first(buffer) == 14


def test_a_stream_that_is_destroyed_has_its_work_done(program: Program) -> None:
    buffer, result, blocking = program.zeros(), program.zeros(), program.stream(BLOCKING)
    program.add(buffer, buffer, 7, blocking)
    program.hip.hipStreamDestroy(blocking)
    program.add(buffer, result, 1)
    program.hip.hipStreamSynchronize(None)
    assert program.first(result) == 8


def test_a_fault_ends_what_the_device_was_to_do(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    buffer, small, stream = program.zeros(), program.hip.allocate(4), program.stream(NON_BLOCKING)
    program.add(buffer, small, 1, stream)
    program.add(buffer, buffer, 1, stream)
    expect_refusal(LAUNCH_FAILURE, program.hip.hipStreamSynchronize, stream)
    assert "kernel add: writes 4 bytes" in capfd.readouterr().err
    assert program.first(buffer) == 0


def test_a_source_that_is_not_pinned_is_read_at_once(program: Program, order: str) -> None:
    """And its bytes are there when the stream comes to it, or when the call returns."""
    buffer, result = program.zeros(), program.zeros()
    stream, other = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    source = np.full(COUNT, 5, np.int32)
    program.copy(buffer, address(source), HOST_TO_DEVICE, stream)
    source[:] = 9
    program.add(buffer, result, 1, other)
    program.hip.hipStreamSynchronize(other)
    assert program.first(result) == (1 if order == "late" else 6)
    assert program.first(buffer) == 5


def test_a_pinned_source_is_read_when_the_stream_comes_to_it(program: Program) -> None:
    buffer, stream = program.zeros(), program.stream(NON_BLOCKING)
    pointer, source = program.pinned()
    source[:] = 5
    program.copy(buffer, pointer, HOST_TO_DEVICE, stream)
    source[:] = 9
    assert program.first(buffer) == 9


@pytest.mark.usefixtures("order")
def test_copies_that_block_have_happened(program: Program) -> None:
    buffer = program.zeros()
    program.add(buffer, buffer, 3)
    np.testing.assert_array_equal(program.hip.download(buffer, np.zeros(COUNT, np.int32)), np.full(COUNT, 3))


def test_a_copy_out_of_range_is_refused_at_once(program: Program) -> None:
    expect_refusal(INVALID_VALUE, program.copy, program.hip.allocate(4), address(np.zeros(COUNT)), HOST_TO_DEVICE, None)


def test_memory_is_freed_when_the_device_is_done(program: Program) -> None:
    buffer, stream = program.zeros(), program.stream(NON_BLOCKING)
    result = np.zeros(COUNT, np.int32)
    program.copy(address(result), buffer, DEVICE_TO_HOST, stream)
    program.hip.hipFree(buffer)
    program.hip.hipStreamSynchronize(stream)


def test_devices_are_counted_and_current_by_thread(program: Program) -> None:
    count, device = ctypes.c_int(), ctypes.c_int(-1)
    program.hip.hipGetDeviceCount(ctypes.byref(count))
    assert count.value == 2
    program.hip.hipSetDevice(1)
    program.hip.hipGetDevice(ctypes.byref(device))
    assert device.value == 1
    expect_refusal(INVALID_DEVICE, program.hip.hipSetDevice, 2)


def test_kernels_reach_their_own_device(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    hip, on_0 = program.hip, program.zeros()
    # The module is of device 0, and so is the stream that its kernels run in.
    hip.hipSetDevice(1)
    on_1, stream_1 = program.zeros(), program.stream(NON_BLOCKING)
    expect_refusal(INVALID_HANDLE, program.add, on_1, on_1, 1, stream_1)
    module_0, program.module = program.module, hip.load(program.code)
    program.add(on_1, on_1, 5, stream_1)
    assert program.first(on_1) == 5
    program.add(on_0, on_1, 1, stream_1)
    expect_refusal(LAUNCH_FAILURE, hip.hipStreamSynchronize, stream_1)
    assert "memory of device 0: there is no peer access to it" in capfd.readouterr().err
    hip.hipDeviceEnablePeerAccess(0, 0)
    program.add(on_0, on_1, 1, stream_1)
    assert program.first(on_1) == 1
    # Work that waits for the device waits only for this one.
    program.add(on_1, on_1, 10, stream_1)
    hip.hipSetDevice(0)
    program.module = module_0
    assert program.first(on_1) == 1
    hip.hipSetDevice(1)
    assert program.first(on_1) == 11


def test_events_are_of_one_device_and_waited_for_from_any(program: Program) -> None:
    hip, on_0, event, stream_0 = program.hip, program.zeros(), program.event(), program.stream(NON_BLOCKING)
    program.add(on_0, on_0, 7, stream_0)
    hip.hipEventRecord(event, stream_0)
    hip.hipSetDevice(1)
    stream_1, result = program.stream(NON_BLOCKING), np.zeros(COUNT, np.int32)
    expect_refusal(INVALID_HANDLE, hip.hipEventRecord, event, stream_1)
    hip.hipStreamWaitEvent(stream_1, event, 0)
    program.copy(address(result), on_0, DEVICE_TO_HOST, stream_1)
    hip.hipStreamSynchronize(stream_1)
    assert result[0] == 7
