#include "ir/program/operand_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace onnxc {
namespace {

std::set<Symbol> symbols_of(const std::vector<Expr>& exprs) {
  std::set<Symbol> symbols;
  for (const Expr& expr : exprs) symbols.merge(expr.symbols());
  return symbols;
}

Shape without_ones(const Shape& shape) {
  Shape dims;
  std::ranges::copy_if(shape, std::back_inserter(dims), [](const Expr& dim) { return !dim.is_constant(1); });
  return dims;
}

}  // namespace

std::optional<std::string> OperandLaw::fault(size_t step) const {
  const Step& at = program_.steps[step];
  for (const std::vector<BufferId>& ids : {reads(at), writes(at)})
    for (const BufferId id : ids)
      if (auto fault = fault_of_buffer(step, id)) return fault;
  const auto* call = std::get_if<KernelCall>(&at.work);
  return call == nullptr ? std::nullopt : fault_of_call(step, *call);
}

// From the buffer down to its storage.
std::optional<std::string> OperandLaw::fault_of_buffer(size_t step, BufferId id) const {
  while (true) {
    const Buffer& buffer = program_.buffer(id);
    if (!buffer.view && !buffer.alias) return std::nullopt;
    const BufferId parent_id = buffer.view ? buffer.view->parent : buffer.alias->parent;
    const Shape& parent = program_.buffer(parent_id).shape;
    if (buffer.view && !is_within_parent(step, buffer))
      return fmt::format("takes b{} of shape {} from {} on of b{} of shape {}, which is not shown to hold it", id,
                         to_string(buffer.shape), to_string(buffer.view->shift), parent_id, to_string(parent));
    if (buffer.alias && !holds_as_many(step, buffer.shape, parent))
      return fmt::format("takes b{} of shape {} for b{} of shape {}, which is not shown to hold as many elements", id,
                         to_string(buffer.shape), parent_id, to_string(parent));
    id = parent_id;
  }
}

const Facts& OperandLaw::facts_at(size_t step, const std::set<Symbol>& symbols) const {
  return facts_.at(step, symbols, StepFacts::Branches::any);
}

bool OperandLaw::is_within_parent(size_t step, const Buffer& view) const {
  const std::vector<Expr>& shift = view.view->shift;
  const Shape& parent = program_.buffer(view.view->parent).shape;
  const auto all_are_within = [&](const auto& prove_at_least) {
    for (size_t i = 0; i < shift.size(); ++i)
      if (!prove_at_least(shift[i], 0) || !prove_at_least(parent[i], shift[i] + view.shape[i])) return false;
    return true;
  };
  if (all_are_within([](const Expr& a, const Expr& b) { return proven_at_least(a, b); })) return true;
  std::set<Symbol> symbols = symbols_of(view.shape);
  symbols.merge(symbols_of(shift));
  symbols.merge(symbols_of(parent));
  Facts facts = facts_at(step, symbols);
  for (const Expr& extent : view.shape) facts.at_least(extent, 1);
  facts.narrow_symbols({});
  return all_are_within([&](const Expr& a, const Expr& b) { return facts.prove_at_least(a, b); });
}

bool OperandLaw::is_equal(size_t step, const Expr& a, const Expr& b) const {
  if (proven_equal(a, b)) return true;
  const auto prove = [&](const Facts& facts) { return facts.prove_at_least(a, b) && facts.prove_at_least(b, a); };
  const Facts& stated = facts_at(step, symbols_of({a, b}));
  if (prove(stated)) return true;  // mostly by a guard, word by word
  Facts facts = stated;
  facts.narrow_symbols({});
  return prove(facts);
}

// A guard says that dims are equal, which does not show word by word that their products are.
bool OperandLaw::holds_as_many(size_t step, const Shape& a, const Shape& b) const {
  if (is_equal(step, product(a), product(b))) return true;
  return std::ranges::equal(without_ones(a), without_ones(b),
                            [&](const Expr& left, const Expr& right) { return is_equal(step, left, right); });
}

std::optional<std::string> OperandLaw::fault_of_call(size_t step, const KernelCall& call) const {
  const KernelOperands expected = call.spec->operands();
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (auto fault = fault_of_operand(step, call.inputs[i], expected.inputs[i])) return fault;
  if (auto fault = fault_of_operand(step, call.output, expected.output)) return fault;
  if (!call.epilogue.value || !call.spec->fills_output()) return std::nullopt;
  const Shape& output = program_.buffer(call.output).shape;
  const std::vector<Axis>& axes = call.epilogue.axes;
  for (size_t i = 0; i < std::max(axes.size(), output.size()); ++i)
    if (i >= axes.size() || i >= output.size() || !is_equal(step, axes[i].extent, output[i]))
      return fmt::format("has an epilogue that is not shown to be of the shape {} of b{}", to_string(output),
                         call.output);
  return std::nullopt;
}

std::optional<std::string> OperandLaw::fault_of_operand(size_t step, BufferId id, const KernelOperand& expected) const {
  const Shape& shape = program_.buffer(id).shape;
  for (const auto& [axis, extent] : expected.extents)
    if (axis >= shape.size() || !is_equal(step, shape[axis], extent))
      return fmt::format("is given b{} of shape {}, whose axis {} is not shown to be {}", id, to_string(shape), axis,
                         extent.to_string());
  return std::nullopt;
}

}  // namespace onnxc
