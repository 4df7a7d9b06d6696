#include "passes/lowering/definition_cost.h"

#include <algorithm>

#include "ir/program/pointwise.h"
#include "ops/op.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// The buffers of a definition that is only counted: constants have no elements.
class CountedProgram {
 public:
  BufferId buffer(const Value& value) {
    internal_check(value.shape.has_value(), "shapes are inferred before a node is priced");
    const auto [found, is_new] = buffers_.try_emplace(&value, -1);
    if (is_new) {
      Buffer buffer;
      buffer.name = value.name;
      buffer.dtype = value.dtype;
      buffer.shape = *value.shape;
      buffer.layout = Layout::row_major(buffer.shape.size());
      if (value.constant) buffer.kind = BufferKind::constant;
      found->second = program_.add(std::move(buffer));
    }
    return found->second;
  }
  Program& program() { return program_; }
  const std::map<const Value*, BufferId>& buffers() const { return buffers_; }

  // The buffer whose memory it is.
  BufferId storage(BufferId id) const {
    while (const auto& alias = program_.buffer(id).alias) id = alias->parent;
    return id;
  }

 private:
  Program program_;
  std::map<const Value*, BufferId> buffers_;
};

struct Counts {
  double stored_operations = 0, folded_operations = 0;
  std::map<BufferId, double> moved;  // elements loaded from and stored to each buffer
};

// Adds the loads of a scalar, and returns its operations on floats: others cost little beside them.
double count(const Scalar& scalar, double rounds, const CountedProgram& counted, Counts& counts) {
  double operations = 0;
  if (!scalar) return 0;
  visit(scalar, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::load) counts.moved[counted.storage(node.buffer)] += rounds;
    const bool is_choice = node.op == ScalarOp::select || node.op == ScalarOp::cast || !is_floating(node.dtype);
    if (!node.operands.empty() && !is_choice) ++operations;
  });
  return operations * rounds;
}

void count(const LoopNest& nest, const CountedProgram& counted, UsualSizes& sizes, Counts& counts) {
  double outer = 1, reduced = 1;
  for (const Axis& axis : nest.axes) (axis.kind == AxisKind::reduce ? reduced : outer) *= sizes.of(axis.extent);
  for (const Let& let : nest.lets) counts.folded_operations += count(let.value, outer, counted, counts);
  for (const Accumulator& accumulator : nest.accumulators)
    counts.folded_operations += count(accumulator.element, outer * reduced, counted, counts) + outer * reduced;
  for (const Store& store : nest.stores) {
    counts.stored_operations += count(store.value, outer, counted, counts);
    counts.moved[counted.storage(store.buffer)] += outer;
  }
}

std::set<const Value*> pointwise_inputs(const Node& node, const CountedProgram& counted, const Program& program) {
  std::set<const Value*> result;
  const auto* nest = program.steps.size() == 1 ? std::get_if<LoopNest>(&program.steps.front().work) : nullptr;
  if (nest == nullptr) return result;
  for (const Value* input : node.inputs)
    if (const auto found = counted.buffers().find(input); found != counted.buffers().end())
      if (is_pointwise_on(program, *nest, found->second)) result.insert(input);
  return result;
}

double elements_of(const Shape& shape, UsualSizes& sizes) {
  double elements = 1;
  for (const Expr& dim : shape) elements *= sizes.of(dim);
  return elements;
}

}  // namespace

DefinitionCost definition_cost(const Node& node, const Target& target, UsualSizes& sizes) {
  CountedProgram counted;
  DefinitionCost result;
  Counts counts;
  try {
    DefineContext context(node, counted.program(), [&](const Value& value) { return counted.buffer(value); });
    internal_check(node.op->define != nullptr, "a row with a definition");
    node.op->define(context);
    for (const Step& step : counted.program().steps)
      if (const auto* nest = std::get_if<LoopNest>(&step.work)) count(*nest, counted, sizes, counts);
  } catch (const UserError&) {
    return result;  // lowering says it, if the definition is used
  }
  const double lanes = static_cast<double>(target.block_channels);
  double moved = 0, weight_bytes = 0;
  for (auto& [id, elements] : counts.moved) {
    const Buffer& buffer = counted.program().buffer(id);
    elements = std::min(elements, elements_of(buffer.shape, sizes));
    if (buffer.kind == BufferKind::constant)
      weight_bytes += elements * static_cast<double>(element_size(buffer.dtype));
    else
      moved += elements;
  }
  const Value* const output = node.outputs.empty() ? nullptr : node.outputs[0];
  const double images =
      output == nullptr || output->shape->size() < 3 ? 1 : std::max(1.0, sizes.of(output->shape->front()));
  result.cost = moved / lanes * target.costs.moved_vector + counts.stored_operations / lanes * target.costs.operation +
                counts.folded_operations * target.costs.folded_element;
  *result.cost = *result.cost / images + weight_bytes * target.costs.weight_byte;
  for (const auto& [value, id] : counted.buffers())
    if (const auto found = counts.moved.find(id); found != counts.moved.end()) result.loaded[value] = found->second;
  result.pointwise = pointwise_inputs(node, counted, counted.program());
  return result;
}

}  // namespace onnxc
