"""The stand-in for libamdhip64 as a HIP host program sees it."""

import ctypes
import json
from pathlib import Path

import numpy as np
import pytest

from tests.gfx942sim.hip_host import HIP_OPTIONS, Hip, HipError, compile_kernels

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION, NO_BINARY, NOT_FOUND, LAUNCH_FAILURE = 1, 2, 9, 209, 500, 719

SOURCE = """
extern "C" __global__ void scale(const float* x, float* y, float factor, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = factor * x[i];
}
extern "C" __global__ void stray(float* y) { y[__builtin_amdgcn_workitem_id_x()] = 1; }
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
    with pytest.raises(HipError) as failed:
        hip.launch(module, "stray", 1, 64, target)
    assert failed.value.code == LAUNCH_FAILURE
    report = capfd.readouterr().err
    assert "kernel stray: writes 4 bytes" in report
    assert "0 bytes behind the end of a device allocation (40 bytes)" in report
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
    launches = [json.loads(line) for line in hip.library.gfx942sim_take_launches().splitlines()]
    assert [launch["kernel"] for launch in launches] == ["scale", "scale"]
    assert launches[0]["bound"] == "latency"
    assert launches[0]["modelled_us"] > 0
    assert hip.library.gfx942sim_take_launches() == b""
