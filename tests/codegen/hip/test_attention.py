"""Attention in one kernel on the simulator, against PyTorch in float64. Cases are sizes around each tile's edge, depths
that the kernel takes and one that it does not, sizes that only a run knows, masks, range, and results that must be
exact."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper

from models.tensor_files import Array
from tests.codegen.hip.gpu_model import BFLOAT16, FLOAT16, Compiled, Dims, expect, model
from tests.ops.case import random
from tests.ops.table import TOLERANCES

pytestmark = pytest.mark.usefixtures("commands")

TYPES = pytest.mark.parametrize("dtype", [np.float32, FLOAT16, BFLOAT16], ids=["float32", "float16", "bfloat16"])


@dataclass(frozen=True)
class Sizes:
    batch: int
    heads: int
    queries: int
    keys: int
    depth: int
    columns: int
    masks: tuple[Dims, ...] = ()  # what is added to the scores; an axis of 1 is repeated


def nodes_of(i: int, case: Sizes) -> list[onnx.NodeProto]:
    """softmax(q k * scale + masks) v, keys standing as the columns of a matrix."""
    nodes = [helper.make_node("MatMul", [f"q{i}", f"k{i}"], [f"dot{i}"])]
    nodes.append(helper.make_node("Mul", [f"dot{i}", f"scale{i}"], [f"scaled{i}_"]))
    last = f"scaled{i}_"
    for j in range(len(case.masks)):
        nodes.append(helper.make_node("Add", [last, f"m{i}_{j}"], [f"masked{i}_{j}"]))
        last = f"masked{i}_{j}"
    nodes.append(helper.make_node("Softmax", [last], [f"weights{i}"], axis=-1))
    nodes.append(helper.make_node("MatMul", [f"weights{i}", f"v{i}"], [f"y{i}"]))
    return nodes


def attention_model(cases: list[Sizes], dtype: Any, scales: list[float] | None = None) -> onnx.ModelProto:
    nodes, constants = [], {}
    types: dict[str, tuple[Any, Dims]] = {}
    for i, case in enumerate(cases):
        nodes += nodes_of(i, case)
        outer = (case.batch, case.heads)
        types |= {
            f"q{i}": (dtype, (*outer, case.queries, case.depth)),
            f"k{i}": (dtype, (*outer, case.depth, case.keys)),
            f"v{i}": (dtype, (*outer, case.keys, case.columns)),
        }
        types |= {f"m{i}_{j}": (dtype, dims) for j, dims in enumerate(case.masks)}
        constants[f"scale{i}"] = np.array(scales[i] if scales else case.depth**-0.5, dtype)
    return model(nodes, types, constants)


def extents(dims: Dims, sizes: dict[str, int]) -> list[int]:
    return [dim if isinstance(dim, int) else sizes[dim] for dim in dims]


def inputs_of(cases: list[Sizes], dtype: Any) -> dict[str, Array]:
    inputs: dict[str, Array] = {}
    for i, case in enumerate(cases):
        outer = (case.batch, case.heads)
        inputs |= {
            f"q{i}": random(*outer, case.queries, case.depth, seed=3 * i).astype(dtype) * dtype(2),
            f"k{i}": random(*outer, case.depth, case.keys, seed=3 * i + 1).astype(dtype),
            f"v{i}": random(*outer, case.keys, case.columns, seed=3 * i + 2).astype(dtype),
        }
        inputs |= {
            f"m{i}_{j}": random(*extents(dims, {}), seed=40 + i + j).astype(dtype) for j, dims in enumerate(case.masks)
        }
    return inputs


def attention(q: Array, k: Array, v: Array, scale: float, *masks: Array) -> Array:
    def wide(array: Array) -> torch.Tensor:
        return torch.from_numpy(array.astype(np.float64))

    scores = wide(q) @ wide(k) * scale
    for mask in masks:
        scores = scores + wide(mask)
    result: Array = (torch.softmax(scores, dim=-1) @ wide(v)).numpy()
    return result.astype(q.dtype)


def check(
    cases: list[Sizes], dtype: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, launches_each: int = 1
) -> None:
    compiled = Compiled(attention_model(cases, dtype), folder, monkeypatch)
    inputs = inputs_of(cases, dtype)
    results = compiled.run(**inputs)
    # Separate kernels round scores of up to 8, twice, and weights to the type; float32 notices nothing of it.
    tolerance = TOLERANCES[np.dtype(dtype)] * (1 if launches_each == 1 or dtype == np.float32 else 8)
    for i, case in enumerate(cases):
        masks = [inputs[f"m{i}_{j}"] for j in range(len(case.masks))]
        scale = float(np.array(case.depth**-0.5, dtype))
        expected = attention(inputs[f"q{i}"], inputs[f"k{i}"], inputs[f"v{i}"], scale, *masks)
        expect(results[f"y{i}"], expected, tolerance)
    # A product in parts is two launches.
    launches = [name for name in compiled.launches() if name != "second"]
    assert launches == ["kernel"] * len(cases) * launches_each


# Queries and keys around the edges of a wavefront's tile and of a block's, and keys of several tiles.
LENGTHS = [(1, 1), (3, 32), (31, 33), (32, 1), (33, 31), (64, 65), (127, 63), (128, 64), (129, 2), (150, 100), (2, 170)]


@pytest.mark.parametrize("has_bias", [False, True], ids=["plain", "bias"])
@TYPES
def test_lengths(dtype: Any, has_bias: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = LENGTHS if dtype == np.float32 else LENGTHS[::2]
    cases = []
    for queries, keys in lengths:
        masks: tuple[Dims, ...] = ((1, 3, queries, keys), (2, 1, queries, keys)) if has_bias else ()
        cases.append(Sizes(2, 3, queries, keys, 16, 16, masks))
    check(cases, dtype, tmp_path, monkeypatch)


@TYPES
def test_depths_and_columns(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 64 if dtype == np.float32 else 128
    depths = [(1, 5), (7, 1), (8, 8), (16, 33), (17, 16), (24, 31), (33, 9), (most - 1, 64), (most, 32)]
    cases = [Sizes(1, 2, 35, 40, depth, columns) for depth, columns in depths]
    cases += [Sizes(1, 2, 35, 40, depth, columns, ((1, 2, 35, 40),)) for depth, columns in ((5, 20), (64, 64))]
    cases += [Sizes(1, 2, 35, 40, 40, columns) for columns in (65, 128)]
    check(cases, dtype, tmp_path, monkeypatch)


@TYPES
def test_what_the_kernel_does_not_take(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A depth or columns for which a lane has no registers, and few queries of many keys: three kernels."""
    most = 64 if dtype == np.float32 else 128
    cases = [
        Sizes(2, 3, 33, 40, most + 1, 16),
        Sizes(2, 3, 33, 40, 16, 129, ((2, 1, 33, 40),)),
        Sizes(2, 3, 1, 2000, 64, 64),
    ]
    check(cases, dtype, tmp_path, monkeypatch, launches_each=3)


def test_biases_of_every_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broadcasts of queries, of keys, of heads, of images, and several of them at once."""
    shapes: list[tuple[Dims, ...]] = [
        ((1, 1, 1, 45),),
        ((1, 1, 34, 1),),
        ((2, 1, 1, 45),),
        ((34, 45),),
        ((2, 3, 34, 45),),
        ((3, 34, 45), (2, 1, 1, 45), (1, 1, 34, 1)),
    ]
    check([Sizes(2, 3, 34, 45, 16, 16, masks) for masks in shapes], np.float32, tmp_path, monkeypatch)


@TYPES
def test_one_compile_for_any_size(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images and queries that only a run knows, of matrices in one to two axes of a batch and in none."""
    types: dict[str, tuple[Any, Dims]] = {
        "q0": (dtype, ("N", 3, "L", 16)),
        "k0": (dtype, ("N", 3, 16, 37)),
        "v0": (dtype, ("N", 3, 37, 16)),
        "m0_0": (dtype, ("N", 1, "L", 37)),
        "q1": (dtype, ("M", "L", 16)),
        "k1": (dtype, ("M", 16, 64)),
        "v1": (dtype, ("M", 64, 24)),
        "q2": (dtype, ("L", 16)),
        "k2": (dtype, (16, 70)),
        "v2": (dtype, (70, 9)),
    }
    cases = [Sizes(1, 1, 1, 1, 16, 16, masks) for masks in (((1, 1),), (), ())]
    nodes = [node for i, case in enumerate(cases) for node in nodes_of(i, case)]
    constants = {f"scale{i}": np.array(0.25, dtype) for i in range(3)}
    compiled = Compiled(model(nodes, types, constants), tmp_path, monkeypatch)
    runs = [(1, 2, 1), (2, 1, 33), (3, 5, 129), (1, 1, 200)]
    for n, m, queries in runs:
        sizes = {"N": n, "M": m, "L": queries}
        inputs = {
            name: random(*extents(dims, sizes), seed=seed).astype(dtype)
            for seed, (name, (_, dims)) in enumerate(types.items())
        }
        results = compiled.run(**inputs)
        for i in range(3):
            masks = [inputs["m0_0"]] if i == 0 else []
            expect(results[f"y{i}"], attention(inputs[f"q{i}"], inputs[f"k{i}"], inputs[f"v{i}"], 0.25, *masks))
    assert compiled.launches() == ["kernel"] * 3 * len(runs)
    for n, queries in ((0, 5), (2, 0)):
        sizes = {"N": n, "M": n, "L": queries}
        inputs = {name: np.zeros(extents(dims, sizes), dtype) for name, (_, dims) in types.items()}
        results = compiled.run(**inputs)
        assert results["y0"].shape == (n, 3, queries, 16)


MASKED = Sizes(1, 2, 70, 100, 16, 16, ((1, 2, 70, 100),))


def masks_of(dtype: Any) -> Array:
    """Rows with whole tiles, all but one key, or everything hidden."""
    mask = random(1, 2, 70, 100, seed=9).astype(dtype)
    mask[:, :, 0:5, :32] = -np.inf
    mask[:, :, 5:10, 32:] = -np.inf
    mask[:, :, 10, :64] = mask[:, :, 10, 65:] = -np.inf
    mask[:, :, 11, :99] = -np.inf
    mask[:, :, 12] = -np.inf
    mask[:, :, 13] = np.finfo(np.float32).min if dtype == np.float32 else -60000
    mask[:, :, 14, :50] = mask[:, :, 13, 0, None]
    mask[:, 1, 40:] = np.where(np.tri(30, 100, k=20) > 0, dtype(0), dtype(-np.inf))
    return mask


@pytest.mark.parametrize("dtype", [np.float32, FLOAT16], ids=["float32", "float16"])
def test_masks(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled(attention_model([MASKED], dtype), tmp_path, monkeypatch)
    inputs = inputs_of([MASKED], dtype) | {"m0_0": masks_of(dtype)}
    [result] = compiled.run(**inputs).values()
    expected = attention(inputs["q0"], inputs["k0"], inputs["v0"], 0.25, inputs["m0_0"])
    assert np.isnan(expected).any(axis=(0, 1, 3)).tolist() == [row == 12 for row in range(70)]
    expect(result, expected)
    assert compiled.launches() == ["kernel"]


def test_what_is_not_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyTorch: a score of NaN or +inf makes its row NaN, a value that is not finite its column, of every query;
    values past the last key or the last element count in none."""
    case = Sizes(1, 2, 40, 33, 5, 7, ((1, 2, 40, 33),))
    compiled = Compiled(attention_model([case], np.float32), tmp_path, monkeypatch)
    inputs = inputs_of([case], np.float32)
    inputs["m0_0"][0, 0, 3, 32] = np.nan
    inputs["m0_0"][0, 0, 4, 0] = inputs["m0_0"][0, 0, 5, 32] = np.inf
    inputs["m0_0"][0, :, 6, 32] = -np.inf
    inputs["v0"][0, 0, 32, 2] = np.inf
    inputs["v0"][0, 1, 0, 6] = np.nan
    [result] = compiled.run(**inputs).values()
    scale = float(np.float32(5**-0.5))
    expect(result, attention(inputs["q0"], inputs["k0"], inputs["v0"], scale, inputs["m0_0"]))


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=["float16", "bfloat16"])
def test_half_precision_keeps_its_range(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of queries and keys pass float16's largest number, 65504; scaled scores and results do not. As PyTorch's
    scaled_dot_product_attention has it, whose scores are float32."""
    case = Sizes(1, 2, 40, 50, 32, 16)
    scale = 2.0**-14
    compiled = Compiled(attention_model([case], dtype, [scale]), tmp_path, monkeypatch)
    inputs = inputs_of([case], dtype)
    # Multiples of 16, so that either type has them exactly.
    inputs["q0"] = (np.sign(inputs["q0"].astype(np.float32)) * 112).astype(dtype)
    inputs["k0"] = (np.sign(inputs["k0"].astype(np.float32)) * 112 + 112).astype(dtype)
    inputs["q0"][:, :, ::2] = dtype(112)
    products = inputs["q0"].astype(np.float64) @ inputs["k0"].astype(np.float64)
    assert products.max() > 300_000
    [result] = compiled.run(**inputs).values()
    expect(result, attention(inputs["q0"], inputs["k0"], inputs["v0"], scale))
    assert np.isfinite(result.astype(np.float32)).all()
    assert compiled.launches() == ["kernel"]


@TYPES
def test_exact_results(dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries of zero have the mean of the values, here of 64 keys; a key that is the only one seen gives its own
    value."""
    cases = [Sizes(2, 3, 45, 64, 16, 20), Sizes(2, 3, 45, 77, 16, 20, ((45, 77),))]
    compiled = Compiled(attention_model(cases, dtype), tmp_path, monkeypatch)
    inputs = inputs_of(cases, dtype)
    generator = np.random.default_rng(0)
    inputs["q0"][:] = 0
    for i, case in enumerate(cases):
        inputs[f"v{i}"] = generator.integers(-4, 5, (2, 3, case.keys, 20)).astype(dtype)
    seen = generator.integers(0, 77, 45)
    inputs["m1_0"] = np.where(np.arange(77) == seen[:, None], 3, -np.inf).astype(dtype)
    results = compiled.run(**inputs)
    mean = inputs["v0"].astype(np.float64).mean(axis=2, keepdims=True)
    np.testing.assert_array_equal(results["y0"], np.broadcast_to(mean, (2, 3, 45, 20)).astype(dtype))
    np.testing.assert_array_equal(results["y1"], inputs["v1"][:, :, seen])
    assert compiled.launches() == ["kernel"] * 2
