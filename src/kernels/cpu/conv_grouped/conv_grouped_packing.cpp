#include "kernels/cpu/conv_grouped/conv_grouped_packing.h"

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {

std::vector<float> pack_grouped_weights(const kernels::ConvShape& shape, int lanes, bool is_transposed,
                                        std::span<const float> weights) {
  internal_check(kernels::grouped_supports(shape, lanes), "weights packed for groups that the kernel does not take");
  const kernels::GroupedPacking packing{shape, lanes};
  const int64_t taps = shape.kernel.product(), inputs = packing.inputs(), outputs = shape.group_output_channels();
  const int64_t count = checked_multiply(shape.output_channels, checked_multiply(inputs, taps));
  internal_check(count == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the grouped convolution's shape says");
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  for (int64_t channel = 0; channel < shape.output_channels; ++channel)
    for (int64_t input = 0; input < inputs; ++input) {
      const int64_t group = channel / outputs;
      const int64_t row =
          is_transposed ? (group * inputs + input) * outputs + channel % outputs : channel * inputs + input;
      for (int64_t tap = 0; tap < taps; ++tap)
        packed[static_cast<size_t>(packing.offset(channel, input, tap))] =
            weights[static_cast<size_t>(row * taps + tap)];
    }
  return packed;
}

}  // namespace onnxc
