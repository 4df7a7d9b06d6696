// The cycles that an access of a wave keeps LDS busy. 32 banks of 4 bytes each give 128 bytes a cycle; a wave's access
// is done in phases of lanes, and a phase takes as many cycles as its busiest bank has different words to give.
//
// Addresses and data come in through two ports, each of 64 bytes a cycle, one for every two SIMDs. A store of 4 bytes a
// lane takes a port 8 cycles, one of 16 bytes 20 (ROCm Compute Profiler, "Pipeline descriptions"). For all waves
// together, that is half of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gfx942sim/wave/wave.h"

namespace gfx942sim {

struct LdsCycles {
  uint64_t total = 0;
  uint64_t conflicts = 0;  // of banks: beyond one cycle a phase
};

namespace bank_details {

inline constexpr int banks = 32;

// Lanes of 16 bytes read in this order, eight a phase; the upper half of the wave does the same. Writes take
// consecutive lanes.
inline constexpr int wide_read_order[32] = {0, 1, 2,  3,  20, 21, 22, 23, 4,  5,  6,  7,  16, 17, 18, 19,
                                            8, 9, 10, 11, 28, 29, 30, 31, 12, 13, 14, 15, 24, 25, 26, 27};

inline int lane_in_order(int position, uint32_t length, bool write) {
  if (length <= 8 || write) return position;
  return (position & 32) | wide_read_order[position & 31];
}

}  // namespace bank_details

inline LdsCycles lds_cycles(const std::array<uint32_t, wave_size>& addresses, LaneBits lanes, uint32_t length,
                            bool write) {
  using namespace bank_details;
  const int lanes_in_phase = length <= 4 ? 32 : length <= 8 ? 16 : 8;
  const uint32_t words = (length + 3) / 4;
  const uint64_t port_cycles = (write ? 4 + 4 * words : 4) / 2;
  LdsCycles cycles;
  for (int begin = 0; begin < wave_size; begin += lanes_in_phase) {
    // The different words that each bank must give; equal words are given once.
    uint32_t wanted[banks][32];
    int counts[banks] = {};
    for (int position = begin; position < begin + lanes_in_phase; ++position) {
      const int lane = lane_in_order(position, length, write);
      if (!(lanes >> lane & 1)) continue;
      for (uint32_t i = 0; i < words; ++i) {
        const uint32_t word = addresses[lane] / 4 + i;
        uint32_t* bank = wanted[word % banks];
        int& count = counts[word % banks];
        if (std::find(bank, bank + count, word) == bank + count) bank[count++] = word;
      }
    }
    const auto busiest = static_cast<uint64_t>(*std::max_element(counts, counts + banks));
    cycles.total += busiest;
    cycles.conflicts += busiest > 1 ? busiest - 1 : 0;
  }
  cycles.total = std::max(cycles.total, port_cycles);
  return cycles;
}

}  // namespace gfx942sim
