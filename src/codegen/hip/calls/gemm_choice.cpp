#include "codegen/hip/calls/gemm_choice.h"

#include <algorithm>
#include <optional>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::GemmPlan;
using kernels::GemmTile;

// An MI300X (gfx942.md, A).
constexpr double clock = 2.1e9, memory_rate = 5.3e12;
constexpr int64_t compute_units = 304;
constexpr double lds_bytes_a_cycle = 128, cache_bytes_a_cycle = 54;
// Until the first product starts and from the last to the end, with other blocks of the unit at work.
constexpr double tile_overhead_cycles = 3000;
constexpr int64_t most_threads = 1024;

// Two blocks share a compute unit: one works while the other waits.
bool fits_limits(const GemmTile& tile) {
  return 2 * kernels::gemm_lds_bytes(tile) <= kernels::most_lds_bytes && kernels::nest_threads <= most_threads;
}

}  // namespace

const char* describe(GpuBound bound) {
  switch (bound) {
    case GpuBound::mfma:
      return "MFMA";
    case GpuBound::lds:
      return "LDS";
    case GpuBound::cache:
      return "cache";
    case GpuBound::memory:
      return "memory";
    case GpuBound::latency:
      return "latency";
  }
  internal_error("a bound");
}

GpuEstimate estimate_gemm(const GemmPlan& plan, int64_t rows) {
  const auto tile_rows = static_cast<double>(plan.tile.rows), tile_columns = static_cast<double>(plan.tile.columns);
  const int64_t residues = plan.residues();
  // A residue of a strided transposed convolution has its share of the rows and of the taps.
  const double steps = std::max(1.0, static_cast<double>(plan.steps()) / static_cast<double>(residues));
  rows = std::max(rows, int64_t{1});
  const int64_t tiles =
      kernels::divide_up(rows, plan.tile.rows * residues) * residues * plan.column_tiles() * plan.shape.groups;
  const double mfma = tile_rows * tile_columns / 1024 / 4 * static_cast<double>(plan.segments()) *
                      static_cast<double>(kernels::product_cycles(plan.products));
  // Each row is written once and read by two wavefronts.
  const double operand_bytes = (tile_rows + tile_columns) * 64;
  const double lds = 3 * operand_bytes / lds_bytes_a_cycle, cache = operand_bytes / cache_bytes_a_cycle;
  const double step = std::max({mfma, lds, cache});
  const double cycles =
      static_cast<double>(kernels::divide_up(tiles, compute_units)) * (steps * step + tile_overhead_cycles);
  const double element = kernels::is_half(plan.products) ? 2 : 4;
  const double strides = plan.transposed ? 1.0 / static_cast<double>(plan.shape.stride.product())
                                         : static_cast<double>(plan.shape.stride.product());
  const double bytes =
      element * (static_cast<double>(rows) * (strides * static_cast<double>(plan.shape.input_channels) +
                                              static_cast<double>(plan.shape.output_channels)) +
                 static_cast<double>(plan.shape.output_channels * plan.shape.group_input_channels() * plan.taps()));
  const double memory = bytes / memory_rate;
  if (memory * clock > cycles) return {1e6 * memory, cycles, GpuBound::memory};
  const GpuBound bound = steps * step < tile_overhead_cycles ? GpuBound::latency
                         : step == mfma                      ? GpuBound::mfma
                         : step == cache                     ? GpuBound::cache
                                                             : GpuBound::lds;
  return {1e6 * cycles / clock, cycles, bound};
}

GpuEstimate estimate_memory(int64_t bytes) {
  const double seconds = static_cast<double>(bytes) / memory_rate, overhead = tile_overhead_cycles / clock;
  if (seconds < overhead) return {1e6 * overhead, tile_overhead_cycles, GpuBound::latency};
  return {1e6 * seconds, seconds * clock, GpuBound::memory};
}

GemmChoice choose_gemm(GemmPlan plan, int64_t rows) {
  std::optional<GemmChoice> best;
  for (const GemmTile& tile : kernels::gemm_tiles) {
    if (!fits_limits(tile)) continue;
    plan.tile = tile;
    const GpuEstimate estimate = estimate_gemm(plan, rows);
    // Where memory decides, the one that keeps compute units busy the least; of equals the larger.
    auto cost = [](const GpuEstimate& of) { return std::pair(of.microseconds, of.cycles); };
    if (best && cost(best->estimate) <= cost(estimate)) continue;
    const int64_t blocks = kernels::divide_up(rows, tile.rows) * plan.column_tiles() * plan.shape.groups;
    best = GemmChoice{plan, kernels::gemm_lds_bytes(tile), kernels::nest_threads, blocks, estimate};
  }
  internal_check(best.has_value(), "a tile that fits");
  return *best;
}

}  // namespace onnxc
