// The target of programs that were read from text, whose kernels are known only by their titles.
#pragma once

#include "passes/lowering/target.h"

namespace onnxc {

// It grants what a real target might: every epilogue whose output has the kernel's layout; attention of a matmul, a
// softmax and a matmul; a convolution and a maximum pool as one. It has as many threads as a large GPU. A pass must be
// right whatever its target grants.
Target text_target();

}  // namespace onnxc
