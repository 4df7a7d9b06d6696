#include "kernels/cpu/conv_int8/conv_int8_packing.h"

#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {

std::vector<uint8_t> pack_int8_weights(const kernels::ConvShape& shape, int lanes, uint8_t zero_point,
                                       std::span<const int8_t> weights, std::span<const int32_t> bias) {
  const int64_t taps = shape.kernel.product();
  internal_check(kernels::int8_supports(shape), "weights packed for a convolution that the kernel does not support");
  internal_check(std::ssize(weights) == shape.output_channels * shape.input_channels * taps,
                 "the number of weights is not what the convolution's shape says");
  internal_check(bias.empty() || std::ssize(bias) == shape.output_channels, "a bias for each output channel");
  const kernels::Int8Packing packing{shape, lanes};
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output) {
    uint32_t sum = 0;  // wraps around, as the kernel's sums do
    for (int64_t input = 0; input < shape.input_channels; ++input)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int8_t weight = weights[source++];
        packed[static_cast<size_t>(packing.offset(output, input, tap))] = static_cast<uint8_t>(weight);
        sum += static_cast<uint32_t>(weight);
      }
    const uint32_t first = bias.empty() ? 0 : static_cast<uint32_t>(bias[static_cast<size_t>(output)]);
    const uint32_t start = first - sum * zero_point;
    std::memcpy(packed.data() + packing.start_offset(output), &start, sizeof(start));
  }
  return packed;
}

}  // namespace onnxc
