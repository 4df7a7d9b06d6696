// The spelling of the loop IR, shared by its printer and its parser.
#pragma once

#include <optional>
#include <string_view>

#include "ir/loops/loops.h"

namespace onnxc {

enum class Notation : uint8_t {
  leaf,      // constants, indices, loads, accumulators; casts are spelled with the name of their dtype
  function,  // exp(x)
  prefix,    // -x
  infix,     // a + b
};

struct ScalarOpRow {
  ScalarOp op;
  std::string_view text;
  Notation notation;
  int operands;
  int precedence = 0;  // of infix operators: higher binds tighter; all associate to the left
};

const ScalarOpRow& row(ScalarOp op);
// The operation spelled like this in this notation, or null.
const ScalarOpRow* find_scalar_op(std::string_view text, Notation notation);

std::string_view name(ReduceKind kind);
std::optional<ReduceKind> parse_reduce_kind(std::string_view name);
std::string_view name(AxisKind kind);
std::string_view spelling(StoreKind kind);  // "=", "+=", "*=", "min=", "max="

// The nest with other names for those of its axes and lets whose names are taken, as it is printed.
LoopNest with_distinct_names(const LoopNest& nest);

}  // namespace onnxc
