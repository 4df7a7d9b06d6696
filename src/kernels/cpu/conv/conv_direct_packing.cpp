#include "kernels/cpu/conv/conv_direct_packing.h"

#include <Eigen/Core>
#include <array>
#include <bit>

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::ConvShape;

void check_size(const ConvShape& shape, std::span<const float> weights) {
  const std::array dims = {shape.output_channels, shape.group_input_channels(), shape.kernel.d, shape.kernel.h,
                           shape.kernel.w};
  internal_check(checked_product(dims) == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
}

}  // namespace

std::vector<float> pack_direct_weights(const ConvShape& shape, int lanes, int input_lanes,
                                       std::span<const float> weights) {
  internal_check(input_lanes == lanes || kernels::has_whole_blocks(shape, lanes, input_lanes),
                 "weights packed for a convolution that the kernel does not support");
  check_size(shape, weights);
  const kernels::DirectPacking packing{shape, lanes, input_lanes};
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  const int64_t taps = shape.kernel.product();
  size_t source = 0;
  for (int64_t group = 0; group < shape.groups; ++group)
    for (int64_t output = 0; output < shape.group_output_channels(); ++output)
      for (int64_t input = 0; input < shape.group_input_channels(); ++input)
        for (int64_t tap = 0; tap < taps; ++tap)
          packed[static_cast<size_t>(packing.offset(group, output, input, tap))] = weights[source++];
  return packed;
}

std::vector<uint16_t> pack_direct_pairs(const ConvShape& shape, int lanes, std::span<const float> weights) {
  internal_check(kernels::has_whole_blocks(shape, lanes, lanes),
                 "weights packed for a convolution that the direct kernel does not support in pairs");
  check_size(shape, weights);
  const kernels::DirectPacking packing{shape, lanes, lanes, 2};
  std::vector<uint16_t> packed(static_cast<size_t>(packing.size()) * 2, 0);
  const int64_t taps = shape.kernel.product();
  size_t source = 0;
  for (int64_t group = 0; group < shape.groups; ++group)
    for (int64_t output = 0; output < shape.group_output_channels(); ++output)
      for (int64_t input = 0; input < shape.group_input_channels(); ++input)
        for (int64_t tap = 0; tap < taps; ++tap)
          packed[static_cast<size_t>(2 * packing.offset(group, output, input, tap) + input % 2)] =
              std::bit_cast<uint16_t>(Eigen::bfloat16(weights[source++]));
  return packed;
}

}  // namespace onnxc
