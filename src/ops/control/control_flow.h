// If, Loop and Scan. The importer writes their subgraphs into the graph itself: the nodes of a branch carry its
// condition (Branch), those of a loop's body stand between two nodes that begin and end the loop.
//
//   If          inputs: condition, the values of then_branch, those of else_branch; outputs: the values joined
//   LoopBegin   inputs: trip count or null, condition or null, initial states, scanned tensors
//               outputs: number of the round, condition, states, an element of each scanned tensor
//   LoopEnd     inputs: the outputs of LoopBegin up to its states; then, as the body computes them, condition, states
//   and
//               an element of each collected tensor; outputs: final states, collected tensors
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// The domain of the two rows that have no operator of ONNX's.
inline constexpr const char* control_flow_domain = "onnxc.control_flow";

// For an If whose condition is known when the model is compiled: the values of the branch that it takes.
std::optional<std::vector<Value*>> known_branch(const Node& node);

// 0 where a loop, by the node that begins it, is known to have no round; else 1, also where only a run knows.
Expr has_rounds(const Node& begin);

}  // namespace onnxc
