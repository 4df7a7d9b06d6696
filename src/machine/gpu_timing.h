// How a GPU behaves over time, as it was measured: what the rows of amd_machines.h have from data sheets is reached in
// part, and latencies are in none. The simulator's model of time and the compiler's estimates read the same row.
//
// Sources of the MI300X:
// - latencies: RRZE-HPC/gpu-benches on GitHub, gpu-latency/mi300x.txt (a chain of loads over 2 KiB to 2 GiB, at 2,092
//   MHz);
// - L2 and Infinity Cache: AMD's Origami, from which hipBLASLt chooses its kernels, "obtained through
//   microbenchmarking" (ROCm/rocm-libraries, shared/origami/include/origami/hardware.hpp: 17 and 1.21875 * 6 TB/s);
//   gpu-benches' gpu-l2-stream/mi300x.txt has 17.7 TB/s of L2 for three loads and a store.
//   Other measurements differ: 27 TB/s of L2, if all units read the same lines (gpu-cache/mi300x.txt), and 11.9 of the
//   Infinity Cache (Chips and Cheese, "Testing AMD's Giant MI300X");
// - memory: AMD's system acceptance for an MI300X asks for it of BabelStream's copy (of 5.3 TB/s);
// - products: hipBLASLt's best in HipKittens' analysis/bf16_gemm/mi325x, 785 of 1,307 TFLOP/s, which is what power
//   allows. Memory by itself takes all power as well: gpu-benches' gpu-roofline/mi300x.txt has 750 W at 4.07 TB/s with
//   next to no arithmetic;
// - LDS and scalar loads: assumptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/gpu_machine.h"

namespace onnxc::machine {

struct GpuTiming {
  // Cycles from a load to its data, if nothing else is loaded.
  int l1_latency, l2_latency, infinity_cache_latency, memory_latency;
  int lds_latency, scalar_load_latency;
  int64_t infinity_cache_bytes;
  // Rates of the whole card, for loads of many compute units.
  double l2_bytes_a_second, infinity_cache_bytes_a_second, memory_bytes_a_second;
  // The part of the matrix unit's peak rate that power allows for products of 16 and 8 bits on all compute units.
  double sustained_products;
};

inline constexpr GpuTiming mi300x_timing{.l1_latency = 120,
                                         .l2_latency = 213,
                                         .infinity_cache_latency = 456,
                                         .memory_latency = 880,
                                         .lds_latency = 64,
                                         .scalar_load_latency = 200,
                                         .infinity_cache_bytes = int64_t{256} << 20,
                                         .l2_bytes_a_second = 17e12,
                                         .infinity_cache_bytes_a_second = 7.3e12,
                                         .memory_bytes_a_second = 4.177285e12,
                                         .sustained_products = 0.6};

// The row of a card, or of the part of one that is a device: a part has its share of what all dies have and use.
constexpr std::optional<GpuTiming> timing_of(const GpuMachine& gpu) {
  if (std::string_view(gpu.architecture) != "gfx942") return std::nullopt;
  GpuTiming timing = mi300x_timing;
  const double memory = gpu.memory_bytes_a_second / mi300x.memory_bytes_a_second;
  timing.l2_bytes_a_second *= static_cast<double>(gpu.xcds) / mi300x.xcds;
  timing.infinity_cache_bytes_a_second *= memory;
  timing.memory_bytes_a_second *= memory;
  return timing;
}

// The rate of memory that kernels reach, as far as it is known.
constexpr double reached_memory_bytes_a_second(const GpuMachine& gpu) {
  const std::optional<GpuTiming> timing = timing_of(gpu);
  return timing ? timing->memory_bytes_a_second : gpu.memory_bytes_a_second;
}

}  // namespace onnxc::machine
