// Stores at a channel inside a block by their kernel (kernels/channel_shift.h).
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace onnxc {

// The call that does what the nest does, when that is to store a tensor of blocks as part of the channels of another,
// from a channel on that begins no block or up to one that ends none. `operations` are the nest's.
std::optional<KernelCall> as_channel_shift(const Program& program, const LoopNest& nest, const Expr& operations,
                                           int64_t lanes);

}  // namespace onnxc
