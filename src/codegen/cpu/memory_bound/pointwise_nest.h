// Pointwise nests: each element of the output depends on the element of one input at the same indices. Kernels that
// copy a tensor to another layout or buffer compute such a nest on the way.
#pragma once

#include <optional>

#include "ir/program/program.h"
#include "machine/vector_unit.h"

namespace onnxc {

struct PointwiseNest {
  BufferId input;
  Epilogue epilogue;  // of the input's element; without a value if that is stored as it is
};

// The nest as a pointwise nest on an input of this layout, if an epilogue on blocks of `lanes` channels can compute it.
// Its store may be anywhere.
std::optional<PointwiseNest> as_pointwise_nest(const Program& program, const LoopNest& nest, const Layout& input_layout,
                                               const machine::VectorUnit& vectors);

// Whether the indices are the nest's axes in their order, over all of a buffer.
bool covers_buffer(const LoopNest& nest, const Buffer& buffer, const std::vector<Expr>& indices);

}  // namespace onnxc
