// The functions of the loop IR that take or give strings: one row each. The runtime computes them
// (runtime/strings/string_functions.h): they have no interpreter, so that nothing is folded through them. Copies,
// comparisons and casts to int64, the handle, are the ordinary operations.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/dtype.h"

namespace onnxc {

enum class StringFunction : uint8_t {
  concatenate,
  precedes,  // in the order of bytes
  to_lower,
  to_upper,
  count_parts,  // of a text, split at a delimiter, at most so many times; without a delimiter, at white space
  part,         // of the same, that of a number
  number_of,    // that a text spells
  integer_of,
  unsigned_of,
  text_of_float,
  text_of_double,
  text_of_integer,
  text_of_unsigned,
};

struct StringFunctionRow {
  StringFunction function;
  std::string_view name;  // in the loop IR and in generated code
  std::span<const DType> operands;
  DType result;
};

const StringFunctionRow& row(StringFunction function);
const StringFunctionRow* find_string_function(std::string_view name);

// Makes strings that need not be there yet: by one thread at a time.
inline bool makes_strings(StringFunction function) { return row(function).result == DType::string; }

}  // namespace onnxc
