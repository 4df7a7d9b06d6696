#include "codegen/call/kernel_text.h"

#include "codegen/text/scalar_dialect.h"

namespace onnxc {
namespace {

// A typed pointer to element 0 of a buffer.
std::string pointer(const EmitContext& context, const KernelCall& call, BufferId id) {
  const Buffer& buffer = context.program.buffer(id);
  const bool is_written = id == call.output || id == call.workspace;
  const std::string type = (is_written ? "" : "const ") + ScalarDialect().storage_type(buffer.dtype);
  const std::vector<Expr> origin(buffer.shape.size(), 0);
  const Expr offset = buffer.is_packed ? Expr(0) : context.program.offset(id, origin);
  const std::string base = fmt::format("static_cast<{}*>(frame.buffers[{}])", type, context.place(id));
  return offset.is_constant(0) ? base : fmt::format("{} + {}", base, print_expr(offset, context.names.symbols));
}

}  // namespace

KernelText kernel_text(const EmitContext& context, const KernelCall& call) {
  return {context.program, [&context](const Expr& expr) { return print_expr(expr, context.names.symbols); },
          [&context, &call](BufferId id) { return pointer(context, call, id); }};
}

}  // namespace onnxc
