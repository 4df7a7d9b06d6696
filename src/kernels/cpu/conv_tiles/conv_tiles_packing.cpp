#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"

#include <Eigen/Core>
#include <bit>

#include "support/diagnostics.h"

namespace onnxc {

std::vector<uint16_t> pack_tiles_weights(const kernels::ConvShape& shape, std::span<const float> weights) {
  const int64_t taps = shape.kernel.product();
  internal_check(kernels::tiles_support(shape), "weights packed for a convolution that tiles do not support");
  internal_check(static_cast<int64_t>(weights.size()) == shape.output_channels * shape.input_channels * taps,
                 "the number of weights is not what the convolution's shape says");
  const kernels::TilesPacking packing{shape};
  std::vector<uint16_t> packed(static_cast<size_t>(packing.size()), 0);
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < shape.input_channels; ++input)
      for (int64_t tap = 0; tap < taps; ++tap)
        packed[static_cast<size_t>(packing.offset(output, input, tap))] =
            std::bit_cast<uint16_t>(Eigen::bfloat16(weights[source++]));
  return packed;
}

}  // namespace onnxc
