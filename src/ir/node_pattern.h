// Nodes as a command line names them: --node, --keep-float32.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// Whether a pattern as of a shell (glob(7)) fits a node's name, its operator, its PyTorch module or its source line.
bool fits_node(const std::string& pattern, const Origin& origin);
bool fits_any(const std::vector<std::string>& patterns, const Origin& origin);

// Throws UsageError, naming the option, for a pattern that fits no node of any graph.
void check_patterns(std::string_view option, const std::vector<std::string>& patterns,
                    const std::vector<const Graph*>& graphs);

}  // namespace onnxc
