// Stores what lies between nodes in a 16-bit type (--precision, --keep-float32).
//
// Before, for bfloat16:
//   %a: float32[1, 8, 9, 9] = Conv(%x, %w, %b)
//   %y: float32[1, 8, 9, 9] = Relu(%a)
//   %m: float32[1, 8, 1, 1] = GlobalAveragePool(%y)
// After:
//   %a: bfloat16[1, 8, 9, 9] = Conv(%x, %w/bfloat16, %b)
//   %y: bfloat16[1, 8, 9, 9] = Relu(%a)
//   %m: float32[1, 8, 1, 1] = GlobalAveragePool(%y)
//
// Products of matrices and convolutions begin it: their outputs are stored in 16 bits and their constant weights are
// rounded. Operators that compute or move elements go on with it if an input is so stored. Arithmetic stays float32:
// sums, statistics, softmax and epilogues. The graph's inputs and outputs, biases and other parameters, what has no
// voxels (squeeze and excitation, Gemm), and all other operators keep float32; the pass casts what they read. Nodes
// that a pattern of --keep-float32 fits (ir/node_pattern.h) compute in float32 throughout.
//
// After this pass a node may have inputs and outputs of several floating types; the definitions and the kernels convert
// as they load and store. Limits: float32 models; weights that are computed are not rounded; the states of loops and
// the results of branches stay float32.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

struct StoragePrecision {
  DType dtype = DType::float32;           // float16 or bfloat16; float32 changes nothing
  std::vector<std::string> kept_float32;  // patterns of the nodes that stay float32
};

void reduce_precision(Graph& graph, const StoragePrecision& precision);

}  // namespace onnxc
