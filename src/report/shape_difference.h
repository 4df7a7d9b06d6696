// --dump-shapes --against: what differs between the shapes of two models, mostly two exports of one network.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "report/shape_view.h"

namespace onnxc {

// A graph after shape inference.
struct ComparedGraph {
  std::string name;  // of the model's file
  const Graph& graph;
  std::string stop = {};  // why inference stopped, or ""
};

// The difference at one place; a text is "" if there is nothing.
struct Change {
  std::string what;  // "in 1 'x'", "axis"
  std::string before, after;
};

// A node of both graphs that differs, or of only one: the other is null.
struct NodeChange {
  const Node* before = nullptr;
  const Node* after = nullptr;
  size_t before_place = 0, after_place = 0;  // from 0, in the order in which nodes are computed
  // Whether a difference begins here. Else the node only reads another shape, of a node or of the model's input.
  bool begins = true;
  std::vector<Change> changes = {};
};

struct ShapeDifference {
  const ComparedGraph &before, &after;
  std::vector<Change> symbols = {};    // that are called otherwise, and count as the same
  std::vector<Change> interface = {};  // inputs and outputs
  std::vector<NodeChange> nodes = {};  // those that `view` shows
  std::vector<Change> rules = {};      // legal sizes, and other rules that a run checks
  size_t alike = 0;                    // nodes

  bool is_empty() const { return interface.empty() && nodes.empty() && rules.empty(); }
};

// Values are compared in type, shape, and elements if shape arithmetic knows them; nodes in their attributes and in
// which node their inputs come from as well. Neither are names nor weights' values. Nodes are matched by
// node_alignment.
ShapeDifference compare_shapes(const ComparedGraph& before, const ComparedGraph& after, const ShapeView& view);

// As text in the manner of `diff`: "-" lines are of `before`, "+" lines of `after`.
std::string difference_table(const ShapeDifference& difference);
// As JSON, format version 1, with the fields of docs/shapes.md.
std::string difference_json(const ShapeDifference& difference);

}  // namespace onnxc
