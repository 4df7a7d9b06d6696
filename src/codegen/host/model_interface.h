// The functions of a model that compute from its dims (bind, output_dims, sizes), and the descriptions of its tensors.
#pragma once

#include "codegen/host/emit_context.h"

namespace onnxc {

void print_bind(TextWriter& writer, const EmitContext& context);
// The function that reads the symbols that a step binds, and checks the guards that they complete.
void print_run_time_binding(TextWriter& writer, const EmitContext& context, size_t step_index,
                            const std::string& function_name);
// The function that tells whether a step runs, or whether the loop that it begins has another round.
void print_step_condition(TextWriter& writer, const EmitContext& context, const Step& step,
                          const std::string& function_name);
void print_output_dims(TextWriter& writer, const EmitContext& context);
// The level at which each dim of each output is known.
std::vector<std::string> output_dim_levels(const EmitContext& context);

// The scratch bytes a thread of each level's kernels, as int64_t expressions.
using ScratchOfLevels = std::map<int, std::set<std::string>>;
void print_sizes(TextWriter& writer, const EmitContext& context, const ScratchOfLevels& scratch);

// Declares the texts of the dims of a tensor as `name`, and returns its onnxc_value_info as an initializer.
// The dims of all states, one after the other.
void print_state_dims(TextWriter& writer, const EmitContext& context);
std::string tensor_description(TextWriter& writer, const Buffer& buffer, const std::string& name);

}  // namespace onnxc
