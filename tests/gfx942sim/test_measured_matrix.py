"""GFX942SIM_MATRIX=measured: the matrix unit's sums as an MI300X makes them, against MMA-Sim, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import matrix_data
from tests.matrix_data import KINDS, Floats, nearly_taken_away, random_bits, random_values
from tools.simulated_gpu.hip import ASSEMBLY_OPTIONS, Hip, HipError, compile_kernels
from tools.simulated_gpu.matrix_unit import WIDTHS, Bits, MatrixInstruction, MatrixUnit, assembly

# Every instruction of floats that the simulator knows; MMA-Sim has the same.
INSTRUCTIONS = [
    "f64_16x16x4_f64",
    "f64_4x4x4_4b_f64",
    "f32_32x32x1_2b_f32",
    "f32_16x16x1_4b_f32",
    "f32_4x4x1_16b_f32",
    "f32_32x32x2_f32",
    "f32_16x16x4_f32",
    "f32_16x16x8_xf32",
    "f32_32x32x4_xf32",
    *[
        f"f32_{shape}_{kind}"
        for kind in ("f16", "bf16")
        for shape in ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x8", "16x16x16")
    ],
    *[f"f32_{shape}_{a}_{b}" for shape in ("16x16x32", "32x32x16") for a in ("bf8", "fp8") for b in ("bf8", "fp8")],
]


@pytest.fixture
def hip(monkeypatch: pytest.MonkeyPatch) -> Hip:
    monkeypatch.setenv("GFX942SIM_MATRIX", "measured")
    return Hip()


@pytest.mark.slow
def test_mmasim_has_the_same_instructions() -> None:
    from mmasim.amd.isa_mfma import arch_mfma_suffix

    assert sorted(INSTRUCTIONS) == sorted(arch_mfma_suffix["CDNA3"])


def torch_types() -> dict[str, Any]:
    import torch

    return {
        "f64": torch.float64,
        "f32": torch.float32,
        "xf32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "fp8": torch.float8_e4m3fnuz,
        "bf8": torch.float8_e5m2fnuz,
    }


def encoded(values: Floats, kind: str) -> Bits:
    return matrix_data.encoded(values, torch_types()[kind])


def mmasim_result(instruction: MatrixInstruction, a: Bits, b: Bits, c: Bits) -> Bits:
    import torch
    from mmasim.amd.sim import MFMA

    model = MFMA("CDNA3", instruction.name)

    def tensor(bits: Bits, kind: Any) -> Any:
        signed = bits if bits.itemsize == 1 else bits.view(f"i{bits.itemsize}")
        return torch.from_numpy(np.ascontiguousarray(signed)).view(kind)

    shape = (*c.shape, instruction.depth)
    rows = tensor(a, model.a_type)[:, :, :, None].expand(shape).contiguous()
    columns = tensor(b, model.b_type)[:, :, None].expand(shape).contiguous()
    result = tensor(c, model.c_type).clone()
    # For bytes MMA-Sim takes an addend of infinity or NaN for one of the exponent -1, and drops it beside products from
    # 2^25 on: an oversight, since no product brings it back. So there the groups are added one by one.
    has_bytes = instruction.types[0] in ("fp8", "bf8")
    depth = 16 if has_bytes else instruction.depth
    for first in range(0, instruction.depth, depth):
        group = slice(first, first + depth)
        added = model.dpa(rows[..., group], columns[..., group], result)
        if has_bytes:
            is_kept = torch.isinf(result) & ~torch.isnan(added)
            added = torch.where(is_kept, result, added)
            added.view(torch.int32)[torch.isnan(result)] = 0x7FFFFFFF
        result = added
    return np.asarray(result.view(torch.int64 if instruction.is_double else torch.int32).numpy()).view(c.dtype)


# ---- data


def operands(
    instruction: MatrixInstruction, matrices: int, kind: str, random: np.random.Generator
) -> tuple[Bits, Bits, Bits]:
    size, depth, blocks = instruction.size, instruction.depth, instruction.blocks
    shape, sums = (matrices, blocks, size, depth), (matrices, blocks, size, size)
    a_type, b_type = instruction.types
    c_type = "f64" if instruction.is_double else "f32"
    if kind == "bits":
        return (
            random_bits(shape, WIDTHS[a_type], random),
            random_bits(shape, WIDTHS[b_type], random),
            random_bits(sums, WIDTHS[c_type], random),
        )
    a, b, c = (random_values(kind, of, random) for of in (shape, shape, sums))
    if kind == "cancelling":
        # The second half takes away nearly all of the first, the addend what is left.
        half = depth // 2
        a[..., half : 2 * half], b[..., half : 2 * half] = -a[..., :half], b[..., :half] * (1 + 2.0**-9)
        c = nearly_taken_away(np.einsum("mbik,mbjk->mbij", a, b), random)
    return encoded(a, a_type), encoded(b, b_type), encoded(c, c_type)


def are_same(actual: Bits, expected: Bits, is_chain: bool) -> NDArray[np.bool_]:
    """Equal bits. In a chain of FMAs each NaN is as good as another: MMA-Sim gives those of the CPU it runs on."""
    if not is_chain:
        return np.asarray(actual == expected)
    kind = f"f{actual.itemsize}"
    return np.asarray((actual == expected) | (np.isnan(actual.view(kind)) & np.isnan(expected.view(kind))))


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTRUCTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_mmasim(hip: Hip, name: str, kind: str, tmp_path: Path) -> None:
    instruction = MatrixInstruction(name)
    a, b, c = operands(instruction, 16, kind, np.random.default_rng(0))
    actual = MatrixUnit(hip, instruction, tmp_path).multiply(a, b, c)
    expected = mmasim_result(instruction, a, b, c)
    same = are_same(actual, expected, instruction.types[0] in ("f32", "f64"))
    assert same.all(), f"{np.count_nonzero(~same)} of {same.size}: {actual[~same][:4]} instead of {expected[~same][:4]}"


# ---- fixed cases, with the results of MMA-Sim 2.1.1

SMALL = 2.0**-12
CASES: dict[str, tuple[str, list[float], list[float], float, int]] = {
    "products cut to 24 bits": ("f32_32x32x8_f16", [1, *[SMALL] * 7], [1, *[1.5 * SMALL] * 7], 0, 0x3F800004),
    "towards zero": ("f32_32x32x8_f16", [1, *[-SMALL] * 7], [1, *[1.5 * SMALL] * 7], 0, 0x3F7FFFF9),
    "the addend towards minus infinity": ("f32_32x32x8_f16", [1], [1], -(2.0**-30), 0x3F7FFFFF),
    "a small positive addend": ("f32_32x32x8_f16", [1], [1], 2.0**-30, 0x3F800000),
    "denormal halves": ("f32_32x32x8_f16", [2.0**-24] * 2, [2.0**-24, -(2.0**-23)], 2.0**-126, 0xA7800000),
    "eight at once": ("f32_16x16x16_f16", [2048, 1, *[0] * 6, 2048], [2048, 2.0**-3, *[0] * 6, -2048], 0, 0),
    "infinities of both signs": ("f32_32x32x8_bf16", [2.0**100, -(2.0**100)], [2.0**100] * 2, 0, 0x7FFFFFFF),
    "a product beyond the range": ("f32_32x32x8_bf16", [2.0**64], [2.0**64], -3e38, 0x7F800000),
    "a sum that comes back": ("f32_32x32x8_bf16", [2.0**63] * 2, [2.0**64] * 2, -(2.0**127), 0x7F000000),
    "a denormal result": ("f32_32x32x8_bf16", [2.0**-70], [1.5 * 2.0**-64], 0, 0xC000),
    "xf32 is cut": ("f32_16x16x8_xf32", [1 + 2.0**-10 + 2.0**-11 + 2.0**-12], [3], 0, 0x40403000),
    "four at once": ("f32_16x16x8_xf32", [4096, 1, 0, 0, -4096], [4096, 1.25, 0, 0, 4096], 0, 0),
    "odd products apart": ("f32_16x16x32_fp8_fp8", [240, 2.0**-8, 0, 0, -240], [240, 2.0**-8, 0, 0, 240], 0, 0),
    "two formats": ("f32_16x16x32_fp8_bf8", [1] * 32, [1.75] * 32, -(2.0**-6), 0x425FF000),
    "the largest bytes": ("f32_16x16x32_bf8_bf8", [57344], [57344], -1, 0x4F440000),
    "float32 is a chain": ("f32_32x32x2_f32", [1, 2.0**-24], [1, 1], 2.0**-24, 0x3F800000),
    "float64 is a chain": ("f64_16x16x4_f64", [1, 2.0**-53, 2.0**-53], [1] * 3, 0, 0x3FF0000000000000),
}


def run_case(hip: Hip, name: str, a: list[float], b: list[float], c: float, folder: Path) -> int:
    """One row times one column, in the corner of matrices of zeros."""
    instruction = MatrixInstruction(name)
    size, depth, blocks = instruction.size, instruction.depth, instruction.blocks
    factors = [np.zeros((1, blocks, size, depth)) for _ in range(2)]
    sums = np.zeros((1, blocks, size, size))
    factors[0][0, 0, 0, : len(a)], factors[1][0, 0, 0, : len(b)], sums[0, 0, 0, 0] = a, b, c
    kinds = (*instruction.types, "f64" if instruction.is_double else "f32")
    given = [encoded(array, kind) for array, kind in zip((*factors, sums), kinds, strict=True)]
    return int(MatrixUnit(hip, instruction, folder).multiply(given[0], given[1], given[2])[0, 0, 0, 0])


@pytest.mark.parametrize("case", CASES)
def test_fixed_cases(hip: Hip, case: str, tmp_path: Path) -> None:
    name, a, b, c, bits = CASES[case]
    assert f"{run_case(hip, name, a, b, c, tmp_path):#x}" == f"{bits:#x}"


def test_the_default_is_a_chain(hip: Hip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GFX942SIM_MATRIX")
    name, a, b, c, _ = CASES["products cut to 24 bits"]
    sum_of_chain = np.float32(1)
    for _ in range(7):
        sum_of_chain += np.float32(1.5 * SMALL**2)
    assert run_case(hip, name, a, b, c, tmp_path) == int(sum_of_chain.view(np.uint32))


def test_refuses_another_value(
    hip: Hip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GFX942SIM_MATRIX", "exact")
    with pytest.raises(HipError):
        run_case(hip, "f32_32x32x8_f16", [1], [1], 0, tmp_path)
    assert "GFX942SIM_MATRIX is 'exact'; known is measured" in capfd.readouterr().err


def test_refuses_sparse_products(hip: Hip, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    body = "".join(f"  v_mov_b32 v{register}, 0\n" for register in range(16))
    for element, is_known in (("f32_16x16x32_f16", False), ("i32_16x16x64_i8", True)):
        product = f"  v_smfmac_{element} v[0:3], v[4:5], v[8:11], v12\n"
        module = hip.load(compile_kernels(assembly(body + product), ASSEMBLY_OPTIONS, tmp_path))
        memory = hip.upload(np.zeros(4))
        hip.launch(module, "product", 1, 64, memory, memory)
        if is_known:
            hip.hipDeviceSynchronize()
            continue
        with pytest.raises(HipError):
            hip.hipDeviceSynchronize()
        assert "is a sparse product of floats, whose sums nobody measured" in capfd.readouterr().err
