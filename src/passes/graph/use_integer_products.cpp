#include "passes/graph/use_integer_products.h"

#include <algorithm>
#include <utility>

#include "ops/algebra/product_spec.h"
#include "ops/node_reader.h"
#include "ops/op.h"
#include "passes/graph/insert_node.h"
#include "support/checked.h"

namespace onnxc {
namespace {

constexpr int version = 21;
// Products of bytes are made four input channels at a time: of one or two a float32 kernel for few channels is faster.
// A patch embedding of one channel was by 13 times, on Zen 4.
constexpr int64_t least_input_channels = 3;

// The integers, scales and zero point of a DequantizeLinear.
struct Quantized {
  Value* integers;
  std::vector<float> scales;
  Value* scale;       // the same as the node has it
  Value* zero_point;  // null for 0
};

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

// With a scale each, it is one for each element of `axis`.
std::optional<Quantized> as_quantized(const Value& value, size_t axis) {
  const Node* node = value.producer;
  if (!is_operator(node, "DequantizeLinear") || value.dtype != DType::float32) return std::nullopt;
  const NodeReader reader(*node);
  if (!is_byte(reader.dtype(0)) || reader.integer("block_size", 0) != 0) return std::nullopt;
  const Tensor* scales = reader.constant(1);
  if (scales == nullptr || scales->dtype() != DType::float32 || scales->dims().size() > 1) return std::nullopt;
  if (reader.has_input(2) && reader.constant(2) == nullptr) return std::nullopt;
  if (scales->size() > 1 && reader.axis(reader.integer("axis", 1), reader.rank(0)) != axis) return std::nullopt;
  const std::span<const float> values = scales->values<float>();
  return Quantized{node->inputs[0],
                   {values.begin(), values.end()},
                   node->inputs[1],
                   reader.has_input(2) ? node->inputs[2] : nullptr};
}

// Puts nodes in front of a convolution or product; all have its name.
class Replacement {
 public:
  // The output channels have so many axes after them.
  Replacement(Graph& graph, Node* product, size_t axes_behind)
      : graph_(graph), product_(product), axes_behind_(axes_behind) {}

  // The output has the product's shape.
  Value* add(std::string_view type, DType dtype, std::vector<Value*> inputs, std::vector<NamedAttribute> attributes) {
    const Value& output = *product_->outputs[0];
    return insert_node(graph_, product_, type, version, std::move(inputs), std::move(attributes),
                       fmt::format("{}/{}", output.name, type), dtype, *output.shape);
  }

  // A number for each output channel, or one for all.
  Value* by_channel(std::string_view role, const std::vector<float>& values) {
    std::vector<int64_t> dims(axes_behind_ + 1, 1);
    dims[0] = std::ssize(values);
    return graph_.add_constant(fmt::format("{}/{}", product_->origin.name, role),
                               Tensor::of(DType::float32, dims, values));
  }

 private:
  Graph& graph_;
  Node* product_;
  size_t axes_behind_;
};

// The bias as numbers; none if there is none, nothing if a run gives it.
std::optional<std::vector<float>> constant_bias(const Node& product) {
  if (product.inputs.size() < 3 || product.inputs[2] == nullptr) return std::vector<float>();
  const Value& bias = *product.inputs[2];
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

// The operands of a convolution or product whose sums may be integers.
struct Operands {
  Quantized x, w;
  std::vector<float> bias;
};

// `channel_axis` is that of the weights' output channels.
std::optional<Operands> operands_of(const Node& product, size_t channel_axis) {
  const std::optional<Quantized> x = as_quantized(*product.inputs[0], 0);
  const std::optional<Quantized> w = as_quantized(*product.inputs[1], channel_axis);
  if (!x || !w || x->scales.size() != 1 || !has_signed_bytes(*w)) return std::nullopt;
  std::optional<std::vector<float>> bias = constant_bias(product);
  if (!bias) return std::nullopt;
  return Operands{*x, *w, *std::move(bias)};
}

void replace(Graph& graph, Node* product, const Operands& operands, Replacement& put, Value* sum) {
  std::vector<float> scales;
  for (const float scale : operands.w.scales) scales.push_back(operands.x.scales[0] * scale);
  Value* number = put.add("Cast", DType::float32, {sum}, {{"to", static_cast<int64_t>(DType::float32)}});
  Value* result = put.add("Mul", DType::float32, {number, put.by_channel("scale", scales)}, {});
  if (!operands.bias.empty())
    result = put.add("Add", DType::float32, {result, put.by_channel("bias", operands.bias)}, {});
  graph.replace_uses(product->outputs[0], result);
}

// One group of enough channels, or several of any.
bool has_kernel_of_bytes(const NodeReader& convolution) {
  if (convolution.integer("group", 1) > 1) return true;
  return convolution.shape(1)[1].constant().value_or(0) >= least_input_channels;
}

void replace_convolution(Graph& graph, Node* convolution) {
  const NodeReader reader(*convolution);
  if (reader.rank(0) < 3 || reader.rank(0) > 5 || !has_kernel_of_bytes(reader)) return;
  const std::optional<Operands> operands = operands_of(*convolution, 0);
  if (!operands) return;
  const auto& [x, w, bias] = *operands;
  Replacement put(graph, convolution, reader.rank(0) - 2);
  Value* sum = put.add("ConvInteger", DType::int32, {x.integers, w.integers, x.zero_point, w.zero_point},
                       convolution->attributes);
  replace(graph, convolution, *operands, put, sum);
}

// Rows become columns.
Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  Tensor result = Tensor::zeros(matrix.dtype(), {columns, rows});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result.mutable_bytes()[column * rows + row] = matrix.bytes()[row * columns + column];
  return result;
}

void replace_matrix_product(Graph& graph, Node* product) {
  const NodeReader reader(*product);
  const ProductSpec spec = resolve_product(reader);
  if (spec.a_is_transposed || spec.alpha != 1 || spec.beta != 1 || reader.rank(0) < 2 || reader.rank(1) != 2) return;
  const size_t channel_axis = spec.b_column_axis();
  const std::optional<Operands> operands = operands_of(*product, channel_axis);
  if (!operands) return;
  const auto& [x, w, bias] = *operands;
  // C must have one value per output channel; a column vector or a full matrix has not.
  if (bias.size() > 1 && !reader.shape(2).back().is_constant(std::ssize(bias))) return;
  Replacement put(graph, product, 0);
  Value* matrix = w.integers;
  if (spec.b_is_transposed)
    matrix = graph.add_constant(fmt::format("{}/transposed", matrix->name), transposed(*matrix->constant));
  Value* sum = put.add("MatMulInteger", DType::int32, {x.integers, matrix, x.zero_point, w.zero_point}, {});
  replace(graph, product, *operands, put, sum);
}

// Weights less their zero point, summed over the inputs of each output: [output, 1, taps...]. Nothing if a sum over the
// taps is more than float32 counts exactly.
std::optional<Tensor> sums_of_weights(const Tensor& weights, const std::vector<int64_t>& zeros) {
  constexpr int64_t most = int64_t{1} << 24;
  const std::vector<int64_t> values = weights.as_int64();
  std::vector<int64_t> dims = weights.dims();
  const int64_t outputs = dims[0], inputs = std::exchange(dims[1], 1), taps = checked_product(dims) / outputs;
  std::vector<float> sums;
  for (int64_t output = 0; output < outputs; ++output) {
    const int64_t zero = zeros[zeros.size() == 1 ? 0 : static_cast<size_t>(output)];
    int64_t magnitude = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t sum = 0;
      for (int64_t input = 0; input < inputs; ++input)
        sum += values[static_cast<size_t>((output * inputs + input) * taps + tap)] - zero;
      magnitude += std::abs(sum);
      sums.push_back(static_cast<float>(sum));
    }
    if (magnitude >= most) return std::nullopt;
  }
  return Tensor::of(DType::float32, dims, sums);
}

// The constant zero points of the weights of a ConvInteger; nothing if a run gives them.
std::optional<std::vector<int64_t>> zero_points_of_weights(const NodeReader& convolution) {
  if (!convolution.has_input(3)) return std::vector<int64_t>{0};
  if (convolution.constant(3) == nullptr) return std::nullopt;
  return convolution.constant(3)->as_int64();
}

// The zero point of the input counts if a tap is inside of it: as often as a convolution of ones says.
void separate_zero_point(Graph& graph, Node* convolution) {
  const NodeReader reader(*convolution);
  if (!reader.has_input(2) || reader.constant(2) != nullptr || reader.constant(1) == nullptr) return;
  const std::optional<std::vector<int64_t>> zeros = zero_points_of_weights(reader);
  if (!zeros || reader.constant(1)->size() == 0) return;
  std::optional<Tensor> sums = sums_of_weights(*reader.constant(1), *zeros);
  if (!sums) return;
  Value *const x = convolution->inputs[0], *const zero = convolution->inputs[2];
  Value* const of_weights = convolution->inputs.size() > 3 ? convolution->inputs[3] : nullptr;
  const Shape &shape = *convolution->outputs[0]->shape, &zero_shape = *zero->shape;
  const std::string name = convolution->outputs[0]->name;
  const auto put = [&](std::string_view type, DType dtype, std::vector<Value*> inputs,
                       std::vector<NamedAttribute> attributes, const Shape& of, std::string_view role) {
    return insert_node(graph, convolution, type, version, std::move(inputs), std::move(attributes),
                       fmt::format("{}/{}", name, role), dtype, of);
  };
  const auto number = [&](std::string_view role, float value) {
    return graph.add_constant(fmt::format("{}/{}", name, role), Tensor::of(DType::float32, {}, std::vector{value}));
  };
  const auto axis = [&](std::string_view role, int64_t value) {
    return graph.add_constant(fmt::format("{}/{}", name, role), Tensor::of(DType::int64, {1}, std::vector{value}));
  };
  Shape one_channel = *x->shape;
  one_channel[1] = 1;
  const NamedAttribute to_float{"to", static_cast<int64_t>(DType::float32)},
      to_int{"to", static_cast<int64_t>(DType::int32)};
  Value* const channel =
      put("Slice", x->dtype, {x, axis("begin", 0), axis("end", 1), axis("axis", 1)}, {}, one_channel, "channel");
  Value* const numbers = put("Cast", DType::float32, {channel}, {to_float}, one_channel, "numbers");
  Value* const nothing = put("Mul", DType::float32, {numbers, number("zero", 0)}, {}, one_channel, "nothing");
  Value* const ones = put("Add", DType::float32, {nothing, number("one", 1)}, {}, one_channel, "ones");
  std::vector<NamedAttribute> in_one_group = convolution->attributes;
  std::erase_if(in_one_group, [](const NamedAttribute& attribute) { return attribute.name == "group"; });
  Value* const weights = graph.add_constant(fmt::format("{}/sums", name), *std::move(sums));
  Value* const counted = put("Conv", DType::float32, {ones, weights}, in_one_group, shape, "counted");
  Value* const count = put("Cast", DType::int32, {counted}, {to_int}, shape, "count");
  Value* const whole_zero = put("Cast", DType::int32, {zero}, {to_int}, zero_shape, "whole_zero");
  Value* const excess = put("Mul", DType::int32, {count, whole_zero}, {}, shape, "excess");
  Value* const sum = put("ConvInteger", DType::int32, {x, convolution->inputs[1], nullptr, of_weights},
                         convolution->attributes, shape, "sum");
  graph.replace_uses(convolution->outputs[0], put("Sub", DType::int32, {sum, excess}, {}, shape, "difference"));
}

// The zero point of bytes with one.
int64_t zero_point_of(const Value* zero_point) {
  return zero_point == nullptr ? 0 : zero_point->constant->as_int64().at(0);
}

// Whether a QuantizeLinear gives back the integers whose dequantised numbers it reads.
bool undoes(const Node& node, const Quantized& numbers) {
  if (!is_operator(&node, "QuantizeLinear")) return false;
  const NodeReader reader(node);
  const Tensor* scale = reader.constant(1);
  if (scale == nullptr || scale->size() != 1 || scale->dtype() != DType::float32) return false;
  if (scale->values<float>()[0] != numbers.scales[0] || node.outputs[0]->dtype != numbers.integers->dtype) return false;
  if (reader.has_input(2) && (reader.constant(2) == nullptr || reader.constant(2)->size() != 1)) return false;
  return zero_point_of(reader.has_input(2) ? node.inputs[2] : nullptr) == zero_point_of(numbers.zero_point);
}

// The largest integer is the largest number if the scale is above zero.
void pool_integers(Graph& graph, Node* pool) {
  const std::optional<Quantized> x = as_quantized(*pool->inputs[0], 0);
  if (!x || x->scales.size() != 1 || !(x->scales[0] > 0)) return;
  if (pool->outputs.size() > 1 && pool->outputs[1] != nullptr) return;
  Value* const output = pool->outputs[0];
  Value* const integers = insert_node(graph, pool, "MaxPool", version, {x->integers}, pool->attributes,
                                      fmt::format("{}/MaxPool", output->name), x->integers->dtype, *output->shape);
  Value* const numbers = insert_node(graph, pool, "DequantizeLinear", version, {integers, x->scale, x->zero_point}, {},
                                     fmt::format("{}/DequantizeLinear", output->name), output->dtype, *output->shape);
  graph.replace_uses(output, numbers);
  std::vector<Value*> undone;
  for (const Use& use : numbers->uses)
    if (undoes(*use.node, *x)) undone.push_back(use.node->outputs[0]);
  for (Value* value : undone)
    if (!graph.is_output(value)) graph.replace_uses(value, integers);
}

}  // namespace

void use_integer_products(Graph& graph) {
  std::vector<Node*> pools;
  for (const auto& node : graph.nodes())
    if (is_operator(node.get(), "MaxPool") && !graph.is_output(node->outputs[0])) pools.push_back(node.get());
  for (Node* pool : pools) pool_integers(graph, pool);
  std::vector<Node*> products;
  for (const auto& node : graph.nodes())
    if (is_operator(node.get(), "Conv") || is_operator(node.get(), "ConvInteger") || is_matrix_product(*node))
      products.push_back(node.get());
  for (Node* product : products) {
    if (graph.is_output(product->outputs[0])) continue;
    if (is_matrix_product(*product))
      replace_matrix_product(graph, product);
    else if (is_operator(product, "ConvInteger"))
      separate_zero_point(graph, product);
    else
      replace_convolution(graph, product);
  }
  graph.erase_unused();
}

}  // namespace onnxc
