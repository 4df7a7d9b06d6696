// Fuses successive kernel calls into one kernel, so that the tensor between them is never whole in memory.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

struct Target;

// Before: s = matmul(q, k) with the epilogue acc * scale + mask; p = softmax(s); y = matmul(p, v). After: y =
// attention(q, k, v); s and p, as large as queries times keys, are gone.
// Before: t = conv(x) with an epilogue; y = max_pool(t). After: y = pooled_conv(x); t, as large as all windows, is
// gone. The first kernel's epilogue becomes the inner one.
// Before: t = conv(x); y = instance_normalization(t). After: y = normalized_product(x), two launches in place of three.
//
// Each call must be the only reader of the one before, under the same condition and in the same loop, and the target
// must have a kernel for the chain.
void fuse_kernels(Program& program, const Target& target);

}  // namespace onnxc
