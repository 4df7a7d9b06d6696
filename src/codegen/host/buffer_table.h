// A program's memory as the table from which the runtime plans (BufferDescription of runtime/base/model.h).
#pragma once

#include "codegen/host/emit_context.h"
#include "codegen/host/weights.h"

namespace onnxc {

// Initializers, in the order of EmitContext::storages; the constants are packed into `weights`.
std::vector<std::string> buffer_table(const EmitContext& context, WeightBytes& weights);

}  // namespace onnxc
