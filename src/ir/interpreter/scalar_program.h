// A scalar expression compiled for evaluation at many points: its graph flattened into instructions, operands first.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/interpreter/memory.h"
#include "ir/loops/scalar_arithmetic.h"

namespace onnxc {

class ScalarProgram {
 public:
  // `slots` says where the values of axes and lets stand.
  ScalarProgram(const Scalar& scalar, std::string_view nest, Memory& memory, const Slots& slots);

  // The value when the axes and lets have the values in `slots`.
  ScalarValue evaluate(const int64_t* slots, const ScalarValue* accumulators);

 private:
  struct Instruction {
    ScalarOp op;
    // Only reached through a branch of a select: evaluated when asked for, since a load in it may be out of bounds
    // otherwise.
    bool is_conditional = true;
    std::vector<size_t> operands = {};
    ScalarValue constant = {};
    int slot = -1;            // accumulator
    IndexProgram index = {};  // index
    Access access = {};       // load
    LoadFunction load = nullptr;
    UnaryFunction unary = nullptr;
    BinaryFunction binary = nullptr;
  };

  size_t compile(const Scalar& scalar, std::string_view nest, Memory& memory, const Slots& slots);
  void mark_unconditional(size_t position);
  ScalarValue demand(size_t position);
  ScalarValue execute(const Instruction& instruction);

  std::vector<Instruction> instructions_;  // the last one gives the result
  std::unordered_map<const ScalarNode*, size_t> positions_;
  std::vector<size_t> unconditional_;  // the instructions that every evaluation runs, operands first
  std::vector<ScalarValue> values_;
  std::vector<uint64_t> evaluated_at_;  // the evaluation that a conditional instruction's value is from
  uint64_t evaluation_ = 0;
  const int64_t* slots_ = nullptr;
  const ScalarValue* accumulators_ = nullptr;
};

}  // namespace onnxc
