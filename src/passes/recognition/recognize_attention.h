// Brings scores, softmax and product together, so that a target's attention kernel takes all three.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// For a MatMul. Before, as PyTorch's exporters and ONNX's own body of Attention write scores:
//   MatMul(Mul(q, c), Mul(k, c))
// After: Mul(Mul(MatMul(q, k), c), c), an epilogue instead of copies of q and k; c are constants of one element. If
// the result rounds to a half type it stays: unscaled products may be beyond its range.
//
// Before, as ONNX's body of Attention (opset 23) guards rows whose keys are all masked, whose softmax is NaN:
//   MatMul(Where(Equal(ReduceMax(mask, axis -1), -inf), 0, Softmax(scores)), v)
// After: Where(..., 0, MatMul(Softmax(scores), v)); without the Where if the mask is one number. A guarded row is 0
// even if v holds an infinity. A mask that is zero everywhere is not added.
void recognize_attention(Graph& graph, Node* product);

}  // namespace onnxc
