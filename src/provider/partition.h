// Which nodes of a graph are compiled together.
#pragma once

#include <cstddef>
#include <vector>

namespace onnxc::provider {

// The parts of a graph without the nodes that are left to others, by node in ascending order; the part of the most
// nodes comes first. `predecessors` has for each node those whose values it reads, all before it. No way leads from a
// part through a node that is left back into the part. A node's part is its depth: the number of uncompiled nodes on
// the longest path to it. Each part is then as large as it can be, but for nodes that could as well run later.
std::vector<std::vector<size_t>> partition(const std::vector<std::vector<size_t>>& predecessors,
                                           const std::vector<bool>& is_left);

}  // namespace onnxc::provider
