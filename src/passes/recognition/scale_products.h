// Scales the scores of an attention instead of its queries and keys.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before, as PyTorch's exporters and ONNX's own body of Attention write it:
//   Softmax(MatMul(Mul(q, c), Mul(k, c)))
// After: Softmax(Mul(Mul(MatMul(q, k), c), c)). The factors are an epilogue of the product; they were copies of queries
// and keys. Add, Where and their like may stand before the softmax.
//
// Limits: factors are constants of one element between 2^-12 and 2^12, since products that are not scaled go that much
// further into float32's range. Scores are float32 or float64, and stay so: not with --precision.
void scale_products(Graph& graph);

}  // namespace onnxc
