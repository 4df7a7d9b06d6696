// Properties of each scalar operation besides its result (scalar_arithmetic.h): one row each, which the loop IR's text,
// its constructors and the printers of generated code read.
#pragma once

#include <string_view>

#include "ir/loops/loops.h"

namespace onnxc {

enum class Notation : uint8_t {
  leaf,      // constants, indices, loads, accumulators; casts are spelled with the name of their dtype (text.h)
  function,  // exp(x)
  prefix,    // -x
  infix,     // a + b
};

// Whether the result on constants is the same on every target, so that a constructor may compute it.
enum class Exactness : uint8_t {
  whole,     // of integers and booleans only
  always,    // also of floating types: IEEE 754 or loops.h define the result to the bit
  unrounded  // also of floating types that arithmetic is done in; in a narrower one the constant could not hold it
};

struct ScalarOpRow {
  ScalarOp op;
  std::string_view text;  // in the loop IR
  Notation notation;
  int operands;
  int precedence;                 // of infix operators: higher binds tighter; all associate to the left
  std::string_view function;      // that computes it in generated code (kernels/shared/scalar.h and each target's own)
  std::string_view c_infix = "";  // the operator that has exactly this meaning in C,
  bool c_infix_is_floating_only = false;  // or has it for floating types
  Exactness exactness = Exactness::whole;
  bool gives_boolean = false;
};

const ScalarOpRow& row(ScalarOp op);
// The operation spelled like this in this notation, or null.
const ScalarOpRow* find_scalar_op(std::string_view text, Notation notation);

}  // namespace onnxc
