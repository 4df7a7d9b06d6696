// The loop IR's scalar operations (ir/loops/loops.h) as generated CPU code calls them: those that all targets share,
// the elementary functions, and the versions for vec.
#pragma once

#include "kernels/cpu/vector/extreme_position.h"
#include "kernels/cpu/vector/math.h"
#include "kernels/cpu/vector/trigonometry.h"
#include "kernels/shared/scalar.h"

extern "C" [[gnu::visibility("hidden")]] const float onnxc_negative_zero;

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// For a loop of lanes with accumulators: so many vectors at once that nothing is left of the loop, and the accumulators
// stay in registers. One if the number of iterations is not known.
template <class Count>
inline constexpr int whole_vectors = 1;
template <int64_t count>
inline constexpr int whole_vectors<Constant<count>> = count / lanes;

// The same number, hidden from clang as a former float16: else it compares and rounds float16 values, one by one. The
// sum with -0 is exact; that it is -0 stands in the runtime.
[[gnu::always_inline]] inline float kept_wide(float a) { return a + onnxc_negative_zero; }
[[gnu::always_inline]] inline vec kept_wide(vec a) { return a + splat(onnxc_negative_zero); }

[[gnu::always_inline]] inline vec round_to_float16(vec a) {
  return __builtin_convertvector(__builtin_convertvector(a, vec_float16), vec);
}
[[gnu::always_inline]] inline vec round_to_bfloat16(vec a) {
  return __builtin_bit_cast(vec, __builtin_convertvector(detail::to_bfloat16_bits(a), vec_uint32) << 16);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
