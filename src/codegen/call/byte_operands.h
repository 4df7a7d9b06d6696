// The operands of products of bytes, as kernels of both targets take them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/node_reader.h"

namespace onnxc {

// A constant input less its zero point, which is another input with one element or one for each of `channel_axis`;
// nothing if either is computed, or a difference does not fit in int8.
std::optional<std::vector<int8_t>> bytes_less_zero_point(const NodeReader& node, size_t bytes, size_t zero_point,
                                                         size_t channel_axis);

}  // namespace onnxc
