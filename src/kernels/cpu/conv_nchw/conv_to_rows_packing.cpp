#include "kernels/cpu/conv_nchw/conv_to_rows_packing.h"

#include "support/diagnostics.h"

namespace onnxc {

std::vector<float> pack_to_rows_weights(const kernels::RowsPacking& packing, std::span<const float> weights) {
  const kernels::ConvShape& shape = packing.shape;
  const int64_t inputs = shape.input_channels, outputs = shape.output_channels, taps = shape.kernel.product();
  internal_check(inputs * outputs * taps == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
  std::vector<float> packed(weights.size());
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t input = 0; input < inputs; ++input)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const kernels::Axes at{tap / shape.kernel.w / shape.kernel.h, tap / shape.kernel.w % shape.kernel.h,
                               tap % shape.kernel.w};
        const int64_t pair = packing.is_transposed ? input * outputs + output : output * inputs + input;
        packed[static_cast<size_t>(packing.offset(output, input, at))] =
            weights[static_cast<size_t>(pair * taps + tap)];
      }
  return packed;
}

}  // namespace onnxc
