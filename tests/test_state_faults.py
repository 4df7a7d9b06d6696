"""States that cannot be: each error names what was expected and found."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnxc
from tests.onnxc_commands import BINARIES, CommandFailure, compile_model, execute
from tests.test_states import HEADER, Dims, save, save_later, save_running_mean, values

pytestmark = pytest.mark.usefixtures("commands")


def refusal(*words: Path | str) -> str:
    with pytest.raises(CommandFailure) as failure:
        execute([str(BINARIES / "onnxc"), *map(str, words)])
    return failure.value.message


def save_pair(path: Path, cache: Dims, next_dims: Dims, *, dtype: int = TensorProto.FLOAT) -> Path:
    """`next` is another input, so that its dims are whatever the test wants."""
    nodes = [
        helper.make_node("Identity", ["cache"], ["y"]),
        helper.make_node("Identity", ["x"], ["next"]),
    ]
    return save(path, nodes, {"cache": cache, "x": next_dims}, ["y", "next"], {"x": dtype, "next": dtype})


def test_a_cache_of_another_shape_or_type_is_refused(tmp_path: Path) -> None:
    words = ("-o", tmp_path / "model.so", "--state", "cache=next")
    model = tmp_path / "pair.onnx"
    begin = f"'{model}': --state cache=next: the output is "
    end = "; both must be equal"
    wrong: list[tuple[Dims, Dims, int, str]] = [
        ([2, 3], [2, 4], TensorProto.FLOAT, "float32 [2, 4], and the input whose memory it takes is float32 [2, 3]"),
        ([2, 3], [2, 3, 1], TensorProto.FLOAT, "float32 [2, 3, 1], and the input"),
        ([2, 3], [2, 3], TensorProto.DOUBLE, "float64 [2, 3], and the input"),
    ]
    for cache, next_dims, dtype, text in wrong:
        save_pair(model, cache, next_dims, dtype=dtype)
        message = refusal(model, *words)
        assert begin + text in message
        assert end in message
        assert not (tmp_path / "model.so").exists()


def test_a_cache_that_grows_is_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["cache", "x"], ["next"], axis=0)]
    model = save(tmp_path / "grows.onnx", nodes, {"cache": ["p", 3], "x": [1, 3]}, ["next"])
    message = refusal(model, "-o", tmp_path / "model.so", "--state", "cache=next")
    assert "the output is float32 [p + 1, 3], and the input whose memory it takes is float32 [p, 3]" in message


def test_dims_that_may_be_equal_are_checked_by_the_run(tmp_path: Path) -> None:
    model = save_pair(tmp_path / "pair.onnx", ["n", 3], ["n", "m"])
    with onnxc.compile(model, state={"cache": "next"}) as session:
        session.run(None, {"x": values(4, 3)})
        assert np.array_equal(session.run(None, {"x": values(4, 3)})[0], values(4, 3))
        with pytest.raises(onnxc.RunError, match="state 'cache': dim 1 of the output 'next' must be that of the input"):
            session.run(None, {"x": values(4, 2)})


def test_dims_that_no_other_input_has_are_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["cache", "x"], ["next"])]
    model = save(tmp_path / "model.onnx", nodes, {"cache": ["n", 3], "x": [3]}, ["next"])
    words = (model, "-o", tmp_path / "model.so", "--state", "cache=next")
    assert "state 'cache': no other input has its dim 0, n; give it a value with --dim n=SIZE" in refusal(*words)
    execute([str(BINARIES / "onnxc"), *map(str, words), "--dim", "n=4"])


def test_wrong_names_and_states_bound_twice_are_refused(tmp_path: Path) -> None:
    model = save_later(tmp_path / "later.onnx")
    words = (model, "-o", tmp_path / "model.so")
    assert "--state: the model has no input 'kache'; it has: cache, x" in refusal(*words, "--state", "kache=next")
    assert "--state: the model has no output 'nex'; it has: next, y" in refusal(*words, "--state", "cache=nex")
    twice = ("--state", "cache=next", "--state")
    assert "--state names the input 'cache' twice" in refusal(*words, *twice, "cache=y")
    assert "--state names the output 'next' twice" in refusal(*words, *twice, "x=next")
    for text in ("cache", "=next", "cache="):
        assert f"--state {text}: INPUT=OUTPUT is expected, such as cache=next_cache" in refusal(*words, "--state", text)


def test_states_of_one_name_that_differ_are_refused(tmp_path: Path) -> None:
    one = save_running_mean(tmp_path / "one.onnx", [4, 3])
    other = save_running_mean(tmp_path / "other.onnx", [4, 5])
    message = refusal(one, other, "-o", tmp_path / "both.so", "--state", "mean=next")
    assert "state 'mean': it is float32 [4, 3] in one model and float32 [4, 5] in another, and both share it" in message


def test_strings_are_no_states(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    text = "g (string[3] x, string[3] a) => (y, next) { next = Identity(x)  y = Identity(a) }"
    onnx.save(onnx.parser.parse_model(HEADER + text), model)
    message = refusal(model, "-o", tmp_path / "model.so", "--state", "a=next")
    assert "--state a=next: 'a' is a tensor of strings, which a run does not keep for the next" in message


def test_bad_states_in_python(tmp_path: Path) -> None:
    model = save_running_mean(tmp_path / "mean.onnx", ["n", 3])
    with onnxc.compile(model, state={"mean": "next"}) as session:
        with pytest.raises(
            onnxc.RunError, match="state 'mean' has no dims before the first run: run the model, or set"
        ):
            session.get_state("mean")
        with pytest.raises(onnxc.ArgumentError, match=r"name is 'meen', expected one of the model's states \['mean'\]"):
            session.get_state("meen")
        with pytest.raises(
            onnxc.ArgumentError, match=r"values: expected elements of tensor\(float\) for 'mean', found numpy's float64"
        ):
            session.set_state("mean", np.zeros((4, 3)))
        with pytest.raises(onnxc.RunError, match=r"state 0 'mean': expected rank 2 \(n, 3\), found rank 1"):
            session.set_state("mean", values(4))
        with pytest.raises(onnxc.RunError, match="state 0 'mean': dim 1 is 5, and that of the state is 3"):
            session.set_state("mean", values(4, 5))


def test_bad_sharing(tmp_path: Path) -> None:
    model, file = save_running_mean(tmp_path / "mean.onnx", [4, 3]), tmp_path / "mean.so"
    plain = compile_model(model, tmp_path / "plain.so")
    with onnxc.compile(model, file, state={"mean": "next"}) as session, onnxc.InferenceSession(plain) as other:
        with pytest.raises(onnxc.ArgumentError, match="states_of is a session of another file"):
            onnxc.InferenceSession(file, states_of=other)
        with pytest.raises(onnxc.ArgumentError, match="is to share its states, and this graph has none"):
            onnxc.InferenceSession(plain, states_of=other)
        with pytest.raises(onnxc.ArgumentError, match="states_of is 3, expected a session of the same file"):
            onnxc.InferenceSession(file, states_of=3)  # type: ignore[arg-type]
        assert session.states == ["mean"]


def test_a_refused_run_changes_no_state(tmp_path: Path) -> None:
    """One state would be other dims' zeros; the other was set, and refuses the run."""
    nodes = [
        helper.make_node("Add", ["x", "a"], ["next_a"]),
        helper.make_node("Add", ["z", "b"], ["next_b"]),
        helper.make_node("Mul", ["next_b", "half"], ["y"]),
    ]
    model = save(
        tmp_path / "two.onnx", nodes, {"x": ["n"], "z": ["m"], "a": ["n"], "b": ["m"]}, ["next_a", "next_b", "y"]
    )
    with onnxc.compile(model, state={"a": "next_a", "b": "next_b"}) as session:
        kept = values(5)
        session.set_state("a", kept)
        session.set_state("b", values(2))
        refused = "state 'b' was set with the dims 2, and with these inputs it has 4"
        for a_dim in (5, 6):
            with pytest.raises(onnxc.RunError, match="state 'a' was set" if a_dim == 6 else refused):
                session.run(None, {"x": values(a_dim), "z": values(4)})
            np.testing.assert_array_equal(session.get_state("a"), kept)
        session.run(None, {"x": values(5), "z": values(2)})
        session.set_state("b", values(3))
        with pytest.raises(onnxc.RunError, match="'b' was set with the dims 3, and with these inputs it has 4"):
            session.run(None, {"x": values(6), "z": values(4)})
        np.testing.assert_array_equal(session.get_state("a"), kept + values(5))
