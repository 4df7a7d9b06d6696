// The position of the extreme of a sequence: ArgMax and ArgMin along one axis, vectorised by the compiler.
#pragma once

#include "kernels/cpu/vector/vector.h"
#include "kernels/shared/scalar.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace detail {

template <class T>
struct RankType {
  using type = T;
};
template <>
struct RankType<float> {
  using type = int32_t;
};
template <>
struct RankType<double> {
  using type = int64_t;
};

// An integer that is greater for a more extreme element, as `replaces` says: equal for both zeros, the greatest of NaN.
template <bool is_minimum, class T>
[[gnu::always_inline]] inline auto rank(T element) {
  using Rank = typename RankType<T>::type;
  if constexpr (is_floating<T>) {
    const Rank bits = __builtin_bit_cast(Rank, element == T(0) ? T(0) : element);
    const Rank ordered = bits < 0 ? bits ^ highest_integer<Rank> : bits;
    return element != element ? highest_integer<Rank> : is_minimum ? static_cast<Rank>(~ordered) : ordered;
  } else {
    return static_cast<Rank>(is_minimum ? ~element : element);
  }
}

}  // namespace detail

// The first position (with `last` the last) of the least or greatest of element(0), ..., element(count - 1), ordered as
// `replaces` says; -1 of none. Each lane has the extreme of every lane_count-th element and the step in which it was
// found, as an int32: as wide as a float, so that a vector of the ones goes with a vector of the others. One more step
// takes the last elements, some of them again.
template <bool is_minimum, bool last, int lane_count, class Element>
[[gnu::always_inline]] inline int64_t extreme_position(int64_t count, const Element& element) {
  using T = decltype(element(int64_t{0}));
  constexpr int width = lane_count < lanes ? lane_count : lanes;
  constexpr int64_t nowhere = last ? -1 : INT64_MAX;
  T extreme = 0;
  int64_t position = -1, next = 0;
  if (count >= lane_count) {
    const int64_t steps = minimum<int64_t>(count / lane_count, INT32_MAX);
    next = steps == INT32_MAX ? steps * lane_count : count;
    T extremes[lane_count];
    int32_t found[lane_count];
#pragma clang loop vectorize(assume_safety) unroll(disable) vectorize_width(width) interleave_count(lane_count / width)
    for (int64_t lane = 0; lane < lane_count; ++lane) {
      extremes[lane] = element(lane);
      found[lane] = 0;
    }
    const auto fold = [&](int64_t first, int32_t step) __attribute__((always_inline)) {
#pragma clang loop vectorize(assume_safety) unroll(disable) vectorize_width(width) interleave_count(lane_count / width)
      for (int64_t lane = 0; lane < lane_count; ++lane) {
        // Values, not references: a choice between references would be a store that is not always made.
        const T other = element(first + lane), extreme_of_lane = extremes[lane];
        const int32_t found_of_lane = found[lane];
        const bool takes = replaces<is_minimum, last>(extreme_of_lane, other);
        extremes[lane] = takes ? other : extreme_of_lane;
        found[lane] = takes ? step : found_of_lane;
      }
    };
    for (int32_t step = 1; step < steps; ++step) fold(int64_t{step} * lane_count, step);
    const int64_t last_first = next - lane_count;
    if (next % lane_count != 0) fold(last_first, static_cast<int32_t>(steps));

    auto best = lowest_integer<typename detail::RankType<T>::type>;
#pragma clang loop vectorize(assume_safety) unroll(disable) vectorize_width(width) interleave_count(lane_count / width)
    for (int64_t lane = 0; lane < lane_count; ++lane) {
      const auto other = detail::rank<is_minimum>(extremes[lane]);
      best = other > best ? other : best;
    }
    position = nowhere;
#pragma clang loop vectorize(assume_safety) unroll(disable) vectorize_width(width) interleave_count(lane_count / width)
    for (int64_t lane = 0; lane < lane_count; ++lane) {
      const int64_t first = found[lane] == steps ? last_first : int64_t{found[lane]} * lane_count;
      const int64_t place = detail::rank<is_minimum>(extremes[lane]) == best ? first + lane : nowhere;
      position = (last ? place > position : place < position) ? place : position;
    }
    extreme = element(position);
  }
  for (; next < count; ++next) {
    const T other = element(next);
    const bool takes = (position < 0) | replaces<is_minimum, last>(extreme, other);
    extreme = takes ? other : extreme;
    position = takes ? next : position;
  }
  return position;
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
