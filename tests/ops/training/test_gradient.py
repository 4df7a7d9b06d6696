"""Gradient of ai.onnx.preview.training, against PyTorch's."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from models.tensor_files import Array
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.test_run_time_dims import LEVELS, on_the_simulator

pytestmark = pytest.mark.usefixtures("commands")

DOMAIN = "ai.onnx.preview.training"
HEADER = f'<ir_version: 10, opset_import: ["" : 20, "{DOMAIN}" : 1]>'
Tensor = torch.Tensor

# Positive, so that logarithms and powers exist; r has numbers of both signs and a 0.
INPUTS: dict[str, Array] = {
    "a": np.array([[0.5, 1.5, 2], [0.25, 1, 3]], np.float32),
    "b": np.array([0.5, 2, 1.25], np.float32),
    "m": np.arange(1, 13, dtype=np.float32).reshape(3, 4) / 8,
    "s": np.array(0.75, np.float32),
    "r": np.array([[[-1, 0, 2], [3, -0.5, 1]], [[1, 1, -2], [0.5, 4, -3]]], np.float32),
}

CASES: dict[str, tuple[str, Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]]] = {
    "sums": ("t0 = Add(a, b)  y = Sub(t0, s)", lambda a, b, m, s, r: a + b - s),
    "difference": ("t0 = Sub(b, a)  y = Neg(t0)", lambda a, b, m, s, r: -(b - a)),
    "product": ("t0 = Add(a, b)  t1 = Mul(t0, a)  y = Mul(t1, s)", lambda a, b, m, s, r: (a + b) * a * s),
    "square": ("y = Mul(a, a)", lambda a, b, m, s, r: a * a),
    "quotient": ("t0 = Div(a, b)  y = Div(s, t0)", lambda a, b, m, s, r: s / (a / b)),
    "power": ("y = Pow(a, b)", lambda a, b, m, s, r: a**b),
    "functions": (
        "t0 = Exp(b)  t1 = Log(a)  t2 = Sqrt(a)  t3 = Sin(b)  t4 = Cos(t2)  t5 = Mul(t0, t1)  t6 = Mul(t3, t4)"
        "  y = Add(t5, t6)",
        lambda a, b, m, s, r: b.exp() * a.log() + b.sin() * a.sqrt().cos(),
    ),
    "layers": (
        "t0 = MatMul(a, m)  t1 = Tanh(t0)  t2 = Identity(t1)  t3 = Sigmoid(t2)  y = Relu(t3)",
        lambda a, b, m, s, r: (a @ m).tanh().sigmoid().relu(),
    ),
    "relu": ("y = Relu(r)", lambda a, b, m, s, r: r.relu()),
    "matrices of a batch": ("y = MatMul(r, m)", lambda a, b, m, s, r: r @ m),
    "order": (
        "t0 = Transpose <perm = [2, 0, 1]> (r)  t1 = Reshape(t0, flat)  t2 = Mul(t1, t1)  t3 = Transpose(a)"
        "  t4 = Mul(t3, s)  t5 = Reshape(t4, row)  y = MatMul(t5, t2)",
        lambda a, b, m, s, r: (a.T * s).reshape(1, 6) @ r.permute(2, 0, 1).reshape(6, 2) ** 2,
    ),
    "what does not matter": ("t0 = Ceil(m)  t1 = Mul(a, s)  y = Identity(t1)", lambda a, b, m, s, r: a * s),
}


def renamed(body: str, prefix: str) -> str:
    return re.sub(r"\b(t\d|y)\b", rf"{prefix}\1", body)


def model_of(bodies: dict[str, str], xs: list[str]) -> onnx.ModelProto:
    """For each body, named by its prefix, the derivatives of its y by the inputs; y itself is not an output."""
    declared = ", ".join(f"float{list(INPUTS[x].shape) or ''} {x}" for x in INPUTS)
    text = "  ".join(renamed(body, prefix) for prefix, body in bodies.items())
    model = onnx.parser.parse_model(
        f"{HEADER} model ({declared}) => () <int64[2] flat = {{6, 2}}, int64[2] row = {{1, 6}}> {{ {text} }}"
    )
    for prefix in bodies:
        outputs = [f"{prefix}by_{x}" for x in xs]
        model.graph.node.append(helper.make_node("Gradient", xs, outputs, domain=DOMAIN, xs=xs, y=f"{prefix}y"))
        for x, output in zip(xs, outputs, strict=True):
            model.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, INPUTS[x].shape))
    return model


@pytest.mark.parametrize("options", LEVELS)
def test_gradient(options: tuple[str, ...], tmp_path: Path) -> None:
    xs = list(INPUTS)
    onnx.save(model_of({f"c{i}_": body for i, (body, _) in enumerate(CASES.values())}, xs), tmp_path / "model.onnx")
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", *options)
    device = "hip" if "hip" in options else "cpu"
    with on_the_simulator(), InferenceSession(tmp_path / "model.so", device=device) as session:
        found = session.run(None, INPUTS)
    expected = []
    for _, function in CASES.values():
        tensors = [torch.tensor(array, requires_grad=True) for array in INPUTS.values()]
        torch.autograd.backward([function(*tensors).sum()])
        expected += [torch.zeros_like(x) if x.grad is None else x.grad for x in tensors]
    names = [f"{case} by {x}" for case in CASES for x in xs]
    for name, one, other in zip(names, found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_derivative_of_a_derivative(tmp_path: Path) -> None:
    model = model_of({"": "t0 = Mul(a, a)  y = Mul(t0, a)"}, ["a"])
    model.graph.node.append(helper.make_node("Gradient", ["a"], ["again"], domain=DOMAIN, xs=["a"], y="by_a"))
    model.graph.output.append(helper.make_tensor_value_info("again", TensorProto.FLOAT, INPUTS["a"].shape))
    onnx.save(model, tmp_path / "model.onnx")
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    _, found = InferenceSession(tmp_path / "model.so").run(None, INPUTS)
    np.testing.assert_allclose(found, 6 * INPUTS["a"], rtol=1e-6)


@pytest.mark.parametrize(
    ("body", "xs", "message"),
    [
        ("y = Erf(a)", ["a"], r"\(Gradient\): it has no derivative of node 'y' \(Erf\); it has those of Identity, Add"),
        ("y = MatMul(a, b)", ["a"], r"the derivative of a MatMul of a vector is not supported \(node 'y' \(MatMul\)\)"),
        ("y = Mul(a, s)", ["a", "s"], r"input 1 must be the tensor 's'.*found 'b'; the derivative at other values"),
        ("y = Mul(a, s)", ["a", "nothing"], r"no tensor before it has the name 'nothing' of its attributes"),
        ("t0 = Neg(b)", ["b"], "no tensor before it has the name 'y' of its attributes"),
    ],
)
def test_refused(body: str, xs: list[str], message: str, tmp_path: Path) -> None:
    model = model_of({"": body}, xs[:1])
    gradient = model.graph.node[-1]
    for x in xs[1:]:
        gradient.input.append("b")
        gradient.output.append("other")
        gradient.attribute[0].strings.append(x.encode())
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure, match=message):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")


@pytest.mark.parametrize(("y", "message"), [("square", None), ("absent", "no tensor before it has the name 'absent'")])
def test_in_a_function(y: str, message: str | None, tmp_path: Path) -> None:
    """Its names are those of the function; an input that the call leaves out is not a tensor."""
    imports = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1), helper.make_opsetid("local", 1)]
    body = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("Gradient", ["x"], ["by_x"], domain=DOMAIN, xs=["x"], y=y),
    ]
    function = helper.make_function("local", "Derivative", ["x", "absent"], ["by_x"], body, imports)
    model = model_of({"": "y = Exp(a)"}, ["a"])
    del model.graph.node[1:], model.graph.output[:]
    model.graph.node.append(helper.make_node("Derivative", ["y"], ["result"], domain="local"))
    model.graph.output.append(helper.make_tensor_value_info("result", TensorProto.FLOAT, INPUTS["a"].shape))
    model.opset_import.append(imports[-1])
    model.functions.append(function)
    onnx.save(model, tmp_path / "model.onnx")
    if message is not None:
        with pytest.raises(onnxc_commands.CommandFailure, match=message):
            onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
        return
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    [found] = InferenceSession(tmp_path / "model.so").run(None, INPUTS)
    np.testing.assert_allclose(found, 2 * np.exp(INPUTS["a"]), rtol=1e-5)
