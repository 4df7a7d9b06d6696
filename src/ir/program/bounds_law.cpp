#include "ir/program/bounds_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "ir/program/index_facts.h"

namespace onnxc {
namespace {

bool names_any(const Scalar& scalar, const std::set<Symbol>& symbols) {
  bool found = false;
  const auto look = [&](const Expr& expr) {
    for (const Symbol& symbol : expr.symbols()) found = found || symbols.contains(symbol);
  };
  visit(scalar, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::index) look(node.expr);
    std::ranges::for_each(node.indices, look);
  });
  return found;
}

// The accesses of a nest that stands at a step, or of an epilogue over the axes of one.
class AccessChecker {
 public:
  AccessChecker(const Program& program, const LoopNest& nest, const StepFacts& facts, size_t step)
      : program_(program), nest_(nest), facts_of_steps_(facts), step_(step) {}

  UndecidedAccesses find_in_epilogue(const Scalar& value) {
    check(value, all_axes(), {}, "an epilogue");
    return std::move(undecided_);
  }

  UndecidedAccesses find() {
    for (const Let& let : nest_.lets) check(let.value, axes_of(let.value), {}, "let " + let.symbol.name());
    for (const Accumulator& accumulator : nest_.accumulators)
      check(accumulator.element, all_axes(), {}, "an accumulator");
    for (const Store& store : nest_.stores) check_store(store);
    return std::move(undecided_);
  }

 private:
  using Axes = std::set<Symbol>;
  struct Taken {
    Scalar condition;
    bool holds;
    auto key() const { return std::pair(&*condition, holds); }
  };
  using Path = std::vector<Taken>;

  void check_store(const Store& store) {
    const Axes axes = outer_axes();
    if (store.condition) check(store.condition, axes, {}, "the condition of a store");
    Path path;
    if (store.condition) path.push_back({store.condition, true});
    check(store.value, axes, path, "a store");
    if (!is_within(store.buffer, store.indices) && !is_lawful(store.buffer, store.indices, axes, path, "stores"))
      undecided_.stores.insert(&store);
  }

  // ------------------------------------------------------------------------ the axes that run when a scalar is
  // computed

  static bool runs_outside(const Axis& axis) { return axis.kind != AxisKind::reduce; }

  Axes outer_axes() const {
    Axes axes;
    for (const Axis& axis : nest_.axes)
      if (runs_outside(axis)) axes.insert(axis.symbol);
    return axes;
  }

  Axes all_axes() const {
    Axes axes;
    for (const Axis& axis : nest_.axes) axes.insert(axis.symbol);
    return axes;
  }

  // A let that names no reduced axis, itself or by another let, is computed even if these do not run.
  Axes axes_of(const Scalar& value) const {
    Axes axes = outer_axes();
    for (const Axis& axis : nest_.axes)
      if (!runs_outside(axis) && names_any(value, with_lets_of(axis.symbol))) axes.insert(axis.symbol);
    return axes;
  }

  // The axis, and the lets that vary with it.
  std::set<Symbol> with_lets_of(const Symbol& axis) const {
    std::set<Symbol> symbols{axis};
    for (const Let& let : nest_.lets)
      if (names_any(let.value, symbols)) symbols.insert(let.symbol);
    return symbols;
  }

  // ----------------------------------------------------------------------------------------------- loads of a scalar

  void check(const Scalar& root, const Axes& axes, Path path, std::string_view what) {
    // The nodes that are or hold a load that is not proven to be within its buffer.
    doubtful_.clear();
    visit(root, [&](const ScalarNode& node) {
      const auto is_doubtful = [&](const Scalar& operand) { return doubtful_.contains(&*operand); };
      if (node.op == ScalarOp::load ? !is_within(node.buffer, node.indices)
                                    : std::ranges::any_of(node.operands, is_doubtful))
        doubtful_.insert(&node);
    });
    seen_.clear();
    if (!doubtful_.empty()) walk(*root, axes, path, fmt::format("in {} loads", what));
  }

  void walk(const ScalarNode& node, const Axes& axes, Path& path, const std::string& what) {
    if (!doubtful_.contains(&node) || !is_new(node, path)) return;
    if (node.op == ScalarOp::load) {
      if (!is_lawful(node.buffer, node.indices, axes, path, what)) undecided_.loads.insert(&node);
      return;
    }
    if (node.op != ScalarOp::select || !compares_indices(node.operands[0])) {
      for (const Scalar& operand : node.operands) walk(*operand, axes, path, what);
      return;
    }
    walk(*node.operands[0], axes, path, what);
    for (const bool holds : {true, false}) {
      path.push_back({node.operands[0], holds});
      walk(*node.operands[holds ? 1 : 2], axes, path, what);
      path.pop_back();
    }
  }

  bool is_new(const ScalarNode& node, const Path& path) {
    std::vector<std::pair<const ScalarNode*, bool>> keys;
    for (const Taken& taken : path) keys.push_back(taken.key());
    return seen_.emplace(&node, std::move(keys)).second;
  }

  // -------------------------------------------------------------------------------------------------------- one access

  bool is_within(BufferId id, const std::vector<Expr>& indices) const {
    const Shape& shape = program_.buffer(id).shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      // Most indices are the axis of that extent.
      const std::optional<Symbol> axis = indices[i].as_symbol();
      if (axis && axis->info().extent && *axis->info().extent == shape[i]) continue;
      if (!proven_at_least(indices[i], 0) || !proven_less(indices[i], shape[i])) return false;
    }
    return true;
  }

  bool is_lawful(BufferId id, const std::vector<Expr>& indices, const Axes& axes, const Path& path,
                 const std::string& what) {
    // The conditions by themselves are fast to look through, and mostly enough: guard_accesses writes such.
    if (!path.empty() && !outside(id, indices, with(Facts(), path))) return true;
    std::set<Symbol> symbols;
    for (const auto* exprs : {&indices, &program_.buffer(id).shape})
      for (const Expr& expr : *exprs) symbols.merge(expr.symbols());
    const std::optional<size_t> axis = outside(id, indices, with(facts_where(axes, std::move(symbols)), path));
    if (axis && undecided_.first.empty())
      undecided_.first = fmt::format("{} b{} at {} of axis {}, which is not shown to be within {}", what, id,
                                     indices[*axis].to_string(), *axis, program_.buffer(id).shape[*axis].to_string());
    return !axis;
  }

  static Facts with(Facts facts, const Path& path) {
    for (const Taken& taken : path) assume(facts, taken.condition, taken.holds);
    return facts;
  }

  // The first axis whose index is not shown to be within it.
  std::optional<size_t> outside(BufferId id, const std::vector<Expr>& indices, const Facts& facts) const {
    const Shape& shape = program_.buffer(id).shape;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!facts.prove_at_least(indices[i], 0) || !facts.prove_at_least(shape[i], indices[i] + 1)) return i;
    return std::nullopt;
  }

  Facts facts_where(const Axes& axes, std::set<Symbol> symbols) {
    for (const Axis& axis : nest_.axes) symbols.merge(axis.extent.symbols());
    auto [known, is_new] = facts_.try_emplace({axes, std::move(symbols)});
    if (!is_new) return known->second;
    Facts facts = facts_of_steps_.at(step_, known->first.second);
    std::vector<Symbol> in_order;
    for (const Axis& axis : nest_.axes) {
      in_order.push_back(axis.symbol);
      if (axes.contains(axis.symbol)) facts.at_least(axis.extent, 1);
    }
    for (const Let& let : nest_.lets) assume_let(facts, program_, let);
    facts.narrow_symbols(in_order);
    return known->second = std::move(facts);
  }

  const Program& program_;
  const LoopNest& nest_;
  const StepFacts& facts_of_steps_;
  const size_t step_;
  std::map<std::pair<Axes, std::set<Symbol>>, Facts> facts_;
  std::unordered_set<const ScalarNode*> doubtful_;
  std::set<std::pair<const ScalarNode*, std::vector<std::pair<const ScalarNode*, bool>>>> seen_;
  UndecidedAccesses undecided_;
};

}  // namespace

UndecidedAccesses BoundsLaw::undecided(size_t step, const LoopNest& nest) const {
  return AccessChecker(program_, nest, facts_, step).find();
}

std::optional<std::string> BoundsLaw::fault(size_t step) const {
  const auto text_of = [&](const UndecidedAccesses& accesses) {
    return accesses.first.empty() ? std::nullopt : std::optional(accesses.first);
  };
  const Work& work = program_.steps[step].work;
  if (const auto* nest = std::get_if<LoopNest>(&work)) return text_of(undecided(step, *nest));
  const auto* call = std::get_if<KernelCall>(&work);
  if (call == nullptr) return std::nullopt;
  for (const Epilogue* epilogue : {&call->inner_epilogue, &call->epilogue}) {
    if (!epilogue->value) continue;
    LoopNest nest;
    nest.axes = epilogue->axes;
    if (auto fault = text_of(AccessChecker(program_, nest, facts_, step).find_in_epilogue(epilogue->value)))
      return fault;
  }
  return std::nullopt;
}

}  // namespace onnxc
