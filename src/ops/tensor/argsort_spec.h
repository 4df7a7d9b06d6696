// The inputs and attributes of the operator ArgSort, resolved once.
#pragma once

#include "ir/expr/expr.h"

namespace onnxc {

class ExpandContext;
class NodeReader;
struct Node;
struct Value;

// The positions of the first `count` elements of each line, in ascending or descending order of the elements.
struct ArgsortSpec {
  size_t axis = 0;
  bool descending = false;
  Expr count;
};

// Puts an ArgSort of x: int64, x's shape but for the extent along the axis, `count`, which may be null for all.
Value* add_argsort(ExpandContext& c, Value* x, int64_t axis, bool descending, Value* count = nullptr);

bool is_argsort(const Node& node);
// Once the shape of the output is known.
ArgsortSpec resolve_argsort(const NodeReader& node);

}  // namespace onnxc
