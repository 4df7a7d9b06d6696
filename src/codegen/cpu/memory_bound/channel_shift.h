// Nests that store NCHWc at a channel inside a block, by their kernel.
#pragma once

#include <optional>

#include "ir/program/program.h"
#include "machine/vector_unit.h"

namespace onnxc {

// The kernel call that does what the nest does, if that is to store an NCHWc tensor as part of the channels of another
// one, and the part's first or last channel lies inside a block.
std::optional<KernelCall> as_channel_shift(const Program& program, const LoopNest& nest,
                                           const machine::VectorUnit& vectors);

}  // namespace onnxc
