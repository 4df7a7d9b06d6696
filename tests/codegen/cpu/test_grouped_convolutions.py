"""Convolutions in groups of any width: what --report says that each became, and values beside onnxruntime's.

No convolution with constant weights is left to loops on a CPU, whatever its type, rank and groups, if its groups fill a
vector. With fewer channels a kernel and the copies around it may cost more than loops. Tests in tests/kernels/cpu show
that the kernels compute what the definition means.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import onnxc_commands
from tests.onnxruntime_sessions import open_session

CASES = [
    # groups, inputs and outputs of each
    *((2, width, width) for width in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 40, 63, 64)),
    *((5, width, 2 * width) for width in (1, 2, 3, 7, 8, 12, 16, 20)),
    *((5, 2 * width, width) for width in (1, 2, 3, 7, 8, 12, 16, 20)),
    (3, 3, 5), (3, 1, 3), (3, 5, 3), (3, 17, 1), (3, 1, 17), (3, 33, 20), (3, 16, 24), (3, 24, 16),
    (64, 2, 4), (32, 4, 4), (32, 8, 8), (64, 1, 1), (19, 1, 1), (40, 1, 4),
]  # fmt: skip
# Each rank has tensors so large that a copy costs more than its least.
BYTE_EXTENTS = {1: 512, 2: 24, 3: 6}
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
DYNAMIC = "ConvInteger with a zero point of the run"
NAMES = {TensorProto.FLOAT: "float32", TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}


def constant(name: str, values: np.ndarray, dtype: int) -> onnx.TensorProto:
    if dtype == TensorProto.BFLOAT16:
        return helper.make_tensor(name, dtype, values.shape, values.astype(np.float32).ravel())
    return numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(dtype)), name)


class ManyConvolutions:
    """A model in which each case is a node with an input and an output of its own."""

    def __init__(self, opset: int = 22) -> None:
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.opset = opset

    def add_input(self, dtype: int, channels: int, extents: tuple[int | str, ...]) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, dtype, [1, channels, *extents]))
        return name

    def add_scalar(self, dtype: int) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, dtype, []))
        return name

    def add_constant(self, values: np.ndarray, dtype: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(constant(name, values, dtype))
        return name

    def add(self, operator: str, inputs: list[str], is_output: bool = True, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        if is_output:
            self.outputs.append(helper.make_empty_tensor_value_info(name))
        return name

    def save(self, path: Path) -> Path:
        graph = helper.make_graph(self.nodes, "groups", self.inputs, self.outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10), path)
        return path


def weights(case: tuple[int, int, int], rank: int, is_transposed: bool) -> np.ndarray:
    groups, inputs, outputs = case
    shape = (groups * inputs, outputs) if is_transposed else (groups * outputs, inputs)
    return np.random.default_rng(sum(case)).integers(-9, 10, (*shape, *[3] * rank)).astype(np.float32)


def geometry(rank: int, is_transposed: bool) -> dict[str, Any]:
    return {"pads": [1] * (2 * rank), "strides": [2 if is_transposed else 1] * rank}


def add_floats(
    model: ManyConvolutions,
    case: tuple[int, int, int],
    rank: int,
    is_transposed: bool,
    dtype: int,
    is_output: bool = True,
) -> str:
    groups, inputs, _ = case
    # Known and free sizes, in turns.
    extents: tuple[int | str, ...] = (6,) * rank if rank == 3 else tuple(f"n{axis}" for axis in range(rank))
    x = model.add_input(dtype, groups * inputs, extents)
    w = model.add_constant(weights(case, rank, is_transposed), dtype)
    operator = "ConvTranspose" if is_transposed else "Conv"
    return model.add(operator, [x, w], is_output, group=groups, **geometry(rank, is_transposed))


def add_bytes(model: ManyConvolutions, case: tuple[int, int, int], rank: int, form: str) -> None:
    groups, inputs, _ = case
    x = model.add_input(TensorProto.UINT8, groups * inputs, (BYTE_EXTENTS[rank],) * rank)
    is_transposed = form == "QDQ transposed"
    w = model.add_constant(weights(case, rank, is_transposed), TensorProto.INT8)
    if form == DYNAMIC:
        zero = model.add_scalar(TensorProto.UINT8)
        sums = model.add("ConvInteger", [x, w, zero], is_output=False, group=groups, **geometry(rank, is_transposed))
        model.add("Cast", [sums], to=TensorProto.FLOAT)
        return
    scale, zero = (
        model.add_constant(np.array(0.5), TensorProto.FLOAT),
        model.add_constant(np.array(3), TensorProto.UINT8),
    )
    no_zero = model.add_constant(np.array(0), TensorProto.INT8)
    options = {"group": groups, **geometry(rank, is_transposed)}
    if form == "ConvInteger":
        model.add("ConvInteger", [x, w, zero], **options)
    elif form == "QLinearConv":
        model.add("QLinearConv", [x, scale, zero, w, scale, no_zero, scale, zero], **options)
    else:
        numbers = model.add("DequantizeLinear", [x, scale, zero], is_output=False)
        of_weights = model.add("DequantizeLinear", [w, scale, no_zero], is_output=False)
        operator = "ConvTranspose" if is_transposed else "Conv"
        result = model.add(operator, [numbers, of_weights], is_output=False, **options)
        model.add("QuantizeLinear", [result, scale, zero])


def convolutions_called(path: Path, march: str) -> int:
    """How many steps of the program are kernels of convolutions."""
    program = path.with_suffix(".ir")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(path), "--emit", "ir", "-o", str(program)]
    onnxc_commands.execute([*command, "--march", march, "-q"])
    return sum(line.startswith("kernel conv") for line in program.read_text().splitlines())


def offers_of_convolutions(path: Path, march: str) -> list[list[dict[str, Any]]]:
    """For each, the kernels that offer to compute it, and last its definition."""
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(path), "--report", "--json", "--march", march]
    groups: list[list[dict[str, Any]]] = [[]]
    for offer in json.loads(onnxc_commands.execute(command).stdout)["offers"]:
        groups[-1].append(offer)
        if offer["kernel"] == "loops":
            groups.append([])
    return [group for group in groups[:-1] if "Conv" in group[0]["op_type"]]


def is_taken(offer: dict[str, Any]) -> bool:
    taken: bool = offer["choice"] == "taken"
    return taken


def loses_by_its_cost(offer: dict[str, Any]) -> bool:
    choice: str = offer["choice"]
    return choice == "costs more" or choice.endswith(" with copies")


def expect_kernels(model: ManyConvolutions, path: Path, of_each: int = 1) -> None:
    model.save(path)
    for march, lanes in (("x86-64-v3", 8), ("x86-64-v4", 16)):
        convolutions = offers_of_convolutions(path, march)
        assert len(convolutions) == of_each * len(CASES)
        in_loops = [i for i, offers in enumerate(convolutions) if is_taken(offers[-1])]
        for i in in_loops:
            _, inputs, outputs = CASES[i // of_each]
            assert min(inputs, outputs) < lanes, march
            assert any(loses_by_its_cost(kernel) for kernel in convolutions[i][:-1]), (march, convolutions[i])
        assert convolutions_called(path, march) == len(convolutions) - len(in_loops)


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES.get)
@pytest.mark.parametrize("is_transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_convolution_of_floats_is_loops(tmp_path: Path, rank: int, is_transposed: bool, dtype: int) -> None:
    model = ManyConvolutions()
    for case in CASES:
        add_floats(model, case, rank, is_transposed, dtype)
    expect_kernels(model, tmp_path / "floats.onnx")


@pytest.mark.parametrize("form", ["ConvInteger", DYNAMIC, "QLinearConv", "QDQ", "QDQ transposed"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_convolution_of_bytes_is_loops(tmp_path: Path, rank: int, form: str) -> None:
    model = ManyConvolutions()
    for case in CASES:
        add_bytes(model, case, rank, form)
    # The factor of a zero point of the run is a convolution of its own.
    expect_kernels(model, tmp_path / "bytes.onnx", 2 if form == DYNAMIC else 1)


def kernels_of(path: Path) -> list[str]:
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(path), "--report", "--json", "--march", "x86-64-v4"]
    nodes = json.loads(onnxc_commands.execute(command).stdout)["nodes"]
    return [node["description"].split()[0] for node in nodes if "Conv" in node["op_type"]]


def test_two_groups_of_24_and_two_transposed_of_12_have_kernels(tmp_path: Path) -> None:
    """Both ran as loops, for 10 to 38 times onnxruntime's time."""
    plain, transposed = ManyConvolutions(), ManyConvolutions()
    add_floats(plain, (2, 24, 24), 3, False, TensorProto.FLOAT)
    add_floats(transposed, (2, 12, 12), 3, True, TensorProto.FLOAT)
    assert kernels_of(plain.save(tmp_path / "plain.onnx")) == ["conv_direct"]
    assert kernels_of(transposed.save(tmp_path / "transposed.onnx"))[0] in ("conv_transpose", "conv_grouped")


def values(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    result = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        result[value.name] = random.integers(0, 9, shape).astype(dtype)
    return result


@pytest.mark.parametrize("march", ["x86-64-v3", "native"])
def test_compiled_groups_give_the_values_of_onnxruntime(tmp_path: Path, march: str) -> None:
    """A kernel of each kind, with what follows it: whole numbers, so that every sum is exact."""
    model = ManyConvolutions(20)
    for case, is_transposed in itertools.product([(2, 24, 24), (4, 3, 5), (3, 1, 2)], [False, True]):
        sums = add_floats(model, case, 3, is_transposed, TensorProto.FLOAT, is_output=False)
        shift = model.add_constant(np.arange(case[0] * case[2]).reshape(-1, 1, 1, 1), TensorProto.FLOAT)
        added = model.add("Add", [sums, shift], is_output=False)
        model.add("Relu", [added])
    for case in [(2, 24, 24), (4, 3, 5)]:
        add_bytes(model, case, 3, "ConvInteger")
        add_bytes(model, case, 3, DYNAMIC)
    path = model.save(tmp_path / "model.onnx")
    inputs = values(onnx.load(path))
    shared_object = onnxc_commands.compile_model(path, tmp_path / "model.so", "--march", march)
    session = open_session(path)
    names = [output.name for output in session.get_outputs()]
    got = onnxc_commands.run_arrays(shared_object, inputs, names, tmp_path)
    for name, expected in zip(names, session.run(None, inputs), strict=True):
        np.testing.assert_array_equal(got[name], expected, err_msg=name)
