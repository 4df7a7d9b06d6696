"""Tensors of other libraries in host memory: taken and given by DLPack without a copy."""

import gc
import weakref
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from onnx import TensorProto, helper

import onnxc
from onnxc import tensor
from onnxc.memory import dlpack
from tests.python.test_session import save_model

pytestmark = pytest.mark.usefixtures("commands")


@pytest.fixture(scope="module")
def difference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = a - b and z = -a, for a and b of [N, 3] float32."""
    folder = tmp_path_factory.mktemp("difference")
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "abyz"}
    nodes = [helper.make_node("Sub", ["a", "b"], ["y"]), helper.make_node("Neg", ["a"], ["z"])]
    model = save_model(folder / "model.onnx", nodes, [values["a"], values["b"]], values["y"], values["z"])
    onnxc.compile(model, folder / "model.so").close()
    return folder / "model.so"


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([[5, 3, 1], [4, 2, 0]], np.float32)


def test_tensors_of_pytorch_and_numpy_go_in_and_out(difference: Path) -> None:
    with onnxc.InferenceSession(difference) as session:
        results = session.run_tensors({"a": torch.from_numpy(A), "b": B})
    y, z = torch.utils.dlpack.from_dlpack(results["y"]), np.from_dlpack(results["z"])
    np.testing.assert_array_equal(y.numpy(), A - B)
    np.testing.assert_array_equal(z, -A)
    assert (y.data_ptr(), z.ctypes.data) == (results["y"].address, results["z"].address)
    assert np.shares_memory(results["z"].numpy(), z)
    assert repr(results["y"]) == "onnxc.Tensor(float32, (2, 3), 'cpu')"


def test_outputs_are_written_where_the_caller_wants_them(difference: Path) -> None:
    y, z = torch.full((2, 3), torch.nan), np.full((2, 3), np.nan, np.float32)
    with onnxc.InferenceSession(difference) as session:
        results = session.run_tensors({"a": A, "b": torch.from_numpy(B)}, {"y": y, "z": z})
        assert results["y"] is y
        assert results["z"] is z
        np.testing.assert_array_equal(y.numpy(), A - B)
        np.testing.assert_array_equal(z, -A)
        # The others are made.
        results = session.run_tensors({"a": B, "b": A}, {"y": y})
        np.testing.assert_array_equal(y.numpy(), B - A)
        np.testing.assert_array_equal(results["z"].numpy(), -B)


def test_results_are_inputs_of_the_next_run(difference: Path) -> None:
    with onnxc.InferenceSession(difference) as session:
        first = session.run_tensors({"a": A, "b": B})
        second = session.run_tensors({"a": first["y"], "b": first["z"]})
    np.testing.assert_array_equal(second["y"].numpy(), 2 * A - B)


def test_views_are_copied(difference: Path) -> None:
    a, b = torch.arange(12.0).reshape(3, 4)[:, 1:3].T, torch.ones(1, 3).expand(2, 3)
    with onnxc.InferenceSession(difference) as session:
        results = session.run_tensors({"a": a, "b": b})
    np.testing.assert_array_equal(results["y"].numpy(), (a - b).numpy())


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (torch.zeros(3, 2).T, r"output 'y' has shape \(2, 3\) and strides \(1, 2\), .*: make it contiguous first"),
        (np.zeros((3, 2), np.float32).T, "output 'y' cannot be written in place: give a writable array"),
        ([[0.0] * 3] * 2, "output 'y' cannot be written in place"),
        (np.zeros((2, 4), np.float32), "output 0 'y': dims is 2x4"),
        (np.zeros((2, 3)), "output 0 'y'.*float64"),
    ],
)
def test_an_output_that_cannot_be_written(difference: Path, output: Any, message: str) -> None:
    with (
        onnxc.InferenceSession(difference) as session,
        pytest.raises((onnxc.OnnxcError, onnxc.RunError), match=message),
    ):
        session.run_tensors({"a": A, "b": B}, {"y": output})


def test_what_a_cpu_does_not_have(difference: Path) -> None:
    with onnxc.InferenceSession(difference) as session:
        for options in ({"stream": 7}, {"wait": False}):
            with pytest.raises(onnxc.OnnxcError, match="no stream and is always waited for"):
                session.run_tensors({"a": A, "b": B}, **options)
        with pytest.raises(onnxc.OnnxcError, match=r"the model gives the outputs \['y', 'z'\]; unknown: \['w'\]"):
            session.run_tensors({"a": A, "b": B}, {"w": A})

    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 8, 0

        def __dlpack__(self) -> None: ...

    with (
        onnxc.InferenceSession(difference) as session,
        pytest.raises(
            onnxc.OnnxcError, match="input 'b' is on a device of DLPack's type 8; onnxc takes tensors of the CPU"
        ),
    ):
        session.run_tensors({"a": A, "b": Elsewhere()})


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (torch.float32, 1),
        (torch.uint8, 2),
        (torch.int8, 3),
        (torch.uint16, 4),
        (torch.int16, 5),
        (torch.int32, 6),
        (torch.int64, 7),
        (torch.bool, 9),
        (torch.float16, 10),
        (torch.float64, 11),
        (torch.uint32, 12),
        (torch.uint64, 13),
        (torch.complex64, 14),
        (torch.bfloat16, 16),
    ],
)
def test_every_type_of_pytorch(kind: torch.dtype, number: int) -> None:
    values = torch.tensor([[1, 0, 1]]).to(kind)
    taken = tensor.taken(values, "x", 0, False)
    assert (taken.value().dtype, taken.address, taken.shape) == (number, values.data_ptr(), (1, 3))
    back = torch.utils.dlpack.from_dlpack(taken)
    assert (back.dtype, back.data_ptr()) == (kind, values.data_ptr())
    assert torch.equal(back, values)


def test_bfloat16_and_scalars_as_arrays() -> None:
    values = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    np.testing.assert_array_equal(
        tensor.taken(values, "x", 0, False).numpy(), np.array([1.5, -2], ml_dtypes.bfloat16), strict=True
    )
    scalar = tensor.taken(torch.tensor(3.0), "x", 0, False)
    assert (scalar.shape, float(scalar.numpy())) == ((), 3.0)
    empty = tensor.taken(torch.zeros(0, 4), "x", 0, False)
    assert empty.numpy().shape == (0, 4)


def test_memory_lives_as_long_as_a_consumer_has_it() -> None:
    class Owner:
        array = np.arange(5.0)

    def capsule_of(owner: Owner) -> Any:
        given = dlpack.Description(owner.array.ctypes.data, 11, (5,), (), (dlpack.CPU, 0))
        return dlpack.export(given, owner)

    owner = Owner()
    alive = weakref.ref(owner)
    capsule = capsule_of(owner)
    del owner
    gc.collect()
    assert alive() is not None
    del capsule  # that nobody took
    gc.collect()
    assert alive() is None

    owner = Owner()
    alive = weakref.ref(owner)
    consumer = torch.utils.dlpack.from_dlpack(capsule_of(owner))
    del owner
    gc.collect()
    assert alive() is not None
    del consumer
    gc.collect()
    assert alive() is None
