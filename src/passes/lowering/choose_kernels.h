// Chooses for each node the kernel that computes it, and for each value its layout.
//
// Before: a graph. After: for each node the offers of the target's kernels and the one that is taken; for each value
// NCHW ("rows") or NCHWc ("blocks").
//
// Method: backwards through the graph each value learns the layout that its readers want; forwards each node takes the
// offer whose cost, with a copy if the output is wanted in rows and the kernel gives blocks, is the least. The outputs
// of a kernel that gives blocks stay in blocks through operators that follow any layout (LayoutRule). The model's
// inputs and outputs are row-major. Limits: one reader that wants blocks decides for all readers. A kernel that gives
// rows is not weighed if blocks are wanted, since the copy after it has not been measured.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/layout.h"
#include "passes/lowering/target.h"

namespace onnxc {

// The physical layout of each value that is not row-major.
using LayoutMap = std::map<const Value*, Layout>;

struct NodeChoice {
  Offers offers;
  std::optional<size_t> chosen;                     // among the offers; without one the node's definition is used
  LayoutDemand output_wanted = LayoutDemand::rows;  // by the readers
  double copy_cost = 0;                             // of the output, from blocks to rows
};

struct KernelChoices {
  std::string cost_unit;
  LayoutMap layouts;
  std::map<const Node*, NodeChoice> nodes;  // those with offers

  // The offer to take; null if the node's definition is used.
  const Offer* chosen(const Node& node) const;
};

std::string_view name_of(LayoutDemand layout);
// The outcome of an offer: "taken", or why not.
std::string verdict(const NodeChoice& choice, size_t offer);

KernelChoices choose_kernels(const Graph& graph, const Target& target);

// Every node with its offers, their layouts and costs, and which was taken and why not the others.
std::string to_string(const Graph& graph, const KernelChoices& choices);

}  // namespace onnxc
