#include "kernels/cpu/conv_int8/conv_int8_packing.h"

#include <algorithm>
#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {

std::vector<uint8_t> pack_int8_weights(const kernels::ConvShape& shape, int lanes, uint8_t zero_point,
                                       std::span<const int8_t> weights) {
  const int64_t taps = shape.kernel.product();
  internal_check(std::ssize(weights) == shape.output_channels * shape.group_input_channels() * taps,
                 "the number of weights is not what the convolution's shape says");
  const kernels::Int8Packing packing{shape, lanes};
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  size_t source = 0;
  const int64_t plane_taps = shape.kernel.h * shape.kernel.w;
  std::vector<uint32_t> sums(static_cast<size_t>(shape.kernel.d));  // wrap around, as the kernel's sums do
  for (int64_t output = 0; output < shape.output_channels; ++output) {
    std::ranges::fill(sums, 0U);
    const int64_t first_input = output / shape.group_output_channels() * shape.group_input_channels();
    for (int64_t input = first_input; input < first_input + shape.group_input_channels(); ++input)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int8_t weight = weights[source++];
        packed[static_cast<size_t>(packing.offset(output, input, tap))] = static_cast<uint8_t>(weight);
        sums[static_cast<size_t>(tap / plane_taps)] += static_cast<uint32_t>(weight);
      }
    for (int64_t kd = 0; kd < shape.kernel.d; ++kd) {
      const uint32_t start = 0U - sums[static_cast<size_t>(kd)] * zero_point;
      std::memcpy(packed.data() + packing.start_offset(output, kd), &start, sizeof(start));
    }
  }
  return packed;
}

}  // namespace onnxc
