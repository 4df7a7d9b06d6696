"""If, Loop and Scan against onnxruntime: one compile, many values of what decides which steps run, and how often."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.onnxruntime_sessions import open_session
from tests.ops.case import case, random
from tests.ops.test_run_time_dims import LEVELS, Feeds, check_runs, ints, numbers

pytestmark = pytest.mark.usefixtures("commands")

# A body that is valid in every version.
DOUBLES = onnx.parser.parse_graph(
    "body (int64 i, bool c, float[2, 3] s) => (bool next, float[2, 3] t) { next = Identity(c)  t = Add(s, s) }"
)
# For the table of versions; what If, Loop and Scan do is tested below.
CASES = [case("Loop", np.array(3), np.array(True), random(2, 3), name="doubles", body=DOUBLES)]

HEADER = '<ir_version: 10, opset_import: ["" : 20]>'


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEADER} {text}")


def truth(value: bool) -> np.ndarray:
    return np.array(value)


def number(value: int) -> np.ndarray:
    return np.array(value, np.int64)


# Each branch computes; both see values from outside, and give different extents.
IF = """
model (bool c, bool d, float[N, 3] x, int64[2] shape) => (y, z, w)
<int64[1] zero = {0}, int64[1] one = {1}, float two = {2.0}> {
  doubled = Mul(x, two)
  y, z = If(c) <
    then_branch = then_graph () => (a, b) {
      a = Relu(doubled)
      top = Slice(x, zero, one, zero)
      b = Neg(top)
    },
    else_branch = else_graph () => (k, e) {
      k = Identity(x)
      e = If(d) <
        then_branch = inner_then () => (f) { g = Reshape(x, shape)  f = Neg(g) },
        else_branch = inner_else () => (h) { places = NonZero(x)  real = Cast<to = 1>(places)  h = Transpose(real) }
      >
    }
  >
  w = Add(y, doubled)
}
"""


@pytest.mark.parametrize("options", LEVELS)
def test_if(tmp_path: Path, options: Sequence[str]) -> None:
    model = parse(IF)
    runs: list[Feeds] = []
    for c, d, rows, shape in (
        (True, True, 4, (7, 7)), (False, True, 4, (6, 2)), (False, False, 4, (7, 7)), (True, False, 1, (0, 0)),
        (False, False, 9, (0, 0)), (False, True, 2, (-1, 0)), (False, True, 2, (1, 6)),
    ):  # fmt: skip
        runs.append({"c": truth(c), "d": truth(d), "x": numbers(rows, 3), "shape": ints(*shape)})
    check_runs(model, tmp_path, runs, options)


def test_what_a_branch_demands_counts_where_it_is_taken(tmp_path: Path) -> None:
    onnx.save(parse(IF), tmp_path / "model.onnx")
    x = numbers(4, 3)
    with InferenceSession(onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")) as session:
        feeds = {"c": truth(False), "x": x, "shape": ints(7, 7)}
        with pytest.raises(RunError, match=r"\(Reshape\).*shape_0 = 7"):
            session.run(None, {**feeds, "d": truth(True)})
        session.run(None, {**feeds, "d": truth(False)})


def test_if_decided_by_shapes(tmp_path: Path) -> None:
    """As PyTorch's exporter writes squeeze: the branches differ in rank, and sizes decide at compile time."""
    model = parse("""
      model (float[2, B] x, float[2, C] v) => (y, z) <int64[1] one = {1}> {
        width = Shape <start = 1> (x)
        wide = Shape <start = 1> (v)
        c = Equal(width, one)
        d = Equal(wide, one)
        y = If(c) <then_branch = a () => (s) { s = Squeeze(x, one) }, else_branch = b () => (t) { t = Identity(x) }>
        z = If(d) <then_branch = e () => (s) { s = Squeeze(v, one) }, else_branch = f () => (t) { t = Neg(v) }>
      }
    """)
    check_runs(model, tmp_path, [{"x": numbers(2, 1), "v": numbers(2, 3)}], ("--dim", "B=1", "--dim", "C=3"))


RANKS = """
  model (bool c, float[N] x) => (y) <float two = {{2.0}}, float[1] three = {{3.0}}, int64 zero = {{0}}> {{
    top = ReduceMax <keepdims = 1> (x)
    scale = If(c) <
      then_branch = a () => (s) {{ s = Identity(two) }}, else_branch = b () => (t) {{ t = Mul(top, three) }}
    >
    {use}
  }}
"""


@pytest.mark.parametrize("options", LEVELS)
def test_ranks_of_branches_that_nobody_sees(tmp_path: Path, options: Sequence[str]) -> None:
    """One branch gives a number and the other a vector of one, as ONNX's function of AffineGrid has it."""
    model = parse(RANKS.format(use="like = CastLike(x, scale)  z = Mul(like, scale)  y = Sub(scale, z)"))
    check_runs(model, tmp_path, [{"c": truth(c), "x": numbers(5)} for c in (True, False)], options)


@pytest.mark.parametrize(
    "use", ["y = Identity(scale)", "y = Shape(scale)", "y = Add(scale, two)", "y = Mul(scale, scale)"]
)
def test_ranks_of_branches_that_somebody_sees(tmp_path: Path, use: str) -> None:
    onnx.save(parse(RANKS.format(use=use)), tmp_path / "model.onnx")
    message = r"\(If\): output 0: the branches give \[\] and \[1\], and only a run knows which; one rank is expected"
    with pytest.raises(onnxc_commands.CommandFailure, match=message):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")


SQUEEZE_GUARD = """
  model (float[N, C, {last}] x, bool c, int64 n) => (y) <int64[1] one = {{1}}, int64 limit = {{1}}> {{
    shape = Shape(x)
    {condition}
    y = If(holds) <then_branch = a () => (s) {{ s = Squeeze(x, one) }}, else_branch = b () => (t) {{ t = Identity(x) }}>
  }}
"""
BY_SHAPE = "size = Gather(shape, one)  number = Squeeze(size)  holds = Equal(number, limit)"


def fault_of(text: str, folder: Path, *options: str) -> str:
    onnx.save(parse(text), folder / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure) as failure:
        onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *options)
    return str(failure.value)


def test_ranks_of_branches_that_a_dim_decides(tmp_path: Path) -> None:
    """As TorchScript exports `x.squeeze(1)`: the error names the way out, and the way leads out."""
    text = SQUEEZE_GUARD.format(last=3, condition=BY_SHAPE)
    assert "one rank is expected; the dim 'C' decides it: compile for one size, with --dim C=VALUE" in fault_of(
        text, tmp_path
    )
    for channels in (1, 4):
        model = parse(text)
        feeds = {"x": numbers(2, channels, 3), "c": truth(True), "n": np.array(1)}
        check_runs(model, tmp_path, [feeds], ("--dim", f"C={channels}"))


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        # The product of two dims.
        ("size = Size(x)  holds = Equal(size, limit)", "; the dims 'C', 'N' decide it: compile for one size, with"),
        # A caller's value, by itself and beside a dim.
        ("holds = Identity(c)", ""),
        ("size = Gather(shape, one)  number = Squeeze(size)  holds = Equal(number, n)", ""),
        # A size that only a run knows.
        ("found = NonZero(x)  size = Size(found)  holds = Less(limit, size)", ""),
    ],
)
def test_the_hint_at_a_dim_is_given_where_dims_alone_decide(tmp_path: Path, condition: str, hint: str) -> None:
    message = fault_of(SQUEEZE_GUARD.format(last=1, condition=condition), tmp_path)
    assert "one rank is expected" + hint in message
    assert bool(hint) == ("--dim" in message)


@pytest.mark.parametrize("options", LEVELS)
def test_loop(tmp_path: Path, options: Sequence[str]) -> None:
    """States that change places, what a round collects, a count and a condition that a run gives."""
    model = parse("""
      model (int64 n, bool go, float[N, 2] a, float[N, 2] b, float limit) => (last, before, sums, rounds) {
        last, before, sums, rounds = Loop(n, go, a, b) <
          body = body (int64 i, bool keep, float[N, 2] x, float[N, 2] y) => (more, z, x, total, left) {
            z = Add(x, y)
            size = ReduceMax(z)
            total = ReduceSum <keepdims = 0> (z)
            more = Less(size, limit)
            left = Sub(n, i)
          }
        >
      }
    """)
    runs = [
        {
            "n": number(n), "go": truth(go), "a": numbers(rows, 2), "b": numbers(rows, 2) + 1,
            "limit": np.array(limit, np.float32),
        }
        for n, go, rows, limit in (
            (3, True, 2, 1e9), (0, True, 2, 1e9), (8, True, 2, 20.0), (8, False, 5, 1e9), (8, True, 5, 1e9),
            (-4, True, 1, 1e9), (1, True, 1, -1e9), (30, True, 3, 1e6),
        )
    ]  # fmt: skip
    check_runs(model, tmp_path, runs, options)


def test_loop_of_known_count(tmp_path: Path) -> None:
    """Only the count decides, so collected values have a known size; a round reads its part of an input."""
    model = parse("""
      model (float[T, 4] x, float[4, 4] w) => (state, collected)
      <bool yes = {1}, int64 zero = {0}, int64[1] first = {0}, float[4] start = {1, 2, 3, 4}> {
        shape = Shape(x)
        count = Gather(shape, zero)
        state, collected = Loop(count, yes, start) <
          body = body (int64 i, bool keep, float[4] s) => (same, next, out) {
            same = Identity(keep)
            row = Gather(x, i)
            column = Unsqueeze(row, first)
            product = MatMul(column, w)
            flat = Squeeze(product, first)
            next = Add(flat, s)
            out = Relu(next)
          }
        >
      }
    """)
    check_runs(model, tmp_path, [{"x": numbers(t, 4), "w": numbers(4, 4)} for t in (3, 1, 7, 0, 2)], tolerance=1e-6)
    dump = onnxc_commands.dump_shapes(tmp_path / "model.onnx", tmp_path / "shapes.json")
    assert [output["dims"] for output in dump["outputs"]] == [[4], ["T", 4]]


def test_nested_loops(tmp_path: Path) -> None:
    """A loop and an If in a loop; sizes that change from round to round; a loop that ends only by its condition."""
    model = parse("""
      model (int64 n, float[N] x, float[1] bound) => (total, picked, grown)
      <bool yes = {1}, float nothing = {0.0}, int64[1] axis = {0}, float[1] unit = {1.0}, float[1] three = {3.0}> {
        total, picked = Loop(n, yes, nothing) <
          body = body (int64 i, bool keep, float t) => (keep, after, inner_sum) {
            at = Unsqueeze(i, axis)
            start = Sub(at, at)
            part = Slice(x, start, at)
            sum = ReduceSum <keepdims = 0> (part)
            inner_sum = Loop(i, keep, sum) <
              body = inner (int64 j, bool on, float s) => (on, more) {
                k = Cast <to = 1> (j)
                odd = Mod <fmod = 0> (j, n)
                is_zero = Not(keep)
                more = If(is_zero) <
                  then_branch = p () => (r) { r = Neg(s) },
                  else_branch = q () => (r) { r = Add(s, k) }
                >
              }
            >
            after = Add(t, inner_sum)
          }
        >
        grown = Loop(, yes, unit) <
          body = growing (int64 i, bool keep, float[1] g) => (below, bigger) {
            bigger = Mul(g, three)
            less = Less(bigger, bound)
            below = Squeeze(less)
          }
        >
      }
    """)
    runs = [
        {"n": number(n), "x": numbers(rows), "bound": np.array([bound], np.float32)}
        for n, rows, bound in ((4, 6, 100), (0, 6, 0), (7, 5, 1000), (1, 3, 3), (5, 5, 1e6))
    ]
    check_runs(model, tmp_path, runs, tolerance=1e-6)


@pytest.mark.parametrize("options", LEVELS)
def test_scan(tmp_path: Path, options: Sequence[str]) -> None:
    model = parse("""
      model (float[B] start, float[T, B] x, float[B, T] y) => (state, forward, backward, last) {
        state, forward, backward = Scan <
          num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
          scan_output_axes = [0, 1], scan_output_directions = [0, 1],
          body = body (float[B] s, float[B] a, float[B] b) => (next, c, d) {
            next = Add(s, a)
            c = Mul(next, b)
            d = Sub(a, b)
          }
        > (start, x, y)
        last = Neg(state)
      }
    """)
    runs = [
        {"start": numbers(b), "x": numbers(t, b), "y": numbers(b, t)}
        for t, b in ((3, 2), (1, 5), (8, 1), (2, 3), (9, 4))
    ]
    check_runs(model, tmp_path, runs, options)


INSTEAD = "let the loop collect what a round adds, as an output that it scans"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "t = Concat <axis = 0> (s, x)",
            rf"dim 0 of state 0 must stay as it is from round to round \(else {INSTEAD}.*2 and 4 differ",
        ),
        ("t = Unsqueeze(s, first)", rf"state 0 has shape \[2\] and a round makes it \[1, 2\];.*: {INSTEAD}"),
    ],
)
def test_states_that_change_shape_are_refused(body: str, message: str, tmp_path: Path) -> None:
    model = parse(f"""
      model (int64 n, float[2] x) => (y) <bool yes = {{1}}, int64[1] first = {{0}}> {{
        y = Loop(n, yes, x) <body = body (int64 i, bool k, float[M] s) => (k, t) {{ {body} }}>
      }}
    """)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure, match=message):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    assert open_session(model) is not None


def test_report_names_what_the_host_reads_from_a_gpu(tmp_path: Path) -> None:
    """A round's number needs nothing of the GPU; its condition, how often it runs and the count of elements do."""
    model = parse(
        """model (float[N, 3] x, int64 n, bool c) => (z, p) <float two = {2.0}> {
          z = Loop(n, c, x) <body = body (int64 i, bool k, float[N, 3] s) => (bool next, float[N, 3] t) {
            next = Identity(k)
            t = Mul(s, two)
          }>
          p = NonZero(z)
        }"""
    )
    onnx.save(model, tmp_path / "model.onnx")
    command = [str(onnxc_commands.BINARIES / "onnxc"), str(tmp_path / "model.onnx"), "--target", "hip", "--report"]
    done = onnxc_commands.execute(command)
    report = done.stdout
    table = report[report.index("Sizes and conditions that the host reads from the GPU:") :]
    read = re.findall(r"step \d+ waits for (\d+) bytes of", table)
    assert read == ["8", "1", "8"], table
