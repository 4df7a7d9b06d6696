#include "gfx942sim/reports/counts.h"

#include <algorithm>

#include "gfx942sim/operations/operation_table.h"

namespace gfx942sim {
namespace {

template <class Value>
uint64_t sum_over(const std::vector<uint64_t>& executions, Value value) {
  uint64_t sum = 0;
  for (size_t i = 0; i < executions.size(); ++i)
    if (executions[i]) sum += executions[i] * value(all_operations()[i]);
  return sum;
}

}  // namespace

void Counts::count(const Operation& operation) {
  if (executions.empty()) executions.resize(all_operations().size());
  ++executions[static_cast<size_t>(&operation - all_operations().data())];
}

void Counts::add(const Counts& other) {
  if (executions.empty()) executions.resize(other.executions.size());
  for (size_t i = 0; i < other.executions.size(); ++i) executions[i] += other.executions[i];
  waves += other.waves;
  barriers += other.barriers;
  lds_cycles += other.lds_cycles;
  lds_conflict_cycles += other.lds_conflict_cycles;
  lds_bytes += other.lds_bytes;
  loaded_bytes += other.loaded_bytes;
  stored_bytes += other.stored_bytes;
  load_lines += other.load_lines;
  store_lines += other.store_lines;
  l1_misses += other.l1_misses;
  lines_of_l2 += other.lines_of_l2;
  lines_of_memory += other.lines_of_memory;
  different_loaded_lines += other.different_loaded_lines;
  different_stored_lines += other.different_stored_lines;
  written_lines += other.written_lines;
  dirty_lines += other.dirty_lines;
  group_cycles += other.group_cycles;
  longest_wave_accesses = std::max(longest_wave_accesses, other.longest_wave_accesses);
  simulation_seconds += other.simulation_seconds;
}

uint64_t Counts::of_unit(Unit unit) const {
  return sum_over(executions, [&](const Operation& operation) { return uint64_t{operation.unit == unit}; });
}

uint64_t Counts::cycles_of_unit(Unit unit) const {
  return sum_over(executions, [&](const Operation& operation) {
    return operation.unit == unit ? static_cast<uint64_t>(operation.cycles) : 0;
  });
}

uint64_t Counts::matrix_flops() const {
  return sum_over(executions, [](const Operation& operation) { return static_cast<uint64_t>(operation.flops); });
}

uint64_t Counts::exclusive_matrix_cycles() const {
  return sum_over(executions, [](const Operation& operation) {
    return operation.unit == Unit::matrix && operation.excludes_vector ? static_cast<uint64_t>(operation.cycles) : 0;
  });
}

}  // namespace gfx942sim
