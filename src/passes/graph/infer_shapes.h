// Infers the dtype and symbolic shape of every value, and the elements of small integer tensors as expressions.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Walks the nodes in order. Each node's row gives the shapes. Shape arithmetic (Shape, Gather, Mul, Concat…) runs the
// row's definition over expressions; nodes whose inputs are small constants are folded on the way, since shapes may
// depend on them (the scales of a Resize). Throws UserError naming the node whose rule meets a contradiction; the
// values before it keep what was inferred.
void infer_shapes(Graph& graph);

}  // namespace onnxc
