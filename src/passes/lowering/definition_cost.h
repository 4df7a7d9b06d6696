// The cost of a node's definition as loop nests: the elements that they move to and from memory, and the operations.
//
// An element of a buffer counts once for each round of the loops that loads or stores it, but no buffer counts more
// than its size: the rest comes from the cache. Operations on what is stored run in vectors, those that a reduction
// folds one by one. Limits: every operation counts alike, and the nests count as if no pass fused them.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "ir/graph.h"
#include "passes/lowering/target.h"
#include "passes/lowering/usual_size.h"

namespace onnxc {

struct DefinitionCost {
  std::optional<double> cost;             // of one image, on the target's scale; nothing if it cannot be computed
  std::map<const Value*, double> loaded;  // elements of each input
  // Inputs whose elements become those of the output one by one: a kernel that gives one of them may do that as well
  // (fuse_epilogues.h).
  std::set<const Value*> pointwise;
};

DefinitionCost definition_cost(const Node& node, const Target& target, UsualSizes& sizes);

}  // namespace onnxc
