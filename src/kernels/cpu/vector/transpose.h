// Transposition of a square of elements in registers.
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace detail {

template <class Index, Index... indices>
struct Lanes {};
// 0, 1, ... size - 1
template <int size>
using FirstLanes = __make_integer_seq<Lanes, int, size>;
using AllLanes = FirstLanes<lanes>;

// Exchanges the off-diagonal blocks of `distance` lanes of two rows that are `distance` apart.
template <int distance, class Vector, int... lane>
[[gnu::always_inline]] inline void exchange_blocks(Vector& upper, Vector& lower, Lanes<int, lane...>) {
  constexpr int size = sizeof...(lane);
  const Vector a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, (lane / distance % 2 == 0 ? lane : size + lane - distance)...);
  lower = __builtin_shufflevector(a, b, (lane / distance % 2 == 0 ? lane + distance : size + lane)...);
}

template <int distance, class Vector, int size>
[[gnu::always_inline]] inline void transpose_blocks(Vector (&rows)[size]) {
#pragma clang loop unroll(full)
  for (int i = 0; i < size; ++i)
    if (i / distance % 2 == 0) exchange_blocks<distance>(rows[i], rows[i + distance], FirstLanes<size>());
  if constexpr (distance > 1) transpose_blocks<distance / 2>(rows);
}

}  // namespace detail

// Lane j of row i becomes lane i of row j. Vectors have `size` lanes, a power of two.
template <class Vector, int size>
[[gnu::always_inline]] inline void transpose(Vector (&rows)[size]) {
  detail::transpose_blocks<size / 2>(rows);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
