#include "codegen/hip/memory_bound/line_choice.h"

namespace onnxc {
namespace {

using kernels::block_channels;
using kernels::divide_up;
using kernels::larger;
using kernels::LinePlan;
using kernels::LineSizes;
using kernels::nest_threads;
using kernels::smaller;
using machine::GpuMachine;

constexpr int64_t cache_line_elements = 16;  // a cache line of float32
constexpr int64_t load_bytes = 16;           // that a thread loads at once if it can
constexpr int64_t usual_elements = 16;       // that a thread holds: then loads are under way together
constexpr int64_t most_elements = 32;        // with more, fewer wavefronts fit a compute unit
constexpr int64_t least_elements = 4;        // of a thread, if there are too few lines for all compute units

int64_t power_of_two(int64_t at_least) {
  int64_t result = 1;
  while (result < at_least) result *= 2;
  return result;
}

LinePlan start(const LineShape& shape) {
  LinePlan plan{.kind = shape.kind, .outer_axes = shape.outer_axes, .line_axes = shape.line_axes};
  plan.columns = shape.columns_are_known ? shape.columns : 0;
  plan.group_lanes = shape.group_lanes;
  plan.is_blocked = shape.is_blocked;
  return plan;
}

void hold(LinePlan& plan, int64_t columns) {
  plan.held = smaller(larger(divide_up(columns, plan.threads * plan.vector), 1), most_elements / plan.vector);
}

LinePlan contiguous(const LineShape& shape, const GpuMachine& gpu) {
  LinePlan plan = start(shape);
  const int64_t columns = larger(shape.columns, 1);
  if (plan.columns > 0)
    while (plan.vector * shape.element_size < load_bytes && columns % (2 * plan.vector) == 0) plan.vector *= 2;
  const int64_t loads = divide_up(columns, plan.vector);
  auto elements = [&] { return divide_up(loads, plan.threads) * plan.vector; };
  // At least a cache line at once, and no more wavefronts of a line than it takes to hold it.
  plan.threads = smaller(power_of_two(loads), cache_line_elements);
  while (plan.threads < gpu.wave_lanes && elements() > usual_elements) plan.threads *= 2;
  while (plan.threads < nest_threads && elements() > most_elements) plan.threads *= 2;
  auto leaves_units_idle = [&] { return divide_up(shape.outer, plan.lines_a_block()) < gpu.compute_units; };
  while (plan.threads < nest_threads && elements() > least_elements && leaves_units_idle()) plan.threads *= 2;
  hold(plan, columns);
  return plan;
}

LinePlan strided(const LineShape& shape) {
  LinePlan plan = start(shape);
  const int64_t columns = larger(shape.columns, 1), inner = power_of_two(larger(shape.inner, 1));
  plan.lanes = smaller(inner, nest_threads);
  auto elements = [&] { return divide_up(columns, plan.threads); };
  while (elements() > usual_elements && plan.lanes * plan.threads < nest_threads) plan.threads *= 2;
  // Fewer lines next to each other, but a whole cache line.
  while (elements() > most_elements && plan.lanes > cache_line_elements) {
    plan.lanes /= 2;
    plan.threads *= 2;
  }
  hold(plan, columns);
  return plan;
}

LinePlan blocked(const LineShape& shape) {
  LinePlan plan = start(shape);
  plan.lanes = block_channels;
  const int64_t columns = larger(shape.columns, 1);
  while (plan.threads < nest_threads / block_channels && divide_up(columns, plan.threads) > usual_elements / 2)
    plan.threads *= 2;
  hold(plan, columns);
  return plan;
}

// A tensor is read or stored so often.
GpuEstimate traffic(const LineSizes& sizes, int64_t passes, int64_t element_size, const GpuMachine& gpu,
                    double cache_cycles = 0) {
  const int64_t elements = LinePlan::product(sizes, 0, LineSizes::most_axes);
  return estimate_memory(elements * element_size * passes, gpu, cache_cycles);
}

}  // namespace

LinePlan choose_lines(const LineShape& shape, const GpuMachine& gpu) {
  if (shape.is_blocked) return blocked(shape);
  return shape.is_contiguous ? contiguous(shape, gpu) : strided(shape);
}

LinePlan line_a_block(LinePlan plan) {
  plan.threads = smaller(power_of_two(plan.columns), nest_threads / plan.lanes);
  hold(plan, plan.columns);
  return plan;
}

bool are_few_and_long(const LineShape& shape, const GpuMachine& gpu) {
  const LinePlan plan = choose_lines(shape, gpu);
  const int64_t tiles = divide_up(shape.outer, plan.lines_a_block()) * divide_up(shape.inner, plan.lanes);
  return shape.columns > plan.capacity() && tiles < gpu.compute_units;
}

LinePlan choose_chunks(const LineShape& shape, const GpuMachine& gpu) {
  LinePlan plan = choose_lines(shape, gpu);
  plan.columns = 0;  // one kernel for all lengths
  plan.vector = 1;
  plan.group_lanes = 1;
  plan.threads = nest_threads / plan.lanes;
  plan.held = most_elements;
  const int64_t tiles = larger(divide_up(shape.outer, plan.lines_a_block()) * divide_up(shape.inner, plan.lanes), 1);
  auto chunks = [&] { return divide_up(shape.columns, plan.capacity()); };
  // Each block puts all parts together: not more of them than its threads load at once.
  while (plan.held > 8 && tiles * chunks() < gpu.compute_units && chunks() <= plan.most_parts() / 2) plan.held /= 2;
  return plan;
}

GpuEstimate estimate_lines(const LinePlan& plan, const LineSizes& sizes, int64_t element_size, const GpuMachine& gpu) {
  const int64_t passes = plan.always_fits() ? 2 : 3;
  const GpuEstimate estimate = traffic(sizes, passes, element_size, gpu);
  // The compute unit with the most lines, if they are few.
  const int64_t tile = plan.lines_a_block() * plan.lanes * plan.line_columns(sizes) * element_size * passes;
  const int64_t tiles = divide_up(larger(plan.blocks(sizes), 1), gpu.compute_units);
  const double cycles = machine::cycles_for(static_cast<double>(tiles * tile), cache_bytes_a_cycle(gpu));
  return cycles > estimate.cycles ? GpuEstimate{cycles / gpu.clock_megahertz, cycles, GpuBound::cache} : estimate;
}

double ChunkEstimate::microseconds() const {
  const double folds = fold ? launch_microseconds + fold->microseconds : 0;
  return statistics.microseconds + folds + launch_microseconds + normalized.microseconds;
}

ChunkEstimate estimate_chunks(const LinePlan& plan, const LineSizes& sizes, int64_t part_columns, int64_t common_lines,
                              int64_t element_size, const GpuMachine& gpu) {
  const int64_t parts = part_columns == 0 ? plan.parts(sizes) : divide_up(plan.line_columns(sizes), part_columns);
  const bool are_folded = plan.moment_folds(sizes, larger(parts, 1), common_lines, gpu).parts > 0;
  // Every block of the last kernel reads the statistics of all parts of its lines.
  const double cycles = are_folded ? plan.moment_cycles(sizes, kernels::most_folds, kernels::folded_values, gpu)
                                   : plan.moment_cycles(sizes, parts * common_lines, kernels::partial_values, gpu);
  const int64_t statistics_bytes = plan.outer(sizes) * parts * kernels::partial_values * plan.lanes * 4;
  return {traffic(sizes, 1, element_size, gpu),
          are_folded ? std::optional(estimate_memory(statistics_bytes, gpu)) : std::nullopt,
          traffic(sizes, 2, element_size, gpu, cycles)};
}

}  // namespace onnxc
