// Transposition of a square of `lanes` by `lanes` floats in registers.
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace detail {

template <int... indices>
struct LaneSequence {};
#if defined(__AVX512F__)
using AllLanes = LaneSequence<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;
#else
using AllLanes = LaneSequence<0, 1, 2, 3, 4, 5, 6, 7>;
#endif

// Exchanges the off-diagonal blocks of `distance` lanes of two rows that are `distance` apart.
template <int distance, int... lane>
[[gnu::always_inline]] inline void exchange_blocks(vec& upper, vec& lower, LaneSequence<lane...>) {
  const vec a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, (lane / distance % 2 == 0 ? lane : lanes + lane - distance)...);
  lower = __builtin_shufflevector(a, b, (lane / distance % 2 == 0 ? lane + distance : lanes + lane)...);
}

template <int distance>
[[gnu::always_inline]] inline void exchange_blocks(vec& upper, vec& lower) {
  exchange_blocks<distance>(upper, lower, AllLanes());
}

}  // namespace detail

// Lane j of row i becomes lane i of row j.
template <int distance = lanes / 2>
[[gnu::always_inline]] inline void transpose(vec (&rows)[lanes]) {
#pragma clang loop unroll(full)
  for (int i = 0; i < lanes; ++i)
    if (i / distance % 2 == 0) detail::exchange_blocks<distance>(rows[i], rows[i + distance]);
  if constexpr (distance > 1) transpose<distance / 2>(rows);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
