// The program of a single node, and running it at compile time.
#pragma once

#include <functional>

#include "ir/graph.h"
#include "ir/program/program.h"

namespace onnxc {

// The node's definition, every value in row-major layout. `inputs` of the program are the node's inputs that are there,
// in order, each value once; `outputs` are its outputs that are there.
Program define_node(const Node& node);

// Does something with the node. Rules name it in their errors; the arithmetic of sizes, which may overflow anywhere in
// them, does not know it, and is made to.
void do_naming(const Node& node, const std::function<void()>& work);

// The node's inputs and outputs that are there, each once, in the order of that program's.
std::vector<Value*> distinct_inputs(const Node& node);
std::vector<Value*> distinct_outputs(const Node& node);

// The values of `distinct_outputs`, computed from inputs that are all constants. Nothing when one is not, a shape is
// symbolic, the definition is not all loops, or the loops take more than `maximum_steps` rounds or more than are left
// of `steps_left`, of which they are taken.
std::optional<std::vector<Tensor>> compute_constant_outputs(const Node& node, int64_t maximum_steps,
                                                            int64_t& steps_left);

}  // namespace onnxc
