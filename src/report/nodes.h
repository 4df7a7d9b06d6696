// --report: what became of each node of the model.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program/program.h"

namespace onnxc {

// The nodes of a graph as they were imported, before passes remove some.
std::vector<Origin> origins(const Graph& graph);

// A line a node: its name and operator, and the step that computes it: a kernel template (by name), loops or a host
// call, and what it is fused with; "folded" when nothing is left of it. At the end how many there are of each.
std::string nodes_table(const std::vector<Origin>& nodes, const Program& program);
// The same as JSON: {"format": "onnxc-report", "version": 1, "nodes": [{"name", "op_type", "became", "step",
// "description", "fused_with": [names]}...]}.
std::string nodes_json(const std::vector<Origin>& nodes, const Program& program);

}  // namespace onnxc
