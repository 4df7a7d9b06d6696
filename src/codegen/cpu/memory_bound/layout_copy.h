// Copies between blocks of channels and rows by their kernel (kernels/layout_copy.h).
#pragma once

#include <optional>

#include "codegen/call/kernel_text.h"

namespace onnxc {

// The call that does what the nest does, when that is to bring a whole tensor of floats from one layout to the other,
// with or without arithmetic on the way. `operations` are the nest's.
std::optional<KernelCall> as_layout_copy(const Program& program, const LoopNest& nest, const Expr& operations,
                                         int64_t lanes);

// The initializer of LayoutCopySizes for a tensor.
std::string layout_copy_sizes(const Shape& shape, const KernelText& text);

}  // namespace onnxc
