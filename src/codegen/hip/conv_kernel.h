// Convolutions on MFMA: which nodes the implicit-GEMM kernel takes, its weights and its call.
#pragma once

#include "passes/lower.h"

namespace onnxc {

bool takes_implicit_gemm(const Node& node);
void lower_implicit_gemm(const Node& node, LoweringContext& context);

}  // namespace onnxc
