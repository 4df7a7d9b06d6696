// Which elements a step may load and store: those that its buffers have. The verifier asks after each pass.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ir/program/program.h"
#include "ir/program/step_facts.h"

namespace onnxc {

struct UndecidedAccesses {
  std::set<const ScalarNode*> loads;
  std::set<const Store*> stores;
  std::string first;  // as text
};

// Every index of a load or store lies within its axis, for all values of axes, dims and lets that the place allows.
// That is, loops around it run, a select takes this side, a store's condition holds, and the program's guards hold.
// Conditions do not help a let, since a let is computed wherever the axes that it names run, nor the second operand of
// an `and`, which is computed whatever the first is.
//
// Limits: what a kernel reads of its operands is the kernel's (ir/program/operand_law.h); an index that wraps around at
// 64 bits is not seen.
class BoundsLaw {
 public:
  BoundsLaw(const Program& program, const StepFacts& facts) : program_(program), facts_(facts) {}

  // The accesses that break the law in a nest that stands at the step.
  UndecidedAccesses undecided(size_t step, const LoopNest& nest) const;
  // Which access of the step, a nest or a kernel with its epilogues, breaks the law, as text; nothing if none does.
  std::optional<std::string> fault(size_t step) const;

 private:
  const Program& program_;
  const StepFacts& facts_;
};

}  // namespace onnxc
