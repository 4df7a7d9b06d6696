// What a size that only a run knows usually is, for choices between kernels that are right for every size: how fast
// they are, and how many weights they pack, depends on it.
//
// A free dim of an input counts as 64, within what is known of it: batches are smaller, but the kernels are chosen for
// one image; volumes are cut to 64 to 128 along an axis, and clips of 16 frames of 112x112 have as many voxels as 64^3.
// All else follows from the expressions: after four layers of stride 2 a map counts as 4x4x4. A size that depends on
// data counts as 64 too.
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace onnxc {

// Nothing where it cannot be computed in 64 bits. The program has its inputs.
std::optional<int64_t> usual_size(const Program& program, const Expr& size);

}  // namespace onnxc
