#include "ops/network/softmax_spec.h"

#include "ops/op.h"

namespace onnxc {
namespace {

SoftmaxKind kind_of(const Node& node) {
  if (is_operator(&node, "Softmax")) return SoftmaxKind::softmax;
  if (is_operator(&node, "LogSoftmax")) return SoftmaxKind::log_softmax;
  internal_check(is_operator(&node, "Hardmax"), "a node of the softmax family");
  return SoftmaxKind::hardmax;
}

}  // namespace

bool is_softmax(const Node& node) { return is_operator(&node, "Softmax") || is_operator(&node, "LogSoftmax"); }

SoftmaxSpec resolve_softmax(const NodeReader& node) {
  const bool flattens = node.version() < 13;
  const size_t rank = node.rank(0);
  const size_t axis = node.axis(node.integer("axis", flattens ? 1 : -1), rank);
  return {.kind = kind_of(node.node()), .rank = rank, .first_axis = axis, .end_axis = flattens ? rank : axis + 1};
}

}  // namespace onnxc
