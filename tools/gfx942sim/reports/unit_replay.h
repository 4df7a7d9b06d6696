// How long a compute unit takes for several groups that it holds at once. One group's waves were written down step by
// step; here copies of them run beside each other, and each step waits for its unit:
// - a SIMD's vector unit and its matrix unit, to which the waves are dealt in turn;
// - of all four SIMDs: the scalar slot, LDS with its bank conflicts, L1, the way from L2, and that from beyond L2.
// A group that ends makes room for the next. The wave that is ready first goes first; hardware may have another
// order. Queues of memory operations are never full, and units of the whole GPU give each compute unit its share.
#pragma once

#include <cstdint>

#include "gfx942sim/wave/wave_trace.h"

namespace gfx942sim {

// Cycles of a unit for a cache line.
struct LineCycles {
  double l1, l2, beyond_l2;
};

struct UnitLoad {
  uint64_t groups;    // of the compute unit, altogether
  uint64_t resident;  // at once
};

double unit_cycles(const GroupTrace& group, UnitLoad load, LineCycles lines);

}  // namespace gfx942sim
