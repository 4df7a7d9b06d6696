#include "codegen/host/step_flow.h"

#include <fmt/ranges.h>

#include "codegen/host/model_interface.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

std::string StepFlowPrinter::describe(size_t index) {
  const Step& step = program_.steps[index];
  std::string bind = "nullptr", kind = "work";
  size_t partner = 0, round = 0;
  if (begins_level(step)) {
    bind = fmt::format("bind{}", index);
    print_run_time_binding(writer_, context_, index, bind);
    kind = "bind";
  }
  if (const auto* loop = std::get_if<LoopBegin>(&step.work)) {
    kind = "loop_begin";
    partner = end_of_loop(index);
    round = context_.names.places.at(loop->round);
  } else if (std::holds_alternative<LoopEnd>(step.work)) {
    kind = "loop_end";
    partner = *loops_[index];
  }
  return fmt::format("{}, StepKind::{}, {}, {}, {}", bind, kind, share_condition(index), partner, round);
}

size_t StepFlowPrinter::end_of_loop(size_t begin) const {
  for (size_t end = begin; end < loops_.size(); ++end)
    if (loops_[end] == begin && std::holds_alternative<LoopEnd>(program_.steps[end].work)) return end;
  internal_error("a loop that has no end");
}

// Steps of one branch share the function that says whether they run.
std::string StepFlowPrinter::share_condition(size_t index) {
  const Step& step = program_.steps[index];
  const bool is_always = step.condition.is_constant(1) && !std::holds_alternative<LoopBegin>(step.work);
  if (is_always || std::holds_alternative<SymbolBinding>(step.work)) return "nullptr";
  TextWriter unnamed;
  print_step_condition(unnamed, context_, step, "condition");
  auto [known, is_new] = conditions_.try_emplace(unnamed.take(), fmt::format("condition{}", index));
  if (is_new) print_step_condition(writer_, context_, step, known->second);
  return known->second;
}

std::string describe_flow(const SymbolBinding& binding) {
  std::vector<std::string> names;
  for (const Symbol& symbol : binding.symbols) names.push_back(printable(symbol.name()));
  return fmt::format("sizes {}", fmt::join(names, ", "));
}

std::string describe_flow(const LoopBegin& loop) { return fmt::format("loop {}", printable(loop.round.name())); }

std::string describe_flow(const LoopEnd&) { return "end of loop"; }

}  // namespace onnxc
