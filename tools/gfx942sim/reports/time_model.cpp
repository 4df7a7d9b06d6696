#include "gfx942sim/reports/time_model.h"

#include <algorithm>
#include <cmath>

namespace gfx942sim {
namespace {

// MI300X.
constexpr double compute_units = 304, clock_megahertz = 2100, simds = 4;
constexpr uint64_t registers_per_simd = 512, register_granule = 8, waves_per_simd_limit = 8, lds_bytes = 65536,
                   lds_granule = 512;
// Bytes a cycle: of L1 for a compute unit, of all L2 together (2,048 for each of 8 dies), of memory (5.3 TB/s).
constexpr double l1_rate = 64, l2_rate = 8 * 2048.0, memory_rate = 5.3e6 / clock_megahertz;

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

double lines_to_bytes(uint64_t lines) { return static_cast<double>(lines) * line_bytes; }

}  // namespace

Occupancy occupancy(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  // Vector registers and accumulators share a file; accumulators begin behind the last of four.
  const uint64_t registers =
      round_up(round_up(static_cast<uint64_t>(kernel.vector_registers), 4) + static_cast<uint64_t>(kernel.accumulators),
               register_granule);
  Occupancy result;
  result.waves_per_simd = std::min(waves_per_simd_limit, registers_per_simd / std::max<uint64_t>(registers, 1));
  const uint64_t waves = (launch.threads() + wave_size - 1) / wave_size;
  result.groups_per_unit = std::max<uint64_t>(1, result.waves_per_simd * static_cast<uint64_t>(simds) / waves);
  const uint64_t lds = round_up(kernel.lds_bytes + launch.dynamic_lds_bytes, lds_granule);
  if (lds > 0) result.groups_per_unit = std::min(result.groups_per_unit, std::max<uint64_t>(1, lds_bytes / lds));
  return result;
}

const char* to_text(Bound bound) {
  constexpr const char* names[bound_count] = {"matrix", "vector", "lds", "l1", "l2", "memory", "latency"};
  return names[static_cast<int>(bound)];
}

double ModelledTime::microseconds() const { return total_cycles() / clock_megahertz; }

ModelledTime modelled_time(const Launch& launch, const Counts& counts) {
  const double groups = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const double groups_of_unit = std::ceil(groups / compute_units);  // of the busiest
  const double share = groups_of_unit / groups;
  const auto resident = static_cast<double>(occupancy(launch).groups_per_unit);
  const double waves_of_group = std::ceil(launch.threads() / static_cast<double>(wave_size));
  const double busy_simds = std::min(simds, waves_of_group * std::min(resident, groups_of_unit));

  const auto matrix = static_cast<double>(counts.cycles_of_unit(Unit::matrix));
  const auto exclusive = static_cast<double>(counts.exclusive_matrix_cycles());
  const auto vector =
      static_cast<double>(counts.cycles_of_unit(Unit::vector) + counts.cycles_of_unit(Unit::transcendental));
  ModelledTime time;
  auto set = [&](Bound bound, double cycles) { time.cycles[static_cast<int>(bound)] = cycles; };
  // Matrix instructions on float32 and float64 leave the vector unit no cycles; the others run beside it.
  const bool vector_waits = exclusive > 0;
  set(Bound::matrix, (matrix + (vector_waits && exclusive >= vector ? vector : 0)) * share / busy_simds);
  set(Bound::vector, (vector + (vector_waits && exclusive < vector ? exclusive : 0)) * share / busy_simds);
  set(Bound::lds, static_cast<double>(counts.lds_cycles) * share);
  set(Bound::l1, lines_to_bytes(counts.load_lines + counts.store_lines) * share / l1_rate);
  set(Bound::l2, lines_to_bytes(counts.l1_misses + counts.store_lines) / l2_rate);
  set(Bound::memory, lines_to_bytes(counts.different_loaded_lines + counts.different_stored_lines) / memory_rate);
  set(Bound::latency, static_cast<double>(counts.group_cycles) / groups * std::ceil(groups_of_unit / resident));
  time.bound = static_cast<Bound>(std::max_element(time.cycles, time.cycles + bound_count) - time.cycles);
  return time;
}

}  // namespace gfx942sim
