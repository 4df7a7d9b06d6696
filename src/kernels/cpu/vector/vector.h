// The target's vector: one type `vec` of `lanes` floats, its loads, stores and arithmetic.
//
// Kernels and generated code are written once for AVX2 (8 lanes) and AVX-512 (16 lanes); the compiler's -march picks.
// Activations and weights are stored as float, float16_t or bfloat16_t and always computed in float. Every arithmetic
// function exists under the same name for float and for vec, so that one text serves the vector body and the scalar
// tail.
//
// Only freestanding headers, and no compiler-rt call: the result is linked into a model.so that needs libc at most. All
// kernel headers open `namespace onnxc::kernels::inline ONNXC_KERNELS_ISA`, so that code for both instruction sets can
// be linked into one binary (as the tests do) without one replacing the other.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define ONNXC_KERNELS_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define ONNXC_KERNELS_ISA avx2
#else
#error "the CPU kernels need at least -march=x86-64-v3 (AVX2, FMA, F16C)"
#endif

#include "kernels/shared/half_types.h"
#include "machine/vector_unit.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

inline constexpr machine::VectorUnit target_unit = machine::ONNXC_KERNELS_ISA;
inline constexpr int lanes = target_unit.lanes;

typedef float vec __attribute__((ext_vector_type(lanes)));
// A comparison of two vecs: each lane 0 or -1. The conditional operator on it selects lane by lane: `a < b ? a : b`.
typedef int32_t vec_mask __attribute__((ext_vector_type(lanes)));
typedef uint32_t vec_uint32 __attribute__((ext_vector_type(lanes)));
typedef uint16_t vec_uint16 __attribute__((ext_vector_type(lanes)));
typedef _Float16 vec_float16 __attribute__((ext_vector_type(lanes)));

// Hides from clang how pointers were computed. Otherwise clang weighs each address of a register tile as a function of
// all surrounding loops, which is a fifth to a third of a layer's compile time and gives the same addresses in the end.
template <class A, class B>
[[gnu::always_inline]] inline void hide_origin(const A*& a, const B*& b) {
  asm("" : "+r"(a), "+r"(b));
}

// ---- loads: storage type to vec; no alignment is needed
// -------------------------------------------------------------------------------

namespace detail {
template <class Vector>
[[gnu::always_inline]] inline Vector load_bits(const void* source) {
  Vector value;
  __builtin_memcpy(&value, source, sizeof(value));
  return value;
}
}  // namespace detail

[[gnu::always_inline]] inline vec load(const float* source) { return detail::load_bits<vec>(source); }
[[gnu::always_inline]] inline vec load(const float16_t* source) {
  vec value = __builtin_convertvector(detail::load_bits<vec_float16>(source), vec);
  // Without this clang sees through the widening and does comparisons, selects and minima in float16, lane by lane.
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#else
  asm("" : "+x"(value));
#endif
  return value;
}
[[gnu::always_inline]] inline vec load(const bfloat16_t* source) {
  return __builtin_bit_cast(vec, __builtin_convertvector(detail::load_bits<vec_uint16>(source), vec_uint32) << 16);
}

[[gnu::always_inline]] inline vec splat(float value) { return static_cast<vec>(value); }
// One element in all lanes.
template <class T>
[[gnu::always_inline]] inline vec load_splat(const T* source) {
  return splat(static_cast<float>(*source));
}

// ---- stores: vec to storage type; no alignment is needed
// ------------------------------------------------------------------------------

namespace detail {
// To nearest, ties to even; a NaN stays one, quiet.
[[gnu::always_inline]] inline vec_uint16 to_bfloat16_bits(vec value) {
  const vec_uint32 bits = __builtin_bit_cast(vec_uint32, value);
#if defined(__AVX512F__)
  // Five instructions: the half of the last place in three, NaN in one, and the upper halves in one.
  vec_uint32 rounded = bits + 0x7fffu;
  rounded = (bits & 0x10000u) != 0u ? bits + 0x8000u : rounded;
  typedef int32_t table __attribute__((vector_size(64)));
  constexpr int32_t quiet_if_nan = 0x22;  // VFIXUPIMM: of both kinds of NaN the quiet form, of all else the rounded
  const vec fixed =
      __builtin_ia32_fixupimmps512_mask(__builtin_bit_cast(vec, rounded), value, table{} + quiet_if_nan, 0, 0xffff, 4);
  typedef int16_t halves __attribute__((vector_size(64)));
  halves upper{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  asm("" : "+v"(upper));  // or clang takes a shift and a conversion for the permutation that it knows
  const halves permuted = __builtin_ia32_permvarhi512(__builtin_bit_cast(halves, fixed), upper);
  return __builtin_bit_cast(
      vec_uint16, __builtin_shufflevector(permuted, permuted, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
#else
  const vec_uint32 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const vec_mask is_nan = value != value;
  const vec_uint32 chosen = is_nan ? (bits | 0x00400000u) : rounded;
  return __builtin_convertvector(chosen >> 16, vec_uint16);
#endif
}
}  // namespace detail

[[gnu::always_inline]] inline void store(float* destination, vec value) {
  __builtin_memcpy(destination, &value, sizeof(value));
}
[[gnu::always_inline]] inline void store(float16_t* destination, vec value) {
  const vec_float16 converted = __builtin_convertvector(value, vec_float16);
  __builtin_memcpy(destination, &converted, sizeof(converted));
}
[[gnu::always_inline]] inline void store(bfloat16_t* destination, vec value) {
  const vec_uint16 converted = detail::to_bfloat16_bits(value);
  __builtin_memcpy(destination, &converted, sizeof(converted));
}

// ---- tails
// ----------------------------------------------------------------------------------------------------------------------------

// 0, 1, 2, ... as integers, one a lane.
[[gnu::always_inline]] inline vec_mask lane_indices() {
#if defined(__AVX512F__)
  return vec_mask{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
  return vec_mask{0, 1, 2, 3, 4, 5, 6, 7};
#endif
}

// The first `count` lanes set; count may be below 0 (none) or above lanes (all).
[[gnu::always_inline]] inline vec_mask first_lanes(int64_t count) {
  const int64_t clamped = count < 0 ? 0 : (count > lanes ? lanes : count);
  return lane_indices() < static_cast<vec_mask>(static_cast<int32_t>(clamped));
}

// Lanes outside the mask become zero, also when they hold NaN or infinity.
[[gnu::always_inline]] inline vec keep_lanes(vec_mask mask, vec value) {
  return __builtin_bit_cast(vec, __builtin_bit_cast(vec_mask, value) & mask);
}

// Lane i is lane order[i] of the value, with 0 <= order[i] < lanes.
[[gnu::always_inline]] inline vec permute(vec value, vec_mask order) {
#if defined(__AVX512F__)
  return __builtin_ia32_permvarsf512(value, order);
#else
  typedef float vector8 __attribute__((vector_size(32)));
  typedef int32_t index8 __attribute__((vector_size(32)));
  return __builtin_bit_cast(
      vec, __builtin_ia32_permvarsf256(__builtin_bit_cast(vector8, value), __builtin_bit_cast(index8, order)));
#endif
}

// The first `count` (0 to lanes) elements; the other lanes are zero and their memory is not touched.
[[gnu::always_inline]] inline vec load_partial(const float* source, int64_t count) {
#if defined(__AVX512F__)
  return __builtin_ia32_loadups512_mask(source, vec(0.0f), static_cast<uint16_t>((1u << count) - 1u));
#else
  typedef float vector8 __attribute__((vector_size(32)));
  typedef int32_t mask8 __attribute__((vector_size(32)));
  return __builtin_bit_cast(vec, __builtin_ia32_maskloadps256(reinterpret_cast<const vector8*>(source),
                                                              __builtin_bit_cast(mask8, first_lanes(count))));
#endif
}
template <class T>
[[gnu::always_inline]] inline vec load_partial(const T* source, int64_t count) {
  T padded[lanes] = {};
  __builtin_memcpy(padded, source, static_cast<size_t>(count) * sizeof(T));
  return load(padded);
}

// Elements [begin, end), 0 to lanes; the other lanes are zero and their memory is not touched.
[[gnu::always_inline]] inline vec load_between(const float* source, int64_t begin, int64_t end) {
#if defined(__AVX512F__)
  const uint32_t mask = ((1u << end) - 1u) & ~((1u << begin) - 1u);
  return __builtin_ia32_loadups512_mask(source, vec(0.0f), static_cast<uint16_t>(mask));
#else
  typedef float vector8 __attribute__((vector_size(32)));
  typedef int32_t mask8 __attribute__((vector_size(32)));
  return __builtin_bit_cast(
      vec, __builtin_ia32_maskloadps256(reinterpret_cast<const vector8*>(source),
                                        __builtin_bit_cast(mask8, first_lanes(end) & ~first_lanes(begin))));
#endif
}
template <class T>
[[gnu::always_inline]] inline vec load_between(const T* source, int64_t begin, int64_t end) {
  T padded[lanes] = {};
  for (int64_t i = begin; i < end; ++i) padded[i] = source[i];
  return load(padded);
}

// Stores the first `count` (0 to lanes) lanes and touches no other memory.
[[gnu::always_inline]] inline void store_partial(float* destination, vec value, int64_t count) {
#if defined(__AVX512F__)
  __builtin_ia32_storeups512_mask(destination, value, static_cast<uint16_t>((1u << count) - 1u));
#else
  typedef float vector8 __attribute__((vector_size(32)));
  typedef int32_t mask8 __attribute__((vector_size(32)));
  __builtin_ia32_maskstoreps256(reinterpret_cast<vector8*>(destination), __builtin_bit_cast(mask8, first_lanes(count)),
                                __builtin_bit_cast(vector8, value));
#endif
}
template <class T>
[[gnu::always_inline]] inline void store_partial(T* destination, vec value, int64_t count) {
  T converted[lanes];
  store(converted, value);
  __builtin_memcpy(destination, converted, static_cast<size_t>(count) * sizeof(T));
}

// ---- arithmetic: the same name for float and vec
// --------------------------------------------------------------------------------------

[[gnu::always_inline]] inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) { return __builtin_elementwise_fma(a, b, c); }

[[gnu::always_inline]] inline float select(bool condition, float a, float b) { return condition ? a : b; }
[[gnu::always_inline]] inline vec select(vec_mask condition, vec a, vec b) { return condition ? a : b; }

// The larger and the smaller; NaN if either is NaN (as ONNX Max, Min, Relu and Clip under PyTorch). With a constant as
// the first argument it is one instruction: maximum(0, x) is Relu.
[[gnu::always_inline]] inline float maximum(float a, float b) {
  const float larger = a > b ? a : b;
  return a != a ? a : larger;
}
[[gnu::always_inline]] inline vec maximum(vec a, vec b) {
  const vec larger = a > b ? a : b;
  return a != a ? a : larger;
}
[[gnu::always_inline]] inline float minimum(float a, float b) {
  const float smaller = a < b ? a : b;
  return a != a ? a : smaller;
}
[[gnu::always_inline]] inline vec minimum(vec a, vec b) {
  const vec smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

[[gnu::always_inline]] inline float absolute(float a) { return __builtin_fabsf(a); }
[[gnu::always_inline]] inline vec absolute(vec a) { return __builtin_elementwise_abs(a); }
[[gnu::always_inline]] inline float square_root(float a) { return __builtin_elementwise_sqrt(a); }
[[gnu::always_inline]] inline vec square_root(vec a) { return __builtin_elementwise_sqrt(a); }

// Whether no lane holds NaN or an infinity.
[[gnu::always_inline]] inline bool all_finite(vec value) {
  const vec_mask is_finite = value - value == splat(0.0f);
  return __builtin_reduce_and(is_finite) != 0;
}

// The sum of the lanes, in the same order on every machine of one lane count.
[[gnu::always_inline]] inline float sum_lanes(vec value) {
  float partial[lanes];
  store(partial, value);
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) partial[i] += partial[i + width];
  return partial[0];
}

// ---- what an epilogue sees
// ------------------------------------------------------------------------------------------------------------

// The output position of the accumulator that a kernel is about to store. Axes are the output view's; a missing spatial
// axis is 0.
struct Position {
  int64_t n;              // batch
  int64_t channel_block;  // index of the block of `lanes` output channels
  int64_t d, h, w;
  int64_t offset;  // of the first lane, in elements from the start of the output view
};

// The epilogue that changes nothing. An epilogue is a functor that the kernel calls on each accumulator right before it
// stores it.
struct NoEpilogue {
  [[gnu::always_inline]] vec operator()(vec accumulator, const Position&) const { return accumulator; }
};

// The epilogues of a kernel that keeps an intermediate result to itself: that result's, and the output's.
template <class Inner, class Outer>
struct TwoEpilogues {
  Inner inner;
  Outer outer;
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
