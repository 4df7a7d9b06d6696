// What the runtime knows of a step beside its function: names, operations, where its outputs are (runtime/cpu/model.h).
#pragma once

#include <map>
#include <string>

#include "codegen/emit_context.h"

namespace onnxc {

class StepDescriptionPrinter {
 public:
  explicit StepDescriptionPrinter(const EmitContext& context);

  // Returns the StepDescription's initializer of a step that `function` runs and reports call `name`. `flow` is the
  // end of it, from StepDescription::bind on.
  std::string describe(size_t step, const std::string& function, const std::string& name, const Expr& operations,
                       const std::string& flow);

  // The definitions that the initializers use.
  std::string take() { return writer_.take(); }

 private:
  std::vector<BufferId> completed(size_t step) const;
  std::string describe_operations(const Expr& operations);
  std::optional<std::string> describe_output(BufferId id, const std::string& name);
  std::optional<std::pair<Expr, Expr>> axis_steps(BufferId id, size_t axis) const;
  std::string text(const Expr& expr) const { return print_expr(expr, context_.names.symbols); }

  // The name of a function of this signature and body. Equal ones are written once.
  std::string function(const std::string& result, const std::string& name, const std::string& parameters,
                       const std::string& body);

  const EmitContext& context_;
  std::map<BufferId, size_t> last_writers_;
  TextWriter writer_;
  std::map<std::string, std::string> functions_;  // names by text
};

}  // namespace onnxc
