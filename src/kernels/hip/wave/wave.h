// Exchange between the threads of a block: across lanes without memory, across wavefronts through LDS.
#pragma once

#include "kernels/hip/wave/launch.h"
#include "kernels/hip/wave/prelude.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The value of the lane whose number differs in the bit `distance`. With `is_uniform`, lanes that differ in lower bits
// hold the same value: then a mirror image of 8 or 16 lanes serves, which the vector unit makes by itself.
template <int distance, bool is_uniform>
__device__ inline float exchange(float value) {
  const int bits = __builtin_bit_cast(int, value);
  // Codes of DPP: permutations of four lanes, mirrors of half a row of 16 lanes and of a row.
  constexpr int code = distance == 1                 ? 0xb1
                       : distance == 2               ? 0x4e
                       : distance == 4 && is_uniform ? 0x141
                       : distance == 8 && is_uniform ? 0x140
                                                     : 0;
  int result;
  if constexpr (code != 0)
    result = __builtin_amdgcn_update_dpp(0, bits, code, 0xf, 0xf, true);
  else if constexpr (distance < 32)
    result = __builtin_amdgcn_ds_swizzle(bits, distance << 10 | 0x1f);
  else
    result = __builtin_amdgcn_ds_bpermute((thread_index() % 64 ^ 32) * 4, bits);
  return __builtin_bit_cast(float, result);
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

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
