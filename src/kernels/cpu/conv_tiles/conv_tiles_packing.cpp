#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Calls place(value, output, input, tap) for each weight.
template <class Weight, class Place>
void for_each_weight(const kernels::TilesPacking& packing, std::span<const Weight> weights, const Place& place) {
  const kernels::ConvShape& shape = packing.shape;
  const int64_t taps = shape.kernel.product();
  internal_check(kernels::tiles_support(shape, packing.kind),
                 "weights packed for a convolution that tiles do not support");
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
  const kernels::TilesPacking packing{shape, kernels::TilesKind::bfloat16};
  std::vector<uint16_t> packed(static_cast<size_t>(packing.size() / 2), 0);
  for_each_weight(packing, weights, [&](float weight, int64_t output, int64_t input, int64_t tap) {
    store(packed, packing.offset(output, input, tap), std::bit_cast<uint16_t>(Eigen::bfloat16(weight)));
  });
  return packed;
}

std::vector<uint8_t> pack_tiles_weights(const kernels::ConvShape& shape, uint8_t zero_point,
                                        std::span<const int8_t> weights) {
  const kernels::TilesPacking packing{shape, kernels::TilesKind::bytes};
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  std::vector<uint32_t> sums(static_cast<size_t>(shape.output_channels));  // wrap around, as the kernel's sums do
  for_each_weight(packing, weights, [&](int8_t weight, int64_t output, int64_t input, int64_t tap) {
    store(packed, packing.offset(output, input, tap), weight);
    sums[static_cast<size_t>(output)] += static_cast<uint32_t>(weight);
  });
  for (int64_t output = 0; output < shape.output_channels; ++output)
    store(packed, packing.start_offset(output), uint32_t{0} - sums[static_cast<size_t>(output)] * zero_point);
  return packed;
}

namespace {

// The factor that makes an output channel's weights integers of digits: a power of two if they are whole numbers, so
// that these stay exact, else the largest factor.
std::vector<double> digit_factors(const kernels::TilesPacking& packing, std::span<const float> weights) {
  const auto outputs = static_cast<size_t>(packing.shape.output_channels);
  std::vector<float> largest(outputs);
  std::vector<bool> are_whole(outputs, true);
  for_each_weight(packing, weights, [&](float weight, int64_t output, int64_t, int64_t) {
    const auto at = static_cast<size_t>(output);
    largest[at] = std::max(largest[at], std::abs(weight));
    are_whole[at] = are_whole[at] && weight == std::nearbyint(weight);
  });
  std::vector<double> factors(outputs);
  for (size_t output = 0; output < outputs; ++output)
    factors[output] = are_whole[output] ? std::ldexp(1.0, kernels::digit_exponent(largest[output]))
                                        : kernels::largest_of_digits / double{largest[output]};
  return factors;
}

}  // namespace

std::vector<uint8_t> pack_tiles_digits(const kernels::ConvShape& shape, std::span<const float> weights) {
  const kernels::TilesPacking packing{shape, kernels::TilesKind::digits};
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  const std::vector<double> factors = digit_factors(packing, weights);
  for_each_weight(packing, weights, [&](float weight, int64_t output, int64_t input, int64_t tap) {
    const auto number = static_cast<int32_t>(std::nearbyint(weight * factors[static_cast<size_t>(output)]));
    const uint32_t digits = (static_cast<uint32_t>(number) + 0x808080u) ^ 0x808080u;
    for (int64_t digit = 0; digit < packing.digits(); ++digit)
      store(packed, packing.offset(output, input, tap) + digit * kernels::TilesPacking::tile_bytes,
            static_cast<uint8_t>(digits >> (16 - 8 * digit)));
  });
  for (int64_t output = 0; output < shape.output_channels; ++output)
    store(packed, packing.start_offset(output), static_cast<float>(65536.0 / factors[static_cast<size_t>(output)]));
  return packed;
}

bool have_digits(const kernels::ConvShape& shape, std::span<const float> weights) {
  constexpr double widest = 32.0;
  const size_t each = weights.size() / static_cast<size_t>(shape.output_channels);
  for (size_t first = 0; first < weights.size(); first += each) {
    double largest = 0.0, squares = 0.0;
    for (const double weight : weights.subspan(first, each)) {
      largest = std::max(largest, weight * weight);
      squares += weight * weight;
    }
    if (!(largest <= widest * widest * squares / static_cast<double>(each)) || !std::isfinite(squares)) return false;
  }
  return true;
}

}  // namespace onnxc
