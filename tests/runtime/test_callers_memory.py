"""Tensors of the caller that are aligned to their elements and no more, at the ends of pages that nobody may touch. On
both targets each output is the same to the bit as from memory of numpy's, and nothing beside it is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from onnxc import dtypes
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.case import random
from tests.runtime.abi_caller import CPU, HIP, PLACES, AbiError, Model, Value
from tools.simulated_gpu.hip import Hip

pytestmark = pytest.mark.usefixtures("commands")

INVALID_ARGUMENT = 1
HALF, BRAIN = np.float16, ml_dtypes.bfloat16


class Graph:
    """Nodes that each read inputs of the model and write its outputs, so that all of them meet the caller's memory."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        self.outputs: list[str] = []

    def add(
        self, op_type: str, *operands: Array, constants: tuple[Array, ...] = (), count: int = 1, **attributes: Any
    ) -> None:
        number = len(self.nodes)
        names = [f"x{number}_{i}" for i in range(len(operands))]
        fixed = [f"c{number}_{i}" for i in range(len(constants))]
        self.inputs |= dict(zip(names, operands, strict=True))
        self.constants |= dict(zip(fixed, constants, strict=True))
        outputs = [f"y{number}_{i}" for i in range(count)]
        self.outputs += outputs
        self.nodes.append(helper.make_node(op_type, names + fixed, outputs, **attributes))

    def save(self, file: Path) -> Path:
        def info(name: str, array: Array) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, dtypes.NUMBERS[array.dtype], array.shape)

        graph = helper.make_graph(
            self.nodes,
            "callers_memory",
            [info(name, array) for name, array in self.inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13), file)
        return file


def every_type() -> Graph:
    """Models that only move elements, and a nest that reads two tensors, of each type that a tensor can have."""
    graph = Graph()
    condition = np.arange(7 * 9).reshape(7, 9) % 3 == 0
    for number, dtype in dtypes.NUMPY_TYPES.items():
        if number in (14, 15):  # complex numbers: no operator that both targets have
            continue
        values = (np.arange(7 * 9) % (2 if dtype == np.bool_ else 3)).reshape(7, 9).astype(np.float32).astype(dtype)
        graph.add("Transpose", values, perm=[1, 0])
        if number <= 16:  # of smaller floats ONNX has none
            graph.add("Concat", values, values[:3], axis=0)
            graph.add("Where", condition, values, values[:1])
    return graph


def kernels(dtype: Any, has_merged_loads: bool = True) -> Graph:
    """The kernels that read a caller's tensor as it lies, with odd sizes and with whole vectors. With odd sizes the
    GPU's compiler merges loads of neighbours in loops, so that they are aligned to an element whatever the tensor
    is."""
    graph = Graph()

    def value(*shape: int, seed: int = 0) -> Array:
        return random(*shape, seed=seed).astype(dtype)

    for channels, outputs, size in ((3, 20, (5, 9, 7)), (16, 32, (4, 8, 8))):
        weights = value(outputs, channels, 3, 3, 3, seed=1)
        graph.add("Conv", value(1, channels, *size), constants=(weights,), pads=[1] * 6)
        graph.add("Conv", value(1, channels, *size), constants=(weights[..., 1:2, 1:2, 1:2].copy(),))
        graph.add("Conv", value(1, channels, *size), constants=(value(channels, 1, 3, 3, 3),), group=channels)
        graph.add("Conv", value(1, channels, *size), constants=(weights,), strides=[2] * 3)
        graph.add(
            "ConvTranspose",
            value(1, channels, *size),
            constants=(value(channels, outputs, 2, 2, 2),),
            strides=[2] * 3,
        )
        if has_merged_loads or channels % 16 == 0:
            graph.add("MaxPool", value(1, channels, *size), kernel_shape=[2] * 3, strides=[2] * 3)
        scale = (value(channels, seed=2), value(channels, seed=3))
        graph.add("InstanceNormalization", value(1, channels, *size), constants=scale)
        graph.add("Conv", value(1, channels, size[0], size[1]), constants=(weights[:, :, 0].copy(),), pads=[1] * 4)
    for rows, columns, depth in ((7, 9, 5), (33, 64, 48)):
        graph.add("MatMul", value(rows, depth), value(depth, columns, seed=1))
        graph.add("MatMul", value(rows, depth), constants=(value(depth, columns, seed=1),))
        for op_type in ("Softmax", "LogSoftmax"):
            graph.add(op_type, value(rows, columns))
        graph.add("Softmax", value(rows, columns, 3), axis=1)
        graph.add("LayerNormalization", value(rows, columns), value(columns, seed=1), value(columns, seed=2))
        graph.add("RMSNormalization", value(rows, columns), value(columns, seed=1))
        graph.add("ReduceMax", value(rows, columns), constants=(np.array([0]),))
        if has_merged_loads or columns % 16 == 0:
            graph.add("ReduceMean", value(rows, columns), constants=(np.array([1]),))
            graph.add("TopK", value(rows, columns), constants=(np.array([3]),), count=2)
            graph.add("CumSum", value(rows, columns), constants=(np.array(1),))
        graph.add("Attention", *(value(1, 3, rows, 16, seed=seed) for seed in range(3)))
        graph.add("Pad", value(rows, columns), constants=(np.array([1, 2, 3, 0]),))
        resized = (np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32))
        graph.add("Resize", value(1, 2, rows, columns), constants=resized, mode="linear")
    return graph


def integers() -> Graph:
    graph = Graph()
    random_bytes = np.random.default_rng(0)

    def value(*shape: int) -> Array:
        return random_bytes.integers(0, 256, shape).astype(np.uint8)

    def weights(*shape: int) -> Array:
        return random_bytes.integers(-128, 128, shape).astype(np.int8)

    scale, zero = np.array(0.5, np.float32), np.array(3, np.uint8)
    none = np.array(0, np.int8)
    for channels, outputs, size in ((3, 20, (9, 7)), (16, 32, (8, 8))):
        for kernel in (1, 3):
            w = weights(outputs, channels, kernel, kernel)
            graph.add("ConvInteger", value(1, channels, *size), constants=(w, zero), pads=[kernel // 2] * 4)
            quantised = (scale, zero, w, scale, none, scale, zero)
            graph.add("QLinearConv", value(1, channels, *size), constants=quantised)
    for rows, columns, depth in ((7, 9, 5), (33, 64, 48)):
        graph.add("MatMulInteger", value(rows, depth), constants=(weights(depth, columns), zero))
        graph.add("QuantizeLinear", random(rows, columns), constants=(scale, zero))
        graph.add("DequantizeLinear", value(rows, columns), constants=(scale, zero))
    return graph


GRAPHS = {
    "every type": every_type,
    "float32": lambda: kernels(np.float32),
    "float16": lambda: kernels(HALF),
    "bfloat16": lambda: kernels(BRAIN),
    "integers": integers,
}
ON_THE_CPU = [
    ("every type", "x86-64-v4"),
    ("float32", "x86-64-v4"),
    ("float16", "x86-64-v4"),
    ("integers", "x86-64-v4"),
    pytest.param("float32", "x86-64-v3", marks=pytest.mark.slow),
    pytest.param("float16", "x86-64-v3", marks=pytest.mark.slow),
    pytest.param("bfloat16", "x86-64-v4", marks=pytest.mark.slow),
    pytest.param("integers", "x86-64-v3", marks=pytest.mark.slow),
]
# Whether the simulator faults at each access that is not aligned to its size, as other GPUs do.
ON_A_GPU = {
    "every type": (every_type, False),
    "integers": (integers, False),
    "float32": (lambda: kernels(np.float32, has_merged_loads=False), True),
    "float16": (lambda: kernels(HALF, has_merged_loads=False), True),
}


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(onnxc_commands.SIMULATOR))


def compiled(graph: Graph, folder: Path, *options: str) -> Path:
    return onnxc_commands.compile_model(graph.save(folder / "model.onnx"), folder / "model.so", *options)


def expected(file: Path, inputs: Mapping[str, Array], **options: Any) -> list[Array]:
    with InferenceSession(file, **options) as session:
        return [np.asarray(result) for result in session.run(None, dict(inputs))]


def check_all_places(file: Path, graph: Graph, references: list[Array], device: int, hip: Hip | None) -> None:
    model = Model(file)
    instance = model.create(device)
    for place in PLACES:
        results = model.results(instance, graph.inputs, references, place, hip)
        for name, result, reference in zip(graph.outputs, results, references, strict=True):
            wanted = dtypes.packed(np.ascontiguousarray(reference)).tobytes()
            node = next(node for node in graph.nodes if name in node.output)
            assert result == wanted, f"{name} of {node.op_type} at {place}"
    model.destroy(instance)


@pytest.mark.parametrize(("name", "march"), ON_THE_CPU)
def test_on_the_cpu(name: str, march: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]()
    file = compiled(graph, tmp_path, "--march", march)
    check_all_places(file, graph, expected(file, graph.inputs), CPU, None)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "integers" else []) for name in ON_A_GPU]
)
def test_on_a_gpu(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, is_strict = ON_A_GPU[name]
    graph = make()
    file = compiled(graph, tmp_path, "--target", "hip")
    if is_strict:
        monkeypatch.setenv("GFX942SIM_ALIGNMENT", "natural")
    references = expected(file, graph.inputs, device="hip")
    check_all_places(file, graph, references, HIP, Hip())
    if not is_strict:  # these are copied in any case
        check_all_places(file, graph, references, HIP, None)


@pytest.mark.parametrize("device", [CPU, HIP])
def test_what_is_not_aligned_to_its_elements_is_refused(device: int, tmp_path: Path) -> None:
    graph = Graph()
    graph.add("Transpose", random(3, 5), perm=[1, 0])
    model = Model(compiled(graph, tmp_path, "--target", "cpu,hip"))
    instance = model.create(device)
    hip = Hip() if device == HIP else None
    values = {"input": Value(random(3, 5), "apart", hip), "output": Value(random(5, 3), "apart", hip)}
    for role, value in values.items():
        value.value.data += 2
        with pytest.raises(AbiError) as refused:
            model.run(instance, [values["input"]], [values["output"]])
        assert refused.value.status == INVALID_ARGUMENT
        assert f"{role} 0 '" in str(refused.value)
        assert "data lies 2 bytes past a multiple of 4, and a float32 needs one: copy the tensor" in str(refused.value)
        value.value.data -= 2
    model.run(instance, [values["input"]], [values["output"]])
    model.destroy(instance)


def test_numpy_views_at_any_byte(tmp_path: Path) -> None:
    """Python's interface copies what the ABI refuses."""
    graph = Graph()
    graph.add("Transpose", random(3, 5), perm=[1, 0])
    graph.add("Transpose", np.arange(15).reshape(3, 5), perm=[1, 0])
    with InferenceSession(compiled(graph, tmp_path)) as session:
        for offset in range(1, 9):
            views = {}
            for name, array in graph.inputs.items():
                memory = np.zeros(array.nbytes + offset, np.uint8)
                views[name] = np.frombuffer(memory.data, array.dtype, array.size, offset).reshape(array.shape)
                np.copyto(memory[offset:], np.frombuffer(array.tobytes(), np.uint8))
            for result, array in zip(session.run(None, views), graph.inputs.values(), strict=True):
                np.testing.assert_array_equal(result, array.T)
