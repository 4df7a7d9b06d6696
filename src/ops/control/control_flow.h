// If, Loop and Scan. The importer writes their subgraphs into the graph itself: the nodes of a branch carry its
// condition (Branch), those of a loop's body stand between two nodes that begin and end the loop.
//
//   If          inputs: condition, the values of then_branch, those of else_branch; outputs: the values joined
//   LoopBegin   inputs: trip count or null, condition or null, initial states, scanned tensors
//               outputs: number of the round, condition, states, an element of each scanned tensor
//   LoopEnd     inputs: the outputs of LoopBegin up to its states; then, as the body computes them, condition, states
//               and an element of each collected tensor; outputs: final states, collected tensors
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/node_reader.h"

namespace onnxc {

// The domain of the two rows that have no operator of ONNX's.
inline constexpr const char* control_flow_domain = "onnxc.control_flow";

// The input of an If that is its output i from the branch which is taken when the condition holds, or from the other.
size_t branch_input(const NodeReader& node, size_t output, bool when);

// Fails if the branches of an If give values of different ranks and somebody sees which it is. To be called once all
// shapes are known.
void check_ranks_of_branches(const Graph& graph, const Node& node);

// The places of a LoopEnd's inputs, as above.
struct LoopPlaces {
  static constexpr size_t first_state = 2;
  size_t carried, collected;
  size_t next_condition() const { return first_state + carried; }
  size_t next_state(size_t i) const { return next_condition() + 1 + i; }
  size_t element(size_t i) const { return next_state(carried) + i; }
};
LoopPlaces loop_places(const Node& end);
// The node that ends a loop, from the one that begins it; null if nobody uses what the loop gives.
Node* loop_end(const Node& begin);
// How many rounds a Loop has, if that is known when the model is compiled.
std::optional<int64_t> known_rounds(const Node& begin);

// For an If whose condition is known when the model is compiled: the values of the branch that it takes.
std::optional<std::vector<Value*>> known_branch(const Node& node);

// 0 if a loop, by the node that begins it, is known to have no round; else 1, also if only a run knows.
Expr has_rounds(const Node& begin);

}  // namespace onnxc
