// Which variant of the implicit-GEMM kernel computes a product, and what it is expected to cost: one pure function.
//
// The model counts cycles of a compute unit (gfx942.md, D): of its matrix units, of LDS and of what it reads through
// the second-level cache; a tile needs the most of the three for each step, and something to begin and end. A block
// that is alone on its unit waits for memory in each step as well. The slowest compute unit has the tiles that do not
// divide evenly. Memory is read and written once at its full rate, at the same time; a reduction in parts writes and
// reads their sums besides. Nothing of it is measured: we have no such GPU.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"

namespace onnxc {

enum class GpuBound { mfma, lds, cache, memory, latency };
const char* describe(GpuBound bound);

struct GpuEstimate {
  double microseconds;
  double cycles;  // of the compute unit with the most to do, were memory no limit
  GpuBound bound;
};

inline constexpr double gpu_cycles_a_microsecond = kernels::gpu.clock_megahertz;

GpuEstimate estimate_gemm(const kernels::GemmPlan& plan, const kernels::ConvSizes& sizes);

// Of a kernel that only reads and writes so many bytes.
GpuEstimate estimate_memory(int64_t bytes);

// What is launched: the plan with the tile that the model finds fastest, and whether its reduction is cut into parts.
// Each fits the limits of the GPU: the LDS and the threads of a block. Of sizes that only a run knows, the
// usual ones decide on the tile, and into how many parts the reduction is cut is found when they are known
// (GemmPlan::parts).
struct GemmChoice {
  kernels::GemmPlan plan;
  int64_t lds_bytes;
  int64_t threads;          // of a block
  int64_t workspace_count;  // floats
  GpuEstimate estimate;
};
struct GemmSizes {
  kernels::ConvSizes sizes;
  bool are_known;
};
GemmChoice choose_gemm(kernels::GemmPlan plan, const GemmSizes& given);

}  // namespace onnxc
