// Computes at compile time what does not depend on the model's inputs.
//
// Exporters leave chains of Constant, Cast, Unsqueeze, Mul… around weights and shapes. Before: each inference runs all
// their nodes, and kernels that need constant weights cannot be chosen. After: their results are constants.
//
// Method: in topological order, the interpreter runs each node whose inputs are all constants, from its definition in
// loops; a value whose elements shape inference knows as numbers becomes a constant without being run. Limits: nodes
// whose result is much larger than their inputs (Expand or ConstantOfShape of a constant), or that take too long to
// compute, are left to the run.
#pragma once

#include <limits>

#include "ir/graph.h"

namespace onnxc {

struct FoldLimits {
  int64_t maximum_bytes = int64_t{64} << 20;  // of a node's results
  // Results above `always_bytes` may be this many times as large as the constants they come from: 8 lets an int8 weight
  // become a float64.
  int64_t maximum_growth = 8;
  int64_t always_bytes = int64_t{64} << 10;
  int64_t maximum_steps = int64_t{1} << 26;                           // rounds of a node's loops: some seconds
  int64_t total_steps = int64_t{1} << 27;                             // of all nodes' together
  int64_t all_constants_bytes = std::numeric_limits<int64_t>::max();  // of the model's and the results together
};

// Shapes must have been inferred. UserError naming the node whose results pass the limit on all constants.
void fold_constants(Graph& graph, const FoldLimits& limits = {});

}  // namespace onnxc
