// Numbers in text, without libc: a model.so asks its process for few functions.
#pragma once

#include <stdint.h>

#include <algorithm>

namespace onnxc::runtime {

// Reads the number that the text begins with, after spaces, and moves the text past it; without a number the text
// stays.
inline int64_t take_number(const char*& text) {
  const char* at = text;
  while (*at == ' ' || *at == '\t' || *at == '\n') ++at;
  const bool is_negative = *at == '-';
  if (is_negative || *at == '+') ++at;
  if (*at < '0' || *at > '9') return 0;
  constexpr int64_t most = int64_t{1} << 58;
  int64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at) number = std::min(number * 10 + (*at - '0'), most);
  text = at;
  return is_negative ? -number : number;
}

// The ending of the noun after a number.
inline const char* plural(int64_t number) { return number == 1 ? "" : "s"; }

}  // namespace onnxc::runtime
