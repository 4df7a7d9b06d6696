"""Tensors on a GPU, which is the simulator: a stand-in plays PyTorch's on ROCm."""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxc
from models.tensor_files import Array
from onnxc.memory import dlpack
from tests.onnxc_commands import SIMULATOR
from tests.python.test_session import save_model
from tools.simulated_gpu.hip import Hip

pytestmark = pytest.mark.usefixtures("commands")

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([[5, 3, 1], [4, 2, 0]], np.float32)


@pytest.fixture(scope="module")
def difference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = a - b and z = -a, for a and b of [N, 3] float32, only on a GPU."""
    folder = tmp_path_factory.mktemp("difference")
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "abyz"}
    nodes = [helper.make_node("Sub", ["a", "b"], ["y"]), helper.make_node("Neg", ["a"], ["z"])]
    model = save_model(folder / "model.onnx", nodes, [values["a"], values["b"]], values["y"], values["z"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
        onnxc.compile(model, folder / "model.so", device="hip").close()
    return folder / "model.so"


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))
    monkeypatch.setenv("GFX942SIM_DEVICES", "2")


@pytest.fixture
def hip() -> Iterator[Hip]:
    hip = Hip()
    hip.hipSetDevice(0)
    yield hip
    hip.hipSetDevice(0)


class RocmTensor:
    """The stand-in for PyTorch's tensor on ROCm, as far as DLPack asks: a slice that begins `offset` elements
    further."""

    def __init__(self, hip: Hip, array: Array, device: int = 0, offset: int = 0) -> None:
        hip.hipSetDevice(device)
        self.hip, self.array, self.device = hip, array, device
        whole = hip.upload(np.concatenate([np.full(offset, np.nan, array.dtype), array.reshape(-1)]))
        self.pointer = ctypes.c_void_p((whole.value or 0) + offset * array.itemsize)
        self.asked: list[Any] = []  # the streams that consumers named
        hip.hipSetDevice(0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.ROCM, self.device

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.asked.append(stream)
        place = self.__dlpack_device__()
        return dlpack.export(dlpack.Description(self.pointer.value or 0, 1, self.array.shape, (), place), self)

    def value(self) -> Array:
        return self.hip.download(self.pointer, self.array)


def test_inputs_and_outputs_of_a_gpu_are_not_copied(difference: Path, hip: Hip) -> None:
    a, b, y = RocmTensor(hip, A), RocmTensor(hip, B), RocmTensor(hip, np.full_like(A, np.nan))
    with onnxc.InferenceSession(difference, device="hip") as session:
        results = session.run_tensors({"a": a, "b": b}, {"y": y})
        assert results["y"] is y
        np.testing.assert_array_equal(y.value(), A - B)
        z = results["z"]
        assert (z.device, z.__dlpack_device__()) == ("hip:0", (dlpack.ROCM, 0))
        np.testing.assert_array_equal(z.numpy(), -A)
        # A tensor that was made on the GPU is taken there again, beside a value on the host.
        again = session.run_tensors({"a": z, "b": B})
        np.testing.assert_array_equal(again["y"].numpy(), -A - B)
    assert a.asked == b.asked == y.asked == [0]


@pytest.mark.parametrize("offset", [1, 2, 4])
def test_slices_of_tensors(difference: Path, hip: Hip, offset: int) -> None:
    """PyTorch's x[1:], which begins at an element and no more."""
    a, b, y = (RocmTensor(hip, array, offset=offset) for array in (A, B, np.full_like(A, np.nan)))
    with onnxc.InferenceSession(difference, device="hip") as session:
        session.run_tensors({"a": a, "b": b}, {"y": y})
        np.testing.assert_array_equal(y.value(), A - B)


@pytest.mark.parametrize("order", ["late", "early"])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_run_that_is_not_waited_for(
    difference: Path, hip: Hip, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, order: str, is_named: bool
) -> None:
    monkeypatch.setenv("GFX942SIM_STREAMS", order)
    handle = ctypes.c_void_p()
    if is_named:
        hip.hipStreamCreateWithFlags(ctypes.byref(handle), 1)

    class Stream:
        cuda_stream = handle.value or 0

    a, b = RocmTensor(hip, A), RocmTensor(hip, B)
    with onnxc.InferenceSession(difference, device="hip") as session:
        log = tmp_path / "log"
        session.run_tensors({"a": a, "b": b}, stream=Stream())  # makes room, for which it waits
        monkeypatch.setenv("GFX942SIM_LOG", str(log))
        results = session.run_tensors({"a": a, "b": b}, stream=Stream(), wait=False)
        if order == "late":
            assert not log.exists() or log.read_text() == ""
        # The consumer reads in another stream: it gets the tensor when it is complete.
        results["y"].__dlpack__(stream=12345)
        assert log.read_text().count("\n") >= 1
        np.testing.assert_array_equal(hip.download(ctypes.c_void_p(results["y"].address), A), A - B)
        np.testing.assert_array_equal(results["z"].numpy(), -A)
    assert a.asked[-1] == (handle.value or 0)


def test_a_second_gpu(difference: Path, hip: Hip) -> None:
    a, b = RocmTensor(hip, A, device=1), RocmTensor(hip, B, device=1)
    with onnxc.InferenceSession(difference, device="hip:1") as session:
        y = session.run_tensors({"a": a, "b": b})["y"]
        assert y.device == "hip:1"
        np.testing.assert_array_equal(y.numpy(), A - B)
        with pytest.raises(onnxc.OnnxcError, match="input 'b' is on hip:0, and the session runs on hip:1"):
            session.run_tensors({"a": a, "b": RocmTensor(hip, B)})
    current = ctypes.c_int(-1)
    hip.hipGetDevice(ctypes.byref(current))
    assert current.value == 0


def test_what_cannot_be_taken(difference: Path, hip: Hip, monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(capsule: Any) -> dlpack.Description:
        return dlpack.Description(64, 1, (2, 3), (1, 2), (dlpack.ROCM, 0))

    monkeypatch.setattr(dlpack, "describe", describe)
    with (
        onnxc.InferenceSession(difference, device="hip") as session,
        pytest.raises(onnxc.OnnxcError, match=r"input 'a' has shape \(2, 3\) and strides \(1, 2\).*contiguous first"),
    ):
        session.run_tensors({"a": RocmTensor(hip, A), "b": B})
    with (
        onnxc.InferenceSession(difference, device="hip") as session,
        pytest.raises(onnxc.OnnxcError, match="stream is 'left', expected a hipStream_t"),
    ):
        session.run_tensors({"a": A, "b": B}, stream="left")


def test_a_model_for_a_gpu_alone_says_so_to_a_cpu(difference: Path) -> None:
    with pytest.raises(onnxc.RunError, match=r"compiled for 'hip gfx942' and has no code for the CPU; .*cpu,gpu"):
        onnxc.InferenceSession(difference)
