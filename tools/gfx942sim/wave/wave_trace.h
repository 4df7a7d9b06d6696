// The steps of a wave in its compute unit: enough to time several groups that share one (unit_replay.h).
#pragma once

#include <cstdint>
#include <vector>

namespace gfx942sim {

struct Step {
  enum class Kind : uint8_t {
    matrix,
    exclusive_matrix,  // the vector unit stands still
    vector,
    scalar,
    control,
    vector_memory,
    lds,
    scalar_memory,
    wait_vector_memory,  // until all but `busy` are complete
    wait_lds,
    barrier
  };
  Kind kind;
  // An access of memory has its lines, those that pass L1, and those of them that its group has not had before; the
  // first of these by its place among all of the group.
  uint8_t lines = 0, misses = 0, first_touches = 0;
  uint16_t busy = 0;  // cycles of its unit
  uint16_t latency = 0;
  uint32_t first_touch = 0;
};

using WaveTrace = std::vector<Step>;

struct GroupTrace {
  std::vector<WaveTrace> waves;
  std::vector<uint16_t> first_touch_latencies;  // of each line that the group has not had before, in their order
  uint64_t cycles = 0;                          // with the compute unit to itself and no wave in another's way
};

}  // namespace gfx942sim
