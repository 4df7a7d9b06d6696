// Gives every value its dtype and symbolic shape, and small integer tensors the expressions they hold.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Walks the nodes in order. Each node's row says the shapes; the values of shape arithmetic (Shape, Gather, Mul,
// Concat…) come from running the row's definition over expressions, and nodes whose inputs are small constants are
// folded on the way, since shapes may depend on them (the scales of a Resize).
// Throws UserError naming the node whose rule meets a contradiction; the values before it keep what was inferred.
void infer_shapes(Graph& graph);

}  // namespace onnxc
