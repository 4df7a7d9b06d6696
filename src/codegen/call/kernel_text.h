// How an emitter spells what the arguments of a kernel template are made of: the same in the host code of every target.
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

// For the call, inside a function that has a `frame` and the dims declared. The call and the context must outlive it.
KernelText kernel_text(const EmitContext& context, const KernelCall& call);

}  // namespace onnxc
