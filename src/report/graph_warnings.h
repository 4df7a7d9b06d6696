// What is legal in a model and mostly a mistake of its export: a compile warns of it, and goes on.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// A kernel that does not fit into its input gives nothing.
std::vector<std::string> empty_windows(const Graph& graph);

// A size that an export wrote down as a number: a dim that the file declares free, and of which the model takes one
// size alone. Not where --dim gives the dim its value, as then no symbol is left.
std::vector<std::string> baked_sizes(const Graph& graph);

}  // namespace onnxc
