// The effect of atomics on a value in memory, for LDS and global memory alike.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gfx942sim/operations/float_functions.h"

namespace gfx942sim {

// Bits is the unsigned integer of the value's size; the old value, the operand (and the compared one) are given as
// bits.
template <class Bits>
using AtomicFunction = Bits (*)(Bits old, Bits operand, Bits compared);

template <class Bits>
struct AtomicRow {
  const char* name;
  AtomicFunction<Bits> function;
  bool compares = false;
};

template <class Bits, class T, T (*function)(T, T)>
Bits atomic_of(Bits old, Bits operand, Bits) {
  return std::bit_cast<Bits>(function(std::bit_cast<T>(old), std::bit_cast<T>(operand)));
}

namespace atomic {

template <class T>
T add(T a, T b) {
  return a + b;
}
template <class T>
T subtract(T a, T b) {
  return a - b;
}
template <class T>
T bit_and(T a, T b) {
  return a & b;
}
template <class T>
T bit_or(T a, T b) {
  return a | b;
}
template <class T>
T bit_xor(T a, T b) {
  return a ^ b;
}
template <class T>
T exchange(T, T b) {
  return b;
}
template <class T>
T least(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return minimum(a, b);
  else
    return std::min(a, b);
}
template <class T>
T greatest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return maximum(a, b);
  else
    return std::max(a, b);
}
template <class T>
T wrapping_increment(T old, T limit) {
  return old >= limit ? 0 : old + 1;
}
template <class T>
T wrapping_decrement(T old, T limit) {
  return old == 0 || old > limit ? limit : old - 1;
}
template <class T>
T compare_exchange(T old, T operand, T compared) {
  return old == compared ? operand : old;
}
inline uint32_t add_half_pair(uint32_t a, uint32_t b) {
  auto sum = [&](int shift) {
    const auto x = half_bits(static_cast<uint16_t>(a >> shift)), y = half_bits(static_cast<uint16_t>(b >> shift));
    return uint32_t{bits_of_half(static_cast<_Float16>(x + y))} << shift;
  };
  return sum(0) | sum(16);
}
inline uint32_t add_bfloat16_pair(uint32_t a, uint32_t b) {
  auto sum = [&](int shift) {
    const float x = from_bfloat16(static_cast<uint16_t>(a >> shift)),
                y = from_bfloat16(static_cast<uint16_t>(b >> shift));
    return uint32_t{to_bfloat16(x + y)} << shift;
  };
  return sum(0) | sum(16);
}

}  // namespace atomic

}  // namespace gfx942sim
