// Warnings of things that are legal in a model and mostly a mistake of its export: the compile goes on.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// The warnings that are shown, of many only the first and their number: a model may give one for each of its nodes.
std::vector<std::string> listed_warnings(std::vector<std::string> warnings);

// A kernel that does not fit into its input gives nothing.
std::vector<std::string> empty_windows(const Graph& graph);

// A size that an export wrote down as a number: a dim that the file declares free and for which the model takes only
// one size. Not if --dim gives the dim its value, as then no symbol is left.
std::vector<std::string> baked_sizes(const Graph& graph);

}  // namespace onnxc
