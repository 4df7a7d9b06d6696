#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd_packing.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::Int8WinogradPacking;

constexpr int64_t product(const Axes& weights, const int64_t* taps, int64_t count, int64_t stride) {
  const int64_t factors[] = {weights.d, weights.h, weights.w};
  int64_t sum = 0;
  for (int64_t tap = 0; tap < count; ++tap) sum += factors[tap] * taps[tap * stride];
  return sum;
}

// The weight of a filter, [kd][kh][kw], at a point.
int64_t weight_at(const Int8WinogradPacking& packing, std::span<const int8_t> filter, const Axes& point) {
  const auto &depth = packing.depth(), &row = packing.row(), &column = packing.column();
  std::array<int64_t, 27> taps{};
  for (size_t i = 0; i < filter.size(); ++i) taps.at(i) = filter[i];
  std::array<int64_t, 9> rows{};
  std::array<int64_t, 3> planes{};
  for (int64_t i = 0; i < depth.taps() * row.taps(); ++i)
    rows[static_cast<size_t>(i)] = product(column.weights(point.w), taps.data() + i * column.taps(), column.taps(), 1);
  for (int64_t i = 0; i < depth.taps(); ++i)
    planes[static_cast<size_t>(i)] = product(row.weights(point.h), rows.data() + i * row.taps(), row.taps(), 1);
  return product(depth.weights(point.d), planes.data(), depth.taps(), 1);
}

}  // namespace

bool int8_winograd_is_exact(const Int8WinogradPacking& packing, std::span<const int8_t> weights) {
  const size_t each = weights.size() / static_cast<size_t>(packing.shape.output_channels);
  for (size_t first = 0; first < weights.size(); first += each) {
    int64_t sum = 0;
    for (const int8_t weight : weights.subspan(first, each)) sum += 128 * std::abs(int{weight});
    if (sum >= packing.sum_limit()) return false;
  }
  return true;
}

std::vector<uint8_t> pack_int8_winograd_weights(const Int8WinogradPacking& packing, int8_t zero_point,
                                                std::span<const int8_t> weights) {
  const kernels::ConvShape& shape = packing.shape;
  const auto taps = static_cast<size_t>(shape.kernel.product());
  internal_check(kernels::int8_winograd_supports(shape, packing.tile),
                 "weights packed for a convolution that the kernel does not support");
  internal_check(std::ssize(weights) == shape.output_channels * shape.input_channels * shape.kernel.product(),
                 "the number of weights is not what the convolution's shape says");
  std::vector<uint8_t> packed(static_cast<size_t>(packing.size()), 0);
  std::span<const int8_t> rest = weights;
  for (int64_t output = 0; output < shape.output_channels; ++output) {
    uint32_t sum = 0;  // wraps around, as the kernel's sums do
    for (int64_t input = 0; input < shape.input_channels; ++input, rest = rest.subspan(taps)) {
      const std::span<const int8_t> filter = rest.first(taps);
      for (const int8_t weight : filter) sum += static_cast<uint32_t>(weight);
      for (Axes at{0, 0, 0}; at.d < packing.depth().points(); ++at.d)
        for (at.h = 0; at.h < packing.row().points(); ++at.h)
          for (at.w = 0; at.w < packing.column().points(); ++at.w) {
            const auto value = static_cast<int16_t>(weight_at(packing, filter, at));
            const int64_t offset = packing.offset(output, input, at.d, at.h * packing.column().points() + at.w);
            std::memcpy(packed.data() + offset, &value, sizeof(value));
          }
    }
    const uint32_t start = 0U - sum * static_cast<uint32_t>(zero_point);
    std::memcpy(packed.data() + output * 4, &start, sizeof(start));
  }
  return packed;
}

}  // namespace onnxc
