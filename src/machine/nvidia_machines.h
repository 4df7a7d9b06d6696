// NVIDIA's GPUs. The CUDA C++ Programming Guide has the technical specifications by compute capability: registers of
// 256 KiB, warps and shared memory of a unit. Its chapters "Shared Memory" say that a block has at most 48 KiB unless
// it asks for more at its launch, and the system takes 1 KiB of each. Granules are those of CUDA's occupancy
// calculator.
//
// ptxas is told that two blocks of products share a unit, and gives them nearly all of the 128 registers that this
// leaves to a thread. Products a cycle follow from NVIDIA's peak rates, by units and clock.
#pragma once

#include "machine/gpu_row.h"

namespace onnxc::machine {

// A100 (80 GB, SXM): data sheet (2,039 GB/s). NVIDIA A100 white paper, table 4: 108 units, 1,410 MHz, 40 MiB of L2, 64
// lanes of float32 and 1,024 products of 16-bit types a unit. Its section on the L2 cache: 5,120 bytes a cycle.
inline constexpr GpuMachine a100{.name = "a100",
                                 .architecture = "sm_80",
                                 .vendor = Vendor::nvidia,
                                 .compute_capability = 80,
                                 .compute_units = 108,
                                 .xcds = 1,
                                 .wave_lanes = 32,
                                 .waves_per_simd = 16,
                                 .taken_registers = 128,
                                 .lds_granule = 128,
                                 .lds_bytes = 164 * 1024,
                                 .block_lds_bytes = 48 * 1024,
                                 .taken_lds_bytes = 1024,
                                 .l2_bytes = int64_t{40} << 20,
                                 .clock_megahertz = 1410,
                                 .memory_bytes_a_second = 2.039e12,
                                 .l1_bytes_a_cycle = 128,
                                 .lds_bytes_a_cycle = 128,
                                 .l2_bytes_a_cycle = 5120,
                                 .matrix_unit = MatrixUnit::mma,
                                 .has_xf32 = true,
                                 .vector_products_a_cycle = 16,
                                 .half_products_a_cycle = 256};

// A card of the generation after: 100 KiB of shared memory and 48 warps a unit, 128 lanes of float32.
inline constexpr GpuMachine small_unit = [] {
  GpuMachine card = a100;
  card.lds_bytes = 100 * 1024;
  card.waves_per_simd = 12;
  card.l2_bytes_a_cycle = 0;
  card.vector_products_a_cycle = 32;
  return card;
}();

// L4: NVIDIA Ada GPU architecture, white paper (48 MiB of L2); L4 data sheet (300 GB/s, 121 TFLOPS of float16 without
// sparsity at 2,040 MHz on 58 units).
inline constexpr GpuMachine l4 = [] {
  GpuMachine card = small_unit;
  card.name = "l4";
  card.compute_capability = 89;
  card.compute_units = 58;
  card.l2_bytes = int64_t{48} << 20;
  card.clock_megahertz = 2040;
  card.memory_bytes_a_second = 0.3e12;
  card.half_products_a_cycle = 128;
  return card;
}();

// RTX 4090: NVIDIA Ada GPU architecture, white paper, appendix A (128 units, 2,520 MHz, 72 MiB of L2, 1,008 GB/s, 165
// TFLOPS of float16 with sums of float32).
inline constexpr GpuMachine rtx4090 = [] {
  GpuMachine card = small_unit;
  card.name = "rtx4090";
  card.compute_capability = 89;
  card.compute_units = 128;
  card.l2_bytes = int64_t{72} << 20;
  card.clock_megahertz = 2520;
  card.memory_bytes_a_second = 1.008e12;
  card.half_products_a_cycle = 64;
  return card;
}();

// RTX 5090: NVIDIA RTX Blackwell GPU architecture, white paper, appendix A (170 units, 2,407 MHz, 96 MiB of L2, 1,792
// GB/s, 210 TFLOPS of float16 with sums of float32).
inline constexpr GpuMachine rtx5090 = [] {
  GpuMachine card = small_unit;
  card.name = "rtx5090";
  card.compute_capability = 120;
  card.compute_units = 170;
  card.l2_bytes = int64_t{96} << 20;
  card.clock_megahertz = 2407;
  card.memory_bytes_a_second = 1.792e12;
  card.half_products_a_cycle = 64;
  return card;
}();

// H100 (SXM5): NVIDIA H100 white paper, table 3 (132 units, 1,830 MHz while the matrix units work, 50 MiB of L2, 3.35
// TB/s). The matrix unit reaches 62% of its 512 products a cycle with mma.sync (Luo et al., "Benchmarking and
// Dissecting the Nvidia Hopper GPU Architecture"). Its L2 gave 5.2 TB/s to a kernel that it bounds (Nsight Compute).
inline constexpr GpuMachine h100 = [] {
  GpuMachine card = a100;
  card.name = "h100";
  card.architecture = "sm_90a";
  card.compute_capability = 90;
  card.compute_units = 132;
  card.lds_bytes = 228 * 1024;
  card.l2_bytes = int64_t{50} << 20;
  card.clock_megahertz = 1830;
  card.memory_bytes_a_second = 3.35e12;
  card.l2_bytes_a_cycle = 2840;
  card.vector_products_a_cycle = 32;
  card.matrix_unit = MatrixUnit::wgmma;
  card.launch_lds_bytes = 227 * 1024;
  card.half_products_a_cycle = 320;
  card.wgmma_products_a_cycle = 512;
  return card;
}();

// H200: data sheet (4.8 TB/s); the rest as on an H100.
inline constexpr GpuMachine h200 = [] {
  GpuMachine card = h100;
  card.name = "h200";
  card.memory_bytes_a_second = 4.8e12;
  return card;
}();

// B200: NVIDIA Blackwell architecture technical brief (8 TB/s); CUDA's device query (148 units, 1,965 MHz, 126 MiB of
// L2). It lacks wgmma. The rate of mma.sync is not published; an H100's stands in.
inline constexpr GpuMachine b200 = [] {
  GpuMachine card = h100;
  card.name = "b200";
  card.architecture = "sm_80";
  card.compute_capability = 100;
  card.compute_units = 148;
  card.l2_bytes = int64_t{126} << 20;
  card.clock_megahertz = 1965;
  card.memory_bytes_a_second = 8e12;
  card.l2_bytes_a_cycle = 0;
  card.matrix_unit = MatrixUnit::mma;
  card.launch_lds_bytes = 0;
  card.wgmma_products_a_cycle = 0;
  return card;
}();

// The card that the name of an architecture means.
inline constexpr GpuMachine sm_80 = a100, sm_90a = h100;

}  // namespace onnxc::machine
