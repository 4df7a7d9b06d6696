"""Scatters on the simulator whose updates meet in one element: order counts for the reduction "none" only."""

from pathlib import Path

import numpy as np
import pytest
from onnx.parser import parse_model

from models.tensor_files import Array
from tests.codegen.hip.gpu_model import Compiled, expect

pytestmark = pytest.mark.usefixtures("commands")

PLACES = 7
GRAPH = f"""<ir_version: 9, opset_import: ["" : 18]>
m (float[{PLACES}] x, float16[{PLACES}] h, uint8[{PLACES}] b, int64[{PLACES}] w,
   int64[N] i, float[N] u, float16[N] v, uint8[N] c)
=> (float[{PLACES}] none, float[{PLACES}] sums, float[{PLACES}] least, float[{PLACES}] most,
    float16[{PLACES}] half_sums, float16[{PLACES}] half_least, uint8[{PLACES}] byte_most,
    uint8[{PLACES}] byte_products, int64[{PLACES}] long_sums)
{{
  none = ScatterElements (x, i, u)
  sums = ScatterElements <reduction = "add"> (x, i, u)
  least = ScatterElements <reduction = "min"> (x, i, u)
  most = ScatterElements <reduction = "max"> (x, i, u)
  half_sums = ScatterElements <reduction = "add"> (h, i, v)
  half_least = ScatterElements <reduction = "min"> (h, i, v)
  byte_most = ScatterElements <reduction = "max"> (b, i, c)
  byte_products = ScatterElements <reduction = "mul"> (b, i, c)
  long_sums = ScatterElements <reduction = "add"> (w, i, i)
}}
"""


@pytest.fixture(scope="module")
def scatters(tmp_path_factory: pytest.TempPathFactory) -> "Scatters":
    return Scatters(tmp_path_factory.mktemp("scatters"))


class Scatters:
    def __init__(self, folder: Path) -> None:
        with pytest.MonkeyPatch.context() as environment:
            self.compiled = Compiled(parse_model(GRAPH), folder, environment)

    def run(self, **inputs: Array) -> dict[str, Array]:
        return self.compiled.run(**inputs)


def inputs_of(indices: Array, seed: int = 0) -> dict[str, Array]:
    """Small integers, whose sums and minima are exact."""
    random = np.random.default_rng(seed)

    def integers(low: int, high: int, count: int, dtype: type) -> Array:
        result: Array = random.integers(low, high, count).astype(dtype)
        return result

    n = len(indices)
    return {
        "x": integers(-9, 9, PLACES, np.float32),
        "h": integers(-3, 3, PLACES, np.float16),
        "b": integers(0, 255, PLACES, np.uint8),
        "w": integers(-9, 9, PLACES, np.int64),
        "i": indices,
        "u": integers(-99, 99, n, np.float32),
        "v": (integers(-8, 9, n, np.float16) / 8).astype(np.float16),
        "c": integers(0, 255, n, np.uint8),
    }


def expected(x: dict[str, Array]) -> dict[str, Array]:
    """One update after the other; sums as wide as they are exact in."""
    y = {
        "none": x["x"].copy(),
        "sums": x["x"].astype(np.float64),
        "least": x["x"].copy(),
        "most": x["x"].copy(),
        "half_sums": x["h"].astype(np.float64),
        "half_least": x["h"].copy(),
        "byte_most": x["b"].copy(),
        "byte_products": x["b"].astype(np.int64),
        "long_sums": x["w"].copy(),
    }
    for number, at in enumerate(x["i"]):
        y["none"][at] = x["u"][number]
        y["sums"][at] += x["u"][number]
        y["least"][at] = np.minimum(y["least"][at], x["u"][number])
        y["most"][at] = np.maximum(y["most"][at], x["u"][number])
        y["half_sums"][at] += x["v"][number]
        y["half_least"][at] = np.minimum(y["half_least"][at], x["v"][number])
        y["byte_most"][at] = np.maximum(y["byte_most"][at], x["c"][number])
        y["byte_products"][at] = y["byte_products"][at] * x["c"][number] % 256
        y["long_sums"][at] += at
    types = {"sums": np.float32, "half_sums": np.float16, "byte_products": np.uint8}
    return {name: array.astype(types.get(name, array.dtype)) for name, array in y.items()}


def indices_of(count: int) -> Array:
    """From the front and from the back; the last place has none."""
    result: Array = np.random.default_rng(count).integers(-PLACES, PLACES - 1, count)
    result[result == -1] = 0
    return result


@pytest.mark.parametrize(
    "indices",
    [indices_of(0), indices_of(1), indices_of(64), indices_of(257), indices_of(5000), np.full(1500, 3)],
    ids=["none", "one", "a wavefront", "257", "5000", "all at one place"],
)
def test_exactly(scatters: Scatters, indices: Array) -> None:
    inputs = inputs_of(indices)
    actual = scatters.run(**inputs)
    for name, array in expected(inputs).items():
        np.testing.assert_array_equal(actual[name], array, err_msg=name)


def test_sums_do_not_depend_on_the_order(scatters: Scatters) -> None:
    """And are nearer to the sum of the numbers than one in float32 may be."""
    inputs = inputs_of(indices_of(3000))
    random = np.random.default_rng(1)
    inputs["u"] = (random.standard_normal(3000) * 10.0 ** random.integers(-6, 7, 3000)).astype(np.float32)
    order = random.permutation(3000)
    shuffled = {name: inputs[name][order] if len(inputs[name]) == 3000 else inputs[name] for name in inputs}
    sums = scatters.run(**inputs)["sums"]
    assert sums.tobytes() == scatters.run(**shuffled)["sums"].tobytes()
    expect(sums, expected(inputs)["sums"], 1e-7)


def test_not_finite(scatters: Scatters) -> None:
    inputs = inputs_of(indices_of(200))
    inputs["i"] = np.arange(200) % 5
    inputs["u"][[0, 1, 2, 7, 3]] = np.inf, -np.inf, np.inf, -np.inf, np.nan
    inputs["x"][5] = -0.0
    with np.errstate(invalid="ignore"):
        wanted = expected(inputs)
    actual = scatters.run(**inputs)
    for name in ("none", "sums", "least", "most"):
        np.testing.assert_array_equal(actual[name], wanted[name], err_msg=name)
    assert np.signbit(actual["sums"][5]), "a place without an update keeps its sign"


def test_very_small_and_very_large(scatters: Scatters) -> None:
    inputs = inputs_of(np.arange(128) % 2)
    inputs["x"] = np.zeros(PLACES, np.float32)
    inputs["u"] = np.where(np.arange(128) % 2 == 0, np.float32(1e-45), np.float32(2e36))
    sums = scatters.run(**inputs)["sums"]
    np.testing.assert_array_equal(sums[0], np.float32(64 * 1.401298464324817e-45))
    np.testing.assert_allclose(sums[1], 1.28e38, rtol=2e-7)
