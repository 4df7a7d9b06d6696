// --report=FILE.html: what a compile did, as a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ir/graph.h"
#include "passes/lowering/choose_kernels.h"

namespace onnxc {

class Page;

// Sections of the page, each added when it is known.

// The model's inputs and outputs, the sizes that are legal, and the graph: each node with its shapes and its source.
void add_graph(Page& page, const Graph& graph);

// For each node the kernels that offer to compute it, with their costs. `where`: "the CPU".
// `offers`: as offers_json has them.
void add_offers(Page& page, const std::string& where, const std::string& unit, const nlohmann::ordered_json& offers);

// From the JSON of --report (docs/report.md): what became of each node, the steps of none, and the kernels of a GPU.
void add_nodes(Page& page, const std::string& where, const nlohmann::ordered_json& nodes,
               const nlohmann::ordered_json& steps);
void add_kernels(Page& page, const nlohmann::ordered_json& kernels);

}  // namespace onnxc
