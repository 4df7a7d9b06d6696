// A program's memory as the table from which the runtime plans (BufferDescription of runtime/host/model.h).
#pragma once

#include "codegen/host/emit_context.h"
#include "codegen/host/weights.h"

namespace onnxc {

struct BufferTable {
  std::vector<std::string> rows;  // initializers, in the order of EmitContext::storages
  WeightBytes weights;
};

BufferTable buffer_table(const EmitContext& context);

}  // namespace onnxc
