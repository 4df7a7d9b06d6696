"""Kernels whose operands are states of a Loop or a Scan: memory that is written again in every round.

The models of one group are compiled as one, each with outputs of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models.tensor_files import Array
from tests.ops.control.test_control_flow import number, parse, truth
from tests.ops.test_run_time_dims import LEVELS, Feeds, check_runs

pytestmark = pytest.mark.usefixtures("commands")

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Form:
    """A model of inputs x, u, n and c, and of constants. float[M] in its text is of the shape of x and u."""

    text: str
    x: tuple[int, ...]
    constants: tuple[tuple[str, tuple[int, ...]], ...] = ()
    outputs: tuple[str, ...] = ("y",)


def loop(body: str, states: str = "s", results: str = "t", initial: str = "x", outputs: str = "y") -> str:
    """A Loop of n rounds, in which `body` computes the next states."""
    return f"""{outputs} = Loop(n, yes, {initial}) <
      body = body (int64 i, bool k, {", ".join("float[M] " + state for state in states.split())}) =>
        (k_next, {", ".join(results.split())}) {{ k_next = Identity(k) {body} }}>"""


SQUARE, PLANES, BLOCKS, VOLUME = (1, 4, 12, 12), (1, 2, 40, 40), (2, 32, 9, 9), (1, 17, 5, 6, 7)
TAPS = "<pads = [1, 1, 1, 1]>"
PADS = "<pads = [1, 1, 1, 1, 1, 1]>"

FORMS = {
    # A state is what the kernel reads, and the next one what it writes.
    "conv": Form(loop(f"t = Conv{TAPS}(s, w)"), PLANES, (("w", (2, 2, 3, 3)),)),
    "conv_of_blocks": Form(loop(f"t = Conv{TAPS}(s, w)"), BLOCKS, (("w", (32, 32, 3, 3)),)),
    "conv_of_a_volume": Form(loop(f"t = Conv{PADS}(s, w)"), VOLUME, (("w", (17, 17, 3, 3, 3)),)),
    "conv_1x1": Form(loop("t = Conv(s, w)"), BLOCKS, (("w", (32, 32, 1, 1)),)),
    "depthwise": Form(loop("t = Conv<pads = [1, 1, 1, 1], group = 32>(s, w)"), BLOCKS, (("w", (32, 1, 3, 3)),)),
    "conv_transpose": Form(loop(f"t = ConvTranspose{TAPS}(s, w)"), BLOCKS, (("w", (32, 32, 3, 3)),)),
    "max_pool": Form(loop("t = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(s)"), BLOCKS),
    "average_pool": Form(
        loop(f"a = Conv{TAPS}(s, w) t = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(a)"),
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
    ),
    "softmax": Form(loop("d = Add(s, x) t = Softmax(d)"), SQUARE),
    "softmax_alone": Form(loop("t = Softmax(s)"), SQUARE),
    "instance_norm": Form(loop("t = InstanceNormalization(s, one, zero)"), BLOCKS, (("one", (32,)), ("zero", (32,)))),
    "layer_norm": Form(loop("t = LayerNormalization(s, one, zero)"), SQUARE, (("one", (12,)), ("zero", (12,)))),
    # The epilogue reads the state, at the element that it stores.
    "residual": Form(loop(f"a = Conv{TAPS}(x, w) b = Add(a, s) t = Relu(b)"), BLOCKS, (("w", (32, 32, 3, 3)),)),
    "residual_of_planes": Form(loop(f"a = Conv{TAPS}(x, w) t = Add(a, s)"), PLANES, (("w", (2, 2, 3, 3)),)),
    "residual_of_a_volume": Form(loop(f"a = Conv{PADS}(x, w) t = Sub(s, a)"), VOLUME, (("w", (17, 17, 3, 3, 3)),)),
    "residual_of_a_product": Form(loop("a = MatMul(x, u) t = Add(s, a)"), SQUARE),
    "residual_of_itself": Form(loop(f"a = Conv{TAPS}(s, w) t = Add(a, s)"), BLOCKS, (("w", (32, 32, 3, 3)),)),
    # A copy to a kernel's layout in the loop is read by a kernel after it, even if the loop had no round.
    "copied_in_a_loop": Form(
        loop(f"a = Conv{TAPS}(u, w) t = Add(a, s)") + f" z = Conv{TAPS}(u, w)",
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
        outputs=("y", "z"),
    ),
    # States that the others are made of.
    "product_of_states": Form(
        loop("b = MatMul(p, q) f = Mul(b, h) a = Add(p, q) e = Mul(a, h)", "p q", "e f", "x, u", "y, z"),
        SQUARE,
        outputs=("y", "z"),
    ),
    "swapped": Form(
        loop(f"a = Conv{TAPS}(q, w) b = Relu(p)", "p q", "a b", "x, u", "y, z"),
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
        outputs=("y", "z"),
    ),
    "handed_around": Form(
        loop("a = MatMul(p, q)", "p q r", "q r a", "x, u, x", "y, z, v"), SQUARE, outputs=("y", "z", "v")
    ),
    "attention": Form(
        loop(
            "kt = Transpose<perm = [0, 1, 3, 2]>(b) a = MatMul(q, kt) m = Mul(a, h) p = Softmax(m) o = MatMul(p, v)",
            "q b v",
            "o q b",
            "x, u, x",
            "y, z, r",
        ),
        SQUARE,
        outputs=("y", "z", "r"),
    ),
    "pooled_conv": Form(
        loop(
            f"a = Conv{TAPS}(s, w) b = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a) t = Tile(b, twice)",
        ),
        SQUARE,
        (("w", (4, 4, 3, 3)),),
    ),
    "under_another_shape": Form(
        loop("r = Reshape(s, flat) a = Transpose<perm = [1, 0]>(r) t = Reshape(a, square)"), SQUARE
    ),
    "parts": Form(
        loop(f"a, b = Split<axis = 1, num_outputs = 2>(s) d = Conv{TAPS}(a, w) t = Concat<axis = 1>(b, d)"),
        BLOCKS,
        (("w", (16, 16, 3, 3)),),
    ),
    # Loops in loops, one after another, and branches.
    "nested": Form(
        loop(
            f"""o = Loop(n, yes, s) <body = inner (int64 j, bool on, float[M] r) => (on_next, e) {{
              on_next = Identity(on) d = Conv{TAPS}(r, w) e = Add(d, s) }}>
            t = Conv{TAPS}(o, w)"""
        ),
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
    ),
    "until": Form(
        f"""m = Loop(n, c, x) <body = first (int64 i, bool k, float[M] s) => (more, t) {{
          more = Less(i, two) t = Conv{TAPS}(s, w) }}>
        y, z = Loop(n, c, m) <body = second (int64 i, bool k, float[M] s) => (more, t, a) {{
          more = Less(i, two) a = Relu(s) t = Conv{TAPS}(a, w) }}>""",
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
        outputs=("y", "z"),
    ),
    "condition_of_the_outside": Form(
        f"""m = Loop(n, c, x) <body = first (int64 i, bool k, float[M] s) => (k_next, t) {{
          k_next = Identity(k)
          o = Loop(n, k, s) <body = inner (int64 j, bool on, float[M] r) => (on_next, e) {{
            on_next = Identity(on) e = Conv{TAPS}(r, w) }}>
          t = Sub(o, u) }}>
        y, z = Loop(n, c, m, u) <
          body = second (int64 i, bool k, float[M] s, float[M] same) => (k_next, t, same_next) {{
            k_next = Identity(k) same_next = Identity(same) a = Conv{TAPS}(s, w) t = Add(a, same) }}>""",
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
        outputs=("y", "z"),
    ),
    "branches": Form(
        loop(
            f"""t = If(c) <
              then_branch = yes_graph () => (a) {{ a = Conv{TAPS}(s, w) }},
              else_branch = no_graph () => (b) {{
                d = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(s) b = Add(d, s) }}>"""
        ),
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
    ),
    "loops_in_branches": Form(
        f"""a = Conv{TAPS}(x, w)
        b = If(c) <
          then_branch = yes_graph () => (o) {{ {loop(f"t = Conv{TAPS}(s, w)", initial="a", outputs="o")} }},
          else_branch = no_graph () => (p) {{ {loop("t = Add(s, x)", initial="a", outputs="p")} }}>
        y = Relu(b)""",
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
    ),
    "scan": Form(
        f"""first = Unsqueeze(x, zero_axis) second = Unsqueeze(u, zero_axis)
        sequence = Concat<axis = 0>(first, second, first)
        y, z = Scan<num_scan_inputs = 1, scan_output_directions = [1], body = body (float[M] s, float[M] e) => (t, o) {{
          a = Conv{TAPS}(s, w) t = Add(a, e) o = Conv{TAPS}(e, w) }}>(x, sequence)""",
        BLOCKS,
        (("w", (32, 32, 3, 3)),),
        outputs=("y", "z"),
    ),
}  # fmt: skip

SHARED = {
    "yes": np.array(True),
    "two": np.array(2, np.int64),
    "h": np.array(0.125, np.float32),
    "zero_axis": np.array([0], np.int64),
    "twice": np.array([1, 1, 2, 2], np.int64),
    "flat": np.array([48, 12], np.int64),
    "square": np.array(SQUARE, np.int64),
}


def weights(dims: Sequence[int], seed: int) -> Array:
    """Factors of a size that keeps the magnitude of what they are multiplied with."""
    fan_in = max(1, int(np.prod(dims[1:])))
    return (np.random.default_rng(seed).standard_normal(dims) / np.sqrt(fan_in)).astype(np.float32)


def joined(names: Sequence[str]) -> onnx.ModelProto:
    """The models of these names as one, the names of each with its own prefix."""
    nodes, inputs, outputs, constants = [], [], [], []
    for name in names:
        form = FORMS[name]
        text = form.text.replace("float[M]", f"float[{', '.join(map(str, form.x))}]")
        graph = parse(
            f"model (float[N] x, float[N] u, int64 n, bool c) => ({', '.join(form.outputs)}) {{ {text} }}"
        ).graph
        prefixed = onnx.compose.add_prefix_graph(graph, f"{name}_", rename_inputs=False, rename_outputs=False)
        # A name that the parser has not seen declared stays: constants and what all models share.
        own = {"x", "u", "n", "c", *form.outputs, *(constant for constant, _ in form.constants)}
        rename(prefixed, {each: f"{name}_{each}" for each in own} | {each: f"shared_{each}" for each in SHARED})
        nodes += prefixed.node
        for each, kind, dims in (
            ("x", TensorProto.FLOAT, form.x), ("u", TensorProto.FLOAT, form.x),
            ("n", TensorProto.INT64, ()), ("c", TensorProto.BOOL, ()),
        ):  # fmt: skip
            inputs.append(helper.make_tensor_value_info(f"{name}_{each}", kind, dims))
        outputs += [helper.make_tensor_value_info(f"{name}_{each}", TensorProto.FLOAT, None) for each in form.outputs]
        constants += [
            numpy_helper.from_array(weights(dims, seed), f"{name}_{each}")
            for seed, (each, dims) in enumerate(form.constants)
        ]
    constants += [numpy_helper.from_array(array, f"shared_{name}") for name, array in SHARED.items()]
    graph = helper.make_graph(nodes, "forms", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def rename(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    for node in graph.node:
        for values in (node.input, node.output):
            for i, value in enumerate(values):
                values[i] = names.get(value, value)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, names)
    for value in graph.output:
        value.name = names.get(value.name, value.name)


def feeds(names: Sequence[str], rounds: int, condition: bool) -> Feeds:
    result: dict[str, Array] = {}
    for name in names:
        generator = np.random.default_rng(len(name))
        for each in ("x", "u"):
            result[f"{name}_{each}"] = generator.standard_normal(FORMS[name].x).astype(np.float32)
        result |= {f"{name}_n": number(rounds), f"{name}_c": truth(condition)}
    return result


NAMES = list(FORMS)
GROUPS = [NAMES[start : start + 10] for start in range(0, len(NAMES), 10)]


@pytest.mark.parametrize("options", LEVELS)
@pytest.mark.parametrize("names", [pytest.param(group, id=group[0]) for group in GROUPS])
def test_as_onnxruntime_does(names: Sequence[str], tmp_path: Path, options: Sequence[str]) -> None:
    runs = [feeds(names, rounds, condition) for rounds, condition in ((2, True), (3, False), (0, True), (1, True))]
    check_runs(joined(names), tmp_path, runs, options, TOLERANCE)
