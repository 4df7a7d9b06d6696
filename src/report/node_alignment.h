// Which nodes of two graphs are the same, for a comparison of two exports of one network.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace onnxc {

// The marks by which nodes are recognised.
struct NodeKey {
  std::string type;     // operator and domain: nodes of two kinds are never the same
  std::string name;     // another export may count differently
  std::string module;   // of the PyTorch program, or ""
  std::string outputs;  // their shapes
  bool operator==(const NodeKey&) const = default;
};

// Places in the two graphs; nothing if a node has no counterpart.
struct NodePair {
  std::optional<size_t> before, after;
};

// All nodes of both, in an order that keeps that of either: the longest sequence of nodes of one kind that both have;
// nodes that agree in module, name or shapes count more (S. Needleman, C. Wunsch: A general method applicable to the
// search for similarities, 1970). UserError if thousands of nodes in a row differ.
std::vector<NodePair> align_nodes(const std::vector<NodeKey>& before, const std::vector<NodeKey>& after);

}  // namespace onnxc
