// A prefix of a text.
#pragma once

#include <string.h>

namespace onnxc::runtime {

inline bool begins_with(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

}  // namespace onnxc::runtime
