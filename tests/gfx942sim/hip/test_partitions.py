"""The modes of an MI300X that make several devices of it (tools/gfx942sim/partition.h)."""

import ctypes

import pytest

from tools.simulated_gpu.hip import Hip, HipError

COMPUTE_UNITS, OUT_OF_MEMORY = 63, 2
GIB = 1 << 30


def device_count(hip: Hip) -> int:
    count = ctypes.c_int()
    hip.hipGetDeviceCount(ctypes.byref(count))
    return count.value


def memory(hip: Hip, device: int) -> tuple[int, int]:
    """Bytes that are free, and all, in what the device allocates from."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    hip.hipSetDevice(device)
    hip.hipMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


@pytest.mark.parametrize(
    ("modes", "devices", "units", "gibibytes"),
    [("", 1, 304, 192), ("spx", 1, 304, 192), ("cpx", 8, 38, 192), ("cpx,nps4", 8, 38, 48)],
)
def test_what_a_device_is(
    hip: Hip, monkeypatch: pytest.MonkeyPatch, modes: str, devices: int, units: int, gibibytes: int
) -> None:
    monkeypatch.setenv("GFX942SIM_PARTITION", modes)
    assert device_count(hip) == devices
    for device in range(devices):
        value = ctypes.c_int()
        hip.hipDeviceGetAttribute(ctypes.byref(value), COMPUTE_UNITS, device)
        assert value.value == units
        assert memory(hip, device) == (gibibytes * GIB, gibibytes * GIB)
    with pytest.raises(HipError):
        hip.hipSetDevice(devices)


@pytest.mark.parametrize(("modes", "sharing"), [("cpx", 8), ("cpx,nps4", 2)])
def test_who_shares_memory(hip: Hip, monkeypatch: pytest.MonkeyPatch, modes: str, sharing: int) -> None:
    monkeypatch.setenv("GFX942SIM_PARTITION", modes)
    monkeypatch.setenv("GFX942SIM_DEVICES", "16")  # of two GPUs
    _, total = memory(hip, 3)
    pointer = hip.allocate(1000)
    used = [total - memory(hip, device)[0] for device in range(16)]
    first = 3 // sharing * sharing
    assert used == [1000 if first <= device < first + sharing else 0 for device in range(16)]
    hip.hipFree(pointer)
    hip.hipSetDevice(3)
    with pytest.raises(HipError) as refused:
        hip.allocate(total + 1)
    assert refused.value.code == OUT_OF_MEMORY


def test_a_mode_that_is_not_known(hip: Hip, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GFX942SIM_PARTITION", "qpx")
    with pytest.raises(HipError):
        device_count(hip)
    assert "GFX942SIM_PARTITION is 'qpx'; known are spx, cpx and cpx,nps4" in capfd.readouterr().err
