#include "passes/graph/fold_batch_normalization.h"

#include <cmath>
#include <optional>

#include "ops/network/normalization_spec.h"
#include "ops/op.h"

namespace onnxc {
namespace {

std::optional<std::vector<double>> constant_input(const Node& node, size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == nullptr || !node.inputs[i]->constant) return std::nullopt;
  return node.inputs[i]->constant->as_double();
}

// The normalisation of one channel: y = x * factor + offset.
struct ChannelAffine {
  std::vector<double> factor, offset;
};

std::optional<ChannelAffine> affine_of(const Node& normalization) {
  auto scale = constant_input(normalization, 1), shift = constant_input(normalization, 2);
  auto mean = constant_input(normalization, 3), variance = constant_input(normalization, 4);
  if (!scale || !shift || !mean || !variance) return std::nullopt;
  double epsilon = epsilon_of(NodeReader(normalization));
  ChannelAffine affine;
  for (size_t c = 0; c < scale->size(); ++c) {
    affine.factor.push_back((*scale)[c] / std::sqrt((*variance)[c] + epsilon));
    affine.offset.push_back((*shift)[c] - (*mean)[c] * affine.factor.back());
  }
  return affine;
}

// The output channel of each weight: [M, C/g, k...] for Conv, [C, M/g, k...] for ConvTranspose.
Tensor scale_weights(const Tensor& weights, const std::vector<double>& factor, bool transposed, int64_t groups) {
  std::vector<double> values = weights.as_double();
  const std::vector<int64_t>& dims = weights.dims();
  int64_t taps = 1;
  for (size_t i = 2; i < dims.size(); ++i) taps = checked_multiply(taps, dims[i]);
  int64_t inputs_per_group = dims[0] / groups;
  for (int64_t a = 0, at = 0; a < dims[0]; ++a) {
    for (int64_t b = 0; b < dims[1]; ++b) {
      int64_t channel = transposed ? a / inputs_per_group * dims[1] + b : a;
      for (int64_t tap = 0; tap < taps; ++tap, ++at)
        values[static_cast<size_t>(at)] *= factor[static_cast<size_t>(channel)];
    }
  }
  return float_tensor(weights.dtype(), dims, values);
}

bool fold_into(Graph& graph, Node* normalization) {
  Node* convolution = normalization->inputs[0] == nullptr ? nullptr : normalization->inputs[0]->producer;
  bool transposed = is_operator(convolution, "ConvTranspose");
  if (!transposed && !is_operator(convolution, "Conv")) return false;
  Value* between = convolution->outputs[0];
  if (between->uses.size() != 1 || graph.is_output(between)) return false;
  if (between->dtype != DType::float32 && between->dtype != DType::float64) return false;
  NodeReader attributes(*normalization);
  if (normalization->outputs.size() > 1 || attributes.integer("training_mode", 0) != 0) return false;
  // Until version 8 parameters may be given for each element of an image instead of each channel.
  if (attributes.version() < 9 && attributes.integer("spatial", 1) == 0) return false;
  const Value* weights = convolution->inputs[1];
  if (!weights->constant) return false;
  std::optional<ChannelAffine> affine = affine_of(*normalization);
  std::optional<std::vector<double>> bias = constant_input(*convolution, 2);
  bool has_bias = convolution->inputs.size() > 2 && convolution->inputs[2] != nullptr;
  if (!affine || has_bias != bias.has_value()) return false;
  int64_t groups = NodeReader(*convolution).integer("group", 1);

  std::vector<double> shift = affine->offset;
  if (bias)
    for (size_t c = 0; c < shift.size(); ++c) shift[c] += (*bias)[c] * affine->factor[c];
  auto channels = static_cast<int64_t>(shift.size());

  auto folded = std::make_unique<Node>();
  folded->op = convolution->op;
  folded->origin = convolution->origin;
  folded->condition = normalization->condition;
  folded->attributes = convolution->attributes;
  folded->inputs = {
      convolution->inputs[0],
      graph.add_constant(weights->name + "/folded",
                         scale_weights(*weights->constant, affine->factor, transposed, groups)),
      graph.add_constant(normalization->origin.name + "/bias", float_tensor(between->dtype, {channels}, shift))};
  Value* result = graph.add_value(normalization->outputs[0]->name);
  result->dtype = between->dtype;
  result->shape = normalization->outputs[0]->shape;
  folded->outputs = {result};
  Value* old_result = normalization->outputs[0];
  graph.insert(std::move(folded), normalization);
  graph.replace_uses(old_result, result);
  return true;
}

}  // namespace

void fold_batch_normalization(Graph& graph) {
  for (const auto& node : graph.nodes())
    if (is_operator(node.get(), "BatchNormalization")) fold_into(graph, node.get());
  graph.erase_unused();
}

}  // namespace onnxc
