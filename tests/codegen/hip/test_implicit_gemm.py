"""The implicit-GEMM kernel in each way of making products and in each tile, on the simulator.

Small integers are exact in every way; random values are held against float64 with the bound that the operands' bits
explain.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from models.tensor_files import Array
from tests import onnxc_commands
from tests.ops.case import Case, Node, build_model, case, constant, random, small_integers, with_unknown_dims
from tests.ops.network.convolution_cases import conv_case

# Bits of an operand, and the error of a sum of products of such operands: half a unit of either.
PRODUCTS = {"ieee": 2.0**-22, "bf16x3": 2.0**-14, "xf32": 2.0**-9}
GPU = ("--target", "hip")


def run(one: Case, folder: Path, *options: str) -> Array:
    model = folder / "model.onnx"
    assert one.expected is not None
    onnx.save(build_model([one], {one: one.expected}), model)
    shared_object = onnxc_commands.compile_model(model, folder / "model.so", *GPU, *options)
    inputs = {f"c0_{name}": array for name, array in one.inputs.items()}
    outputs = ["c0_" + name for name in one.outputs]
    return onnxc_commands.run_arrays(shared_object, inputs, outputs, folder / "run", "--device", "hip")[outputs[0]]


def plan_of(folder: Path, *options: str) -> str:
    """The kernel's plan as the generated code has it."""
    source = folder / "model.cpp"
    onnxc_commands.compile_model(folder / "model.onnx", source, *GPU, "--emit", "source", *options)
    plans = re.findall(r"GemmPlan\{.*?\}\.blocks", source.read_text())
    assert len(plans) == 1
    return str(plans[0])


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("products", PRODUCTS)
@pytest.mark.parametrize("op_type", ["Conv", "ConvTranspose"])
def test_products_of_float32(op_type: str, products: str, tmp_path: Path) -> None:
    weights = (24, 19, 2, 3, 3) if op_type == "Conv" else (19, 24, 2, 3, 3)
    shapes = ((2, 19, 4, 5, 7), weights)
    exact = conv_case("integers", op_type, *shapes, pads=[1, 1, 0, 0, 1, 2])
    assert exact.expected is not None
    np.testing.assert_array_equal(run(exact, tmp_path, f"--fp32={products}"), exact.expected[0])
    assert f"Products::{'float32' if products == 'ieee' else products}" in plan_of(tmp_path, f"--fp32={products}")

    x, w = (array.astype(np.float64) for array in (random(*shapes[0]), random(*shapes[1], seed=1)))
    noisy = conv_case("random", op_type, *shapes, data="random", pads=[1, 1, 0, 0, 1, 2])
    assert noisy.expected is not None
    error = np.abs(run(noisy, tmp_path, f"--fp32={products}").astype(np.float64) - noisy.expected[0])
    longest = np.sqrt(19 * 18) * np.abs(x).max() * np.abs(w).max()
    assert error.max() <= PRODUCTS[products] * longest
    # Shows that the way was taken: a better one would be far below its bound.
    assert products == "ieee" or error.max() > PRODUCTS[products] * longest / 300


def positive_product(*, computed: bool = False, batch: tuple[int, ...] = ()) -> Case:
    a, b = np.abs(random(*batch, 40, 4608)), np.abs(random(*batch, 4608, 24, seed=1))
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    return case("MatMul", a, b if computed else constant(b), expected=[expected])


def positive_product_of_unknown_length() -> Case:
    """Whose columns are known."""
    one = positive_product(computed=True)
    nodes = (Node("Reshape", ("x1", "shape"), ("b",)), Node("MatMul", ("x0", "b"), ("y0",)))
    return replace(with_unknown_dims(one), nodes=nodes, constants={"shape": np.array([-1, 24], np.int64)})


# Sums of 4,608 products of one sign (some fewer at an edge, 4,500 of the groups), by each way that an operand takes to
# the matrix unit, and what its plan says of it.
LONG_SUMS: dict[str, tuple[Callable[[], Case], str]] = {
    "blocks": (lambda: conv_case("", "Conv", (1, 512, 5, 5), (32, 512, 3, 3), data="positive"), "InputOrder::blocks"),
    "computed weights": (
        lambda: conv_case("", "Conv", (1, 512, 5, 5), (20, 512, 3, 3), data="positive", constant_weights=False),
        "WeightOrder::computed",
    ),
    "transposed": (
        lambda: conv_case("", "ConvTranspose", (1, 512, 4, 5), (512, 20, 3, 3), data="positive", pads=[1] * 4),
        ", true, Products::xf32",
    ),
    "groups": (
        lambda: conv_case("", "Conv", (1, 60, 16, 17), (36, 20, 15, 15), data="positive", group=3),
        "InputOrder::elements",
    ),
    "planar": (
        lambda: conv_case("", "Conv", (1, 2, 49, 50), (24, 2, 48, 48), data="positive"),
        "InputOrder::planar",
    ),
    "product with a constant": (positive_product, "WeightOrder::packed, true"),
    "product of two": (lambda: positive_product(computed=True, batch=(2,)), "WeightOrder::strided, true"),
    "product of unknown length": (
        positive_product_of_unknown_length,
        "WeightOrder::strided, true, false, 16, true",
    ),
}


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", LONG_SUMS)
def test_long_sums_of_one_sign_in_xf32(name: str, tmp_path: Path) -> None:
    """The matrix unit cuts operands to 10 bits: without rounding before it each sum is 7e-4 too small."""
    make, plan = LONG_SUMS[name]
    one = make()
    assert one.expected is not None
    expected = one.expected[0].astype(np.float64)
    error = run(one, tmp_path, "--fp32=xf32") / expected - 1
    text = plan_of(tmp_path, "--fp32=xf32")
    assert plan in text
    assert "Products::xf32" in text
    assert np.abs(error).mean() < 2e-5
    assert np.abs(error).max() > 1e-7, "the products of float32"


def rounded_to_xf32(values: Array) -> Array:
    """To 10 bits of mantissa, ties away from zero; denormal numbers are cut."""
    bits = values.view(np.uint32)
    is_denormal = bits & 0x7F800000 == 0
    rounded = (np.where(is_denormal, bits, bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


# Bits of floats: infinities, NaN whose carry or cut would make something else of them, the numbers around each border
# of the rounding, ties, denormal numbers.
XF32_EDGES = [0x7F800000, 0x7F800001, 0x7F800FFF, 0x7FBFFFFF, 0x7FC00000, 0x7FFFF000, 0x7FFFFFFF]
XF32_EDGES += [0x7F7FFFFF, 0x7F7FF000, 0x7F7FEFFF, 0x7F000000, 0x3F800000, 0x3F800FFF, 0x3F801000, 0x3F801001]
XF32_EDGES += [0x3F802FFF, 0x3F803000, 0x3FFFF000, 0x3FFFEFFF, 0x00800000, 0x00800FFF, 0x00801000, 0x00FFFFFF]
XF32_EDGES += [0x007FFFFF, 0x00001FFF, 0x00002000, 0x00000001, 0x00000000, 0x3DCCCCCD, 0x4B800001]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("matrix", ["", "measured"])
@pytest.mark.parametrize("operand", ["rows", "constant", "columns", "computed weights"])
def test_each_operand_is_rounded_to_xf32(
    operand: str, matrix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products with 1, in sums of one."""
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_MATRIX", matrix)
    edges = np.array([*XF32_EDGES, *[bits | 0x80000000 for bits in XF32_EDGES]], np.uint32).view(np.float32)
    expected = rounded_to_xf32(edges)
    one = np.ones((1, 1), np.float32)
    row, column = edges[None], edges[:, None]
    cases = {
        "rows": lambda: case("MatMul", column, one, expected=[expected[:, None]]),
        "constant": lambda: case("MatMul", one, constant(row), expected=[expected[None]]),
        "columns": lambda: case("MatMul", one, row, expected=[expected[None]]),
        "computed weights": lambda: case(
            "Conv", one[None], column[..., None], expected=[expected[None, :, None]], tolerance=0.0
        ),
    }
    chosen = cases[operand]()
    actual = run(chosen, tmp_path, "--fp32=xf32").ravel()
    assert "Products::xf32" in plan_of(tmp_path, "--fp32=xf32")
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.usefixtures("commands")
def test_largest_floats_stay_finite_when_split(tmp_path: Path) -> None:
    x = np.array([3.4e38, -3.4e38, 1e-30, 0.0], np.float32).reshape(1, 1, 4)
    one = conv_case("", "Conv", (1, 1, 4), (1, 1, 1))
    largest = case("Conv", x, constant(np.ones((1, 1, 1))), expected=[x])
    assert one.opset == largest.opset
    np.testing.assert_allclose(run(largest, tmp_path, "--fp32=bf16x3"), x, rtol=2.0**-14)


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the simulator counts what each launch did."""
    log = tmp_path / "launches"
    monkeypatch.setitem(onnxc_commands.ENVIRONMENT, "GFX942SIM_LOG", str(log))
    return log


def conflicts(log: Path) -> list[int]:
    """The cycles that bank conflicts of LDS cost, of each launch of a kernel of a template that uses LDS."""
    counts = [json.loads(line) for line in log.read_text().splitlines()]
    return [one["lds_conflict_cycles"] for one in counts if one["kernel"].startswith("kernel") and one["lds_cycles"]]


def orders(dtype: Any) -> dict[str, Case]:
    """Each order in which an operand is read, and so written to LDS."""
    a, b = small_integers(2, 70, 40, dtype=dtype), small_integers(2, 40, 70, dtype=dtype, seed=1)
    return {
        "blocks": conv_case("", "Conv", (1, 20, 9, 17), (40, 20, 3, 3), dtype=dtype),
        "planar": conv_case("", "Conv", (1, 3, 9, 17), (40, 3, 3, 3), dtype=dtype),
        "elements": conv_case("", "Conv", (1, 12, 9, 17), (36, 4, 3, 3), dtype=dtype, group=3),
        "strided": case("MatMul", a, b, expected=[a @ b]),
    }


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("products", [*PRODUCTS, "float16"])
def test_no_bank_conflicts(products: str, launches: Path, tmp_path: Path) -> None:
    half = products == "float16"
    for order, one in orders(np.float16 if half else np.float32).items():
        run(one, tmp_path, *([] if half else [f"--fp32={products}"]))
        plan = plan_of(tmp_path, *([] if half else [f"--fp32={products}"]))
        assert ("WeightOrder::strided" if order == "strided" else f"InputOrder::{order}") in plan
    # With bf16x3 a wavefront that has one chunk of its rows writes 8 bytes of each 16, so that half of the banks work.
    found = dict(zip(orders(np.float32), conflicts(launches), strict=True))
    assert not any(found[order] for order in found if products != "bf16x3" or order != "planar"), found


TILES: dict[str, tuple[int, int, int, Any]] = {
    # channels, filters, rows: what the cost model gives the tile to
    "64, 64": (20, 40, 150, np.float32),
    "128, 32": (20, 30, 19500, np.float32),
    "128, 64": (16, 60, 19500, np.float32),
    "128, 128": (16, 120, 19500, np.float32),
    "256, 128": (16, 60, 39000, np.float16),
    "64, 256": (16, 77000, 50, np.float32),
}


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("tile", TILES)
def test_each_tile(tile: str, launches: Path, tmp_path: Path) -> None:
    """With several images, so that the last tile of each is ragged."""
    channels, filters, rows, dtype = TILES[tile]
    one = conv_case("", "Conv", (2, channels, rows // 2 - 3), (filters, channels, 1), dtype=dtype, bias=True)
    assert one.expected is not None
    np.testing.assert_array_equal(run(one, tmp_path), one.expected[0])
    assert f"{{{tile}}}" in plan_of(tmp_path)
    assert conflicts(launches) == [0]


# A wavefront's table has 63 taps, and 31 bits of a mask. Cases are one table and several, with and without masks, odd
# and even numbers of steps, parts that begin within a table, a last pair of blocks that is half one. But for one these
# small layers are cut into parts.
MANY_TAPS: dict[str, Case] = {
    "63 taps": conv_case("", "Conv", (1, 20, 9, 10), (18, 20, 7, 9), pads=[3, 4, 3, 4]),
    "64 taps": conv_case("", "Conv", (1, 20, 9, 10), (18, 20, 8, 8), pads=[4, 3, 3, 4]),
    "125 taps": conv_case("", "Conv", (2, 17, 5, 6, 7), (18, 17, 5, 5, 5), pads=[2] * 6),
    "125 taps, five blocks": conv_case("", "Conv", (1, 70, 5, 6, 7), (18, 70, 5, 5, 5), pads=[2] * 6),
    "128 taps of 16 bits": conv_case("", "Conv", (1, 40, 300), (18, 40, 128), pads=[60, 70], dtype=np.float16),
    "no masks": conv_case("", "Conv", (1, 20, 90), (18, 20, 40), pads=[20, 18], dilations=[2]),
    "a residue of 65 taps": conv_case("", "ConvTranspose", (1, 20, 40), (20, 18, 130), strides=[2]),
    "residues of few taps": conv_case("", "ConvTranspose", (1, 36, 5, 6), (36, 18, 5, 4), strides=[3, 2], pads=[1] * 4),
    "half a pair": conv_case("", "Conv", (1, 112, 5, 7), (18, 112, 3, 3), pads=[1] * 4, dtype=np.float16),
}


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("name", MANY_TAPS)
def test_many_taps(name: str, tmp_path: Path) -> None:
    one = MANY_TAPS[name]
    assert one.expected is not None
    np.testing.assert_array_equal(run(one, tmp_path), one.expected[0])
    plan = plan_of(tmp_path)
    assert "InputOrder::blocks" in plan
    assert ("WeightOrder::packed, false, true" in plan) == (name != "residues of few taps"), plan


@pytest.mark.usefixtures("commands")
def test_infinities_meet_no_weight_of_another_place(tmp_path: Path) -> None:
    """The padding of a block of channels or a tile is never multiplied with an input element."""
    x = small_integers(1, 17, 6)
    x[0, 3, 2] = np.inf
    w = small_integers(20, 17, 2, seed=1)
    w[:, 3] = np.abs(w[:, 3]) + 1
    expected = np.stack([sum(w[:, c, k] * x[0, c, i + k] for c in range(17) for k in range(2)) for i in range(5)], 1)
    one = case("Conv", x, constant(w), expected=[expected[None].astype(np.float32)])
    np.testing.assert_array_equal(run(one, tmp_path), expected[None])
