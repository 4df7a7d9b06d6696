// The text of a kernel template's arguments: the same in the host code of every target.
#pragma once

#include <functional>
#include <string>

#include "codegen/host/emit_context.h"

namespace onnxc {

struct KernelText {
  const Program& program;
  std::function<std::string(const Expr&)> expr;  // an int64_t value
  std::function<std::string(BufferId)> pointer;  // typed pointer to the first element of the buffer (view or not)
};

// For a call inside a function that declares `frame` and the dims. The call and the context must outlive the result.
KernelText kernel_text(const EmitContext& context, const KernelCall& call);

}  // namespace onnxc
