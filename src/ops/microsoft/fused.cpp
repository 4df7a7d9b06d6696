// Operators that onnxruntime's optimizer writes in place of several: an operator with what follows or precedes it.
#include <algorithm>
#include <array>
#include <numeric>

#include "support/count_text.h"

#include "ops/families.h"

namespace onnxc {
namespace {

constexpr const char* microsoft = "com.microsoft";

// The attributes of a node but for those.
std::vector<NamedAttribute> attributes_without(const NodeReader& node, const std::vector<std::string_view>& names) {
  std::vector<NamedAttribute> result;
  for (const NamedAttribute& attribute : node.node().attributes)
    if (std::ranges::find(names, attribute.name) == names.end()) result.push_back(attribute);
  return result;
}

// -------------------------------------------------------------------------------------------------- activations

// Attribute 'activation' of a fused operator, with the numbers it takes in their order.
Value* activated(ExpandContext& c, Value* x, const std::vector<float>& numbers) {
  const std::string name = c.text("activation", "");
  const auto attribute = [&](std::vector<NamedAttribute>& attributes, const char* key, size_t i) {
    if (i < numbers.size()) attributes.push_back({key, numbers[i]});
  };
  std::vector<NamedAttribute> attributes;
  if (name.empty()) return x;
  if (name == "Clip") {
    c.check(numbers.size() == 2, "attribute 'activation_params' has {}; Clip takes 2",
            counted(numbers.size(), "number"));
    return c.add("Clip", {x, c.number(c.dtype(0), numbers[0]), c.number(c.dtype(0), numbers[1])});
  }
  constexpr std::array plain = {"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"};
  constexpr std::array with_numbers = {"LeakyRelu", "HardSigmoid", "Elu", "ThresholdedRelu"};
  const bool takes_numbers = std::ranges::find(with_numbers, name) != with_numbers.end();
  c.check(takes_numbers || std::ranges::find(plain, name) != plain.end(),
          "attribute 'activation' is '{}', which is not a function that onnxruntime fuses", name);
  if (takes_numbers) attribute(attributes, "alpha", 0);
  if (name == "HardSigmoid") attribute(attributes, "beta", 1);
  return c.add(name, {x}, std::move(attributes));
}

// onnxruntime FusedConv: Conv, to which Z is added, and an activation.
void expand_fused_conv(ExpandContext& c) {
  std::vector<Value*> inputs{c.in(0), c.in(1)};
  if (c.has_input(2)) inputs.push_back(c.in(2));
  Value* y = c.add("Conv", std::move(inputs), attributes_without(c, {"activation", "activation_params"}));
  if (c.has_input(3)) y = c.add("Add", {y, c.in(3)});
  c.give(0, activated(c, y, c.reals("activation_params")));
}

// onnxruntime FusedGemm: Gemm and an activation.
void expand_fused_gemm(ExpandContext& c) {
  std::vector<Value*> inputs{c.in(0), c.in(1)};
  if (c.has_input(2)) inputs.push_back(c.in(2));
  const std::vector<std::string_view> own = {"activation", "activation_alpha", "activation_beta", "activation_gamma"};
  std::vector<float> numbers;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (c.has_attribute(name)) numbers.push_back(c.real(name, 0));
  c.give(0, activated(c, c.add("Gemm", std::move(inputs), attributes_without(c, own)), numbers));
}

// An operand of FusedMatMul as MatMul wants it. 'transBatch' says that the batch dims lie between the rows and columns.
Value* product_operand(ExpandContext& c, size_t i, bool is_transposed, bool has_batch_inside) {
  const size_t rank = c.rank(i);
  if (rank < 2 || (!is_transposed && !has_batch_inside)) return c.in(i);
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  if (has_batch_inside) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (is_transposed) std::swap(perm[rank - 2], perm[rank - 1]);
  return c.add("Transpose", {c.in(i)}, {{"perm", perm}});
}

// onnxruntime FusedMatMul: alpha * op(A) * op(B).
void expand_fused_matmul(ExpandContext& c) {
  Value* a = product_operand(c, 0, c.integer("transA", 0) != 0, c.integer("transBatchA", 0) != 0);
  Value* b = product_operand(c, 1, c.integer("transB", 0) != 0, c.integer("transBatchB", 0) != 0);
  Value* y = c.add("MatMul", {a, b});
  const float alpha = c.real("alpha", 1);
  if (alpha != 1) y = c.add("Mul", {y, c.number(c.dtype(0), alpha)});
  c.give(0, y);
}

Value* gelu(ExpandContext& c, Value* x, const char* approximate) {
  return c.add("Gelu", {x}, {{"approximate", std::string(approximate)}});
}

Value* with_bias(ExpandContext& c, Value* x, size_t bias) {
  return c.has_input(bias) ? c.add("Add", {x, c.in(bias)}) : x;
}

void expand_gelu(ExpandContext& c) { c.give(0, gelu(c, with_bias(c, c.in(0), 1), "none")); }
void expand_fast_gelu(ExpandContext& c) { c.give(0, gelu(c, with_bias(c, c.in(0), 1), "tanh")); }

void expand_quick_gelu(ExpandContext& c) { c.give(0, c.add("Swish", {c.in(0)}, {{"alpha", c.real("alpha", 1.702F)}})); }

// onnxruntime BiasSplitGelu: of X + bias, the first half of the last axis by the Gelu of the second.
void expand_bias_split_gelu(ExpandContext& c) {
  const std::vector<Value*> halves =
      c.add_row("", "Split", {with_bias(c, c.in(0), 1)}, 2, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  c.give(0, c.add("Mul", {halves[0], gelu(c, halves[1], "none")}));
}

void expand_bias_add(ExpandContext& c) { c.give(0, with_bias(c, with_bias(c, c.in(0), 1), 2)); }

// ------------------------------------------------------------------------------------------------ normalisations

// The sum that is normalised, which is the last output.
Value* skip_sum(ExpandContext& c, size_t bias) { return with_bias(c, with_bias(c, c.in(0), 1), bias); }

void check_no_statistics(const ExpandContext& c) {
  c.check(!c.has_output(1) && !c.has_output(2), "its outputs 1 and 2 are for training; onnxc compiles for inference");
}

constexpr float default_skip_epsilon = 1e-12F;

// onnxruntime SkipLayerNormalization: input, skip, gamma, beta, bias.
void expand_skip_layer_normalization(ExpandContext& c) {
  check_no_statistics(c);
  Value* sum = skip_sum(c, 4);
  std::vector<Value*> inputs{sum, c.in(2)};
  if (c.has_input(3)) inputs.push_back(c.in(3));
  Value* y = c.add("LayerNormalization", std::move(inputs),
                   {{"axis", int64_t{-1}}, {"epsilon", c.real("epsilon", default_skip_epsilon)}});
  c.give(0, y);
  c.give(3, sum);
}

// onnxruntime SkipSimplifiedLayerNormalization: input, skip, gamma, bias.
void expand_skip_simplified_layer_normalization(ExpandContext& c) {
  check_no_statistics(c);
  Value* sum = skip_sum(c, 3);
  c.give(0, c.add("RMSNormalization", {sum, c.in(2)},
                  {{"axis", int64_t{-1}}, {"epsilon", c.real("epsilon", default_skip_epsilon)}}));
  c.give(3, sum);
}

// onnxruntime SimplifiedLayerNormalization, which files have in the default domain: RMSNormalization of ONNX 23.
void expand_simplified_layer_normalization(ExpandContext& c) {
  c.check(!c.has_output(1), "its output 1 is for training; onnxc compiles for inference");
  c.give(0, c.add("RMSNormalization", {c.in(0), c.in(1)},
                  {{"axis", c.integer("axis", -1)}, {"epsilon", c.real("epsilon", 1e-5F)}}));
}

Value* transposed(ExpandContext& c, Value* x, std::vector<int64_t> perm) {
  return c.add("Transpose", {x}, {{"perm", std::move(perm)}});
}

// GroupNormalization of x [N, C, H, W], or [N, H, W, C] if 'channels_last' says so, and Swish if 'activation' is 1.
Value* group_norm(ExpandContext& c, Value* x, size_t gamma, size_t beta) {
  const bool is_channels_last = c.integer("channels_last", 1) != 0;
  c.check(c.rank(0) == 4, "an input of rank 4 is expected, found {}", short_text(c.shape(0)));
  if (is_channels_last) x = transposed(c, x, {0, 3, 1, 2});
  const auto parameter = [&](size_t i) {
    return c.dtype(i) == c.dtype(0) ? c.in(i) : c.add("Cast", {c.in(i)}, {{"to", static_cast<int64_t>(c.dtype(0))}});
  };
  Value* y = c.add("GroupNormalization", {x, parameter(gamma), parameter(beta)},
                   {{"num_groups", c.integer("groups")}, {"epsilon", c.real("epsilon", 1e-5F)}});
  if (c.integer("activation", 0) == 1) y = c.add("Swish", {y}, {{"alpha", 1.0F}});
  return is_channels_last ? transposed(c, y, {0, 2, 3, 1}) : y;
}

// onnxruntime GroupNorm: X, gamma, beta.
void expand_group_norm(ExpandContext& c) { c.give(0, group_norm(c, c.in(0), 1, 2)); }

// onnxruntime SkipGroupNorm: X, gamma, beta, skip, bias; skip [N, C] or [N, 1, 1, C], or of X's shape.
void expand_skip_group_norm(ExpandContext& c) {
  Value* skip = c.in(3);
  if (c.rank(3) == 2) skip = c.add("Unsqueeze", {skip, c.integers({1, 2})});
  Value* sum = with_bias(c, c.add("Add", {c.in(0), skip}), 4);
  c.give(0, group_norm(c, sum, 1, 2));
  c.give(1, sum);
}

constexpr OpRow rows[] = {
    {.domain = microsoft, .name = "FusedConv", .expand = expand_fused_conv},
    {.domain = microsoft, .name = "FusedGemm", .expand = expand_fused_gemm},
    {.domain = microsoft, .name = "FusedMatMul", .expand = expand_fused_matmul},
    {.domain = microsoft, .name = "TransposeMatMul", .expand = expand_fused_matmul},
    {.domain = microsoft, .name = "Gelu", .expand = expand_gelu},
    {.domain = microsoft, .name = "BiasGelu", .expand = expand_gelu},
    {.domain = microsoft, .name = "FastGelu", .expand = expand_fast_gelu},
    {.domain = microsoft, .name = "QuickGelu", .expand = expand_quick_gelu},
    {.domain = microsoft, .name = "BiasSplitGelu", .expand = expand_bias_split_gelu},
    {.domain = microsoft, .name = "BiasAdd", .expand = expand_bias_add},
    {.domain = microsoft, .name = "SkipLayerNormalization", .expand = expand_skip_layer_normalization},
    {.domain = microsoft,
     .name = "SkipSimplifiedLayerNormalization",
     .expand = expand_skip_simplified_layer_normalization},
    {.domain = "", .name = "SimplifiedLayerNormalization", .expand = expand_simplified_layer_normalization},
    {.domain = microsoft, .name = "GroupNorm", .expand = expand_group_norm},
    {.domain = microsoft, .name = "SkipGroupNorm", .expand = expand_skip_group_norm},
};

}  // namespace

std::span<const OpRow> microsoft_fused_ops() { return rows; }

}  // namespace onnxc
