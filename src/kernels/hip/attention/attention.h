// Attention in one kernel: queries times keys, a softmax, and the product with the values; the scores stay on the chip.
//
// Problem: y[q] = sum over keys k of softmax_k(score(q, k)) * v[k], score(q, k) = inner epilogue(q . k): a scale,
// biases and masks. Three kernels would store and load the scores (queries times keys of them) twice.
//
// Method: a block of threads has 128 queries and loops over steps of 32 keys (attention_operands.h). Its waves make the
// products on the matrix unit and keep scores and results in registers (attention_mfma.h, attention_wmma.h,
// attention_mma.h).
// When the maximum grows, the sums and results so far are scaled (online softmax). A row with NaN or +inf, or of only
// -inf, is NaN.
//
// Limits: depth at most 64 (128 in 16 bits), 128 columns. A depth that is not a multiple of 8 (16 in 16 bits) is padded
// with zeros, columns to a multiple of 32, or of 16 if wavefronts have 32 lanes.
#pragma once

#ifdef __NVPTX__
#include "kernels/hip/attention/attention_mma.h"
#else
#include "kernels/hip/attention/attention_mfma.h"
#include "kernels/hip/attention/attention_wmma.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

#ifndef __NVPTX__
template <FlashAttentionPlan plan, class T, class Output, bool has_mfma = FlashAttentionPlan::has_mfma(own_gpu)>
struct AmdAttention {
  using Wave = WmmaAttention<plan, T, Output>;
};
template <FlashAttentionPlan plan, class T, class Output>
struct AmdAttention<plan, T, Output, true> {
  using Wave = MfmaAttention<plan, T, Output>;
};
#endif

template <FlashAttentionPlan plan, class T, class Output, class Inner, class Epilogue>
__device__ inline void attention(const FlashAttentionArguments<T, Output>& arguments, const Inner& inner,
                                 const Epilogue& epilogue) {
#ifdef __NVPTX__
  using A = MmaAttention<plan, T, Output>;
#else
  using A = typename AmdAttention<plan, T, Output>::Wave;
#endif
  __shared__ typename A::Shared shared;
  static_assert(sizeof shared == plan.lds_bytes(own_gpu));
  A attention(arguments, shared);
  attention.run(inner);
  attention.store(epilogue);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
