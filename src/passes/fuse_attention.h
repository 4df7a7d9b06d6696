// Joins the products and the softmax of an attention.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

class Target;

// Before: s = matmul(q, k) with the epilogue acc * scale + mask; p = softmax(s); y = matmul(p, v). After: y =
// attention(q, k, v), of which the first epilogue is the inner one; s and p, as large as queries times keys, are gone.
//
// Each must be the only reader of what comes before, under the same condition and in the same loop, and the target must
// have a kernel for the three.
void fuse_attention(Program& program, const Target& target);

}  // namespace onnxc
