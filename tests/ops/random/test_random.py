"""Operators that draw random numbers: the numbers themselves, their distribution, and what they depend on."""

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from models.tensor_files import Array
from onnxc.errors import RunError
from onnxc.session import InferenceSession
from tests import onnxc_commands
from tests.ops.random.philox import bits_of_float, key_of, normal, philox, uniform
from tests.ops.test_run_time_dims import LEVELS, Inputs, node, numbers, on_the_simulator

pytestmark = pytest.mark.usefixtures("commands")

OPSET = 22
SHAPE = (7, 83, 173)
COUNT = math.prod(SHAPE)
# For each type: its number in TensorProto, and the bits of its significand.
TYPES = {
    "float32": (np.float32, onnx.TensorProto.FLOAT, 24),
    "float64": (np.float64, onnx.TensorProto.DOUBLE, 53),
    "float16": (np.float16, onnx.TensorProto.FLOAT16, 11),
    "bfloat16": (ml_dtypes.bfloat16, onnx.TensorProto.BFLOAT16, 8),
}
PLACES = [
    pytest.param(("-O0",), id="O0"),
    pytest.param(("--march", "x86-64-v3"), id="x86-64-v3"),
    pytest.param(("--march", "native"), id="native"),
    pytest.param(("--target", "hip"), id="gpu"),
]


def build(
    nodes: Sequence[onnx.NodeProto], inputs: Inputs, outputs: dict[str, int], constants: dict[str, Array] | None = None
) -> onnx.ModelProto:
    kinds = {"f": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64, "b": onnx.TensorProto.BOOL}
    graph = helper.make_graph(
        list(nodes),
        "random",
        [helper.make_tensor_value_info(name, kinds[kind], dims) for name, (kind, dims) in inputs.items()],
        [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def open_model(model: onnx.ModelProto, folder: Path, options: Sequence[str] = (), threads: int = 2) -> InferenceSession:
    onnx.save(model, folder / "model.onnx")
    shared_object = onnxc_commands.compile_model(folder / "model.onnx", folder / "model.so", *options)
    with on_the_simulator():
        return InferenceSession(shared_object, device="hip" if "hip" in options else "cpu", threads=threads)


def drawing_model(operator: str, dtype: int, **attributes: float | Sequence[int]) -> onnx.ModelProto:
    drawn = helper.make_node(operator, [], ["y"], shape=SHAPE, dtype=dtype, **attributes)
    return build([drawn], {}, {"y": dtype})


def normal_distribution(x: Array) -> Array:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


def check_distribution(drawn: Array, distribution: Callable[[Array], Array], step: float = 0) -> None:
    """Tests by Kolmogorov and Smirnov: of good numbers, one seed in a thousand is further off."""
    ordered = np.sort(drawn.astype(np.float64).reshape(-1))
    expected = distribution(ordered)
    count = len(ordered)
    places = np.arange(count) / count
    distance = max(np.max(expected - places), np.max(places + 1 / count - expected))
    assert distance < 1.95 / math.sqrt(count) + step


def test_the_generator() -> None:
    """The known answers of Random123, the authors' own code (kat_vectors)."""
    for counter, key, expected in (
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ):
        words = philox(np.array(counter, np.uint64)[:, None], np.array(key, np.uint64)[:, None])
        assert words[:, 0].tolist() == expected


@pytest.mark.parametrize("options", PLACES)
@pytest.mark.parametrize("name", TYPES)
def test_uniform(tmp_path: Path, name: str, options: Sequence[str]) -> None:
    dtype, code, digits = TYPES[name]
    [y] = open_model(drawing_model("RandomUniform", code, seed=3.5), tmp_path, options).run(None, {})
    assert y.shape == SHAPE
    assert y.dtype == dtype
    expected = uniform(COUNT, key_of("y", bits_of_float(3.5)), digits)
    assert np.array_equal(y.astype(np.float64).reshape(-1), expected)
    check_distribution(y, lambda x: x, 2.0**-digits)


@pytest.mark.parametrize("options", PLACES)
@pytest.mark.parametrize("name", TYPES)
def test_normal(tmp_path: Path, name: str, options: Sequence[str]) -> None:
    dtype, code, digits = TYPES[name]
    [y] = open_model(drawing_model("RandomNormal", code, seed=-2.0), tmp_path, options).run(None, {})
    assert y.shape == SHAPE
    assert y.dtype == dtype
    expected = normal(COUNT, key_of("y", bits_of_float(-2.0)), is_double=name == "float64")
    found = y.astype(np.float64).reshape(-1)
    # A logarithm, a root, a cosine and two products, each rounded; the greatest numbers are above 4.
    assert np.abs(found - expected).max() <= 16 * 2.0**-digits
    check_distribution(y, normal_distribution, 2.0**-digits)
    assert abs(found.mean()) < 4 / math.sqrt(COUNT)
    assert abs(found.var() - 1) < 4 * math.sqrt(2 / COUNT)
    neighbours = np.corrcoef(found[:-1], found[1:])[0, 1]
    assert abs(neighbours) < 4 / math.sqrt(COUNT)


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_scale_and_range(tmp_path: Path, name: str) -> None:
    _, code, digits = TYPES[name]
    model = build(
        [
            helper.make_node("RandomUniform", [], ["u"], shape=SHAPE, dtype=code, low=-3.0, high=-1.0, seed=1.0),
            helper.make_node("RandomNormal", [], ["n"], shape=SHAPE, dtype=code, mean=5.0, scale=0.25, seed=1.0),
            helper.make_node("RandomUniform", [], ["same"], shape=[3], dtype=code, low=2.0, high=2.0),
            helper.make_node("RandomNormal", [], ["none"], shape=[4, 0, 2], dtype=code),
        ],
        {},
        dict.fromkeys(["u", "n", "same", "none"], code),
    )
    u, n, same, none = open_model(model, tmp_path).run(None, {})
    assert u.min() >= -3
    assert u.max() < -1
    check_distribution(u, lambda x: (x + 3) / 2, 2.0 ** -(digits - 2))
    check_distribution(n, lambda x: normal_distribution((x - 5) / 0.25), 2.0 ** -(digits - 4))
    assert np.array_equal(same, np.full(3, 2, same.dtype))
    assert none.shape == (4, 0, 2)


@pytest.mark.parametrize("options", LEVELS)
def test_what_numbers_depend_on(tmp_path: Path, options: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(
        [
            node("a = RandomNormalLike(x)"),
            node("b = RandomNormalLike(x)"),
            node("seeded = RandomNormalLike(x)", seed=1.0),
            node("other = RandomNormalLike(x)", seed=1.0),
        ],
        {"x": ("f", ["N", "C"])},
        dict.fromkeys(["a", "b", "seeded", "other"], onnx.TensorProto.FLOAT),
    )

    def runs(threads: int, dims: tuple[int, ...] = (9, 1237)) -> list[list[Array]]:
        session = open_model(model, tmp_path, options, threads)
        return [session.run(None, {"x": numbers(*dims)}) for _ in range(3)]

    first = runs(1)
    for run in first:  # each node has its own numbers
        drawn = np.stack([each.reshape(-1) for each in run])
        assert np.abs(np.corrcoef(drawn) - np.eye(4)).max() < 4.5 / math.sqrt(drawn.shape[1])
    for earlier, later in itertools.pairwise(first):  # each run too, unless a seed is given
        assert abs(np.corrcoef(earlier[0].reshape(-1), later[0].reshape(-1))[0, 1]) < 4.5 / math.sqrt(9 * 1237)
        assert np.array_equal(earlier[2], later[2])
        assert np.array_equal(earlier[3], later[3])
    second = runs(1)
    assert not np.array_equal(first[0][0], second[0][0])
    assert np.array_equal(first[0][2], second[0][2])

    monkeypatch.setenv("ONNXC_SEED", "12")
    chosen = runs(1)
    assert all(
        np.array_equal(a, b)
        for one, other in zip(chosen, runs(3), strict=True)
        for a, b in zip(one, other, strict=True)
    )
    assert not np.array_equal(chosen[0][0], chosen[1][0])
    # An element's number does not depend on how many come after it.
    assert np.array_equal(runs(2, (5, 1237))[1][1], chosen[1][1][:5])


def test_rounds_of_a_loop(tmp_path: Path) -> None:
    body = helper.make_graph(
        [
            node("kept = Identity(condition)"),
            node("drawn = RandomUniformLike(x)"),
            node("seeded = RandomUniformLike(x)", seed=2.0),
        ],
        "body",
        [
            helper.make_tensor_value_info("round", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("condition", onnx.TensorProto.BOOL, []),
        ],
        [
            helper.make_tensor_value_info("kept", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("drawn", onnx.TensorProto.FLOAT, [50]),
            helper.make_tensor_value_info("seeded", onnx.TensorProto.FLOAT, [50]),
        ],
    )
    model = build(
        [helper.make_node("Loop", ["count", "yes"], ["y", "z"], body=body)],
        {"x": ("f", [50]), "count": ("i", [])},
        {"y": onnx.TensorProto.FLOAT, "z": onnx.TensorProto.FLOAT},
        {"yes": np.array(True)},
    )
    session = open_model(model, tmp_path)
    y, z = session.run(None, {"x": numbers(50), "count": np.array(6)})
    assert y.shape == (6, 50)
    assert len(np.unique(y)) > 295
    assert len(np.unique(z)) > 295
    assert np.array_equal(session.run(None, {"x": numbers(50), "count": np.array(6)})[1], z)


@pytest.mark.parametrize("options", LEVELS)
def test_bernoulli(tmp_path: Path, options: Sequence[str]) -> None:
    code = onnx.TensorProto
    model = build(
        [
            node("y = Bernoulli(p)", seed=4.0),
            node("b = Bernoulli(p)", dtype=code.BOOL),
            node("i = Bernoulli(p)", dtype=code.INT32),
        ],
        {"p": ("f", ["N", 5003])},
        {"y": code.FLOAT, "b": code.BOOL, "i": code.INT32},
    )
    p = np.repeat(np.array([0, 0.1, 0.5, 0.97, 1], np.float32)[:, None], 5003, axis=1)
    results = open_model(model, tmp_path, options).run(None, {"p": p})
    assert [result.dtype for result in results] == [np.float32, np.bool_, np.int32]
    deviation = np.sqrt(p * (1 - p) / 5003)[:, 0]
    for result in results:
        assert set(np.unique(result.astype(np.float64))) == {0, 1}
        assert (np.abs(result.astype(np.float64).mean(1) - p[:, 0]) <= 4.5 * deviation).all()
    expected = uniform(p.size, key_of("y", bits_of_float(4)), 24).reshape(p.shape) < p
    assert np.array_equal(results[0], expected.astype(np.float32))


@pytest.mark.parametrize("options", LEVELS)
def test_dropout(tmp_path: Path, options: Sequence[str]) -> None:
    """After a convolution, as in Monte-Carlo dropout: of a known ratio, of a run's, and of the default ratio."""
    code = onnx.TensorProto
    weights = np.random.default_rng(1).standard_normal((13, 4, 3, 3)).astype(np.float32)
    model = build(
        [
            node("c = Conv(x, w)", pads=[1, 1, 1, 1]),
            node("y mask = Dropout(c, fifth, yes)", seed=7),
            node("z = Dropout(c, ratio, mode)"),
            node("m = Relu(z)"),
            node("half = Dropout(c, , yes)"),
        ],
        {"x": ("f", ["N", 4, "H", "W"]), "ratio": ("f", []), "mode": ("b", [])},
        {"c": code.FLOAT, "y": code.FLOAT, "mask": code.BOOL, "z": code.FLOAT, "m": code.FLOAT, "half": code.FLOAT},
        {"w": weights, "fifth": np.array(0.2, np.float32), "yes": np.array(True)},
    )
    session = open_model(model, tmp_path, options)
    x = np.random.default_rng(0).standard_normal((2, 4, 17, 19)).astype(np.float32)
    for ratio, mode in ((0.7, True), (0.7, False), (0.0, True), (1.0, True)):
        feeds = {"x": x, "ratio": np.array(ratio, np.float32), "mode": np.array(mode)}
        c, y, mask, z, m, half = session.run(None, feeds)
        assert np.array_equal(mask, (uniform(c.size, key_of("y", 7), 24) >= np.float32(0.2)).reshape(c.shape))
        np.testing.assert_allclose(y, np.where(mask, c / np.float32(0.8), 0), rtol=3e-7)
        share = ratio if mode else 0.0
        assert abs((z == 0).mean() - share) <= 4.5 * math.sqrt(share * (1 - share) / z.size)
        np.testing.assert_allclose(z[z != 0], (c / np.float32(1 - share if share < 1 else 1))[z != 0], rtol=3e-6)
        assert np.array_equal(m, np.maximum(z, 0))
        assert abs((half == 0).mean() - 0.5) <= 4.5 * math.sqrt(0.25 / z.size)
        np.testing.assert_allclose(half[half != 0], 2 * c[half != 0], rtol=3e-7)


@pytest.mark.parametrize("options", LEVELS)
def test_multinomial(tmp_path: Path, options: Sequence[str]) -> None:
    code = onnx.TensorProto
    model = build(
        [
            node("y = Multinomial(x)", sample_size=4001, seed=1.0),
            node("z = Multinomial(x)", sample_size=3, dtype=code.INT64),
        ],
        {"x": ("f", ["N", "C"])},
        {"y": code.INT32, "z": code.INT64},
    )
    session = open_model(model, tmp_path, options)
    shares = np.array([[0, 0.1, 0, 0.4, 0.5, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 6]])
    with np.errstate(divide="ignore"):
        y, z = session.run(None, {"x": np.log(shares).astype(np.float32)})
    assert y.dtype == np.int32
    assert z.dtype == np.int64
    assert z.shape == (4, 3)
    for row, expected in zip(y, shares / shares.sum(1, keepdims=True), strict=True):
        found = np.bincount(row, minlength=6) / len(row)
        assert len(found) == 6
        assert (np.abs(found - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / len(row))).all()
    y, z = session.run(None, {"x": np.zeros((0, 3), np.float32)})
    assert [y.shape, z.shape] == [(0, 4001), (0, 3)]
    with pytest.raises(RunError, match=r"there is no class to draw"):
        session.run(None, {"x": np.zeros((2, 0), np.float32)})


@pytest.mark.parametrize("options", LEVELS)
def test_a_variational_autoencoder(tmp_path: Path, options: Sequence[str]) -> None:
    """Its latent numbers are normal around the mean that the encoder gives."""
    code, generator = onnx.TensorProto.FLOAT, np.random.default_rng(3)
    constants: dict[str, Array] = {
        "w": generator.standard_normal((16, 3, 3, 3, 3)).astype(np.float32) / 9,
        "wm": generator.standard_normal((8, 16, 1, 1, 1)).astype(np.float32) / 4,
        "ws": generator.standard_normal((8, 16, 1, 1, 1)).astype(np.float32) / 4,
        "wd": generator.standard_normal((3, 8, 1, 1, 1)).astype(np.float32),
        "half": np.array(0.5, np.float32),
    }
    model = build(
        [
            node("h = Conv(x, w)", pads=[1] * 6, strides=[2] * 3),
            node("r = Relu(h)"),
            node("mean = Conv(r, wm)"),
            node("logarithm = Conv(r, ws)"),
            node("halved = Mul(logarithm, half)"),
            node("deviation = Exp(halved)"),
            node("noise = RandomNormalLike(deviation)"),
            node("scaled = Mul(noise, deviation)"),
            node("z = Add(scaled, mean)"),
            node("y = Conv(z, wd)"),
        ],
        {"x": ("f", [1, 3, "D", "H", "W"])},
        dict.fromkeys(["mean", "deviation", "z", "y"], code),
        constants,
    )
    session = open_model(model, tmp_path, options)
    x = generator.standard_normal((1, 3, 14, 18, 22)).astype(np.float32)
    for _ in range(2):
        mean, deviation, z, y = session.run(None, {"x": x})
        check_distribution((z - mean) / deviation, normal_distribution)
        expected = np.einsum("oc,ncdhw->nodhw", constants["wd"][:, :, 0, 0, 0], z)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (helper.make_node("RandomNormal", [], ["y"]), "its attribute 'shape' is required"),
        (helper.make_node("RandomNormal", [], ["y"], shape=[2, -1]), "attribute 'shape' holds -1"),
        (helper.make_node("RandomNormal", [], ["y"], shape=[2], scale=-1.0), "a standard deviation, is -1"),
        (helper.make_node("RandomUniform", [], ["y"], shape=[2], low=2.0), "attribute 'low' is 2, which is above"),
        (helper.make_node("RandomUniformLike", ["i"], ["y"]), "int64, is not one that numbers are drawn in"),
        (helper.make_node("Multinomial", ["v"], ["y"]), r"\[rows, classes\] are expected, found \[3\]"),
        (helper.make_node("Dropout", ["v", "one", "yes"], ["y"]), r"a ratio in \[0, 1\) is expected, found 1"),
    ],
)
def test_refusals(tmp_path: Path, one: onnx.NodeProto, text: str) -> None:
    model = build(
        [one],
        {"i": ("i", [3]), "v": ("f", [3])},
        {"y": onnx.TensorProto.FLOAT},
        {"one": np.array(1, np.float32), "yes": np.array(True)},
    )
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(onnxc_commands.CommandFailure, match=text):
        onnxc_commands.compile_model(tmp_path / "model.onnx", tmp_path / "model.so")
