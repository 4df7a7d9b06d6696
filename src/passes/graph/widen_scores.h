// Keeps the scores of an attention in float32 if the model is of a half type.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// A product of 64 features of 64 each is beyond float16, whose infinities a softmax turns into NaN; in bfloat16 the
// differences of large scores are lost. Before (all float16):
//   %a = MatMul(%q, %k)   %b = Add(%a, %mask)   %p = Softmax(%b)
// After, with %a and %b of float32: the product adds up in float32 anyway, and no longer rounds its sum. Other readers
// of such a value read a Cast of it.
//
// Limits: what lies between the product and the softmax is at most eight of Add, Sub, Mul, Div, Tanh and Where, and a
// Cast. Runs without optimisation too: both give the same numbers then, which PyTorch's and onnxruntime's attention
// have.
void widen_scores(Graph& graph);

}  // namespace onnxc
