#include "passes/program/split_reductions.h"

#include <fmt/format.h>

#include <algorithm>

namespace onnxc {
namespace {

constexpr int64_t shortest_split = 4096;   // elements of a result; for fewer another launch does not pay
constexpr int64_t fewest_of_a_part = 256;  // that are left to reduce
constexpr int64_t unknown_extent = 64;

double estimate(const Axis& axis) { return static_cast<double>(axis.extent.constant().value_or(unknown_extent)); }

bool is_argument(const Accumulator& accumulator) { return is_argument_reduction(accumulator.kind); }

bool is_splittable(const LoopNest& nest) {
  auto folds_whole_values = [](const Accumulator& accumulator) { return !is_computed_wider(accumulator.dtype); };
  return !nest.accumulators.empty() && nest.lets.empty() &&
         std::ranges::all_of(nest.accumulators, folds_whole_values) &&
         std::ranges::none_of(nest.axes, [](const Axis& axis) { return axis.kind == AxisKind::ordered; });
}

// How many of the outer reduce axes become parallel.
size_t axes_to_split(const LoopNest& nest, int64_t enough_results) {
  if (!is_splittable(nest) || std::ranges::any_of(nest.accumulators, is_argument)) return 0;
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

// ------------------------------------------------------------------------------------------------------- chunks

constexpr int64_t chunk = 1024;  // four elements for each thread of a block

// The one reduce axis, if there are few results of many elements.
const Axis* axis_to_cut(const LoopNest& nest, int64_t enough_results) {
  if (!is_splittable(nest) || std::ranges::count(nest.axes, AxisKind::reduce, &Axis::kind) != 1) return nullptr;
  double results = 1;
  const Axis* long_axis = nullptr;
  for (const Axis& axis : nest.axes) {
    if (axis.kind == AxisKind::reduce)
      long_axis = &axis;
    else
      results *= estimate(axis);
  }
  const bool is_long = long_axis->extent.constant().value_or(0) >= shortest_split;
  return is_long && results * 8 < static_cast<double>(enough_results) ? long_axis : nullptr;
}

// The value that leaves the fold unchanged, folded in for places past the end. The others may see the last element
// again, at its own position.
std::optional<Scalar> padding(const Accumulator& accumulator) {
  if (accumulator.kind == ReduceKind::sum) return scalar::constant(accumulator.element.dtype(), 0);
  if (accumulator.kind == ReduceKind::product) return scalar::constant(accumulator.element.dtype(), 1);
  return std::nullopt;
}

// Makes `nest` the fold of the chunks that the returned nest computes.
LoopNest cut(Program& program, LoopNest& nest, const Axis& given) {
  const Axis whole = given;
  const Expr count = ceil_div(whole.extent, chunk);
  const Axis chunks{Symbol::axis(whole.symbol.name() + "_chunk", count), count, AxisKind::reduce};
  const Axis place{Symbol::axis(whole.symbol.name() + "_place", chunk), chunk, AxisKind::reduce};
  const Expr position = Expr(chunks.symbol) * chunk + Expr(place.symbol);
  const Expr last = min(position, whole.extent - 1);
  LoopNest parts{nest.name + "_parts", {{chunks.symbol, count, AxisKind::parallel}}, {}, {}, {}};
  for (const Axis& axis : nest.axes)
    if (axis.kind == AxisKind::parallel) parts.axes.push_back(axis);
  std::vector<Expr> part;
  for (const Axis& axis : parts.axes) part.emplace_back(axis.symbol);
  for (size_t i = 0; i < nest.accumulators.size(); ++i) {
    Accumulator& accumulator = nest.accumulators[i];
    Accumulator of_chunk = accumulator;
    of_chunk.element = substitute(accumulator.element, {{whole.symbol, last}});
    of_chunk.position = accumulator.position.substitute({{whole.symbol, last}});
    if (const std::optional<Scalar> outside = padding(accumulator))
      of_chunk.element =
          scalar::select(scalar::binary(ScalarOp::less, scalar::index(position), scalar::index(whole.extent)),
                         of_chunk.element, *outside);
    const bool finds_positions = is_argument(accumulator);
    // The chunk's extreme is searched again at its position.
    if (finds_positions) of_chunk.position = last;
    const BufferId buffer = add_parts(program, fmt::format("{}.{}", parts.name, i), accumulator.dtype, parts.axes);
    const Scalar found = scalar::load(accumulator.dtype, buffer, part);
    parts.accumulators.push_back(std::move(of_chunk));
    parts.stores.push_back(
        {buffer, part, scalar::accumulator(accumulator.dtype, static_cast<int>(i)), StoreKind::assign, {}});
    if (!finds_positions) {
      accumulator.element = found;
      continue;
    }
    const Let extreme{Symbol::index(fmt::format("extreme{}", i)), found};
    nest.lets.push_back(extreme);
    // It is within the axis; the clamp is for the verifier.
    const Expr at = max(min(extreme.symbol, whole.extent - 1), 0);
    accumulator.element = substitute(accumulator.element, {{whole.symbol, at}});
    accumulator.position = accumulator.position.substitute({{whole.symbol, at}});
  }
  parts.axes.push_back(place);
  *std::ranges::find(nest.axes, AxisKind::reduce, &Axis::kind) = chunks;
  return parts;
}

}  // namespace

void split_reductions(Program& program, const Target& target) {
  std::vector<Step> steps;
  for (Step& step : program.steps) {
    if (auto* nest = std::get_if<LoopNest>(&step.work)) {
      if (const size_t count = axes_to_split(*nest, target.parallel_results))
        steps.push_back({split(program, *nest, count), step.origins, step.condition});
      else if (const Axis* axis = axis_to_cut(*nest, target.parallel_results))
        steps.push_back({cut(program, *nest, *axis), step.origins, step.condition});
    }
    steps.push_back(std::move(step));
  }
  program.steps = std::move(steps);
}

}  // namespace onnxc
