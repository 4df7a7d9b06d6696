// The attributes of InstanceNormalization, GroupNormalization, LayerNormalization and RMSNormalization, resolved once:
// defaults and versions are gone. Shape inference, the definitions and every kernel read this and nothing else.
#pragma once

#include "ir/expr/expr.h"

namespace onnxc {

class NodeReader;
struct Node;

// The addend to the variance: attribute 'epsilon' of every normalisation by a variance.
float epsilon_of(const NodeReader& node);

struct InstanceNormalizationSpec {
  Expr channels;
  Expr groups;  // of neighbouring channels with common statistics; as many as channels for InstanceNormalization
  // Scale and shift have an element for each group, not for each channel.
  bool has_parameters_by_group = false;
  float epsilon = 0;

  Expr channels_per_group() const { return floor_div(channels, groups); }
};

// Whether a node is an InstanceNormalization or GroupNormalization of ONNX.
bool is_instance_normalization(const Node& node);
// X is [N, C, ...]. Fails if the number of groups is not positive. Until version 20 a GroupNormalization has parameters
// by group.
InstanceNormalizationSpec resolve_instance_normalization(const NodeReader& node);

struct LayerNormalizationSpec {
  bool subtracts_mean = true;  // not RMSNormalization
  size_t first_axis = 0;       // this and all axes after it are normalised together
  float epsilon = 0;
};

// Whether a node is a LayerNormalization or RMSNormalization of ONNX.
bool is_layer_normalization(const Node& node);
// Attribute 'axis' is the last axis by default. Fails for an axis out of range.
LayerNormalizationSpec resolve_layer_normalization(const NodeReader& node);

}  // namespace onnxc
