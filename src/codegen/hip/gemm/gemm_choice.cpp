#include "codegen/hip/gemm/gemm_choice.h"

#include <algorithm>
#include <optional>

#include "machine/gpu_timing.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::GemmPlan;
using kernels::GemmTile;

// NVIDIA's copies of rows go through L1, which had a fifth of them: on an H100 four convolutions of 64 channels at
// 128^3 took 7.09 ms with it, 8.57 ms without. With wgmma it has two fifths, by the time of one of them in xf32, 2.37
// ms: more would be all that the L2 cache gives.
constexpr double rows_past_l1 = 0.8, rows_past_l1_by_wgmma = 0.6;

// The bytes that a step brings to LDS, and those of them that come past L1. A halo serves all taps of its channels.
struct StepBytes {
  double written, past_l1;
};
StepBytes bytes_of_step(const GemmPlan& plan, const GpuMachine& gpu) {
  const double columns = static_cast<double>(plan.tile.columns) * 64;
  if (plan.has_halo()) {
    const double halo = static_cast<double>(plan.halo().bytes()) / static_cast<double>(plan.taps());
    // Elements that are changed in LDS are read and written again.
    return {columns + halo * (plan.halo().changes_elements ? 3 : 1), columns + halo};
  }
  const double share = plan.uses_wgmma(gpu) ? rows_past_l1_by_wgmma
                       : plan.copies(gpu)   ? rows_past_l1
                                            : 1,
               rows = static_cast<double>(plan.tile.rows) * 64;
  return {rows + columns, share * rows + columns};
}

// The cycles of a step for loads that bring one element each: of a SIMD's vector unit, which makes addresses, and of
// L1. Counted by the simulator in convolutions of 56 channels a group on MI300X, in tiles of 64 and 128 rows. The lanes
// of a load have 16 voxels and two blocks of channels.
struct ElementLoads {
  double vector, l1;
};
ElementLoads element_loads(const GemmPlan& plan, const GpuMachine& gpu) {
  if (plan.input_order != kernels::InputOrder::elements || plan.matrix_product || gpu.wave_lanes != 64) return {0, 0};
  constexpr double cycles_of_element = 190, cycles_of_row = 27, line_bytes = 128, voxels = 16;
  const double rows = static_cast<double>(plan.tile.rows) / 64, elements = static_cast<double>(plan.depth()) / 4;
  const double element_bytes = kernels::is_half(plan.products) ? 2 : 4;
  const double voxel_bytes = static_cast<double>(plan.input_lanes * plan.shape.stride.w) * element_bytes;
  const double lines = 2 * (voxels * voxel_bytes / line_bytes + 1);
  return {elements * (cycles_of_element + rows * cycles_of_row),
          gpu.simds * elements * rows * machine::cycles_for(lines * line_bytes, gpu.l1_bytes_a_cycle)};
}

// A compute unit's part of the L2 cache's rate while all others read as well.
double shared_cache_bytes_a_cycle(const GpuMachine& gpu) {
  const auto timing = machine::timing_of(gpu);
  if (!timing) return cache_bytes_a_cycle(gpu);
  return timing->l2_bytes_a_second / (1e6 * gpu.clock_megahertz * gpu.compute_units);
}

// The least cycles by the power of products, which by themselves reach a part of their peak, and of memory, which by
// itself takes all power too. Those of float32 take less.
double cycles_by_power(const GemmPlan& plan, double product_cycles, double memory_cycles, const GpuMachine& gpu) {
  const auto timing = machine::timing_of(gpu);
  if (!timing || plan.products == kernels::Products::float32) return 0;
  return product_cycles / timing->sustained_products + memory_cycles;
}

// Cycles of a block that has its unit to itself beside its steps: a barrier serves the taps of one, and the first halo
// is copied before any product.
struct ExposedCycles {
  double of_step, of_start;
};

// The time for the sums of parts. The kernel that adds them found 16 MB in the L2 cache of an H100, 8 us with its
// launch. Elsewhere nothing is measured: they are written to memory and read from there.
double workspace_seconds(const GemmPlan& plan, int64_t count, const GpuMachine& gpu) {
  const auto floats = static_cast<double>(count);
  if (plan.uses_wgmma(gpu)) return 4 * floats / (1e6 * gpu.clock_megahertz * gpu.l2_bytes_a_cycle);
  return 8 * floats / machine::reached_memory_bytes_a_second(gpu);
}

double clock_of(const GpuMachine& gpu) { return 1e6 * gpu.clock_megahertz; }
// Until the first product starts and from the last to the end, with other blocks of the unit at work.
constexpr double tile_overhead_cycles = 3000;
// Cycles of a step, while the block has its unit to itself: from fetching through LDS to the first product.
constexpr double exposed_cycles = 420;

ExposedCycles exposed_by(const GemmPlan& plan, const GpuMachine& gpu) {
  if (!plan.has_halo()) return {exposed_cycles, 0};
  const kernels::Halo halo = plan.halo();
  return {exposed_cycles / static_cast<double>(halo.taps_a_step()),
          machine::cycles_for(static_cast<double>(halo.bytes()), cache_bytes_a_cycle(gpu))};
}

constexpr int64_t narrowest_columns = 32;  // of a tile

// Two blocks share a compute unit: one works while the other waits.
bool fits_limits(const GemmPlan& plan, const GpuMachine& gpu) {
  return plan.blocks_a_unit(gpu) >= 2 && kernels::nest_threads <= gpu.threads_of_block;
}

// If memory decides, the one that keeps compute units busy the least.
bool is_less(const GpuEstimate& a, const GpuEstimate& b) {
  return std::pair(a.microseconds, a.cycles) < std::pair(b.microseconds, b.cycles);
}

// A tile of twice the columns that there are would compute nothing in half of them.
bool is_too_wide(const GemmTile& tile, int64_t columns) {
  return tile.columns >= 2 * columns && tile.columns > narrowest_columns;
}

}  // namespace

double cache_bytes_a_cycle(const GpuMachine& gpu) { return gpu.l2_bytes_a_cycle * gpu.xcds / gpu.compute_units; }

const char* describe(GpuBound bound) {
  switch (bound) {
    case GpuBound::matrix_unit:
      return "matrix unit";
    case GpuBound::power:
      return "power";
    case GpuBound::vector_unit:
      return "vector unit";
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

GpuEstimate estimate_gemm(const GemmPlan& plan, const kernels::ConvSizes& sizes, const GpuMachine& gpu) {
  const double clock = clock_of(gpu), memory_rate = machine::reached_memory_bytes_a_second(gpu);
  const auto tile_rows = static_cast<double>(plan.tile.rows), tile_columns = static_cast<double>(plan.tile.columns);
  const int64_t tiles = std::max(plan.tiles(sizes), int64_t{1}), parts = plan.parts(tiles, gpu);
  // A residue of a strided transposed convolution has its share of the taps.
  const double steps = std::max(1.0, static_cast<double>(plan.steps()) / static_cast<double>(plan.residues() * parts));
  const double products = tile_rows * tile_columns / 1024 / gpu.simds * static_cast<double>(plan.segments()) *
                          static_cast<double>(plan.product_cycles(gpu));
  const StepBytes bytes = bytes_of_step(plan, gpu);
  const double lds = machine::cycles_for(bytes.written + static_cast<double>(plan.lds_read_bytes(gpu)),
                                         gpu.lds_bytes_a_cycle),
               cache = machine::cycles_for(bytes.past_l1, shared_cache_bytes_a_cycle(gpu));
  const ElementLoads loads = element_loads(plan, gpu);
  const double step = std::max({products, lds, cache, loads.vector, loads.l1});
  // For the unit with the most, which holds some of them at once.
  const int64_t blocks = kernels::divide_up(tiles * parts, gpu.compute_units);
  const int64_t rounds = kernels::divide_up(blocks, plan.blocks_a_unit(gpu));
  const ExposedCycles exposed = exposed_by(plan, gpu);
  double cycles = std::max(
      static_cast<double>(blocks) * (steps * step + tile_overhead_cycles),
      static_cast<double>(rounds) * (steps * (step + exposed.of_step) + exposed.of_start + tile_overhead_cycles));
  if (parts > 1)
    cycles += launch_microseconds * gpu.clock_megahertz + tile_overhead_cycles +
              workspace_seconds(plan, plan.workspace_count(tiles, gpu), gpu) * clock;
  const double element = kernels::is_bytes(plan.products) ? 1 : kernels::is_half(plan.products) ? 2 : 4;
  const auto inputs = static_cast<double>(sizes.batch * sizes.input.product() * plan.shape.input_channels),
             outputs = static_cast<double>(sizes.batch * sizes.output.product() * plan.shape.output_channels);
  const auto weights =
      static_cast<double>(plan.shape.output_channels * plan.shape.group_input_channels() * plan.taps());
  const double memory = element * (inputs + outputs + weights) / memory_rate * clock;
  const double of_all_units = static_cast<double>(tiles * parts) / gpu.compute_units * steps * products;
  const double power = cycles_by_power(plan, of_all_units, memory, gpu);
  if (power > cycles) return {1e6 * power / clock, cycles, GpuBound::power};
  if (memory > cycles) return {1e6 * memory / clock, cycles, GpuBound::memory};
  const GpuBound products_bound =
      kernels::on_vector_unit(plan.products, gpu) ? GpuBound::vector_unit : GpuBound::matrix_unit;
  const GpuBound bound = steps * step < tile_overhead_cycles ? GpuBound::latency
                         : step == products                  ? products_bound
                         : step == loads.vector              ? GpuBound::vector_unit
                         : step == cache || step == loads.l1 ? GpuBound::cache
                                                             : GpuBound::lds;
  return {1e6 * cycles / clock, cycles, bound};
}

GpuEstimate estimate_memory(int64_t bytes, const GpuMachine& gpu, double cache_cycles) {
  const double clock = clock_of(gpu),
               memory_cycles = static_cast<double>(bytes) / machine::reached_memory_bytes_a_second(gpu) * clock,
               cycles = std::max(memory_cycles, tile_overhead_cycles) + cache_cycles;
  const GpuBound bound = cache_cycles > memory_cycles && cache_cycles > tile_overhead_cycles ? GpuBound::cache
                         : memory_cycles < tile_overhead_cycles                              ? GpuBound::latency
                                                                                             : GpuBound::memory;
  return {1e6 * cycles / clock, cycles, bound};
}

double least_launch_microseconds(const GpuMachine& gpu) {
  return launch_microseconds + estimate_memory(0, gpu).microseconds;
}

std::optional<GemmChoice> choose_tile(std::span<const GemmTile> tiles, GemmPlan plan, const GemmSizes& given,
                                      const GpuMachine& gpu) {
  const kernels::ConvSizes& sizes = given.sizes;
  std::optional<GemmChoice> best;
  auto consider = [&](bool is_split) {
    plan.is_split = is_split;
    const GpuEstimate estimate = estimate_gemm(plan, sizes, gpu);
    if (best && !is_less(estimate, best->estimate)) return;
    const int64_t workspace =
        given.are_known ? plan.workspace_count(plan.tiles(sizes), gpu) : plan.most_workspace_count(gpu);
    best = GemmChoice{.plan = plan,
                      .lds_bytes = plan.lds_bytes(gpu),
                      .launch_lds_bytes = plan.launch_lds_bytes(gpu),
                      .threads = kernels::nest_threads,
                      .waves = plan.waves(gpu),
                      .workspace_count = workspace,
                      .estimate = estimate,
                      .are_sizes_known = given.are_known};
  };
  for (const GemmTile& tile : tiles) {
    plan.tile = tile;
    plan.is_split = true;
    if (!plan.has_suitable_tile(gpu) || !fits_limits(plan, gpu) ||
        is_too_wide(tile, plan.shape.group_output_channels()))
      continue;
    const bool may_have_parts = plan.steps() / plan.residues() >= 2 * kernels::least_part_steps;
    const bool has_parts = may_have_parts && plan.parts(sizes, gpu) > 1;
    // Sizes that are not known may be small.
    if (given.are_known || !may_have_parts) consider(false);
    if (given.are_known ? has_parts : may_have_parts) consider(true);
  }
  return best;
}

GemmChoice choose_gemm(const GemmPlan& plan, const GemmSizes& given, const GpuMachine& gpu) {
  std::optional<GemmChoice> best = choose_tile(kernels::gemm_tiles, plan, given, gpu);
  GemmPlan in_bricks = plan;
  for (const kernels::Axes& brick : kernels::bricks) {
    in_bricks.brick = brick;
    const std::optional<GemmChoice> found = choose_tile(kernels::halo_tiles, in_bricks, given, gpu);
    if (found && (!best || is_less(found->estimate, best->estimate))) best = found;
  }
  internal_check(best.has_value(), "a tile that fits");
  return *best;
}

}  // namespace onnxc
