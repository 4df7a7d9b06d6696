// Chooses for each node how it is computed, and for each value its layout.
//
// Before: a graph. After: for each node the offers of the target's kernels and its definition as loop nests, and which
// of them is taken; for each value NCHW ("rows") or NCHWc ("blocks").
//
// Problem: offers read and give one layout each. A copy between both costs as much as many kernels, so the cheapest
// offer of each node is not the cheapest plan. Method: the plan with the least sum of
// - the costs of the offers that are taken;
// - copies: a value that a kernel gives in one layout, and that is wanted in the other, is copied once, for all who
//   want it. The model's inputs and outputs are in rows;
// - loop nests that read a value in another layout than they write, or than their operator means (LayoutRule): they
//   read it in strides, each of them, for the price of a copy. One that would else be the epilogue of the kernel before
//   it (fuse_epilogues.h) costs a step more, and so does a definition in the place of that kernel;
// - less what one kernel for two saves (Fusion::saving) if the value between them is in the layout of its offers;
// - a target's preference for blocks, for each kernel that gives rows and might give blocks.
// That sum is over pairs of labels "rows" or "blocks" (two_labels.h): of each value, of what a kernel reads and gives,
// and of "somebody wants it in the other layout". Exact, by a minimum cut, also if values have several readers: copies
// and strides prefer equal labels. Only a kernel that is cheap from one layout to the other and dear between equal ones
// does not; that is exact as well unless such kernels close a circle of an odd number (two_labels.h).
// If two plans cost the same, the one with more values in blocks is taken.
//
// Limits: a cost that is not known counts as 0. The definition of a node that kernels support counts as if no pass
// fused it, and is priced as if it read only its activations; what follows it counts as if a kernel were before it. A
// kernel's outputs after the first are in rows.
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

// The name of the offer that is the node's definition.
inline constexpr const char* definition_name = "loops";

struct NodeChoice {
  Offers offers;                   // the last is the definition
  size_t chosen = 0;               // among the offers
  std::vector<double> plan_costs;  // of each offer, with the copies between its layouts and those of the plan
};

struct KernelChoices {
  LayoutMap layouts;
  std::map<const Node*, NodeChoice> nodes;
  std::string cost_unit;

  // The offer to take; null if there was no choice (-O0).
  const Offer* chosen(const Node& node) const;
};

std::string_view name_of(LayoutDemand layout);
// The outcome of an offer: "taken", or why not.
std::string verdict(const NodeChoice& choice, size_t offer);

// Holds the offers of a node against each other and against its values (InternalError).
void check_offers(const Node& node, const Offers& offers);

KernelChoices choose_kernels(const Graph& graph, const Target& target);

// Every node with its offers, their layouts and costs, and which was taken and why not the others.
std::string to_string(const Graph& graph, const KernelChoices& choices);

}  // namespace onnxc
