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
// Products of matrices and convolutions begin it: their outputs are stored in 16 bits, and their constant weights are
// rounded. They read inputs of 8 or more channels in 16 bits, through a Cast if need be, so that a GPU multiplies
// 16 bits. Operators that compute or move elements go on with it if an input is so stored. Arithmetic stays float32:
// sums, statistics, softmax and epilogues. The graph's inputs and outputs, biases and other parameters, what has no
// voxels (squeeze and excitation, Gemm), and all other operators keep float32; the pass casts what they read. Nodes
// that a pattern of --keep-float32 fits (ir/node_pattern.h) compute in float32 throughout.
//
// A graph's output from which a product follows is stored in 16 bits, and the graph gives a float32 copy:
//   %b: float32[1, 8, 9, 9] = Relu(%a)     ->  %b/bfloat16: bfloat16[1, 8, 9, 9] = Relu(%a)
//   %y: float32[1, 8, 9, 9] = Conv(%b, %v)     %b: float32[1, 8, 9, 9] = Cast(%b/bfloat16)
//                                              %y: float32[1, 8, 9, 9] = Conv(%b/bfloat16, %v/bfloat16)
//
// After this pass a node may have inputs and outputs of several floating types; the definitions and the kernels convert
// as they load and store. Limits: float32 models; weights that are computed are not rounded; the states of loops and
// the results of branches stay float32. So do the outputs of Where, whose masks may be beyond 16 bits, and of scatters.
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
