// Turns a store into part of a buffer into a store of a whole view.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: y[n, c + 32, d] = f(n, c, d) (a part of a Concat). After: v[n, c, d] = f(n, c, d) with v a view of y that
// begins at channel 32. A kernel template or a fused nest may then store v, so that each part of a Concat is written
// straight into the result.
//
// On a blocked axis the part must begin at a block and end at one, or at the end of the buffer.
void place_stores(Program& program);

// Whether a view of `part` elements that begins at `shift` holds whole blocks of the parent's layout.
bool holds_whole_blocks(const Buffer& parent, const Shape& part, const std::vector<Expr>& shift);

}  // namespace onnxc
