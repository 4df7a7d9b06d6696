// Which variant of the implicit-GEMM kernel computes a product, and its expected cost: one pure function.
//
// The model counts cycles of a compute unit: of its matrix units, of LDS, of its reads through the second-level cache,
// and of loads that bring one element each. Each step of a tile takes the largest of these; a tile also has a prologue
// and an end. A block that has its compute unit to itself waits for memory in each step as well. The slowest compute
// unit has the tiles that do not divide evenly. Memory is read and written once, at the same time; a split reduction
// also writes and reads its partial sums, in a launch more. Products and memory share the power. Rates are measured
// ones if the GPU has a row in machine/gpu_timing.h. On gfx942 the simulator's model is near (test_estimates.py).
#pragma once

#include <optional>
#include <span>

#include "kernels/hip/gemm/gemm_geometry.h"

namespace onnxc {

enum class GpuBound { matrix_unit, power, vector_unit, lds, cache, memory, latency };
const char* describe(GpuBound bound);

struct GpuEstimate {
  double microseconds;
  double cycles;  // of the compute unit with the most to do, were memory no limit
  GpuBound bound;
};

using kernels::launch_microseconds;
using machine::GpuMachine;

GpuEstimate estimate_gemm(const kernels::GemmPlan& plan, const kernels::ConvSizes& sizes, const GpuMachine& gpu);

// The share of a compute unit in the peak rate of the L2 cache.
double cache_bytes_a_cycle(const GpuMachine& gpu);

// The estimate of a kernel that only reads and writes so many bytes, and besides has so many cycles of a compute unit's
// L1 read what lies in a cache.
GpuEstimate estimate_memory(int64_t bytes, const GpuMachine& gpu, double cache_cycles = 0);
// A launch after another, of a kernel that does next to nothing.
double least_launch_microseconds(const GpuMachine& gpu);

// The launch: the plan with the tile that the model finds fastest, and whether the reduction is split into parts. Both
// fit the GPU's limits on LDS and threads of a block. Size hints stand in for sizes that only a run knows when the tile
// is chosen; the number of parts is computed in the run (GemmPlan::parts).
struct GemmChoice {
  kernels::GemmPlan plan;
  int64_t lds_bytes;
  int64_t launch_lds_bytes;  // of these, what the launch asks for
  int64_t threads;           // of a block
  int64_t waves;             // that a SIMD unit holds at once
  int64_t workspace_count;   // floats
  GpuEstimate estimate;
  bool are_sizes_known;  // else the estimate is that of the hints
};
struct GemmSizes {
  kernels::ConvSizes sizes;
  bool are_known;
  bool have_hints = true;  // each that is not known
};
// Tiles have successive voxels, or bricks of voxels if the GPU has products for them.
GemmChoice choose_gemm(const kernels::GemmPlan& plan, const GemmSizes& given, const GpuMachine& gpu);
// The best tile of the plan, of its brick if it has one; among equals the first. Nothing if none suits.
std::optional<GemmChoice> choose_tile(std::span<const kernels::GemmTile> tiles, kernels::GemmPlan plan,
                                      const GemmSizes& given, const GpuMachine& gpu);

}  // namespace onnxc
