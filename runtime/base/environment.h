// Numbers in variables of the environment.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "base/number_text.h"

namespace onnxc::runtime {

struct EnvironmentNumber {
  const char* text;  // null if the variable is not set, or empty
  int64_t value;
  bool is_legal;  // the whole text is a number in the range

  bool is_refused() const { return text != nullptr && !is_legal; }
};

inline EnvironmentNumber environment_number(const char* variable, int64_t least, int64_t most) {
  const char* const text = getenv(variable);
  if (text == nullptr || *text == 0) return {nullptr, 0, false};
  const char* end = text;
  const int64_t value = take_number(end);
  return {text, value, end != text && *end == 0 && value >= least && value <= most};
}

}  // namespace onnxc::runtime
