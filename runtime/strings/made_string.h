// The shared parts of the functions of strings.
#pragma once

#include "strings/interned_strings.h"

namespace onnxc::runtime {

// White space of the "C" locale.
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The result of a function for which memory is short: the empty string.
inline int64_t no_memory(const Frame& frame) {
  frame.strings->fail(ONNXC_OUT_OF_MEMORY, "no memory for a string");
  return 0;
}

// The handle of a string in InternedStrings::room.
inline int64_t made(const Frame& frame, Text text) {
  const int64_t handle = frame.strings->intern_made(text);
  return handle < 0 ? no_memory(frame) : handle;
}

inline Text written_text(const Frame& frame, int64_t handle) {
  const Text text = frame.strings->text(handle);
  if (text.size >= 0) return text;
  frame.strings->fail(ONNXC_INTERNAL_ERROR, "a string that no step has written");
  return {"", 0};
}

}  // namespace onnxc::runtime
