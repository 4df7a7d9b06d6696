// Softmax and LogSoftmax over trailing axes by the row kernel (kernels/softmax.h).
#pragma once

#include "passes/lower.h"

namespace onnxc {

bool takes_softmax(const Node& node, int lanes);
void lower_softmax(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
