// Brings the softmax and the product of an attention together, so that a target's kernel takes both.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// For a MatMul. Before, as ONNX's body of Attention (opset 23) guards rows with no key, whose softmax is NaN:
//   MatMul(Where(Equal(ReduceMax(mask, axis -1), -inf), 0, Softmax(scores)), v)
// After: Where(..., 0, MatMul(Softmax(scores), v)); without the Where if the mask is one number. A guarded row is 0
// even if v holds an infinity. A mask that is zero everywhere is not added.
void recognize_attention(Graph& graph, Node* product);

}  // namespace onnxc
