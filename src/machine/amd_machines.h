// AMD's GPUs. CDNA's matrix unit: AMD's matrix calculator (v_mfma_f32_32x32x8_f16 takes 32 cycles); wavefronts of 64
// lanes take 4 cycles of its vector unit.
#pragma once

#include "machine/gpu_row.h"

namespace onnxc::machine {

// MI300X: CDNA3 white paper, table 1 (304 compute units, 8 XCDs, 2,100 MHz, 5.3 TB/s, L2 of 4 MiB and 2,048 bytes a
// cycle an XCD, L1 64 bytes a cycle); ISA guide of the MI300, 3.6 and 10 (512 registers, 64 KiB of LDS in 512 bytes).
inline constexpr GpuMachine mi300x{.name = "mi300x",
                                   .architecture = "gfx942",
                                   .compute_units = 304,
                                   .xcds = 8,
                                   .lds_granule = 512,
                                   .lds_bytes = 64 * 1024,
                                   .block_lds_bytes = 64 * 1024,
                                   .l2_bytes = int64_t{4} << 20,
                                   .clock_megahertz = 2100,
                                   .memory_bytes_a_second = 5.3e12,
                                   .lds_bytes_a_cycle = 128,
                                   .l2_bytes_a_cycle = 2048,
                                   .has_xf32 = true};

// An eighth of an MI300X in the mode CPX, when the others are as busy: AMD, "MI300X GPU Partitioning Overview" (an XCD
// of 38 compute units is a device; all of them share the memory).
inline constexpr GpuMachine mi300x_cpx = [] {
  GpuMachine part = mi300x;
  part.name = "mi300x-cpx";
  part.compute_units /= part.xcds;
  part.memory_bytes_a_second /= part.xcds;
  part.xcds = 1;
  return part;
}();

// MI300A: AMD's data sheet (228 compute units in 6 XCDs, 2,100 MHz, 5.3 TB/s); the rest as on an MI300X.
inline constexpr GpuMachine mi300a = [] {
  GpuMachine card = mi300x;
  card.name = "mi300a";
  card.compute_units = 228;
  card.xcds = 6;
  return card;
}();

// One die of an MI250X: CDNA2 white paper (110 compute units, 1,700 MHz, 1.6 TB/s, L2 of 8 MiB in 32 channels of 128
// bytes a cycle); LLVM's AMDGPUUsage, compute_pgm_rsrc2 (LDS in 512 bytes). Its products of 16-bit types take
// denormals, of inputs and results, for zero: MIOpen, "MI200 MFMA behavior specifics".
inline constexpr GpuMachine mi250x{.name = "mi250x",
                                   .architecture = "gfx90a",
                                   .compute_units = 110,
                                   .xcds = 1,
                                   .lds_granule = 512,
                                   .lds_bytes = 64 * 1024,
                                   .block_lds_bytes = 64 * 1024,
                                   .l2_bytes = int64_t{8} << 20,
                                   .clock_megahertz = 1700,
                                   .memory_bytes_a_second = 1.6e12,
                                   .lds_bytes_a_cycle = 128,
                                   .l2_bytes_a_cycle = 4096,
                                   .has_xf32 = false};

// MI355X: CDNA4 white paper (256 compute units, 8 XCDs, 2,400 MHz, 8 TB/s, 160 KiB of LDS read at twice the rate, no
// xf32); LLVM's AMDGPUUsage, compute_pgm_rsrc2 (LDS in 1,280 bytes).
inline constexpr GpuMachine mi355x{.name = "mi355x",
                                   .architecture = "gfx950",
                                   .compute_units = 256,
                                   .xcds = 8,
                                   .lds_granule = 1280,
                                   .lds_bytes = 160 * 1024,
                                   .block_lds_bytes = 160 * 1024,
                                   .l2_bytes = int64_t{4} << 20,
                                   .clock_megahertz = 2400,
                                   .memory_bytes_a_second = 8e12,
                                   .lds_bytes_a_cycle = 256,
                                   .l2_bytes_a_cycle = 2048,
                                   .has_xf32 = false};

// Radeon RX 7900 XTX: RDNA3 ISA guide, 2 (wavefronts of 32 lanes, LDS of 64 KiB a workgroup); AMD's GPU hardware
// specifications (96 compute units, 6 MiB of L2, registers of 768 KiB in four SIMDs of two compute units); product page
// (2,500 MHz, 960 GB/s); LLVM, AMDGPUBaseInfo (registers in 24, 16 wavefronts a SIMD, LDS in 512 bytes). Its matrix
// instructions (WMMA) are others than CDNA's, and no kernel uses them; a SIMD of its vector unit has 32 lanes.
inline constexpr GpuMachine rx7900xtx{.name = "rx7900xtx",
                                      .architecture = "gfx1100",
                                      .compute_units = 96,
                                      .xcds = 1,
                                      .simds = 2,
                                      .wave_lanes = 32,
                                      .waves_per_simd = 16,
                                      .registers = 1536,
                                      .register_granule = 24,
                                      .lds_granule = 512,
                                      .lds_bytes = 64 * 1024,
                                      .block_lds_bytes = 64 * 1024,
                                      .l2_bytes = int64_t{6} << 20,
                                      .clock_megahertz = 2500,
                                      .memory_bytes_a_second = 0.96e12,
                                      .l1_bytes_a_cycle = 0,
                                      .lds_bytes_a_cycle = 0,
                                      .matrix_unit = MatrixUnit::none,
                                      .has_xf32 = false,
                                      .vector_products_a_cycle = 32,
                                      .half_products_a_cycle = 0,
                                      .family_isa = "11-generic",
                                      .older_isa = "1030"};

// The card that the name of an architecture means.
inline constexpr GpuMachine gfx942 = mi300x, gfx90a = mi250x, gfx950 = mi355x, gfx1100 = rx7900xtx;

}  // namespace onnxc::machine
