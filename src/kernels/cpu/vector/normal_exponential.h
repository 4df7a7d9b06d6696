// The weights of a softmax: exp(x) for x up to 0, in as few instructions as an error of some 2^-22 allows.
//
// exp(x) = 2^t with t = x * log2(e), and 2^t = 2^floor(t) * 2^r with r in [0, 1), a polynomial of degree 5. A result
// below the normal floats becomes 0: masks of -100 give such results, and arithmetic on denormals takes a hundred times
// as long. exp(0) is exactly 1, exp(-inf) is 0, a NaN passes. Relative error: 2^-22 from the polynomial and |x| * 2^-23
// from the product; if the latter counts, the weight is small beside the largest, which is 1.
#pragma once

#include "kernels/cpu/vector/math.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

[[gnu::always_inline]] inline vec normal_exponential(vec x) {
  const vec t = x * splat(0x1.715476p0f), least = splat(-126.0f);
  const auto power = [](vec r) {
    return detail::polynomial(r, 0x1.ec3208p-10f, 0x1.26900cp-7f, 0x1.c9544ap-5f, 0x1.ebd5a6p-3f, 0x1.62e4f8p-1f, 1.0f);
  };
#if defined(__AVX512F__)
  constexpr int what_is_above_the_floor = 0x09, is_not_less = 0x15, rounds_to_nearest = 4;
  const vec r = __builtin_ia32_reduceps512_mask(t, what_is_above_the_floor, vec(0.0f), 0xffff, rounds_to_nearest);
  const uint16_t is_normal = __builtin_ia32_cmpps512_mask(t, least, is_not_less, 0xffff, rounds_to_nearest);
  return __builtin_ia32_scalefps512_mask(power(r), t, vec(0.0f), is_normal, rounds_to_nearest);
#else
  const vec floor = __builtin_elementwise_floor(t);
  // The low bits of the sum are floor(t) + 127, the exponent of 2^floor(t).
  const vec scale = detail::from_bits(detail::to_bits(floor + splat(0x1.8p23f + 127.0f)) << 23);
  return t < least ? splat(0.0f) : power(t - floor) * scale;
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
