#include "codegen/hip/source/nest_schedule.h"

#include <algorithm>

#include "codegen/loop_transforms.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr int64_t shortest_shared_reduction = 256;   // a shorter one leaves threads of its block without an element
constexpr int64_t enough_points = 304 * 4 * 64 * 2;  // two wavefronts for each SIMD of an MI300X

bool depends_on_order(const FlatNest& nest) {
  return std::ranges::any_of(nest.accumulators,
                             [](const Accumulator& item) { return item.kind >= ReduceKind::argument_minimum; });
}

Expr iterations(const std::vector<FlatLoop>& loops) {
  Expr count = 1;
  for (const FlatLoop& loop : loops) count *= loop.extent;
  return count;
}

bool depends_on_another(const FlatLoop& loop, const std::vector<FlatLoop>& loops) {
  return std::ranges::any_of(loops,
                             [&](const FlatLoop& other) { return loop.extent.symbols().contains(other.symbol); });
}

DeviceSchedule::Form choose_form(const DeviceSchedule& schedule) {
  using enum DeviceSchedule::Form;
  // The lanes of the last block of channels are as many as the block leaves: elements cannot be numbered.
  const bool is_ragged = std::ranges::any_of(
      schedule.reduce, [&](const FlatLoop& loop) { return depends_on_another(loop, schedule.reduce); });
  if (schedule.nest.accumulators.empty() || !schedule.ordered.empty() || is_ragged || depends_on_order(schedule.nest))
    return thread_a_point;
  const bool has_few_points = estimate(schedule.points) < enough_points;
  return has_few_points && estimate(schedule.reduce) >= shortest_shared_reduction ? block_a_point : thread_a_point;
}

}  // namespace

Expr DeviceSchedule::point_count() const { return iterations(points); }
Expr DeviceSchedule::reduce_count() const { return iterations(reduce); }

DeviceSchedule schedule_for_device(FlatNest nest) {
  DeviceSchedule schedule;
  drop_single_iterations(nest);
  for (FlatLoop loop : nest.loops) {
    if (loop.kind != AxisKind::reduce && depends_on_another(loop, nest.loops)) {
      internal_check(loop.kind == AxisKind::parallel && loop.symbol.info().extent != nullptr,
                     "a loop of a device nest that has an upper bound");
      schedule.ragged.push_back(loop);
      loop.extent = *loop.symbol.info().extent;
    }
    std::vector<FlatLoop>& kind = loop.kind == AxisKind::parallel  ? schedule.points
                                  : loop.kind == AxisKind::ordered ? schedule.ordered
                                                                   : schedule.reduce;
    kind.push_back(loop);
  }
  nest.loops.clear();
  if (!nest.stores.empty()) order_by_offset(schedule.points, nest.stores[0].offset);
  if (schedule.ragged.empty()) merge_loops(schedule.points, nest);
  if (!depends_on_order(nest)) merge_loops(schedule.reduce, nest);
  schedule.nest = std::move(nest);
  schedule.form = choose_form(schedule);
  return schedule;
}

}  // namespace onnxc
