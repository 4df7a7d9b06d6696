"""A decoder token by token, as transformer exports run: caches of keys and values that a step hands to the next, which
grow (Attention's past) or have their final size (TensorScatter), and positions by rotary embedding.

The oracle is PyTorch on the whole sequence at once.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from models.tensor_files import Array
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.test_run_time_dims import LEVELS, on_the_simulator

pytestmark = pytest.mark.usefixtures("commands")

HEADS, SIZE, TOKENS, MOST = 2, 8, 7, 12
WIDTH = HEADS * SIZE
PROMPT = 4  # tokens of the first step; the others follow one by one

HEADER = '<ir_version: 11, opset_import: ["" : 24]>'
QUERIES = """
  split = Reshape(x, heads)
  turned = Transpose <perm = [0, 2, 1, 3]> (split)
  queries_plain = MatMul(turned, wq)  keys_plain = MatMul(turned, wk)  values = MatMul(turned, wv)
  queries = RotaryEmbedding(queries_plain, cosine, sine, places)
  keys = RotaryEmbedding(keys_plain, cosine, sine, places)
"""
GROWING = f"""{HEADER}
  model (float[1, T, {WIDTH}] x, int64[1, T] places, float[1, {HEADS}, P, {SIZE}] old_keys,
         float[1, {HEADS}, P, {SIZE}] old_values) => (y, new_keys, new_values)
  <int64[4] heads = {{0, 0, {HEADS}, {SIZE}}}> {{ {QUERIES}
    y, new_keys, new_values = Attention <is_causal = 1> (queries, keys, values, , old_keys, old_values)
  }}
"""
# One token a step: whatever is written so far counts.
OF_FINAL_SIZE = f"""{HEADER}
  model (float[1, 1, {WIDTH}] x, int64[1, 1] places, float[1, {HEADS}, {MOST}, {SIZE}] old_keys,
         float[1, {HEADS}, {MOST}, {SIZE}] old_values) => (y, new_keys, new_values)
  <int64[4] heads = {{0, 0, {HEADS}, {SIZE}}}, int64[1] last = {{-1}}, int64[1] one = {{1}}> {{ {QUERIES}
    place = Reshape(places, last)
    written = Add(place, one)
    new_keys = TensorScatter(old_keys, keys, place)
    new_values = TensorScatter(old_values, values, place)
    y = Attention(queries, new_keys, new_values, , , , written)
  }}
"""


def random(*shape: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


ANGLES = np.outer(np.arange(MOST), 100.0 ** -np.linspace(0, 1, SIZE // 2)).astype(np.float32)
X = random(1, TOKENS, WIDTH, seed=1)
WEIGHTS = {name: random(SIZE, SIZE, seed=seed) / 2 for seed, name in enumerate(("wq", "wk", "wv"), 2)}
CONSTANTS = {**WEIGHTS, "cosine": np.cos(ANGLES), "sine": np.sin(ANGLES)}


def rotated(x: torch.Tensor) -> torch.Tensor:
    cosine, sine = (torch.tensor(CONSTANTS[name][:TOKENS]) for name in ("cosine", "sine"))
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


def at_once() -> Array:
    """[1, HEADS, TOKENS, SIZE]"""
    x = torch.tensor(X).reshape(1, TOKENS, HEADS, SIZE).transpose(1, 2)
    queries, keys, values = (x @ torch.tensor(weight) for weight in WEIGHTS.values())
    result: Array = torch.nn.functional.scaled_dot_product_attention(
        rotated(queries), rotated(keys), values, is_causal=True
    ).numpy()
    return result


def run_steps(text: str, folder: Path, options: Sequence[str], lengths: Sequence[int], kept: int) -> Array:
    """`kept`: tokens that the caches have place for at first."""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in CONSTANTS.items())
    onnx.save(model, folder / "model.onnx")
    onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *options)
    keys = values = np.full((1, HEADS, kept, SIZE), 1e3, np.float32)  # numbers that must not count
    results, begin = [], 0
    with (
        on_the_simulator(),
        InferenceSession(folder / "model.so", device="hip" if "hip" in options else "cpu") as session,
    ):
        for length in lengths:
            places = np.arange(begin, begin + length).reshape(1, length)
            feeds = {"x": X[:, begin : begin + length], "places": places, "old_keys": keys, "old_values": values}
            y, keys, values = session.run(None, feeds)
            results.append(y)
            begin += length
    assert begin == TOKENS
    return np.concatenate(results, axis=2)


@pytest.mark.parametrize("options", LEVELS)
def test_caches_that_grow(options: Sequence[str], tmp_path: Path) -> None:
    found = run_steps(GROWING, tmp_path, options, [PROMPT, *[1] * (TOKENS - PROMPT)], kept=0)
    np.testing.assert_allclose(found, at_once(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", LEVELS)
def test_caches_of_their_final_size(options: Sequence[str], tmp_path: Path) -> None:
    found = run_steps(OF_FINAL_SIZE, tmp_path, options, [1] * TOKENS, kept=MOST)
    np.testing.assert_allclose(found, at_once(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", LEVELS)
def test_caches_of_their_final_size_that_the_model_holds(options: Sequence[str], tmp_path: Path) -> None:
    model = onnx.parser.parse_model(OF_FINAL_SIZE)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in CONSTANTS.items())
    onnx.save(model, tmp_path / "model.onnx")
    states = ("--state", "old_keys=new_keys", "--state", "old_values=new_values")
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so", *options, *states)
    with (
        on_the_simulator(),
        InferenceSession(tmp_path / "model.so", device="hip" if "hip" in options else "cpu") as session,
    ):
        assert [each.name for each in session.get_inputs()] == ["x", "places"]
        for name in session.states:
            session.set_state(name, np.full((1, HEADS, MOST, SIZE), 1e3, np.float32))  # numbers that must not count
        for round_ in range(2):  # the next text overwrites the caches of the one before
            found = [session.run(None, {"x": X[:, i : i + 1], "places": np.full((1, 1), i)})[0] for i in range(TOKENS)]
            np.testing.assert_allclose(np.concatenate(found, axis=2), at_once(), rtol=1e-4, atol=1e-5)
            assert np.array_equal(session.get_state("old_keys")[:, :, TOKENS:], np.full((1, HEADS, 5, SIZE), 1e3)), (
                round_
            )


CONVOLUTION = """<ir_version: 13, opset_import: ["" : 27]>
  model (float[2, 4, T] x, float[2, 4, 3] state) => (y, left) {
    double = Add(x, x)
    y, left = CausalConvWithState <activation = "silu"> (double, filters, bias, state)
  }
"""


def test_a_convolution_of_what_a_step_leaves(tmp_path: Path) -> None:
    """The other mixing of tokens that decoders have (Mamba, Qwen's Gated DeltaNet)."""
    x, filters, bias = random(2, 4, TOKENS, seed=5), random(4, 1, 4, seed=6), random(4, seed=7)
    model = onnx.parser.parse_model(CONVOLUTION)
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in (("filters", filters), ("bias", bias))
    )
    onnx.save(model, tmp_path / "model.onnx")
    onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
    padded = torch.nn.functional.pad(torch.tensor(2 * x), (3, 0))
    convolved = torch.nn.functional.conv1d(padded, torch.tensor(filters), torch.tensor(bias), groups=4)
    state, results = np.zeros((2, 4, 3), np.float32), []
    with InferenceSession(tmp_path / "model.so") as session:
        for begin, end in ((0, 2), (2, 3), (3, 7)):
            y, state = session.run(None, {"x": x[..., begin:end], "state": state})
            results.append(y)
    np.testing.assert_allclose(state, padded[..., -3:].numpy(), rtol=1e-6)
    expected = torch.nn.functional.silu(convolved).numpy()
    np.testing.assert_allclose(np.concatenate(results, axis=-1), expected, rtol=1e-4, atol=1e-5)
