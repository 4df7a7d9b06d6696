// The output position of a vector, for kernels that store NCHW.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/cpu/matmul/matrix_position.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// A position in an NCHW tensor [batch, channel, spatial axes]; the parts of `at` whose axis is missing are 0.
template <int spatial_axes>
[[gnu::always_inline]] inline MatrixPosition planar_position(int64_t batch, int64_t channel, const Axes& at,
                                                             int64_t offset, int64_t count) {
  if constexpr (spatial_axes == 3)
    return {{0, batch, channel, at.d}, at.h, at.w, offset, count};
  else if constexpr (spatial_axes == 2)
    return {{0, 0, batch, channel}, at.h, at.w, offset, count};
  else
    return {{0, 0, 0, batch}, channel, at.w, offset, count};
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
