// The functions of a model that know its dims: bind, output_dims, sizes; and the descriptions of its tensors.
#pragma once

#include "codegen/emit_context.h"

namespace onnxc {

void print_bind(TextWriter& writer, const EmitContext& context);
void print_output_dims(TextWriter& writer, const EmitContext& context);
// `scratch`: the bytes a thread that kernels ask for, as int64_t expressions.
void print_sizes(TextWriter& writer, const EmitContext& context, const std::set<std::string>& scratch);

// Declares the texts of the dims of a tensor as `name`, and returns its onnxc_value_info as an initializer.
std::string tensor_description(TextWriter& writer, const Buffer& buffer, const std::string& name);

}  // namespace onnxc
