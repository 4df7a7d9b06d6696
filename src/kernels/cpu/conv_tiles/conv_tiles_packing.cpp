#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"

#include <Eigen/Core>
#include <bit>
#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Calls place(value, output, input, tap) for each weight.
template <class Weight, class Place>
void for_each_weight(const kernels::ConvShape& shape, std::span<const Weight> weights, const Place& place) {
  const int64_t taps = shape.kernel.product();
  internal_check(kernels::tiles_support(shape), "weights packed for a convolution that tiles do not support");
  internal_check(std::ssize(weights) == shape.output_channels * shape.input_channels * taps,
                 "the number of weights is not what the convolution's shape says");
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < shape.input_channels; ++input)
      for (int64_t tap = 0; tap < taps; ++tap) place(weights[source++], output, input, tap);
}

// The offset is in bytes.
template <class Packed, class T>
void store(std::vector<Packed>& packed, int64_t offset, T value) {
  std::memcpy(reinterpret_cast<char*>(packed.data()) + offset, &value, sizeof(value));
}

}  // namespace

std::vector<uint16_t> pack_tiles_weights(const kernels::ConvShape& shape, std::span<const float> weights) {
  const kernels::TilesPacking packing{shape, 2};
  std::vector<uint16_t> packed(static_cast<size_t>(packing.size() / 2), 0);
  for_each_weight(shape, weights, [&](float weight, int64_t output, int64_t input, int64_t tap) {
    store(packed, packing.offset(output, input, tap), std::bit_cast<uint16_t>(Eigen::bfloat16(weight)));
  });
  return packed;
}

std::vector<uint8_t> pack_tiles_weights(const kernels::ConvShape& shape, uint8_t zero_point,
                                        std::span<const int8_t> weights) {
  const kernels::TilesPacking packing{shape, 1};
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  std::vector<uint32_t> sums(static_cast<size_t>(shape.output_channels));  // wrap around, as the kernel's sums do
  for_each_weight(shape, weights, [&](int8_t weight, int64_t output, int64_t input, int64_t tap) {
    store(packed, packing.offset(output, input, tap), weight);
    sums[static_cast<size_t>(output)] += static_cast<uint32_t>(weight);
  });
  for (int64_t output = 0; output < shape.output_channels; ++output)
    store(packed, packing.start_offset(output), uint32_t{0} - sums[static_cast<size_t>(output)] * zero_point);
  return packed;
}

}  // namespace onnxc
