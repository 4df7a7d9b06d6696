"""Tensors on an NVIDIA GPU, which is the stand-in for its driver.

The model is one that the runtime's tests write by hand: y = x * [1, 2, 3, 4] + k, for x of [N, 4] float32.
"""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxc
from models.tensor_files import Array
from onnxc import command
from onnxc.memory import dlpack
from tests.onnxc_commands import BINARIES, CUDA_STAND_IN

MODEL = BINARIES.parent / "tests" / "fake_device_model_nvidia.so"

X = np.arange(12, dtype=np.float32).reshape(3, 4)
K = np.array([10, 20, 30, 40], np.float32)
Y = X * np.arange(1, 5, dtype=np.float32) + K


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_CUDA_LIBRARY", str(CUDA_STAND_IN))
    monkeypatch.setenv("CUDA_STAND_IN_KERNELS", str(MODEL.with_name("fake_host_launch.so")))
    monkeypatch.setenv("CUDA_STAND_IN_DEVICES", "2")


class Driver:
    """The stand-in as PyTorch uses the driver: the primary context of a device."""

    def __init__(self, device: int) -> None:
        self._library = ctypes.CDLL(str(CUDA_STAND_IN))
        self.context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)

    def call(self, name: str, *arguments: Any) -> None:
        assert getattr(self._library, name)(*arguments) == 0, name

    def upload(self, array: Array, offset: int = 0) -> int:
        pointer = ctypes.c_void_p()
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes + offset))
        address = (pointer.value or 0) + offset
        source = array.ctypes.data_as(ctypes.c_void_p)
        self.call("cuMemcpyHtoD_v2", ctypes.c_void_p(address), source, ctypes.c_size_t(array.nbytes))
        self.call("cuCtxSetCurrent", None)
        return address

    def download(self, address: int, like: Array) -> Array:
        result = np.empty_like(like)
        self.call("cuCtxSetCurrent", self.context)
        destination = result.ctypes.data_as(ctypes.c_void_p)
        self.call("cuMemcpyDtoH_v2", destination, ctypes.c_void_p(address), ctypes.c_size_t(result.nbytes))
        self.call("cuCtxSetCurrent", None)
        return result


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver(0)
    yield driver
    driver.call("cuDevicePrimaryCtxRelease_v2", 0)


class CudaTensor:
    """The stand-in for PyTorch's tensor on CUDA, as far as DLPack asks."""

    def __init__(self, driver: Driver, array: Array, device: int = 0, offset: int = 0) -> None:
        self.driver, self.array, self.device = driver, array, device
        self.address = driver.upload(array, offset)
        self.asked: list[Any] = []  # the streams that consumers named

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.asked.append(stream)
        return dlpack.export(dlpack.Description(self.address, 1, self.array.shape, (), self.__dlpack_device__()), self)

    def value(self) -> Array:
        return self.driver.download(self.address, self.array)


@pytest.mark.parametrize("device", ["gpu", "cuda:0", "hip"])
@pytest.mark.parametrize("order", ["late", "early"])
def test_arrays_of_the_host(device: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_STAND_IN_STREAMS", order)
    with onnxc.InferenceSession(MODEL, device=device) as session:
        np.testing.assert_array_equal(session.run(None, {"x": X, "k": K})[0], Y)


@pytest.mark.parametrize("offset", [0, 4, 16])
def test_tensors_of_the_gpu(driver: Driver, offset: int) -> None:
    x, y = CudaTensor(driver, X, offset=offset), CudaTensor(driver, np.full_like(X, np.nan))
    with onnxc.InferenceSession(MODEL, device="gpu") as session:
        session.run_tensors({"x": x, "k": K}, {"y": y})
        np.testing.assert_array_equal(y.value(), Y)
        made = session.run_tensors({"x": y, "k": K})["y"]
        assert (made.device, made.__dlpack_device__()) == ("cuda:0", (dlpack.CUDA, 0))
    np.testing.assert_array_equal(made.numpy(), Y * np.arange(1, 5, dtype=np.float32) + K)
    assert x.asked == [1]  # DLPack's number of CUDA's default stream


def test_a_run_that_is_not_waited_for(driver: Driver) -> None:
    x = CudaTensor(driver, X)
    with onnxc.InferenceSession(MODEL, device="gpu") as session:
        made = session.run_tensors({"x": x, "k": CudaTensor(driver, K)}, wait=False)["y"]
        assert np.isnan(driver.download(made.address, X)).sum() in (0, X.size)
        made.__dlpack__(stream=12345)
        np.testing.assert_array_equal(driver.download(made.address, X), Y)


def test_a_tensor_of_another_gpu_or_vendor(driver: Driver) -> None:
    with onnxc.InferenceSession(MODEL, device="gpu:1") as session:
        with pytest.raises(onnxc.OnnxcError, match="input 'x' is on cuda:0, and the session runs on cuda:1"):
            session.run_tensors({"x": CudaTensor(driver, X), "k": K})
        of_amd = CudaTensor(driver, X)
        of_amd.__dlpack_device__ = lambda: (dlpack.ROCM, 1)  # type: ignore[method-assign]
        with pytest.raises(onnxc.OnnxcError, match="input 'x' is on hip:1, and the session runs on cuda:1"):
            session.run_tensors({"x": of_amd, "k": K})
        np.testing.assert_array_equal(session.run(None, {"x": X, "k": K})[0], Y)


def test_what_is_missing_is_told_and_the_process_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable, value, expected in (
        ("CUDA_STAND_IN_DEVICES", "0", "the driver finds no NVIDIA GPU"),
        (
            "CUDA_STAND_IN_CAPABILITY",
            "7.5",
            r"GPU 0 is NVIDIA stand-in \(sm_75\); it is too old: code of onnxc runs on",
        ),
        ("CUDA_STAND_IN_DRIVER", "11.0", "update NVIDIA's driver"),
        ("CUDA_STAND_IN_MEMORY", "10", "out of memory"),
        ("CUDA_STAND_IN_FAIL", "cuInit 1 999", "cuInit: unknown error"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            with pytest.raises(onnxc.RunError, match=expected):
                onnxc.InferenceSession(MODEL, device="gpu")
    with onnxc.InferenceSession(MODEL, device="gpu") as session:
        np.testing.assert_array_equal(session.run(None, {"x": X, "k": K})[0], Y)


@pytest.mark.parametrize(
    ("device", "has_nvidia", "expected"),
    [
        ("cpu", True, []),
        ("hip:1", True, ["--target", "gpu"]),
        ("gpu", False, ["--target", "gpu"]),
        ("gpu:1", True, ["--target", "gpu", "--gpu-arch", "sm_80"]),
        ("cuda:0", False, ["--target", "gpu", "--gpu-arch", "sm_80"]),
    ],
)
def test_a_model_is_compiled_for_the_gpu_that_runs_it(
    device: str, has_nvidia: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "_NVIDIA_DRIVER", tmp_path if has_nvidia else tmp_path / "none")
    assert command.target_options(device) == expected
    assert "--gpu-arch" not in command.target_options(device, ["--gpu-arch", "sm_90a"])
