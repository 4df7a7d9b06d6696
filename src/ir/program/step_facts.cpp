#include "ir/program/step_facts.h"

#include <algorithm>
#include <utility>

namespace onnxc {

StepFacts::StepFacts(const Program& program) : program_(program), bound_by_(binding_steps(program)) {
  std::vector<size_t> open;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (std::holds_alternative<LoopEnd>(program.steps[i].work)) open.pop_back();
    loops_.push_back(open);
    if (std::holds_alternative<LoopBegin>(program.steps[i].work)) open.push_back(i);
  }
  for (const Guard& guard : program.guards) {
    symbols_of_guards_.push_back((guard.left - guard.right).symbols());
    symbols_of_guards_.back().merge(guard.condition.symbols());
  }
}

const Facts& StepFacts::at(size_t step, const std::set<Symbol>& symbols, Branches branches) const {
  const Expr& condition = program_.steps[step].condition;
  auto [known, is_new] = facts_.try_emplace({loops_[step], condition, guards_of(step, symbols), branches});
  Facts& facts = known->second;
  if (!is_new) return facts;
  for (const size_t at : loops_[step]) {
    const auto& loop = std::get<LoopBegin>(program_.steps[at].work);
    facts.at_least(loop.round, 0);
    facts.at_least(loop.count, Expr(loop.round) + 1);
  }
  if (proven_at_least(condition, 0)) facts.at_least(condition, 1);
  for (const size_t i : std::get<2>(known->first)) {
    const Guard& guard = program_.guards[i];
    if (branches == Branches::taken && !facts.prove_at_least(guard.condition, 1)) continue;
    if (guard.kind == Guard::Kind::equal)
      facts.equal(guard.left, guard.right);
    else
      facts.at_least(guard.left, guard.right);
  }
  return facts;
}

// Those that are checked before the step and name one of the symbols, or of the symbols of such a guard.
std::vector<size_t> StepFacts::guards_of(size_t step, std::set<Symbol> symbols) const {
  const auto is_bound = [&](const Symbol& symbol) {
    const auto binding = bound_by_.find(symbol);
    return binding == bound_by_.end() || binding->second < step;
  };
  std::set<size_t> guards;
  for (int round = 0; round < 2; ++round) {
    const std::set<Symbol> wanted = symbols;
    for (size_t i = 0; i < symbols_of_guards_.size(); ++i) {
      const std::set<Symbol>& of_guard = symbols_of_guards_[i];
      const auto is_wanted = [&](const Symbol& symbol) { return wanted.contains(symbol); };
      if (!std::ranges::any_of(of_guard, is_wanted) || !std::ranges::all_of(of_guard, is_bound)) continue;
      guards.insert(i);
      symbols.insert(of_guard.begin(), of_guard.end());
    }
  }
  return {guards.begin(), guards.end()};
}

}  // namespace onnxc
