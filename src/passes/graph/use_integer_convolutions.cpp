#include "passes/graph/use_integer_convolutions.h"

#include <algorithm>

#include "ops/node_reader.h"
#include "ops/op.h"

namespace onnxc {
namespace {

constexpr int version = 21;

// The integers, scales and zero point of a DequantizeLinear.
struct Quantized {
  Value* integers;
  std::vector<float> scales;
  Value* zero_point;  // null for 0
};

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

std::optional<Quantized> as_quantized(const Value& value) {
  const Node* node = value.producer;
  if (!is_operator(node, "DequantizeLinear") || value.dtype != DType::float32) return std::nullopt;
  const NodeReader reader(*node);
  if (!is_byte(reader.dtype(0)) || reader.integer("block_size", 0) != 0) return std::nullopt;
  const Tensor* scales = reader.constant(1);
  if (scales == nullptr || scales->dtype() != DType::float32 || scales->dims().size() > 1) return std::nullopt;
  if (reader.has_input(2) && reader.constant(2) == nullptr) return std::nullopt;
  if (scales->size() > 1 && reader.axis(reader.integer("axis", 1), reader.rank(0)) != 0) return std::nullopt;
  const std::span<const float> values = scales->values<float>();
  return Quantized{node->inputs[0], {values.begin(), values.end()}, reader.has_input(2) ? node->inputs[2] : nullptr};
}

// Puts nodes in front of a convolution; all have its name.
class Replacement {
 public:
  Replacement(Graph& graph, Node* convolution) : graph_(graph), convolution_(convolution) {}

  // The output has the convolution's shape.
  Value* add(std::string_view type, DType dtype, std::vector<Value*> inputs, std::vector<NamedAttribute> attributes) {
    auto node = std::make_unique<Node>();
    node->op = find_op("", type, version);
    node->origin = convolution_->origin;
    node->origin.type = type;
    node->origin.version = version;
    node->branch = convolution_->branch;
    node->condition = convolution_->condition;
    node->inputs = std::move(inputs);
    node->attributes = std::move(attributes);
    Value* result = graph_.add_value(fmt::format("{}/{}", convolution_->outputs[0]->name, type));
    result->dtype = dtype;
    result->shape = convolution_->outputs[0]->shape;
    node->outputs = {result};
    graph_.insert(std::move(node), convolution_);
    return result;
  }

  // A number for each output channel, or one for all, before the spatial axes.
  Value* by_channel(std::string_view role, const std::vector<float>& values) {
    std::vector<int64_t> dims(convolution_->outputs[0]->shape->size() - 1, 1);
    dims[0] = std::ssize(values);
    return graph_.add_constant(fmt::format("{}/{}", convolution_->origin.name, role),
                               Tensor::of(DType::float32, dims, values));
  }

 private:
  Graph& graph_;
  Node* convolution_;
};

// The bias as numbers; none where there is none, nothing where a run gives it.
std::optional<std::vector<float>> constant_bias(const Node& convolution) {
  if (convolution.inputs.size() < 3 || convolution.inputs[2] == nullptr) return std::vector<float>();
  const Value& bias = *convolution.inputs[2];
  if (bias.constant && bias.dtype == DType::float32) {
    const std::span<const float> values = bias.constant->values<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  // Quantised in 32 bits, by the product of both scales, with no zero point.
  const Node* node = bias.producer;
  if (!is_operator(node, "DequantizeLinear")) return std::nullopt;
  const NodeReader reader(*node);
  const Tensor *integers = reader.constant(0), *scales = reader.constant(1);
  if (reader.dtype(0) != DType::int32 || integers == nullptr || scales == nullptr) return std::nullopt;
  if (scales->dtype() != DType::float32) return std::nullopt;
  const std::span<const float> scale = scales->values<float>();
  const std::vector<int64_t> values = integers->as_int64();
  if (reader.has_input(2)) {
    if (reader.constant(2) == nullptr) return std::nullopt;
    const std::vector<int64_t> zeros = reader.constant(2)->as_int64();
    if (std::ranges::any_of(zeros, [](int64_t zero) { return zero != 0; })) return std::nullopt;
  }
  std::vector<float> result;
  for (size_t i = 0; i < values.size(); ++i)
    result.push_back(static_cast<float>(values[i]) * scale[scale.size() == 1 ? 0 : i]);
  return result;
}

// Whether weights less their zero point are int8.
bool has_signed_bytes(const Quantized& weights) {
  if (!weights.integers->constant) return false;
  const bool is_signed = weights.integers->dtype == DType::int8;
  if (weights.zero_point == nullptr) return is_signed;
  const std::vector<int64_t> zeros = weights.zero_point->constant->as_int64();
  return std::ranges::all_of(zeros, [&](int64_t zero) { return zero == (is_signed ? 0 : 128); });
}

void replace(Graph& graph, Node* convolution) {
  const NodeReader reader(*convolution);
  if (reader.integer("group", 1) != 1 || reader.rank(0) < 3 || reader.rank(0) > 5) return;
  const std::optional<Quantized> x = as_quantized(*convolution->inputs[0]), w = as_quantized(*convolution->inputs[1]);
  if (!x || !w || x->scales.size() != 1 || !has_signed_bytes(*w)) return;
  const std::optional<std::vector<float>> bias = constant_bias(*convolution);
  if (!bias) return;
  std::vector<float> scales;
  for (const float scale : w->scales) scales.push_back(x->scales[0] * scale);

  Replacement put(graph, convolution);
  Value* sum = put.add("ConvInteger", DType::int32, {x->integers, w->integers, x->zero_point, w->zero_point},
                       convolution->attributes);
  Value* number = put.add("Cast", DType::float32, {sum}, {{"to", static_cast<int64_t>(DType::float32)}});
  Value* result = put.add("Mul", DType::float32, {number, put.by_channel("scale", scales)}, {});
  if (!bias->empty()) result = put.add("Add", DType::float32, {result, put.by_channel("bias", *bias)}, {});
  graph.replace_uses(convolution->outputs[0], result);
}

}  // namespace

void use_integer_convolutions(Graph& graph) {
  std::vector<Node*> convolutions;
  for (const auto& node : graph.nodes())
    if (is_operator(node.get(), "Conv")) convolutions.push_back(node.get());
  for (Node* convolution : convolutions)
    if (!graph.is_output(convolution->outputs[0])) replace(graph, convolution);
  graph.erase_unused();
}

}  // namespace onnxc
