// The places of a step's results for the runtime's traces and comparisons: its StepOutputs (runtime/base/model.h).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "codegen/host/emit_context.h"
#include "codegen/host/shared_functions.h"

namespace onnxc {

class StepOutputPrinter {
 public:
  // Writes definitions into `writer`; those that are functions are shared through `functions`.
  StepOutputPrinter(const EmitContext& context, TextWriter& writer, SharedFunctions& functions);

  // Defines the StepOutputs of the tensors that are whole after the step. Returns how many they are and the array's
  // name, "2, step3_outputs".
  std::string describe(size_t step);

 private:
  std::vector<BufferId> completed(size_t step) const;
  std::optional<std::string> describe_output(BufferId id, const std::string& name);
  std::optional<std::pair<Expr, Expr>> axis_steps(BufferId id, size_t axis) const;
  std::string text(const Expr& expr) const { return print_expr(expr, context_.names.symbols); }

  const EmitContext& context_;
  std::map<BufferId, size_t> last_writers_;
  TextWriter& writer_;
  SharedFunctions& functions_;
};

}  // namespace onnxc
