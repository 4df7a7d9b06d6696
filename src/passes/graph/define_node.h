// The program of a single node, and running it at compile time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/program/program.h"

namespace onnxc {

// The node's definition as a program, every value in row-major layout. Its `inputs` are the node's present inputs, in
// order, each value once; its `outputs` are the node's present outputs.
Program define_node(const Node& node);

// Runs `work`, and names the node in errors that do not name one: the arithmetic of sizes, which may overflow anywhere
// in a rule, does not know the node.
void do_naming(const Node& node, const std::function<void()>& work);

// The node's present inputs and outputs, each once, in the order of that program's.
std::vector<Value*> distinct_inputs(const Node& node);
std::vector<Value*> distinct_outputs(const Node& node);

// The tensor that a value is known to be: a constant, or elements that are all numbers.
std::optional<Tensor> known_tensor(const Value& value);

// The values of `distinct_outputs`, computed from those of `distinct_inputs`. Nothing when a shape is symbolic, the
// definition is not all loops or calls string functions, or the loops take more than `maximum_steps` rounds or more
// than are left of `steps_left`, from which they are subtracted. Nor for a node that draws random numbers.
std::optional<std::vector<Tensor>> compute_outputs(const Node& node, const std::vector<Tensor>& inputs,
                                                   int64_t maximum_steps, int64_t& steps_left);

}  // namespace onnxc
