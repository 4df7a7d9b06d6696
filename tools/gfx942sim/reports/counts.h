// The work of a kernel, counted over all its waves.
#pragma once

#include <cstdint>
#include <vector>

#include "gfx942sim/code/instruction.h"

namespace gfx942sim {

struct Counts {
  std::vector<uint64_t> executions;  // of each operation, by its place in all_operations(); empty before the first

  uint64_t waves = 0;
  uint64_t barriers = 0;

  // Cycles in which LDS moves data, and those of them that bank conflicts add.
  uint64_t lds_cycles = 0;
  uint64_t lds_conflict_cycles = 0;
  uint64_t lds_bytes = 0;

  // Bytes that lanes ask for, and 128-byte cache lines that an instruction touches.
  uint64_t loaded_bytes = 0;
  uint64_t stored_bytes = 0;
  uint64_t load_lines = 0;
  uint64_t store_lines = 0;

  // Loaded lines that the vector unit's L1 does not have; those that L2 has to be given, of all L2 together; those that
  // memory has to bring; and how many different lines the whole kernel touches.
  uint64_t l1_misses = 0;
  uint64_t first_touches = 0;  // by a group, of loads and of stores
  uint64_t lines_of_l2 = 0;
  uint64_t lines_of_memory = 0;
  uint64_t different_loaded_lines = 0;
  uint64_t different_stored_lines = 0;
  uint64_t written_lines = 0;  // stored lines that leave L2 in the course of the kernel
  uint64_t dirty_lines = 0;    // those that L2 has at its end

  // Cycles from the first to the last instruction of a group that has its compute unit to itself, over all groups.
  uint64_t group_cycles = 0;

  // Cycles that the busiest compute unit takes for its groups, which get in each other's way; 0 when nothing was
  // written down to tell it by (unit_replay.h).
  double unit_cycles = 0;

  // Instructions by which the wave that has most of them reaches memory: what one thread does one after the other.
  uint64_t longest_wave_accesses = 0;

  double simulation_seconds = 0;  // of the host's cores

  void count(const Operation& operation);
  void add(const Counts& other);

  uint64_t of_unit(Unit unit) const;
  // Cycles that a SIMD's unit is busy, over all waves.
  uint64_t cycles_of_unit(Unit unit) const;
  uint64_t matrix_flops() const;
  // Cycles of matrix instructions beside which the vector unit stands still: float32 and float64.
  uint64_t exclusive_matrix_cycles() const;
};

}  // namespace gfx942sim
