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

// MI355X: CDNA4 white paper (256 compute units, 8 XCDs, 2,400 MHz, 8 TB/s, 160 KiB of LDS read at twice the rate, twice
// the products of 16-bit types, no xf32); LLVM's AMDGPUUsage, compute_pgm_rsrc2 (LDS in 1,280 bytes).
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
                                   .has_xf32 = false,
                                   .half_products_a_cycle = 512,
                                   .has_wide_mfma = true};

// RDNA. A unit is a work group processor, as HIP counts them and as code is compiled for: two compute units of two
// SIMDs of 32 lanes, which share LDS. RDNA white paper: LDS of 64 banks of 4 bytes; slices of the L2 cache give 64
// bytes a cycle each, 16 of them on a card with 4 MiB. The same is taken for its successors, with twice the rate for
// RDNA4, whose slices have twice the banks. LLVM, AMDGPUBaseInfo: 16 wavefronts a SIMD, LDS in 512 bytes, registers in
// 24 if there are 1,536, else in 16. AMD GPUOpen, "Using the Matrix Cores of AMD RDNA 4": products a cycle of 16-bit
// types and bytes.

// Radeon RX 7900 XTX: AMD's GPU hardware specifications (96 compute units, 6 MiB of L2, registers of 192 KiB a SIMD);
// product page (2,500 MHz, 960 GB/s).
inline constexpr GpuMachine rx7900xtx{.name = "rx7900xtx",
                                      .architecture = "gfx1100",
                                      .compute_units = 48,
                                      .xcds = 1,
                                      .wave_lanes = 32,
                                      .waves_per_simd = 16,
                                      .registers = 1536,
                                      .taken_registers = 192,
                                      .register_granule = 24,
                                      .lds_granule = 512,
                                      .lds_bytes = 128 * 1024,
                                      .block_lds_bytes = 64 * 1024,
                                      .l2_bytes = int64_t{6} << 20,
                                      .clock_megahertz = 2500,
                                      .memory_bytes_a_second = 0.96e12,
                                      .l1_bytes_a_cycle = 0,
                                      .lds_bytes_a_cycle = 256,
                                      .l2_bytes_a_cycle = 24 * 64,
                                      .matrix_unit = MatrixUnit::wmma,
                                      .has_xf32 = false,
                                      .vector_products_a_cycle = 32,
                                      .half_products_a_cycle = 128,
                                      .byte_products_a_half = 1,
                                      .family_isa = "11-generic",
                                      .older_isa = "1030"};

// Radeon RX 7800 XT: product page (60 compute units, 2,430 MHz, 624 GB/s); AMD's GPU hardware specifications (4 MiB).
inline constexpr GpuMachine rx7800xt = [] {
  GpuMachine card = rx7900xtx;
  card.name = "rx7800xt";
  card.architecture = "gfx1101";
  card.compute_units = 30;
  card.l2_bytes = int64_t{4} << 20;
  card.clock_megahertz = 2430;
  card.memory_bytes_a_second = 0.624e12;
  card.l2_bytes_a_cycle = 16 * 64;
  return card;
}();

// Radeon RX 7600: product page (32 compute units, 2,655 MHz, 288 GB/s); AMD's GPU hardware specifications (2 MiB,
// registers of 128 KiB a SIMD).
inline constexpr GpuMachine rx7600 = [] {
  GpuMachine card = rx7900xtx;
  card.name = "rx7600";
  card.architecture = "gfx1102";
  card.compute_units = 16;
  card.registers = 1024;
  card.register_granule = 16;
  card.l2_bytes = int64_t{2} << 20;
  card.clock_megahertz = 2655;
  card.memory_bytes_a_second = 0.288e12;
  card.l2_bytes_a_cycle = 8 * 64;
  return card;
}();

// Radeon 890M of the Ryzen AI 9 HX 370 (Strix Point): product page (16 compute units, 2,900 MHz, LPDDR5X of 7,500 MT/s
// and 128 bits); rocminfo (2 MiB of L2).
inline constexpr GpuMachine radeon890m = [] {
  GpuMachine card = rx7600;
  card.name = "radeon890m";
  card.architecture = "gfx1150";
  card.compute_units = 8;
  card.clock_megahertz = 2900;
  card.memory_bytes_a_second = 0.12e12;
  return card;
}();

// Radeon 8060S of the Ryzen AI Max+ 395 (Strix Halo): product page (40 compute units, 2,900 MHz, LPDDR5X of 8,000 MT/s
// and 256 bits); rocminfo (2 MiB of L2).
inline constexpr GpuMachine radeon8060s = [] {
  GpuMachine card = rx7900xtx;
  card.name = "radeon8060s";
  card.architecture = "gfx1151";
  card.compute_units = 20;
  card.l2_bytes = int64_t{2} << 20;
  card.clock_megahertz = 2900;
  card.memory_bytes_a_second = 0.256e12;
  card.l2_bytes_a_cycle = 8 * 64;
  return card;
}();

// Radeon RX 9070 XT: product page (64 compute units, 2,970 MHz, 640 GB/s, 195 TFLOPS of float16 and 389 TOPS of int8
// without sparsity); AMD's GPU hardware specifications (8 MiB of L2).
inline constexpr GpuMachine rx9070xt = [] {
  GpuMachine card = rx7900xtx;
  card.name = "rx9070xt";
  card.architecture = "gfx1201";
  card.compute_units = 32;
  card.l2_bytes = int64_t{8} << 20;
  card.clock_megahertz = 2970;
  card.memory_bytes_a_second = 0.64e12;
  card.l2_bytes_a_cycle = 16 * 128;
  card.matrix_unit = MatrixUnit::wmma12;
  card.half_products_a_cycle = 256;
  card.byte_products_a_half = 2;
  card.family_isa = "12-generic";
  return card;
}();

// Radeon RX 9070: product page (56 compute units, 2,520 MHz, 640 GB/s).
inline constexpr GpuMachine rx9070 = [] {
  GpuMachine card = rx9070xt;
  card.name = "rx9070";
  card.compute_units = 28;
  card.clock_megahertz = 2520;
  return card;
}();

// Radeon RX 9060 XT: product page (32 compute units, 3,130 MHz, 320 GB/s); rocminfo (4 MiB of L2).
inline constexpr GpuMachine rx9060xt = [] {
  GpuMachine card = rx9070xt;
  card.name = "rx9060xt";
  card.architecture = "gfx1200";
  card.compute_units = 16;
  card.l2_bytes = int64_t{4} << 20;
  card.clock_megahertz = 3130;
  card.memory_bytes_a_second = 0.32e12;
  card.l2_bytes_a_cycle = 8 * 128;
  return card;
}();

// Any card of RDNA3 or RDNA4, for code that all of them run: LLVM's AMDGPUUsage, "Generic processors". Planned for the
// small cards, which have the fewest registers.
inline constexpr GpuMachine gfx11_generic = [] {
  GpuMachine family = rx7600;
  family.name = family.architecture = "gfx11-generic";
  return family;
}();
inline constexpr GpuMachine gfx12_generic = [] {
  GpuMachine family = rx9060xt;
  family.name = family.architecture = "gfx12-generic";
  return family;
}();

// The card that the name of an architecture means.
inline constexpr GpuMachine gfx942 = mi300x, gfx90a = mi250x, gfx950 = mi355x, gfx1100 = rx7900xtx, gfx1101 = rx7800xt,
                            gfx1102 = rx7600, gfx1150 = radeon890m, gfx1151 = radeon8060s, gfx1200 = rx9060xt,
                            gfx1201 = rx9070xt;

}  // namespace onnxc::machine
