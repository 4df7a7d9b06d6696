#include "ops/network/normalization_spec.h"

#include "ops/op.h"

namespace onnxc {

float epsilon_of(const NodeReader& node) { return node.real("epsilon", 1e-5F); }

bool is_instance_normalization(const Node& node) {
  return is_operator(&node, "InstanceNormalization") || is_operator(&node, "GroupNormalization");
}

InstanceNormalizationSpec resolve_instance_normalization(const NodeReader& node) {
  internal_check(is_instance_normalization(node.node()), "a normalisation of instances");
  const Expr& channels = node.shape(0).at(1);
  if (is_operator(&node.node(), "InstanceNormalization"))
    return {.channels = channels, .groups = channels, .epsilon = epsilon_of(node)};
  const int64_t groups = node.integer("num_groups");
  node.check(groups > 0, "attribute 'num_groups' must be positive, found {}", groups);
  return {.channels = channels,
          .groups = groups,
          .has_parameters_by_group = node.version() < 21,
          .epsilon = epsilon_of(node)};
}

bool is_layer_normalization(const Node& node) {
  return is_operator(&node, "LayerNormalization") || is_operator(&node, "RMSNormalization");
}

LayerNormalizationSpec resolve_layer_normalization(const NodeReader& node) {
  internal_check(is_layer_normalization(node.node()), "a normalisation over the last axes");
  return {.subtracts_mean = is_operator(&node.node(), "LayerNormalization"),
          .first_axis = node.axis(node.integer("axis", -1), node.rank(0)),
          .epsilon = epsilon_of(node)};
}

}  // namespace onnxc
