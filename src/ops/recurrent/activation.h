// The activation functions of RNN, GRU and LSTM, by name.
#pragma once

#include <string>
#include <vector>

#include "ops/expand_context.h"

namespace onnxc {

// One activation of a node: a function with the numbers it takes.
struct RecurrentActivation {
  std::string name;  // in lower case
  float alpha = 0, beta = 0;
};

// The activations of a node, `defaults.size()` for each direction: attribute 'activations', else the defaults. Each
// function that takes alpha or beta takes the next of 'activation_alpha' and 'activation_beta', or its own default.
std::vector<RecurrentActivation> read_activations(const NodeReader& node, const std::vector<std::string>& defaults,
                                                  size_t directions);
// The function of a value of this element type.
Value* apply(ExpandContext& c, const RecurrentActivation& activation, Value* x, DType dtype);

}  // namespace onnxc
