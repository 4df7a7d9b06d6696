// Narrows the symbols of the inputs' dims. What shape inference has found before is not brought up to date.
#pragma once

#include <set>
#include <string>

#include "ir/graph.h"

namespace onnxc {

// By what the graph's guards say (apply_size_rules.h), of which shape inference may not have found all yet. Returns
// whether a dim has changed. Throws UserError, naming the nodes, when no size is legal.
bool narrow_by_guards(Graph& graph);

// Takes those of the symbols that may be any size as at least 1; `reason` says why, for people: "a size has 300 parts".
// Returns whether there was one.
bool narrow_to_nonempty(Graph& graph, const std::set<Symbol>& symbols, const std::string& reason);

}  // namespace onnxc
