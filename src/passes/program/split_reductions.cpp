#include "passes/program/split_reductions.h"

#include <fmt/format.h>

#include <algorithm>

#include "machine/gpu_machine.h"

namespace onnxc {
namespace {

constexpr int64_t shortest_split = 4096;   // elements of a result; for fewer another launch does not pay
constexpr int64_t fewest_of_a_part = 256;  // that are left to reduce
constexpr int64_t enough_results = machine::target_gpu.compute_units * 16;  // sixteen for each compute unit
constexpr int64_t unknown_extent = 64;

double estimate(const Axis& axis) { return static_cast<double>(axis.extent.constant().value_or(unknown_extent)); }

bool is_splittable(const LoopNest& nest) {
  auto folds_whole_values = [](const Accumulator& accumulator) {
    return !is_argument_reduction(accumulator.kind) && !is_computed_wider(accumulator.dtype);
  };
  return !nest.accumulators.empty() && nest.lets.empty() &&
         std::ranges::all_of(nest.accumulators, folds_whole_values) &&
         std::ranges::none_of(nest.axes, [](const Axis& axis) { return axis.kind == AxisKind::ordered; });
}

// How many of the outer reduce axes become parallel.
size_t axes_to_split(const LoopNest& nest) {
  if (!is_splittable(nest)) return 0;
  double results = 1, elements = 1;
  for (const Axis& axis : nest.axes) (axis.kind == AxisKind::reduce ? elements : results) *= estimate(axis);
  if (elements < static_cast<double>(shortest_split)) return 0;
  size_t count = 0;
  for (const Axis& axis : nest.axes) {
    if (axis.kind != AxisKind::reduce) continue;
    elements /= estimate(axis);
    if (results >= static_cast<double>(enough_results) || elements < static_cast<double>(fewest_of_a_part)) break;
    results *= estimate(axis);
    ++count;
  }
  return count;
}

BufferId add_parts(Program& program, const std::string& name, DType dtype, const std::vector<Axis>& axes) {
  Buffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  for (const Axis& axis : axes) buffer.shape.push_back(axis.extent);
  buffer.layout = Layout::row_major(axes.size());
  return program.add(std::move(buffer));
}

// Makes `nest` the sum of the parts that the returned nest computes.
LoopNest split(Program& program, LoopNest& nest, size_t count) {
  LoopNest parts{nest.name + "_parts", {}, {}, nest.accumulators, {}};
  std::vector<Axis> results, remaining, whole;
  for (const Axis& axis : nest.axes) {
    if (axis.kind != AxisKind::reduce) {
      results.push_back(axis);
      whole.push_back(axis);
    } else if (count > 0) {
      parts.axes.push_back({axis.symbol, axis.extent, AxisKind::parallel});
      whole.push_back(axis);
      --count;
    } else {
      remaining.push_back(axis);
    }
  }
  parts.axes.insert(parts.axes.end(), results.begin(), results.end());
  std::vector<Expr> place;
  for (const Axis& axis : parts.axes) place.emplace_back(axis.symbol);
  for (size_t i = 0; i < nest.accumulators.size(); ++i) {
    Accumulator& accumulator = nest.accumulators[i];
    const BufferId buffer = add_parts(program, fmt::format("{}.{}", parts.name, i), accumulator.dtype, parts.axes);
    parts.stores.push_back(
        {buffer, place, scalar::accumulator(accumulator.dtype, static_cast<int>(i)), StoreKind::assign, {}});
    accumulator.element = scalar::load(accumulator.dtype, buffer, place);
  }
  parts.axes.insert(parts.axes.end(), remaining.begin(), remaining.end());
  nest.axes = std::move(whole);
  return parts;
}

}  // namespace

void split_reductions(Program& program) {
  std::vector<Step> steps;
  for (Step& step : program.steps) {
    if (auto* nest = std::get_if<LoopNest>(&step.work))
      if (const size_t count = axes_to_split(*nest))
        steps.push_back({split(program, *nest, count), step.origins, step.condition});
    steps.push_back(std::move(step));
  }
  program.steps = std::move(steps);
}

}  // namespace onnxc
