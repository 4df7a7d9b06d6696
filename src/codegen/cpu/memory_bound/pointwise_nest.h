// Nests that compute each element of their output from the element of one input at the same indices: kernels that move
// a tensor from one layout or place to another take them, and compute on the way.
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace onnxc {

struct PointwiseNest {
  BufferId input;
  Epilogue epilogue;  // of the input's element; without a value where that is stored as it is
};

// The nest as one on an input of this layout, whose blocks of `lanes` channels the epilogue takes. Its store may be
// anywhere.
std::optional<PointwiseNest> as_pointwise_nest(const Program& program, const LoopNest& nest, const Layout& input_layout,
                                               int64_t lanes);

// Whether the indices are the nest's axes in their order, over all of a buffer.
bool covers_buffer(const LoopNest& nest, const Buffer& buffer, const std::vector<Expr>& indices);

}  // namespace onnxc
