#include "kernels/cpu/conv_int8/conv_depthwise_int8_packing.h"

#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {

std::vector<uint8_t> pack_depthwise_int8_weights(const kernels::ConvShape& shape, int lanes,
                                                 std::span<const int8_t> weights) {
  const int64_t taps = shape.kernel.product(), rows = shape.kernel.d * shape.kernel.h;
  internal_check(kernels::depthwise_int8_supports(shape), "weights packed for a convolution that is not depthwise");
  internal_check(std::ssize(weights) == shape.output_channels * taps,
                 "the number of weights is not what the depthwise convolution's shape says");
  const kernels::DepthwiseInt8Packing packing{shape, lanes};
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  size_t source = 0;
  for (int64_t channel = 0; channel < shape.output_channels; ++channel)
    for (int64_t row = 0; row < rows; ++row) {
      int32_t sum = 0;
      for (int64_t kw = 0; kw < shape.kernel.w; ++kw) {
        const int8_t weight = weights[source++];
        packed[static_cast<size_t>(packing.offset(channel, row * shape.kernel.w + kw))] = static_cast<uint8_t>(weight);
        sum += weight;
      }
      std::memcpy(packed.data() + packing.sum_offset(channel, row), &sum, sizeof(sum));
    }
  return packed;
}

}  // namespace onnxc
