// The control flow between steps: functions that bind sizes and functions that tell whether a step runs; they run on
// the host for either target; and the members of StepDescription that name them.
#pragma once

#include <map>
#include <string>

#include "codegen/host/emit_context.h"

namespace onnxc {

class StepFlowPrinter {
 public:
  explicit StepFlowPrinter(const EmitContext& context)
      : context_(context), program_(context.program), loops_(enclosing_loops(context.program)) {}

  // Initializers of `bind`, `kind`, `condition`, `partner` and `round`.
  std::string describe(size_t step);

  // The definitions of the functions.
  std::string take() { return writer_.take(); }

 private:
  std::string share_condition(size_t step);
  size_t end_of_loop(size_t begin) const;

  const EmitContext& context_;
  const Program& program_;
  const std::vector<std::optional<size_t>> loops_;
  TextWriter writer_;
  std::map<std::string, std::string> conditions_;  // by text
};

// The name, in reports, of a step that the host decides on.
std::string describe_flow(const SymbolBinding& binding);
std::string describe_flow(const LoopBegin& loop);
std::string describe_flow(const LoopEnd& end);

}  // namespace onnxc
