"""One matrix instruction over many matrices, laid out in lanes as AMD's matrix instruction calculator says."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.simulated_gpu.hip import ASSEMBLY_OPTIONS, Hip, compile_kernels

Bits = NDArray[Any]
WIDTHS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8}


@dataclass(frozen=True)
class MatrixInstruction:
    """Parses a name such as f32_32x32x4_2b_f16 or f32_16x16x32_fp8_bf8."""

    name: str

    @property
    def types(self) -> tuple[str, str]:
        parts = [part for part in self.name.split("_")[2:] if part in WIDTHS]
        return parts[0], parts[-1]

    @property
    def size(self) -> int:
        return int(self.name.split("_")[1].split("x")[0])

    @property
    def depth(self) -> int:
        return int(self.name.split("_")[1].split("x")[2])

    @property
    def blocks(self) -> int:
        found = re.search(r"_(\d+)b_", self.name)
        return int(found[1]) if found else 1

    @property
    def is_double(self) -> bool:
        return self.name.startswith("f64")

    def factor_lanes(self, factor: Bits) -> Bits:
        """[matrix, block, row or column, k] as the words [matrix, word, lane]."""
        per_lane = self.depth * self.blocks * self.size // 64
        lanes = np.zeros((len(factor), 64, per_lane), factor.dtype)
        for block in range(self.blocks):
            for k in range(self.depth):
                first = self.size * block + self.size * self.blocks * (k // per_lane)
                lanes[:, first : first + self.size, k % per_lane] = factor[:, block, :, k]
        return np.ascontiguousarray(np.ascontiguousarray(lanes).view(np.uint32).transpose(0, 2, 1))

    def result_place(self, block: int, row: int) -> tuple[int, int]:
        """The first lane of a row's columns, and the register."""
        if self.is_double:
            return (16 * (row % 4), row // 4) if self.size == 16 else (16 * (row % 4) + 4 * block, 0)
        if self.size == 32:
            return 32 * (row // 4 % 2), 16 * block + 4 * (row // 8) + row % 4
        return (16 * (row // 4), 4 * block + row % 4) if self.size == 16 else (4 * block, row)

    def result_lanes(self, result: Bits) -> Bits:
        """[matrix, block, row, column] as the words [matrix, word, lane]."""
        registers = self.size * self.size * self.blocks // 64
        lanes = np.zeros((len(result), registers, 64), result.dtype)
        for block in range(self.blocks):
            for row in range(self.size):
                lane, register = self.result_place(block, row)
                lanes[:, register, lane : lane + self.size] = result[:, block, row]
        words = np.ascontiguousarray(lanes).view(np.uint32).reshape(len(result), registers, 64, -1)
        return np.ascontiguousarray(words.transpose(0, 1, 3, 2)).reshape(len(result), -1, 64)

    def result_from(self, words: Bits) -> Bits:
        """The opposite of result_lanes."""
        width = 2 if self.is_double else 1
        lanes = words.reshape(len(words), -1, width, 64).transpose(0, 1, 3, 2)
        lanes = np.ascontiguousarray(lanes).view(np.uint64 if self.is_double else np.uint32)[..., 0]
        result = np.zeros((len(words), self.blocks, self.size, self.size), lanes.dtype)
        for block in range(self.blocks):
            for row in range(self.size):
                lane, register = self.result_place(block, row)
                result[:, block, row] = lanes[:, register, lane : lane + self.size]
        return result

    def kernel(self, a_words: int, b_words: int, c_words: int) -> str:
        """Loads A, B and C of the work group, multiplies, and stores D."""

        def registers(first: int, count: int) -> str:
            return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"

        def each(first: int, count: int, text: str) -> str:
            return "".join(f"  {text.format(first + i)}\n  v_add_u32 v1, 0x100, v1\n" for i in range(count))

        def start(words: int) -> str:
            return f"  s_mul_i32 s8, s2, {256 * words}\n  v_lshlrev_b32 v1, 2, v0\n  v_add_u32 v1, s8, v1\n"

        d = registers(32, c_words)
        load = "global_load_dword v{}, v1, s[4:5]"
        return (
            "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
            + start(a_words + b_words + c_words)
            + "  s_waitcnt lgkmcnt(0)\n"
            + each(2, a_words, load)
            + each(16, b_words, load)
            + each(32, c_words, load)
            + "  s_waitcnt vmcnt(0)\n"
            + f"  v_mfma_{self.name} {d}, {registers(2, a_words)}, {registers(16, b_words)}, {d}\n"
            + "  s_nop 15\n  s_nop 15\n"
            + start(c_words)
            + each(32, c_words, "global_store_dword v1, v{}, s[6:7]")
        )


class MatrixUnit:
    """A kernel of one instruction; each work group has matrices of its own."""

    def __init__(self, hip: Hip, instruction: MatrixInstruction, folder: Path) -> None:
        self.hip, self.instruction = hip, instruction
        size, depth, blocks = instruction.size, instruction.depth, instruction.blocks
        widths = [WIDTHS[kind] for kind in instruction.types]
        self.counts = [max(size * depth * blocks * width // 2048, 1) for width in widths]
        self.counts.append(size * size * blocks * (2 if instruction.is_double else 1) // 64)
        self.module = hip.load(compile_kernels(assembly(instruction.kernel(*self.counts)), ASSEMBLY_OPTIONS, folder))

    def multiply(self, a: Bits, b: Bits, c: Bits) -> Bits:
        """The bits of D, of A [matrix, block, row, k], B [.., column, k] and C [.., row, column]."""
        instruction = self.instruction
        given = [instruction.factor_lanes(a), instruction.factor_lanes(b), instruction.result_lanes(c)]
        assert [words.shape[1] for words in given] == self.counts
        source = self.hip.upload(np.concatenate(given, axis=1))
        produced = np.zeros((len(a), self.counts[2], 64), np.uint32)
        target = self.hip.upload(produced)
        self.hip.launch(self.module, "product", len(a), 64, source, target)
        words = self.hip.download(target, produced)
        self.hip.hipFree(source)
        self.hip.hipFree(target)
        return instruction.result_from(words)


def assembly(body: str) -> str:
    return f"""
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl product
.p2align 8
.type product,@function
product:
{body}
  s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel product
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 64
  .amdhsa_accum_offset 64
  .amdhsa_next_free_sgpr 32
  .amdhsa_float_denorm_mode_32 3
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: product
    .symbol: product.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""
