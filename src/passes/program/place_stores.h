// Turns stores into part of a buffer into whole stores of a view.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: y[n, c + 32, d] = f(n, c, d) (a part of a Concat). After: v[n, c, d] = f(n, c, d) with v a view of y that
// begins at channel 32. Whatever stores v may then be a kernel template or take the producer along, so that the parts
// of a Concat are written where they belong.
//
// On a blocked axis the part must begin at a block and end at one, or at the end of the buffer.
void place_stores(Program& program);

// Whether a view of `part` elements that begins at `shift` holds whole blocks of the parent's layout.
bool holds_whole_blocks(const Buffer& parent, const Shape& part, const std::vector<Expr>& shift);

}  // namespace onnxc
