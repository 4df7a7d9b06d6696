// The functions of a model that know its dims: bind, output_dims, sizes; and the descriptions of its tensors.
#pragma once

#include "codegen/host/emit_context.h"

namespace onnxc {

void print_bind(TextWriter& writer, const EmitContext& context);
// The function that reads the symbols that a step binds, and checks what can be checked then.
void print_run_time_binding(TextWriter& writer, const EmitContext& context, size_t step_index,
                            const std::string& function_name);
// The function that says whether a step runs, or another round of the loop that it begins.
void print_step_condition(TextWriter& writer, const EmitContext& context, const Step& step,
                          const std::string& function_name);
void print_output_dims(TextWriter& writer, const EmitContext& context);
// The level at which each dim of each output is known.
std::vector<std::string> output_dim_levels(const EmitContext& context);

// The bytes a thread that the kernels of each level ask for, as int64_t expressions.
using ScratchOfLevels = std::map<int, std::set<std::string>>;
void print_sizes(TextWriter& writer, const EmitContext& context, const ScratchOfLevels& scratch);

// Declares the texts of the dims of a tensor as `name`, and returns its onnxc_value_info as an initializer.
std::string tensor_description(TextWriter& writer, const Buffer& buffer, const std::string& name);

}  // namespace onnxc
