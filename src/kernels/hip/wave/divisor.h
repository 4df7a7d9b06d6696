// Division by a number that the host knows before the launch, as a multiplication and a shift.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

// For numbers below 2^31. The multiplier is 2^(31+s) / d, rounded up; 2^s is the first power of two not below the
// divisor d: its error, below one part in 2^31, is too small to change the quotient.
struct Divisor {
  uint32_t divisor, multiplier, shift;

  // A divisor below 1 counts as 1: nothing is computed then.
  static constexpr Divisor of(int64_t number) {
    const auto divisor = static_cast<uint32_t>(number < 1 ? 1 : number);
    uint32_t shift = 0;
    while ((uint64_t{1} << shift) < divisor) ++shift;
    return {divisor, static_cast<uint32_t>((uint64_t{1} << (31 + shift)) / divisor + 1), shift};
  }

  constexpr uint32_t quotient(uint32_t number) const {
    return static_cast<uint32_t>(uint64_t{number * 2} * multiplier >> 32) >> shift;
  }
  constexpr uint32_t remainder(uint32_t number) const { return number - quotient(number) * divisor; }
};

}  // namespace onnxc::kernels
