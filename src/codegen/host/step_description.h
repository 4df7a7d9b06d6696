// The description of a step for the runtime besides its function: names, operations, places of its outputs
// (runtime/base/model.h).
#pragma once

#include <optional>
#include <string>

#include "codegen/host/step_outputs.h"

namespace onnxc {

class StepDescriptionPrinter {
 public:
  explicit StepDescriptionPrinter(const EmitContext& context, int indentation = 0)
      : context_(context), writer_(indentation) {}

  // Returns the initializer of a step's StepDescription; `function` runs the step and reports call it `name`. Without
  // `operations` nothing is counted. `rest` is the end of the initializer, from StepDescription::bind on.
  std::string describe(size_t step, const std::string& function, const std::string& name,
                       const std::optional<Expr>& operations, const std::string& rest);

  // The definitions that the initializers use.
  std::string take() { return writer_.take(); }

 private:
  std::string describe_counts(const Step& step, const Expr& operations);
  static std::string describe_source(const Step& step);

  const EmitContext& context_;
  TextWriter writer_;
  SharedFunctions functions_;
  StepOutputPrinter outputs_{context_, writer_, functions_};
};

}  // namespace onnxc
