#include "ir/interpreter/scalar_program.h"

#include "support/diagnostics.h"

namespace onnxc {

ScalarProgram::ScalarProgram(const Scalar& scalar, std::string_view nest, Memory& memory, const Slots& slots) {
  compile(scalar, nest, memory, slots);
  positions_.clear();
  mark_unconditional(instructions_.size() - 1);
  for (size_t i = 0; i < instructions_.size(); ++i)
    if (!instructions_[i].is_conditional) unconditional_.push_back(i);
  values_.resize(instructions_.size());
  evaluated_at_.resize(instructions_.size());
}

size_t ScalarProgram::compile(const Scalar& scalar, std::string_view nest, Memory& memory, const Slots& slots) {
  if (auto known = positions_.find(&*scalar); known != positions_.end()) return known->second;
  Instruction instruction{.op = scalar->op};
  for (const Scalar& operand : scalar->operands) instruction.operands.push_back(compile(operand, nest, memory, slots));
  switch (scalar->op) {
    case ScalarOp::constant:
      if (is_floating(scalar.dtype()))
        instruction.constant.number = scalar->number;
      else
        instruction.constant.integer = scalar->integer;
      break;
    case ScalarOp::index:
      instruction.index = IndexProgram(scalar->expr, slots, memory.bindings());
      break;
    case ScalarOp::load:
      instruction.access = memory.access(nest, scalar->buffer, scalar->indices, slots);
      instruction.load = load_function(scalar.dtype());
      break;
    case ScalarOp::accumulator:
      instruction.slot = scalar->slot;
      break;
    case ScalarOp::cast:
      instruction.unary = cast_function(scalar.dtype(), scalar->operands[0].dtype());
      break;
    case ScalarOp::reinterpret:
      instruction.unary = reinterpret_function(scalar.dtype(), scalar->operands[0].dtype());
      break;
    case ScalarOp::select:
      break;
    case ScalarOp::string_function:
      internal_error("a string function is computed only by the runtime");
    default:
      if (scalar->operands.size() == 1)
        instruction.unary = unary_function(scalar->op, scalar->operands[0].dtype());
      else
        instruction.binary = binary_function(scalar->op, scalar->operands[0].dtype());
  }
  instructions_.push_back(std::move(instruction));
  positions_.emplace(&*scalar, instructions_.size() - 1);
  return instructions_.size() - 1;
}

void ScalarProgram::mark_unconditional(size_t position) {
  Instruction& instruction = instructions_[position];
  if (!instruction.is_conditional) return;
  instruction.is_conditional = false;
  if (instruction.op == ScalarOp::select)
    mark_unconditional(instruction.operands[0]);
  else
    for (size_t operand : instruction.operands) mark_unconditional(operand);
}

ScalarValue ScalarProgram::evaluate(const int64_t* slots, const ScalarValue* accumulators) {
  slots_ = slots;
  accumulators_ = accumulators;
  ++evaluation_;
  for (size_t position : unconditional_) values_[position] = execute(instructions_[position]);
  return values_.back();
}

ScalarValue ScalarProgram::demand(size_t position) {
  const Instruction& instruction = instructions_[position];
  if (!instruction.is_conditional || evaluated_at_[position] == evaluation_) return values_[position];
  evaluated_at_[position] = evaluation_;
  return values_[position] = execute(instruction);
}

ScalarValue ScalarProgram::execute(const Instruction& instruction) {
  switch (instruction.op) {
    case ScalarOp::constant:
      return instruction.constant;
    case ScalarOp::index:
      return {.integer = instruction.index.evaluate(slots_)};
    case ScalarOp::load:
      return instruction.load(instruction.access.address(slots_));
    case ScalarOp::accumulator:
      return accumulators_[instruction.slot];
    case ScalarOp::select:
      return demand(instruction.operands[demand(instruction.operands[0]).integer != 0 ? 1 : 2]);
    default:
      break;
  }
  const ScalarValue first = demand(instruction.operands[0]);
  return instruction.unary != nullptr ? instruction.unary(first)
                                      : instruction.binary(first, demand(instruction.operands[1]));
}

}  // namespace onnxc
