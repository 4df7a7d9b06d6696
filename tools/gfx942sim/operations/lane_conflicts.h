// Lanes of one store that write different values to one address: which of them stays is not defined.
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "gfx942sim/wave/wave.h"

namespace gfx942sim {

// Whether two of the lanes have the same address. Most often addresses ascend.
template <class Address>
bool have_lanes_in_common(const std::array<Address, wave_size>& addresses, LaneBits lanes) {
  bool ascend = true, is_first = true;
  Address last = 0;
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    ascend &= is_first || addresses[lane] > last;
    is_first = false;
    last = addresses[lane];
  }
  if (ascend) return false;
  std::array<int8_t, 256> lane_of{};  // in a table by address, from 1
  for (int lane = 0; lane < wave_size; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    auto slot = static_cast<uint8_t>(addresses[lane] * 0x9e3779b1U >> 24);
    for (; lane_of[slot] != 0; ++slot)
      if (addresses[lane_of[slot] - 1] == addresses[lane]) return true;
    lane_of[slot] = static_cast<int8_t>(lane + 1);
  }
  return false;
}

// Two lanes of one address for which `is_same` is false.
template <class Address, class IsSame>
std::optional<std::pair<int, int>> conflicting_lanes(const std::array<Address, wave_size>& addresses, LaneBits lanes,
                                                     IsSame is_same) {
  for (int second = 1; second < wave_size; ++second)
    for (int first = 0; first < second; ++first)
      if ((lanes >> second & lanes >> first & 1) && addresses[first] == addresses[second] && !is_same(first, second))
        return std::pair(first, second);
  return std::nullopt;
}

// Fails for lanes that store different bytes of the data's registers to one address, in memory or LDS.
template <class Address>
void check_common_addresses(Wave& wave, const Operand& data, const std::array<Address, wave_size>& addresses,
                            LaneBits lanes, uint32_t length, bool high_half, const char* where) {
  const uint32_t kept = length >= 4 ? ~0U : ((1U << (8 * length)) - 1) << (high_half ? 16 : 0);
  const auto found = conflicting_lanes(addresses, lanes, [&](int first, int second) {
    for (uint32_t word = 0; 4 * word < length; ++word) {
      const LaneWords& values = wave.peek_vector(data, static_cast<int>(word)).lanes;
      if ((values[first] ^ values[second]) & kept) return false;
    }
    return true;
  });
  if (found)
    wave.fail(found->second, fmt::format("writes {} bytes {} {:#x}; lane {} writes others with the same "
                                         "instruction: which of them stay is not defined",
                                         length, where, addresses[found->second], found->first));
}

}  // namespace gfx942sim
