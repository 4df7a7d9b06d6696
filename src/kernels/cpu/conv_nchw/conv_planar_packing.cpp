#include "kernels/cpu/conv_nchw/conv_planar_packing.h"

#include "support/diagnostics.h"

namespace onnxc {

std::vector<float> pack_planar_weights(const kernels::ConvShape& shape, std::span<const float> weights) {
  internal_check(kernels::planar_supports(shape), "weights packed for a convolution that the planar kernel refuses");
  const int64_t taps = shape.kernel.product();
  internal_check(shape.output_channels * shape.input_channels * taps == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
  std::vector<float> packed(weights.size());
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < shape.input_channels; ++input)
      for (int64_t tap = 0; tap < taps; ++tap)
        packed[static_cast<size_t>(kernels::planar_weight_offset(shape, output, input, tap))] = weights[source++];
  return packed;
}

}  // namespace onnxc
