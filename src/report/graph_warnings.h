// Warnings of things that are legal in a model and mostly a mistake of its export: the compile goes on.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// A kernel that does not fit into its input gives nothing.
std::vector<std::string> empty_windows(const Graph& graph);

// A size that an export wrote down as a number: a dim that the file declares freeand for which the model takes only one
// size. Not if --dim gives the dim its value, as then no symbol is left.
std::vector<std::string> baked_sizes(const Graph& graph);

}  // namespace onnxc
