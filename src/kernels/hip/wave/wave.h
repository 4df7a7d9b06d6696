// Exchange between the threads of a block: across lanes without memory, across wavefronts through LDS.
#pragma once

#include "kernels/hip/wave/launch.h"
#include "kernels/hip/wave/prelude.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

__device__ inline int64_t of_lane(int64_t value, int32_t lane) {
  const int32_t low = of_lane(static_cast<int32_t>(value), lane),
                high = of_lane(static_cast<int32_t>(value >> 32), lane);
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
}

// The value of the lane whose number differs in the bit `distance`. With `is_uniform`, lanes that differ in lower bits
// hold the same value.
template <int distance, bool is_uniform>
__device__ inline float exchange(float value) {
  static_assert(distance < wave_lanes);
  return __builtin_bit_cast(float, exchange_bits<distance, is_uniform>(__builtin_bit_cast(int, value)));
}

// Folds the values of the lanes whose numbers differ in the bits first, 2 * first, ... below `end`; each has the
// result.
template <int first, int end, int distance = first, class Fold>
__device__ inline float fold_lanes(float value, const Fold& fold) {
  if constexpr (distance < end)
    return fold_lanes<first, end, 2 * distance>(fold(value, exchange < distance, first == 1 > (value)), fold);
  else
    return value;
}

// The same for a distance below 16, whatever the others hold.
template <int distance>
__device__ inline float exchange_in_row(float value) {
  return __builtin_bit_cast(float, exchange_bits_in_row<distance>(__builtin_bit_cast(int, value)));
}

// The sums of 16 values each over the 16 lanes of a row, one to a lane: of the value whose number is the lane's with
// its bits in the opposite order (value_of_lane).
template <int count = 16>
__device__ inline float scatter_sums(float (&values)[16]) {
  if constexpr (count == 1) {
    return values[0];
  } else {
    constexpr int distance = count / 2;
    const bool is_upper = (thread_index() & distance) != 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < count / 2; ++i) {
      // Both are read before one is chosen, which would otherwise be an index that a lane makes.
      const float first = values[2 * i], second = values[2 * i + 1];
      const float kept = is_upper ? second : first, sent = is_upper ? first : second;
      values[i] = kept + exchange_in_row<distance>(sent);
    }
    return scatter_sums<count / 2>(values);
  }
}
__device__ inline int value_of_lane() {
  const int lane = thread_index() % 16;
  return lane >> 3 | (lane >> 1 & 2) | (lane << 1 & 4) | (lane << 3 & 8);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
