// The inputs and attributes of the operator ArgSort, resolved once.
#pragma once

#include "ir/expr/expr.h"

namespace onnxc {

class NodeReader;
struct Node;

// The positions of the first `count` elements of each line, in ascending or descending order of the elements.
struct ArgsortSpec {
  size_t axis = 0;
  bool descending = false;
  Expr count;
};

bool is_argsort(const Node& node);
// Once the shape of the output is known.
ArgsortSpec resolve_argsort(const NodeReader& node);

}  // namespace onnxc
