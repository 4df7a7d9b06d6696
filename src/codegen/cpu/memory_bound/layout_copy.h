// Reorders between NCHWc and NCHW, by their kernel.
#pragma once

#include <optional>

#include "codegen/call/kernel_text.h"
#include "machine/vector_unit.h"

namespace onnxc {

// The kernel call that does what the nest does, if that is to reorder a whole float tensor from one layout to the
// other, with or without arithmetic on the way, such as QuantizeLinear's.
std::optional<KernelCall> as_layout_copy(const Program& program, const LoopNest& nest,
                                         const machine::VectorUnit& vectors);

// The initializer of LayoutCopySizes for a tensor.
std::string layout_copy_sizes(const Shape& shape, const KernelText& text);

}  // namespace onnxc
