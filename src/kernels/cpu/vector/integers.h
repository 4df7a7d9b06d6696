// Vectors of int32, in which epilogues hold sums of integers and the bytes that they read: loads, stores, conversions.
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef int32_t vec_int32 __attribute__((ext_vector_type(lanes)));
typedef int8_t vec_int8 __attribute__((ext_vector_type(lanes)));
typedef uint8_t vec_uint8 __attribute__((ext_vector_type(lanes)));

// The offset that makes a byte unsigned for products that take it so: an int8 is 128 more.
template <class T>
inline constexpr uint8_t sign_flip = T(-1) < T(0) ? 0x80 : 0;
template <class T>
[[gnu::always_inline]] constexpr uint8_t as_unsigned(T byte) {
  return static_cast<uint8_t>(static_cast<uint8_t>(byte) ^ sign_flip<T>);
}

[[gnu::always_inline]] inline vec_int32 splat(int32_t value) { return static_cast<vec_int32>(value); }

[[gnu::always_inline]] inline vec_int32 load(const int32_t* source) { return detail::load_bits<vec_int32>(source); }
[[gnu::always_inline]] inline vec_int32 load(const int8_t* source) {
  return __builtin_convertvector(detail::load_bits<vec_int8>(source), vec_int32);
}
[[gnu::always_inline]] inline vec_int32 load(const uint8_t* source) {
  return __builtin_convertvector(detail::load_bits<vec_uint8>(source), vec_int32);
}
[[gnu::always_inline]] inline vec_int32 load_splat(const int32_t* source) { return splat(*source); }
[[gnu::always_inline]] inline vec_int32 load_splat(const int8_t* source) { return splat(int32_t{*source}); }
[[gnu::always_inline]] inline vec_int32 load_splat(const uint8_t* source) { return splat(int32_t{*source}); }

namespace detail {
template <class T>
[[gnu::always_inline]] inline vec_int32 load_first(const T* source, int64_t count) {
  T padded[lanes] = {};
  __builtin_memcpy(padded, source, static_cast<size_t>(count) * sizeof(T));
  return kernels::load(padded);
}
}  // namespace detail

// The first `count` (0 to lanes) elements; the other lanes are zero and their memory is not touched.
[[gnu::always_inline]] inline vec_int32 load_partial(const int32_t* source, int64_t count) {
  return detail::load_first(source, count);
}
[[gnu::always_inline]] inline vec_int32 load_partial(const int8_t* source, int64_t count) {
  return detail::load_first(source, count);
}
[[gnu::always_inline]] inline vec_int32 load_partial(const uint8_t* source, int64_t count) {
  return detail::load_first(source, count);
}

[[gnu::always_inline]] inline void store(int32_t* destination, vec_int32 value) {
  __builtin_memcpy(destination, &value, sizeof(value));
}
// The operands of products of bytes and of int16 in each lane: words of four bytes. A word in all lanes, as it stands
// in memory, and a word for each lane.
[[gnu::always_inline]] inline vec_int32 load_splat_word(const void* source) {
  int32_t bits;
  __builtin_memcpy(&bits, source, sizeof(bits));
  return splat(bits);
}
[[gnu::always_inline]] inline vec_int32 load_words(const void* source) { return detail::load_bits<vec_int32>(source); }

// Each lane: the sum of the products of two int16 (VPMADDWD).
[[gnu::always_inline]] inline vec_int32 multiply_pairs(vec_int32 x, vec_int32 w) {
  typedef int16_t halves __attribute__((ext_vector_type(2 * lanes)));
  const halves x_halves = __builtin_bit_cast(halves, x), w_halves = __builtin_bit_cast(halves, w);
#if defined(__AVX512F__)
  return __builtin_ia32_pmaddwd512(x_halves, w_halves);
#else
  return __builtin_ia32_pmaddwd256(x_halves, w_halves);
#endif
}

// The low bytes.
[[gnu::always_inline]] inline void store(uint8_t* destination, vec_int32 value) {
  const vec_uint8 bytes = __builtin_convertvector(value, vec_uint8);
  __builtin_memcpy(destination, &bytes, sizeof(bytes));
}
[[gnu::always_inline]] inline void store(int8_t* destination, vec_int32 value) {
  store(reinterpret_cast<uint8_t*>(destination), value);
}

template <class T>
[[gnu::always_inline]] inline void store_partial(T* destination, vec_int32 value, int64_t count) {
  T converted[lanes];
  store(converted, value);
  __builtin_memcpy(destination, converted, static_cast<size_t>(count) * sizeof(T));
}

// Wrapping around, as on integers (kernels/shared/scalar.h).
[[gnu::always_inline]] inline vec_int32 add(vec_int32 a, vec_int32 b) {
  return __builtin_bit_cast(vec_int32, __builtin_bit_cast(vec_uint32, a) + __builtin_bit_cast(vec_uint32, b));
}
[[gnu::always_inline]] inline vec_int32 subtract(vec_int32 a, vec_int32 b) {
  return __builtin_bit_cast(vec_int32, __builtin_bit_cast(vec_uint32, a) - __builtin_bit_cast(vec_uint32, b));
}
[[gnu::always_inline]] inline vec_int32 multiply(vec_int32 a, vec_int32 b) {
  return __builtin_bit_cast(vec_int32, __builtin_bit_cast(vec_uint32, a) * __builtin_bit_cast(vec_uint32, b));
}

[[gnu::always_inline]] inline vec_int32 maximum(vec_int32 a, vec_int32 b) { return a > b ? a : b; }

[[gnu::always_inline]] inline vec_int32 keep_lanes(vec_mask mask, vec_int32 value) { return value & mask; }

[[gnu::always_inline]] inline vec to_float(vec_int32 value) { return __builtin_convertvector(value, vec); }

// The integer part, as the type's least or greatest number if it is beyond; a NaN becomes 0. As cast<T>(float).
template <class T>
[[gnu::always_inline]] inline vec_int32 saturated(vec value) {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr float values = 1ull << (8 * sizeof(T)), least = is_signed ? -values / 2 : 0.0f;
  // 2^31 is not an int32; the float below is the last that converts.
  constexpr float greatest = sizeof(T) == 4 ? 2147483520.0f : least + values - 1.0f;
  const vec number = value == value ? value : splat(0.0f);
  const vec above = number < splat(least) ? splat(least) : number;
  const vec within = above > splat(greatest) ? splat(greatest) : above;
  const vec_int32 whole = __builtin_convertvector(within, vec_int32);
  if constexpr (sizeof(T) == 4) return number > splat(greatest) ? splat(INT32_MAX) : whole;
  return whole;
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
