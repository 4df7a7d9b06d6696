// Whether the memory that a step is given is of the size that the step takes it for. The verifier asks after each pass.
#pragma once

#include <optional>
#include <string>

#include "ir/program/program.h"
#include "ir/program/step_facts.h"

namespace onnxc {

// The law holds for all sizes with which the step runs (ir/program/step_facts.h), and for each buffer that it reads or
// writes. A view lies within its parent unless it is empty. An alias has as many elements as its parent. A kernel's
// operands have the extents that the kernel was made for. The epilogue of a kernel that fills its output is of the
// output's shape. Not proven different is not enough.
//
// Limit: the guards of a branch count as if it were taken. A value that a branch computes may be loaded by a nest that
// runs always, under the branch's condition, and the law does not look into selects.
class OperandLaw {
 public:
  OperandLaw(const Program& program, const StepFacts& facts) : program_(program), facts_(facts) {}

  // The violation of the law at the step, as text; nothing if there is none.
  std::optional<std::string> fault(size_t step) const;

 private:
  std::optional<std::string> fault_of_buffer(size_t step, BufferId id) const;
  std::optional<std::string> fault_of_operand(size_t step, BufferId id, const KernelOperand& expected) const;
  std::optional<std::string> fault_of_call(size_t step, const KernelCall& call) const;
  bool is_within_parent(size_t step, const Buffer& view) const;
  bool is_equal(size_t step, const Expr& a, const Expr& b) const;
  bool holds_as_many(size_t step, const Shape& a, const Shape& b) const;
  const Facts& facts_at(size_t step, const std::set<Symbol>& symbols) const;

  const Program& program_;
  const StepFacts& facts_;
};

}  // namespace onnxc
