// The memory of a program as the table that the runtime plans from (BufferDescription of runtime/cpu/model.h).
#pragma once

#include "codegen/emit_context.h"
#include "codegen/weights.h"

namespace onnxc {

struct BufferTable {
  std::vector<std::string> rows;  // initializers, in the order of EmitContext::storages
  WeightBytes weights;
};

BufferTable buffer_table(const EmitContext& context);

}  // namespace onnxc
