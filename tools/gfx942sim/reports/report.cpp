#include "gfx942sim/reports/report.h"

#include <fmt/format.h>

#include <vector>

#include "gfx942sim/reports/time_model.h"

namespace gfx942sim {
namespace {

struct NamedCount {
  const char* name;
  uint64_t value;
};

std::vector<NamedCount> named_counts(const Counts& counts) {
  return {
      {"waves", counts.waves},
      {"barriers", counts.barriers},
      {"matrix_instructions", counts.of_unit(Unit::matrix)},
      {"vector_instructions", counts.of_unit(Unit::vector)},
      {"transcendental_instructions", counts.of_unit(Unit::transcendental)},
      {"scalar_instructions", counts.of_unit(Unit::scalar)},
      {"lds_instructions", counts.of_unit(Unit::lds)},
      {"vector_memory_instructions", counts.of_unit(Unit::vector_memory)},
      {"scalar_memory_instructions", counts.of_unit(Unit::scalar_memory)},
      {"control_instructions", counts.of_unit(Unit::control)},
      {"exclusive_matrix_cycles", counts.exclusive_matrix_cycles()},
      {"matrix_cycles", counts.cycles_of_unit(Unit::matrix)},
      {"matrix_flops", counts.matrix_flops()},
      {"vector_cycles", counts.cycles_of_unit(Unit::vector) + counts.cycles_of_unit(Unit::transcendental)},
      {"lds_cycles", counts.lds_cycles},
      {"lds_conflict_cycles", counts.lds_conflict_cycles},
      {"lds_bytes", counts.lds_bytes},
      {"loaded_bytes", counts.loaded_bytes},
      {"stored_bytes", counts.stored_bytes},
      {"load_lines", counts.load_lines},
      {"store_lines", counts.store_lines},
      {"l1_misses", counts.l1_misses},
      {"lines_of_l2", counts.lines_of_l2},
      {"lines_of_memory", counts.lines_of_memory},
      {"different_loaded_lines", counts.different_loaded_lines},
      {"different_stored_lines", counts.different_stored_lines},
      {"written_lines", counts.written_lines},
      {"dirty_lines", counts.dirty_lines},
      {"group_cycles", counts.group_cycles},
      {"longest_wave_accesses", counts.longest_wave_accesses},
  };
}

}  // namespace

std::string to_json(const Launch& launch, const Counts& counts) {
  // Names of kernels are identifiers, so that nothing needs an escape.
  std::string text =
      fmt::format(R"({{"kernel": "{}", "grid": [{}, {}, {}], "block": [{}, {}, {}])", launch.kernel->name,
                  launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2]);
  for (const NamedCount& count : named_counts(counts)) text += fmt::format(R"(, "{}": {})", count.name, count.value);
  const Occupancy held = occupancy(launch);
  text +=
      fmt::format(R"(, "vector_registers": {}, "accumulators": {}, "lds_size": {})", launch.kernel->vector_registers,
                  launch.kernel->accumulators, launch.kernel->lds_bytes + launch.dynamic_lds_bytes);
  text += fmt::format(R"(, "waves_per_simd": {}, "groups_per_unit": {})", held.waves_per_simd, held.groups_per_unit);
  const ModelledTime time = modelled_time(launch, counts);
  text += fmt::format(R"(, "modelled_us": {:.3f}, "bound": "{}", "bound_cycles": {{)", time.microseconds(),
                      to_text(time.bound));
  for (int i = 0; i < bound_count; ++i)
    text += fmt::format(R"({}"{}": {:.0f})", i ? ", " : "", to_text(static_cast<Bound>(i)), time.cycles[i]);
  return text + fmt::format(R"(}}, "simulation_seconds": {:.6f}}})", counts.simulation_seconds);
}

}  // namespace gfx942sim
