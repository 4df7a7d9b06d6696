#include "codegen/call/byte_operands.h"

#include <span>

#include "support/checked.h"

namespace onnxc {

std::optional<std::vector<int8_t>> bytes_less_zero_point(const NodeReader& node, size_t bytes, size_t zero_point,
                                                         size_t channel_axis) {
  const Tensor* tensor = node.constant(bytes);
  if (tensor == nullptr || (node.has_input(zero_point) && node.constant(zero_point) == nullptr)) return std::nullopt;
  const std::vector<int64_t> values = tensor->as_int64();
  std::vector<int64_t> zeros{0};
  if (node.has_input(zero_point)) zeros = node.constant(zero_point)->as_int64();
  const std::span<const int64_t> dims(tensor->dims());
  const int64_t channels = dims[channel_axis], each = checked_product(dims.subspan(channel_axis + 1));
  if (zeros.size() != 1 && std::ssize(zeros) != channels) return std::nullopt;
  std::vector<int8_t> result(values.size());
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t difference = values[at] - zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(i / each % channels)];
    if (difference < INT8_MIN || difference > INT8_MAX) return std::nullopt;
    result[at] = static_cast<int8_t>(difference);
  }
  return result;
}

}  // namespace onnxc
