#include "kernels/cpu/conv/conv_depthwise_packing.h"

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {

std::vector<float> pack_depthwise_weights(const kernels::ConvShape& shape, int lanes, std::span<const float> weights) {
  internal_check(kernels::depthwise_supports(shape, lanes), "weights packed for a convolution that is not depthwise");
  const kernels::DepthwisePacking packing{shape, lanes};
  const int64_t taps = shape.kernel.product();
  const int64_t count = checked_multiply(shape.output_channels, packing.members() * taps);
  internal_check(count == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the depthwise convolution's shape says");
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  size_t next = 0;
  for (int64_t channel = 0; channel < shape.output_channels; ++channel)
    for (int64_t input = 0; input < packing.members(); ++input)
      for (int64_t tap = 0; tap < taps; ++tap)
        packed[static_cast<size_t>(packing.offset(channel, input, tap))] = weights[next++];
  return packed;
}

}  // namespace onnxc
