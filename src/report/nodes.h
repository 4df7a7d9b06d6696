// --report: what became of each node of the model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program/program.h"
#include "passes/lowering/choose_kernels.h"

namespace onnxc {

// The nodes of a graph as they were imported, before passes remove some.
std::vector<Origin> origins(const Graph& graph);

// A line a node: its name and operator, its steps and what they are: a kernel template (by name) or loops, and what it
// is fused with; "no step" when nothing is left of it; and its source, if the file says it. At the end the steps of no
// node, and how many there are of each.
std::string nodes_table(const std::vector<Origin>& nodes, const Program& program);
// The same as a list of {"name", "op_type", "became", "step", "steps", "description", "fused_with": [names], "source"}.
nlohmann::ordered_json nodes_json(const std::vector<Origin>& nodes, const Program& program);
// Every step, as {"step", "description", "nodes": [names], "why"}: why it belongs to none of the nodes, else null.
nlohmann::ordered_json steps_json(const std::vector<Origin>& nodes, const Program& program);

// Every offer of every node that is lowered, as {"node", "op_type", "kernel", "reads", "gives", "cost", "choice"}: what
// --dump-ir=choose_kernels shows.
nlohmann::ordered_json offers_json(const Graph& graph, const KernelChoices& choices);

// "3" or "3-5", or those that are not one after another: "3, 5"; "-" if there is none.
std::string step_numbers(const std::vector<size_t>& steps);

// {"module", "line", "code"}; null if nothing is known.
nlohmann::ordered_json source_json(const SourcePlace& place);

}  // namespace onnxc
