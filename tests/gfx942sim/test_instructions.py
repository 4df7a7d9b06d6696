"""Vector instructions one by one, on edge values and random ones, against numpy.

The kernel of a row loads the sources, runs the instruction once in every lane, and stores the destination and
the lane mask.
"""

import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.gfx942sim import instruction_table, rare_instructions
from tests.gfx942sim.instruction_table import CARRY, LANES, TYPES, Row, Values
from tools.simulated_gpu.hip import ASSEMBLY_OPTIONS, Hip, compile_kernels

ROWS = instruction_table.ROWS + rare_instructions.ROWS


def registers(first: int, kind: str) -> str:
    return f"v[{first}:{first + 1}]" if kind.endswith("64") else f"v{first}"


def kernel_text(index: int, row: Row) -> str:
    sources = [registers(10 + 2 * i, kind) for i, kind in enumerate(row.sources.split())] + [""] * 3
    instruction = row.text.format(*sources[:3], d=registers(20, row.result or ""), f="s[20:21]")
    carry = int("".join("1" if bit else "0" for bit in CARRY[::-1]), 2)
    name = f"row_{index}"
    return f"""
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 5, v0
  v_lshlrev_b32 v2, 4, v0
  s_lshl_b32 s8, s2, 11
  v_add_u32 v1, s8, v1
  s_lshl_b32 s8, s2, 10
  v_add_u32 v2, s8, v2
  s_mov_b64 s[20:21], 0
  s_mov_b32 vcc_lo, {carry & 0xFFFFFFFF}
  s_mov_b32 vcc_hi, {carry >> 32}
  s_waitcnt lgkmcnt(0)
  global_load_dwordx4 v[10:13], v1, s[4:5]
  global_load_dwordx4 v[14:17], v1, s[4:5] offset:16
  s_waitcnt vmcnt(0)
  v_mov_b32 v20, v16
  v_mov_b32 v21, v17
  s_nop 4
  {instruction}
  s_nop 4
  v_cndmask_b32 v22, 0, 1, s[20:21]
  global_store_dwordx3 v2, v[20:22], s[6:7]
  s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 32
  .amdhsa_accum_offset 32
  .amdhsa_next_free_sgpr 32
  .amdhsa_float_denorm_mode_32 3
.end_amdhsa_kernel
"""


def metadata_text() -> str:
    text = ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n"
    for index in range(len(ROWS)):
        text += f"""  - .name: row_{index}
    .symbol: row_{index}.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
"""
    return text + "...\n.end_amdgpu_metadata\n"


def edge_values(dtype: Any) -> Values:
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        values = [0, 1, 1.5, 2.5, 3, 0.3, 100.7, info.max, info.smallest_normal, info.smallest_subnormal, np.inf]
        return np.array([*values, *[-value for value in values], np.nan], dtype)
    limits = np.iinfo(dtype)
    candidates = [
        0,
        1,
        2,
        3,
        5,
        8,
        15,
        16,
        31,
        32,
        33,
        63,
        255,
        limits.max,
        limits.max - 1,
        limits.max // 2,
        limits.min,
        limits.min + 1,
    ]
    if limits.min < 0:
        candidates += [-1, -2, -33]
    return np.array(candidates, dtype)


def source_values(kinds: list[str], random: np.random.Generator) -> list[Values]:
    """Pairs of edge values, then random bits and random values of moderate size."""
    arrays: list[Values] = []
    for position, kind in enumerate(kinds):
        if kind == "carry":
            arrays.append(np.tile(CARRY, LANES // 64).astype(np.uint32))
            continue
        dtype = TYPES[kind.removeprefix("old:") if kind != "unused" else "u32"]
        edges = edge_values(dtype)
        size = np.dtype(dtype).itemsize
        values = random.integers(0, 256, LANES * size, np.uint8).view(dtype).copy()
        moderate = slice(LANES // 2 + LANES // 4, LANES)
        values[moderate] = random.integers(0, 200, LANES // 4).astype(dtype)
        crossing = np.arange(LANES // 2)
        chosen = (crossing // [1, len(edges), 7][position % 3] + (crossing if position == 2 else 0)) % len(edges)
        values[crossing] = edges[chosen]
        arrays.append(values)
    return arrays


def packed_type(row: Row) -> Any:
    """The float type of a result that holds a pair, or None."""
    if row.name.startswith("v_cvt_pkrtz_f16"):
        return np.float16
    return TYPES[row.name[-3:]] if row.name.startswith("v_pk_") and row.name[-3:] in ("f16", "f32") else None


def same(actual: Values, expected: Values, steps: int, packed: Any) -> NDArray[np.bool_]:
    """Equal bits, or both NaN, or close enough for an approximation."""
    bits = np.dtype(f"u{expected.itemsize}")
    equal = actual.view(bits) == expected.view(bits)
    if packed is not None:  # pairs of floats: each NaN is as good as another
        pairs = [np.ascontiguousarray(words).view(packed).reshape(-1, 2) for words in (actual, expected)]
        return ((pairs[0] == pairs[1]) | (np.isnan(pairs[0]) & np.isnan(pairs[1]))).all(axis=1)
    if expected.dtype.kind != "f":
        return equal
    near = np.abs(actual.view(f"i{expected.itemsize}") - expected.view(f"i{expected.itemsize}")) <= steps
    return equal | (np.isnan(actual) & np.isnan(expected)) | near


@pytest.fixture(scope="module")
def hip() -> Hip:
    return Hip()


@pytest.fixture(scope="module")
def module(hip: Hip, tmp_path_factory: pytest.TempPathFactory) -> ctypes.c_void_p:
    text = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n'
    text += "".join(kernel_text(index, row) for index, row in enumerate(ROWS)) + metadata_text()
    return hip.load(compile_kernels(text, ASSEMBLY_OPTIONS, tmp_path_factory.mktemp("instructions")))


def expectation(row: Row, sources: list[Values]) -> tuple[Values | None, Values | None]:
    """The destination and the mask, each None if the row says nothing of it."""
    with np.errstate(all="ignore"):
        result = row.function(*sources)
    if not row.flag:
        return result, None
    return (None, result) if row.result is None else result


@pytest.mark.parametrize("index", range(len(ROWS)), ids=[f"{i}-{row.name}" for i, row in enumerate(ROWS)])
def test_instruction(hip: Hip, module: ctypes.c_void_p, index: int) -> None:
    row = ROWS[index]
    sources = source_values(row.sources.split(), np.random.default_rng(index))
    inputs = np.zeros((LANES, 4), np.uint64)
    old = np.zeros(LANES, np.uint64)
    for position, (kind, values) in enumerate(zip(row.sources.split(), sources, strict=True)):
        if kind in ("carry", "unused"):
            continue
        words = values.view(f"u{values.itemsize}").astype(np.uint64)
        inputs[:, 3 if kind.startswith("old:") else position] = words
        old = words if kind.startswith("old:") else old
    given, produced = hip.upload(inputs), hip.upload(np.zeros((LANES, 4), np.uint32))
    hip.launch(module, f"row_{index}", LANES // 64, 64, given, produced)
    output = hip.download(produced, np.zeros((LANES, 4), np.uint32))
    hip.hipFree(given)
    hip.hipFree(produced)

    value, mask = expectation(row, sources)
    if value is not None:
        assert row.result is not None
        kind = TYPES[row.result]
        size = np.dtype(kind).itemsize
        actual = np.ascontiguousarray(output[:, :2]).view(np.uint8).reshape(LANES, 8)[:, :size].copy().view(kind)[:, 0]
        wrong = ~same(actual, np.asarray(value).astype(kind), row.steps, packed_type(row))
        first = int(np.argmax(wrong))
        shown = [values[first] for values in sources]
        assert not wrong.any(), f"{row.text}: lane {first}: {shown} gives {actual[first]}, not {value[first]}"
    if mask is not None:
        wrong = output[:, 2].astype(bool) != mask
        first = int(np.argmax(wrong))
        assert not wrong.any(), f"{row.text}: the mask of lane {first}: {[values[first] for values in sources]}"
