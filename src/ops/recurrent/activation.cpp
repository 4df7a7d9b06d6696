#include "ops/recurrent/activation.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/count_text.h"

namespace onnxc {
namespace {

// A function that is an operator of the same name, or is written out below; which of the numbers it takes, and their
// defaults.
struct Function {
  std::string_view name, type;
  bool has_alpha = false, has_beta = false;
  float alpha = 0, beta = 0;
};

constexpr std::array functions = {
    Function{"relu", "Relu"},
    Function{"tanh", "Tanh"},
    Function{"sigmoid", "Sigmoid"},
    Function{"softsign", "Softsign"},
    Function{"softplus", "Softplus"},
    Function{"leakyrelu", "LeakyRelu", true, false, 0.01F},
    Function{"thresholdedrelu", "ThresholdedRelu", true, false, 1},
    Function{"elu", "Elu", true, false, 1},
    Function{"hardsigmoid", "HardSigmoid", true, true, 0.2F, 0.5F},
    Function{"affine", "", true, true, 1, 0},
    Function{"scaledtanh", "", true, true, 1, 1},
};

const Function* find_function(std::string_view name) {
  const auto* found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() ? nullptr : found;
}

// Attribute 'activations', else the defaults for each direction.
std::vector<std::string> names_of(const NodeReader& node, const std::vector<std::string>& defaults, size_t directions) {
  if (const Attribute* attribute = node.node().find_attribute("activations")) {
    const auto* names = std::get_if<std::vector<std::string>>(attribute);
    node.check(names != nullptr, "attribute 'activations' must be a list of strings");
    return *names;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < directions; ++i) names.insert(names.end(), defaults.begin(), defaults.end());
  return names;
}

}  // namespace

std::vector<RecurrentActivation> read_activations(const NodeReader& node, const std::vector<std::string>& defaults,
                                                  size_t directions) {
  const std::vector<std::string> names = names_of(node, defaults, directions);
  const size_t count = defaults.size() * directions;
  node.check(names.size() >= count, "attribute 'activations' names {}; {} are expected, {} a direction",
             counted(names.size(), "function"), count, defaults.size());
  const std::vector<float> alphas = node.reals("activation_alpha"), betas = node.reals("activation_beta");
  auto alpha = alphas.begin();
  auto beta = betas.begin();
  std::vector<RecurrentActivation> result;
  for (size_t i = 0; i < count; ++i) {
    std::string name = names[i];
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
    const Function* function = find_function(name);
    node.check(function != nullptr,
               "attribute 'activations' names '{}', which is not a function of ONNX's RNN, GRU and LSTM", names[i]);
    result.push_back({name, function->alpha, function->beta});
    if (function->has_alpha && alpha != alphas.end()) result.back().alpha = *alpha++;
    if (function->has_beta && beta != betas.end()) result.back().beta = *beta++;
  }
  return result;
}

Value* apply(ExpandContext& c, const RecurrentActivation& activation, Value* x, DType dtype) {
  const Function* function = find_function(activation.name);
  internal_check(function != nullptr, "an activation that was read");
  if (activation.name == "affine") {
    Value* scaled = c.add("Mul", {c.number(dtype, activation.alpha), x});
    return c.add("Add", {scaled, c.number(dtype, activation.beta)});
  }
  if (activation.name == "scaledtanh") {
    Value* inner = c.add("Tanh", {c.add("Mul", {c.number(dtype, activation.beta), x})});
    return c.add("Mul", {c.number(dtype, activation.alpha), inner});
  }
  std::vector<NamedAttribute> attributes;
  if (function->has_alpha) attributes.push_back({"alpha", activation.alpha});
  if (function->has_beta) attributes.push_back({"beta", activation.beta});
  return c.add(function->type, {x}, std::move(attributes));
}

}  // namespace onnxc
