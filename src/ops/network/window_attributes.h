// The attributes of sliding windows, for operators that are neither convolutions nor pools; conv_spec.h has those.
#pragma once

#include <string_view>

#include "ops/network/conv_spec.h"

namespace onnxc {

// An attribute with one value a spatial axis, each at least `least`.
std::vector<int64_t> per_axis(const NodeReader& node, std::string_view name, size_t axes, int64_t otherwise,
                              int64_t least);
// Attribute 'pads': the beginnings of all axes, then their ends.
std::vector<int64_t> begin_and_end_pads(const NodeReader& node, size_t axes);

// DeformConv (ONNX 19, 22): as Conv, with the bias after the offset, as input 3.
ConvSpec resolve_deform_conv(const NodeReader& node);

}  // namespace onnxc
