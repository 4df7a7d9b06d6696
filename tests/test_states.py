"""States: outputs that become the memory of inputs, which the model.so then carries from run to run."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxc
from models.export import export
from models.tensor_files import Array
from models.zoo import ROWS
from onnxc import dtypes
from tests.compare import mismatch
from tests.onnxc_commands import BINARIES, SIMULATOR, CommandFailure, compile_model, execute
from tests.onnxruntime_sessions import open_session

pytestmark = pytest.mark.usefixtures("commands")

CHANNELS = (5, 6)
RANDOM = np.random.default_rng(45)
CONSTANTS: dict[str, Array] = {
    "weights": RANDOM.standard_normal((CHANNELS[1], CHANNELS[0], 3, 3, 3), np.float32) / 9,
    "last": np.array([-2]),
    "minus_one": np.array([-1]),
    "end": np.array([2**40]),
    "time": np.array([2]),
    "half": np.array(0.5, np.float32),
}
Dims = list[str | int]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that no step has written is NaN; states are carried all the same."""
    monkeypatch.setenv("ONNXC_POISON", "1")
    monkeypatch.setenv("ONNXC_HIP_LIBRARY", str(SIMULATOR))


LEVELS = pytest.mark.parametrize(("device", "level"), [("cpu", "-O0"), ("cpu", "-O3"), ("gpu", "-O3")])


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, Dims],
    outputs: list[str],
    types: Mapping[str, int] = {},
) -> Path:
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        path.stem,
        [
            helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), dims)
            for name, dims in inputs.items()
        ],
        [helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in CONSTANTS.items() if name in used],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


X: Dims = [1, CHANNELS[0], "t", "h", "w"]
CACHE: Dims = [1, CHANNELS[0], 2, "h", "w"]


def save_later(path: Path) -> Path:
    """A causal convolution over a chunk of frames, which two frames in a cache come before."""
    nodes = [
        helper.make_node("Concat", ["cache", "x"], ["all"], axis=2),
        helper.make_node("Conv", ["all", "weights"], ["y"], name="conv", pads=[0, 1, 1, 0, 1, 1]),
        helper.make_node("Slice", ["all", "last", "end", "time"], ["next"]),
    ]
    return save(path, nodes, {"cache": CACHE, "x": X}, ["y", "next"])


def save_first(path: Path) -> Path:
    """The same over the first frames, which nothing comes before."""
    nodes = [
        helper.make_node("Conv", ["x", "weights"], ["y"], name="conv", pads=[2, 1, 1, 0, 1, 1]),
        helper.make_node("Slice", ["x", "last", "end", "time"], ["next"]),
    ]
    return save(path, nodes, {"x": X}, ["y", "next"])


def save_moving(path: Path) -> Path:
    """One frame of a video, as Wan's decoder takes it: the cache moves by a frame before the convolution reads it."""
    nodes = [
        helper.make_node("Slice", ["cache", "minus_one", "end", "time"], ["newest"]),
        helper.make_node("Concat", ["newest", "x"], ["next"], axis=2),
        helper.make_node("Concat", ["cache", "x"], ["all"], axis=2),
        helper.make_node("Conv", ["all", "weights"], ["y"], name="conv", pads=[0, 1, 1, 0, 1, 1]),
    ]
    return save(path, nodes, {"cache": CACHE, "x": [1, CHANNELS[0], 1, "h", "w"]}, ["y", "next"])


def save_running_mean(path: Path, dims: Dims) -> Path:
    """mean = 0.5 * (mean + x): each element depends on itself only."""
    nodes = [
        helper.make_node("Add", ["mean", "x"], ["sum"]),
        helper.make_node("Mul", ["sum", "half"], ["next"]),
        helper.make_node("Neg", ["next"], ["y"]),
    ]
    return save(path, nodes, {"mean": dims, "x": dims}, ["next", "y"])


def save_difference(path: Path, dims: Dims) -> Path:
    """The input before minus this one. It gives the next state before it reads the last one."""
    nodes = [
        helper.make_node("Abs", ["x"], ["next"]),
        helper.make_node("Abs", ["next"], ["again"]),
        helper.make_node("Sub", ["before", "again"], ["y"]),
    ]
    return save(path, nodes, {"before": dims, "x": dims}, ["next", "y"])


def values(*dims: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed + sum(dims)).standard_normal(dims, np.float32)


class Carried:
    """onnxruntime, with the states carried by the test: input to output."""

    def __init__(self, model: Path, states: Mapping[str, str], zeros: Mapping[str, tuple[int, ...]]) -> None:
        self.session = open_session(model)
        self.states = states
        self.values = {name: np.zeros(dims, np.float32) for name, dims in zeros.items()}

    def run(self, **inputs: Array) -> dict[str, Array]:
        names = [output.name for output in self.session.get_outputs()]
        results = dict(zip(names, self.session.run(names, {**self.values, **inputs}), strict=True))
        self.values = {name: results.pop(output) for name, output in self.states.items()}
        return results


def expect_equal(
    session: onnxc.InferenceSession, carried: Carried, *, tolerance: float = 1e-5, **inputs: Array
) -> None:
    expected = carried.run(**inputs)
    names = [output.name for output in session.get_outputs()]
    assert names == list(expected)
    for name, actual in zip(names, session.run(None, inputs), strict=True):
        assert mismatch(actual, expected[name], tolerance) is None
    for name, state in carried.values.items():
        assert mismatch(session.get_state(name), state, tolerance) is None


@LEVELS
def test_a_cache_is_carried_from_chunk_to_chunk(tmp_path: Path, device: str, level: str) -> None:
    model = save_later(tmp_path / "later.onnx")
    with onnxc.compile(model, state={"cache": "next"}, options=[level], device=device) as session:
        assert [each.name for each in session.get_inputs()] == ["x"]
        assert [each.name for each in session.get_outputs()] == ["y"]
        assert session.states == ["cache"]
        assert [(each.name, each.shape, each.type) for each in session.get_states()] == [
            ("cache", CACHE, "tensor(float)")
        ]
        carried = Carried(model, {"cache": "next"}, {"cache": (1, CHANNELS[0], 2, 7, 9)})
        for seed, time in enumerate((3, 1, 1, 2, 5)):
            expect_equal(session, carried, x=values(1, CHANNELS[0], time, 7, 9, seed=seed))


@LEVELS
@pytest.mark.parametrize("dims", [[4, 3], ["n", 3], []])
def test_an_element_may_become_its_own_successor(tmp_path: Path, dims: Dims, device: str, level: str) -> None:
    model = save_running_mean(tmp_path / "mean.onnx", dims)
    known = tuple(dim if isinstance(dim, int) else 6 for dim in dims)
    with onnxc.compile(model, state={"mean": "next"}, options=[level], device=device) as session:
        carried = Carried(model, {"mean": "next"}, {"mean": known})
        for seed in range(4):
            expect_equal(session, carried, tolerance=0, x=values(*known, seed=seed))


@LEVELS
def test_an_output_that_is_written_early_is_copied(tmp_path: Path, device: str, level: str) -> None:
    model = save_difference(tmp_path / "difference.onnx", ["n", 3])
    with onnxc.compile(model, state={"before": "next"}, options=[level], device=device) as session:
        carried = Carried(model, {"before": "next"}, {"before": (5, 3)})
        for seed in range(4):
            expect_equal(session, carried, tolerance=0, x=values(5, 3, seed=seed))


def test_one_graph_of_launches_carries_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONNXC_POISON")  # under which memory moves with each run
    model = save_later(tmp_path / "later.onnx")
    with onnxc.compile(model, state={"cache": "next"}, device="gpu", hip_graph=True) as session:
        carried = Carried(model, {"cache": "next"}, {"cache": (1, CHANNELS[0], 2, 7, 9)})
        for seed in range(4):
            expect_equal(session, carried, x=values(1, CHANNELS[0], 2, 7, 9, seed=seed))
        assert session.captured_graphs == 1


@LEVELS
def test_a_cache_that_moves_by_a_frame(tmp_path: Path, device: str, level: str) -> None:
    model = save_moving(tmp_path / "moving.onnx")
    with onnxc.compile(model, state={"cache": "next"}, options=[level], device=device) as session:
        carried = Carried(model, {"cache": "next"}, {"cache": (1, CHANNELS[0], 2, 7, 9)})
        for seed in range(4):
            expect_equal(session, carried, x=values(1, CHANNELS[0], 1, 7, 9, seed=seed))


CACHES = {f"cache{i}": f"next{i}" for i in range(4)}


@LEVELS
def test_a_decoder_of_video_carries_its_caches(tmp_path: Path, device: str, level: str) -> None:
    model = export(ROWS["video_streaming"]).model
    names = [each.name for each in open_session(model).get_outputs()]
    states = dict(zip(CACHES, names[1:], strict=True))
    with onnxc.compile(model, state=states, options=[level], device=device) as session:
        assert session.states == list(CACHES)
        for n, h, w in ((1, 5, 6), (2, 4, 3)):
            shapes = [(n, 5, 2, h, w), (n, 12, 2, h, w), (n, 12, 2, h, w), (n, 6, 2, 2 * h, 2 * w)]
            carried = Carried(model, states, dict(zip(CACHES, shapes, strict=True)))
            for seed, time in enumerate((2, 1, 3)):
                expect_equal(session, carried, tolerance=1e-4, latents=values(n, 5, time, h, w, seed=seed))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_states_of_16_bits_change_no_value(tmp_path: Path, device: str) -> None:
    """--precision: caches that a decoder rounds anyway are stored so, which is as if the caller had carried float32."""
    model = export(ROWS["video_streaming"]).model
    names = [each.name for each in open_session(model).get_outputs()]
    states = dict(zip(CACHES, names[1:], strict=True))
    options = ["--precision", "bfloat16"]
    with (
        onnxc.compile(model, state=states, options=options, device=device) as session,
        onnxc.compile(model, options=options, device=device) as carrying,
    ):
        types = {each.name: each.type for each in session.get_states()}
        # The one of the latents, of 5 channels, is read in float32: a layer takes 16 bits of 8 channels and more.
        assert types == {name: f"tensor({'float' if name == 'cache0' else 'bfloat16'})" for name in CACHES}
        shapes = [(1, 5, 2, 5, 6), (1, 12, 2, 5, 6), (1, 12, 2, 5, 6), (1, 6, 2, 10, 12)]
        caches = {name: np.zeros(shape, np.float32) for name, shape in zip(CACHES, shapes, strict=True)}
        for seed, time in enumerate((2, 1, 3)):
            latents = values(1, 5, time, 5, 6, seed=seed)
            expected, *rest = carrying.run(None, {"latents": latents, **caches})
            caches = dict(zip(CACHES, rest, strict=True))
            [frames] = session.run(None, {"latents": latents})
            np.testing.assert_array_equal(frames, expected)
            for name, cache in caches.items():
                np.testing.assert_array_equal(session.get_state(name).astype(np.float32), cache)


def steps_of(model: Path, *options: str) -> list[str]:
    done = execute([str(BINARIES / "onnxc"), str(model), "--report", "--json", *options])
    return [step["why"] or "" for step in json.loads(done.stdout)["steps"]]


def test_the_report_shows_what_is_copied(tmp_path: Path) -> None:
    early = save_difference(tmp_path / "difference.onnx", ["n", 3])
    copied = steps_of(early, "--state", "before=next", "-O0")
    assert copied[:-1] == ["", "", ""]
    assert copied[-1] == "for State 'before', which is not a node of the file"
    for late in (save_later(tmp_path / "later.onnx"), save_moving(tmp_path / "moving.onnx")):
        assert steps_of(late, "--state", "cache=next") == steps_of(late)


def test_states_are_zero_at_first_and_when_reset(tmp_path: Path) -> None:
    model = save_running_mean(tmp_path / "mean.onnx", [4, 3])
    x = values(4, 3)
    with onnxc.compile(model, state={"mean": "next"}) as session:
        assert np.array_equal(session.get_state("mean"), np.zeros((4, 3), np.float32))
        [first] = session.run(None, {"x": x})
        [second] = session.run(None, {"x": x})
        assert not np.array_equal(first, second)
        session.reset_states()
        assert np.array_equal(session.get_state("mean"), np.zeros((4, 3), np.float32))
        assert np.array_equal(session.run(None, {"x": x})[0], first)


def test_a_state_that_is_set_is_what_the_run_finds(tmp_path: Path) -> None:
    model = save_running_mean(tmp_path / "mean.onnx", ["n", 3])
    mean, x = values(5, 3), values(5, 3, seed=1)
    with onnxc.compile(model, state={"mean": "next"}) as session:
        session.set_state("mean", mean)
        assert np.array_equal(session.get_state("mean"), mean)
        expected = (mean + x) * np.float32(0.5)
        assert np.array_equal(session.run(None, {"x": x})[0], -expected)
        assert np.array_equal(session.get_state("mean"), expected)


def test_other_dims_begin_with_zeros(tmp_path: Path) -> None:
    model = save_running_mean(tmp_path / "mean.onnx", ["n", 3])
    with onnxc.compile(model, state={"mean": "next"}) as session:
        for rows in (5, 5, 2, 0, 5):
            session.run(None, {"x": values(rows, 3)})
            assert session.get_state("mean").shape == (rows, 3)
        assert np.array_equal(session.get_state("mean"), values(5, 3) * np.float32(0.5))


def test_a_run_with_other_dims_than_were_set_is_refused(tmp_path: Path) -> None:
    model = save_running_mean(tmp_path / "mean.onnx", ["n", 3])
    with onnxc.compile(model, state={"mean": "next"}) as session:
        session.set_state("mean", values(4, 3))
        text = "state 'mean' was set with the dims 4x3, and with these inputs it has 5x3: set it with those, or reset"
        with pytest.raises(onnxc.RunError, match=text):
            session.run(None, {"x": values(5, 3)})
        assert np.array_equal(session.get_state("mean"), values(4, 3))
        session.run(None, {"x": values(4, 3)})
        session.set_state("mean", values(4, 3))
        session.reset_states()
        session.run(None, {"x": values(5, 3)})


# ------------------------------------------------------------------------------------------------ other models

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'
# Each takes what the other was.
SWAPPED = """g (float[3] x, float[3] a, float[3] b) => (y, next_a, next_b) {
  next_a = Identity(b)  next_b = Add(a, x)  y = Sub(a, b) }"""
IN_A_LOOP = """g (float[3] x, float[3] a) => (y, next_a) <int64 three = {3}, bool yes = {1}> {
  next_a, y = Loop (three, yes, a) <body = round (int64 i, bool keep, float[3] v)
      => (bool again, float[3] w, float[3] z) {
    again = Identity(keep)  w = Add(v, x)  z = Mul(v, a)
  }> }"""


@LEVELS
@pytest.mark.parametrize("text", [SWAPPED, IN_A_LOOP], ids=["swapped", "loop"])
def test_what_a_step_reads_is_not_yet_overwritten(tmp_path: Path, text: str, device: str, level: str) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), model)
    states = {name: f"next_{name}" for name in ("a", "b") if f"float[3] {name}" in text}
    with onnxc.compile(model, state=states, options=[level], device=device) as session:
        carried = Carried(model, states, dict.fromkeys(states, (3,)))
        for round_ in range(4):
            expect_equal(session, carried, tolerance=0, x=np.full(3, round_ + 1, np.float32))


@LEVELS
def test_a_state_may_say_where_the_next_run_goes_on(tmp_path: Path, device: str, level: str) -> None:
    text = """g (float[10, 2] x, int64 place) => (y, next) <int64 one = {1}, int64[1] axes = {0}> {
      begin = Unsqueeze(place, axes)  next = Add(place, one)  end = Unsqueeze(next, axes)
      y = Slice(x, begin, end, axes) }"""
    model = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), model)
    x = values(10, 2)
    with onnxc.compile(model, state={"place": "next"}, options=[level], device=device) as session:
        for place in range(4):
            assert np.array_equal(session.run(None, {"x": x})[0], x[place : place + 1])
            assert session.get_state("place") == place + 1
        session.set_state("place", np.array(7))
        assert np.array_equal(session.run(None, {"x": x})[0], x[7:8])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "double", "int8", "bool", "uint4"])
def test_states_of_other_types(tmp_path: Path, dtype: str) -> None:
    text = f"g ({dtype}[3, 5] x, {dtype}[3, 5] a) => (y, next) {{ next = Identity(x)  y = Identity(a) }}"
    model = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), model)
    with onnxc.compile(model, state={"a": "next"}, options=["--target", "cpu,gpu"]) as session:
        kind = dtypes.NUMPY_TYPES[dtypes.number_of(session.get_inputs()[0].type)]
        before = np.zeros((3, 5), kind)
        for seed in range(3):
            x = np.random.default_rng(seed).integers(0, 2, (3, 5)).astype(kind)
            assert np.array_equal(session.run(None, {"x": x})[0], before)
            assert np.array_equal(session.get_state("a"), x)
            session.set_state("a", x)
            before = x


# ------------------------------------------------------------------------------------------------ several graphs


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_graphs_of_one_file_share_their_states(tmp_path: Path, device: str) -> None:
    files = [save_first(tmp_path / "first.onnx"), save_later(tmp_path / "later.onnx")]
    file = tmp_path / "video.so"
    x = values(1, CHANNELS[0], 6, 7, 9)
    [whole] = open_session(files[0]).run(["y"], {"x": x})
    first = onnxc.compile(files, file, state={"cache": "next"}, device=device)
    with onnxc.InferenceSession(file, entry="later", states_of=first, device=device) as later:
        assert (first.states, later.states) == (["cache"], ["cache"])
        assert [each.name for each in later.get_inputs()] == ["x"]
        frames = first.run(None, {"x": x[:, :, :2]})
        assert np.array_equal(later.get_state("cache"), x[:, :, :2])
        first.close()  # whichever is closed first
        frames += [later.run(None, {"x": x[:, :, t : t + 1]})[0] for t in range(2, 6)]
    assert mismatch(np.concatenate(frames, axis=2), whole, 1e-5) is None


def test_sessions_that_do_not_share_have_states_of_their_own(tmp_path: Path) -> None:
    model, file = save_running_mean(tmp_path / "mean.onnx", [4, 3]), tmp_path / "mean.so"
    with onnxc.compile(model, file, state={"mean": "next"}) as one, onnxc.InferenceSession(file) as other:
        one.run(None, {"x": values(4, 3)})
        assert not other.get_state("mean").any()


def test_an_output_beside_those_that_are_kept_may_be_a_state(tmp_path: Path) -> None:
    model = save_later(tmp_path / "later.onnx")
    with onnxc.compile(model, outputs=["y"], state={"cache": "next"}) as session:
        assert [each.name for each in session.get_outputs()] == ["y"]
        assert session.states == ["cache"]


def test_information_lists_states(tmp_path: Path) -> None:
    file = compile_model(save_later(tmp_path / "later.onnx"), tmp_path / "later.so", "--state", "cache=next")
    shown = execute([str(BINARIES / "onnxc-run"), str(file), "--info"]).stdout
    assert "  state   cache                    float32 [1, 5, 2, h, w]\n" in shown
    described = json.loads(execute([str(BINARIES / "onnxc-run"), str(file), "--info", "--json"]).stdout)
    assert [(each["name"], each["dims"]) for each in described["states"]] == [("cache", CACHE)]
    assert [each["name"] for each in described["inputs"] + described["outputs"]] == ["x", "y"]
    assert described["model"]["options"].endswith(" --state cache=next")
    assert described["model"]["states"] == {"cache": "next"}
    dims = [word for dim in ("t=3", "h=7", "w=9") for word in ("--dim", dim)]
    sized = execute([str(BINARIES / "onnxc-run"), str(file), "--info", "--json", *dims])
    assert json.loads(sized.stdout)["memory"]["states"] == 4 * CHANNELS[0] * 2 * 7 * 9


def test_a_first_run_is_verified(tmp_path: Path) -> None:
    model = save_later(tmp_path / "later.onnx")
    file = compile_model(model, tmp_path / "later.so", "--state", "cache=next")
    dims = [word for dim in ("t=3", "h=7", "w=9") for word in ("--dim", dim)]
    words = [str(BINARIES / "onnxc-run"), str(file), "--random", "0", *dims, "--verify", str(model)]
    # The bench has run it before.
    assert "PASSED: " in execute([*words, "--bench"]).stdout
    with pytest.raises(CommandFailure) as failure:
        execute([*words, "--verify-with", "onnxruntime"])
    assert "has states, which onnxruntime does not carry; leave it out to compare with -O0" in failure.value.message
