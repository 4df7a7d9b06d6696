// Which elements a step may load and store: those that its buffers have. The verifier asks after each pass.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/expr/facts.h"
#include "ir/program/program.h"

namespace onnxc {

struct UndecidedAccesses {
  std::set<const ScalarNode*> loads;
  std::set<const Store*> stores;
  std::string first;  // as text
};

// Every index of a load or store lies within its axis, for all values of axes, dims and lets that the place allows:
// loops around it run, a select behind its condition, a store where its own holds, and the program's guards hold. Not
// behind a condition: what a let loads, since a let is computed wherever the axes that it names run; nor the second
// operand of an `and`, which is computed whatever the first is.
//
// Limits: what a kernel reads of its operands is the kernel's; an index that wraps around at 64 bits is not seen.
class BoundsLaw {
 public:
  explicit BoundsLaw(const Program& program);

  // What breaks the law in a nest that stands at the step.
  UndecidedAccesses undecided(size_t step, const LoopNest& nest) const;
  // Which access of the step, a nest or a kernel with its epilogues, breaks the law, as text; nothing where none does.
  std::optional<std::string> fault(size_t step) const;

 private:
  const Facts& facts_at(size_t step, const std::set<Symbol>& symbols) const;
  std::vector<size_t> guards_of(size_t step, std::set<Symbol> symbols) const;

  const Program& program_;
  std::map<Symbol, size_t> bound_by_;
  std::vector<std::vector<size_t>> loops_;  // around each step, outermost first
  std::vector<std::set<Symbol>> symbols_of_guards_;
  // By the loops around a step, its condition, and the guards that count there.
  mutable std::map<std::tuple<std::vector<size_t>, Expr, std::vector<size_t>>, Facts> facts_;
};

}  // namespace onnxc
