// --report: what became of each node of the model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program/program.h"

namespace onnxc {

// The nodes of a graph as they were imported, before passes remove some.
std::vector<Origin> origins(const Graph& graph);

// A line a node: its name and operator, and the step that computes it: a kernel template (by name) or loops, and
// what it is fused with; "folded" when nothing is left of it; and where it comes from, where the file says it. At the
// end how many there are of each.
std::string nodes_table(const std::vector<Origin>& nodes, const Program& program);
// The same as a list of {"name", "op_type", "became", "step", "description", "fused_with": [names], "source"}.
nlohmann::ordered_json nodes_json(const std::vector<Origin>& nodes, const Program& program);

// {"module", "line", "code"}; null where nothing is known.
nlohmann::ordered_json source_json(const SourcePlace& place);

}  // namespace onnxc
