// The loop IR's scalar operations (ir/loops/loops.h) that every target computes alike, under the names they have there:
// integers, comparisons, casts, reductions. Each target has its own elementary functions.
//
// Values of the half types are float here; a cast or a store rounds them. The text is free of branches where possible,
// so that loops over it are vectorised and wavefronts do not diverge.
#pragma once

#include "kernels/shared/half_types.h"
#include "kernels/shared/random_bits.h"
#include "kernels/shared/small_types.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// ---- types

template <class T>
inline constexpr bool is_floating = false;
template <>
inline constexpr bool is_floating<float> = true;
template <>
inline constexpr bool is_floating<double> = true;

template <class T>
inline constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(1);

// The unsigned type in which arithmetic on T wraps: at least as wide as int, which C would promote to.
template <class T>
struct WrapType {
  using type = uint32_t;
};
template <>
struct WrapType<int64_t> {
  using type = uint64_t;
};
template <>
struct WrapType<uint64_t> {
  using type = uint64_t;
};
template <class T>
using Wrap = typename WrapType<T>::type;

template <class T>
inline constexpr T lowest_integer = is_signed<T> ? static_cast<T>(Wrap<T>(1) << (8 * sizeof(T) - 1)) : T(0);
template <class T>
inline constexpr T highest_integer = static_cast<T>(~lowest_integer<T>);

// A number of iterations known when the code is compiled; generic lambdas take it or an int64_t.
template <int64_t value>
struct Constant {
  constexpr operator int64_t() const { return value; }
};

// ---- sizes and indices

[[gnu::always_inline]] inline int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) & ((a < 0) != (b < 0)));
}
[[gnu::always_inline]] inline int64_t floor_modulo(int64_t a, int64_t b) {
  const int64_t rest = a % b;
  return rest + ((rest != 0) & ((rest < 0) != (b < 0)) ? b : 0);
}

// ---- minimum and maximum: a NaN of either operand is handed on

template <class T>
[[gnu::always_inline]] inline T minimum(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}
template <class T>
[[gnu::always_inline]] inline T maximum(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}

// ---- integers: wrapping, dividing by zero to zero, shifting by the width or more to zero

template <class T>
[[gnu::always_inline]] inline T add(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(b));
}
template <class T>
[[gnu::always_inline]] inline T subtract(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(b));
}
template <class T>
[[gnu::always_inline]] inline T multiply(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b));
}
template <class T>
[[gnu::always_inline]] inline T divide(T a, T b) {
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return subtract(T(0), a);
  }
  return b == 0 ? T(0) : static_cast<T>(a / b);
}
template <class T>
[[gnu::always_inline]] inline T shift_left(T a, T b) {
  const bool is_out = (b < 0) | (static_cast<uint64_t>(b) >= 8 * sizeof(T));
  return is_out ? T(0) : static_cast<T>(static_cast<Wrap<T>>(a) << (is_out ? T(0) : b));
}
template <class T>
[[gnu::always_inline]] inline T shift_right(T a, T b) {
  const bool is_out = (b < 0) | (static_cast<uint64_t>(b) >= 8 * sizeof(T));
  return is_out ? T(0) : static_cast<T>(a >> (is_out ? T(0) : b));
}

template <class T>
[[gnu::always_inline]] inline T modulo_truncate(T a, T b) {
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return 0;
  }
  return b == 0 ? T(0) : static_cast<T>(a % b);
}
template <class T>
[[gnu::always_inline]] inline T modulo_floor(T a, T b) {
  const T rest = modulo_truncate(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? static_cast<T>(rest + b) : rest;
}

template <class T>
inline T power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? T(1) : base == T(-1) ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0);
  T result = 1;
  for (T factor = base; exponent != 0; exponent = static_cast<T>(exponent >> 1), factor = multiply(factor, factor))
    if ((exponent & 1) != 0) result = multiply(result, factor);
  return result;
}

template <class T>
[[gnu::always_inline]] inline T negate(T a) {
  if constexpr (is_floating<T>)
    return -a;
  else
    return subtract(T(0), a);
}
template <class T>
[[gnu::always_inline]] inline T absolute(T a) {
  return a < T(0) ? negate(a) : a;
}
template <class T>
[[gnu::always_inline]] inline T sign(T a) {
  return static_cast<T>((a > 0) - (a < 0));
}

// ---- reductions

// Folds the accumulators of the lanes, in an order that is the same on every machine.
template <int64_t count, class T, class Fold>
[[gnu::always_inline]] inline T fold_lanes(const T (&lane_values)[count], Fold fold) {
  T partial[count];
  for (int64_t lane = 0; lane < count; ++lane) partial[lane] = lane_values[lane];
  for (int64_t width = count / 2; width > 0; width /= 2)
    for (int64_t lane = 0; lane < width; ++lane) partial[lane] = fold(partial[lane], partial[lane + width]);
  return partial[0];
}

// Whether the extreme so far is replaced by a later element: a NaN is more extreme than any number, and among equals
// the first stays, or with `last` the last wins.
template <bool is_minimum, bool last, class T>
[[gnu::always_inline]] inline bool replaces(T extreme, T element) {
  const bool exceeds =
      is_minimum ? (last ? element <= extreme : element < extreme) : (last ? element >= extreme : element > extreme);
  const bool is_first_nan = (element != element) & (last | (extreme == extreme));
  return (exceeds & (extreme == extreme)) | is_first_nan;
}

// ---- casts

// Floating to integer truncates and saturates, NaN to 0; integers keep their low bits.
template <class To, class From>
[[gnu::always_inline]] inline To cast(From a) {
  if constexpr (is_floating<From> && !is_floating<To>) {
    // The bounds in the floating type: the highest rounds up to a power of two if it does not fit, hence >=.
    constexpr auto lowest = static_cast<From>(lowest_integer<To>);
    constexpr auto highest = static_cast<From>(highest_integer<To>);
    const bool is_inside = (a > lowest) & (a < highest);
    const To inside = static_cast<To>(is_inside ? a : From(0));
    return a >= highest ? highest_integer<To> : a <= lowest ? lowest_integer<To> : inside;
  } else {
    return static_cast<To>(a);
  }
}
// The float next to `a` whose last bit is 1, if `a` is not a float itself: rounded once more, to a half type, it gives
// what rounding `a` itself would give.
template <class From>
[[gnu::always_inline]] inline float round_to_odd(From a) {
  const float nearest = static_cast<float>(a);
  const From back = cast<From>(nearest);
  const uint32_t bits = __builtin_bit_cast(uint32_t, nearest);
  const bool is_final = (back == a) | (bits & 1u) | ((bits & 0x7f800000u) == 0x7f800000u);
  const bool is_larger = a < From(0) ? a < back : a > back;
  return __builtin_bit_cast(float, bits + (is_final ? 0u : is_larger ? 1u : ~0u));
}
[[gnu::always_inline]] inline float round_to_float16(float a) { return static_cast<float>(static_cast<float16_t>(a)); }
[[gnu::always_inline]] inline float round_to_bfloat16(float a) { return static_cast<float>(bfloat16_t(a)); }

// ---- elementary functions

template <class T>
[[gnu::always_inline]] inline T reciprocal(T a) {
  return T(1) / a;
}
template <class T>
[[gnu::always_inline]] inline bool is_nan(T a) {
  return a != a;
}
template <class T>
[[gnu::always_inline]] inline bool is_infinite(T a) {
  return (absolute(a) == static_cast<T>(__builtin_inf()));
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
