#include "codegen/text/scalar_printer.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

bool is_one(const Scalar& scalar) { return scalar->op == ScalarOp::constant && scalar->number == 1; }

// x if the node is 1 / (1 + exp(-x)): targets have a function for it.
const Scalar* logistic_argument(const ScalarNode& node) {
  if (node.op != ScalarOp::divide || !is_floating(node.dtype) || !is_one(node.operands[0])) return nullptr;
  const ScalarNode& sum = *node.operands[1];
  if (sum.op != ScalarOp::add || !is_one(sum.operands[0])) return nullptr;
  const ScalarNode& power = *sum.operands[1];
  if (power.op != ScalarOp::exponential || power.operands[0]->op != ScalarOp::negate) return nullptr;
  return &power.operands[0]->operands[0];
}

// The operands that must be computed before the node.
std::span<const Scalar> operands_of(const ScalarNode& node) {
  if (const Scalar* argument = logistic_argument(node)) return {argument, 1};
  return node.operands;
}

}  // namespace

void ScalarPrinter::enter() { blocks_.emplace_back(); }

void ScalarPrinter::leave() {
  for (const ScalarNode* node : blocks_.back()) names_.erase(node);
  blocks_.pop_back();
}

std::string ScalarPrinter::value(const ScalarNode& node) {
  switch (node.op) {
    case ScalarOp::constant:
      return dialect_.constant(node);
    case ScalarOp::index:
      return node.expr.constant() ? fmt::format("int64_t{{{}}}", print_integer(*node.expr.constant()))
                                  : fmt::format("({})", print_expr(node.expr, symbols_));
    case ScalarOp::accumulator:
      return accumulators_.at(node.slot);
    default:
      break;
  }
  if (auto known = names_.find(&node); known != names_.end()) return known->second;
  std::string name = define(node);
  names_.emplace(&node, name);
  blocks_.back().push_back(&node);
  return name;
}

std::string ScalarPrinter::define(const ScalarNode& node) {
  const std::string type = dialect_.value_type(node.dtype);
  if (node.op == ScalarOp::select && (loads_late(*node.operands[1]) || loads_late(*node.operands[2]))) {
    for (const ScalarNode* needed : always_needed(node))
      if (needed != &node) value(*needed);
    std::string name = fmt::format("v{}", count_++);
    print_select(node, name);
    return name;
  }
  std::string text;
  if (node.op == ScalarOp::load) {
    internal_check(node.indices.size() == 1, "a load by offset");
    text = dialect_.load(node.dtype, pointers_.at(node.buffer), print_expr(node.indices[0], symbols_));
  } else if (const Scalar* argument = logistic_argument(node)) {
    text = fmt::format("logistic({})", value(*argument));
  } else {
    std::vector<std::string> operands;
    for (const Scalar& operand : node.operands) operands.push_back(value(operand));
    text = node.op == ScalarOp::select ? dialect_.select(operands[0], operands[1], operands[2])
                                       : dialect_.operation(node, operands);
  }
  std::string name = fmt::format("v{}", count_++);
  writer_.line(fmt::format("const {} {} = {};", type, name, text));
  return name;
}

void ScalarPrinter::print_select(const ScalarNode& node, const std::string& name) {
  auto branch = [&](const Scalar& taken) {
    enter();
    writer_.line(fmt::format("{} = {};", name, value(taken)));
    leave();
  };
  const std::string condition = value(node.operands[0]);
  writer_.line(fmt::format("{} {};", dialect_.value_type(node.dtype), name));
  {
    TextWriter::Scope scope = writer_.scope(fmt::format("if ({})", condition));
    branch(node.operands[1]);
  }
  TextWriter::Scope scope = writer_.scope("else");
  branch(node.operands[2]);
}

bool ScalarPrinter::loads_late(const ScalarNode& node) {
  if (node.op == ScalarOp::load) return !dialect_.loads_early(node);
  if (auto known = loads_late_.find(&node); known != loads_late_.end()) return known->second;
  const bool result = std::ranges::any_of(node.operands, [&](const Scalar& operand) { return loads_late(*operand); });
  return loads_late_[&node] = result;
}

const std::vector<const ScalarNode*>& ScalarPrinter::always_needed(const ScalarNode& node) {
  if (auto known = always_needed_.find(&node); known != always_needed_.end()) return known->second;
  std::vector<const ScalarNode*> needed;
  std::unordered_set<const ScalarNode*> seen;
  const auto add = [&](const ScalarNode* item) {
    if (seen.insert(item).second) needed.push_back(item);
  };
  // Only what is asked for, and each select, keeps its list: those of all nodes would take the square of their number.
  const std::function<void(const ScalarNode&)> collect = [&](const ScalarNode& part) {
    if (seen.contains(&part)) return;
    if (part.op == ScalarOp::select && &part != &node) {
      std::ranges::for_each(always_needed(part), add);
      return;
    }
    if (part.op == ScalarOp::select) {
      collect(*part.operands[0]);
      const std::vector<const ScalarNode*>& if_false = always_needed(*part.operands[2]);
      const std::unordered_set<const ScalarNode*> in_both(if_false.begin(), if_false.end());
      for (const ScalarNode* item : always_needed(*part.operands[1]))
        if (in_both.contains(item)) add(item);
    } else {
      for (const Scalar& operand : operands_of(part)) collect(*operand);
    }
    add(&part);
  };
  collect(node);
  return always_needed_[&node] = std::move(needed);
}

}  // namespace onnxc
