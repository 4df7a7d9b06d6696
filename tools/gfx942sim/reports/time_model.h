// From what a kernel did to the time that it would take on an MI300X: the largest of several bounds, each only from
// counts. A yardstick to compare kernels by, not a prediction; the counts stand beside it.
#pragma once

#include <algorithm>

#include "gfx942sim/reports/counts.h"
#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {

// How many waves and groups a compute unit holds at a time.
struct Occupancy {
  uint64_t waves_per_simd = 0;   // that the registers allow
  uint64_t groups_per_unit = 0;  // that registers, LDS and the group's size allow
};
Occupancy occupancy(const Launch& launch);

enum class Bound : uint8_t { matrix, power, vector, scalar, lds, l1, l2, infinity_cache, memory, latency };
inline constexpr int bound_count = 10;
const char* to_text(Bound bound);

struct ModelledTime {
  double cycles[bound_count] = {};  // that each bound by itself would take, on the busiest compute unit
  // The unit with the largest of them, or latency if that is more than a quarter above it.
  Bound bound = Bound::latency;
  double total_cycles() const { return *std::max_element(cycles, cycles + bound_count); }
  double microseconds() const;
};
ModelledTime modelled_time(const Launch& launch, const Counts& counts);

// How long the busiest compute unit takes, by what one group of the launch did.
double unit_cycles(const Launch& launch, const Counts& counts, const GroupTrace& group);

}  // namespace gfx942sim
