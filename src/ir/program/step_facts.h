// The facts about sizes at a step.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "ir/expr/facts.h"
#include "ir/program/program.h"

namespace onnxc {

class StepFacts {
 public:
  explicit StepFacts(const Program& program);

  // Which guards count: those of branches that are taken when the step runs, or those of every branch.
  enum class Branches : uint8_t { taken, any };

  // The loops that the step runs in, its condition, and the guards that are checked before it runs; of the guards those
  // that say something of these symbols.
  const Facts& at(size_t step, const std::set<Symbol>& symbols, Branches branches = Branches::taken) const;

 private:
  std::vector<size_t> guards_of(size_t step, std::set<Symbol> symbols) const;

  const Program& program_;
  std::map<Symbol, size_t> bound_by_;
  std::vector<std::vector<size_t>> loops_;  // around each step, outermost first
  std::vector<std::set<Symbol>> symbols_of_guards_;
  // Keyed by the loops around a step, its condition, and the guards that count there.
  mutable std::map<std::tuple<std::vector<size_t>, Expr, std::vector<size_t>, Branches>, Facts> facts_;
};

}  // namespace onnxc
