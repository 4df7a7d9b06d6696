#include "gfx942sim/report.h"

#include <fmt/format.h>

#include <vector>

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
  };
}

}  // namespace

std::string to_json(const Launch& launch, const Counts& counts) {
  // Names of kernels are identifiers, so that nothing needs an escape.
  std::string text =
      fmt::format(R"({{"kernel": "{}", "grid": [{}, {}, {}], "block": [{}, {}, {}])", launch.kernel->name,
                  launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2]);
  for (const NamedCount& count : named_counts(counts)) text += fmt::format(R"(, "{}": {})", count.name, count.value);
  return text + "}";
}

}  // namespace gfx942sim
