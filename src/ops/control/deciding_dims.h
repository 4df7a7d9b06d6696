// The free dims of the inputs that decide a condition, for messages: if a model needs to know the condition when it is
// compiled, these are the sizes that its user can give.
#pragma once

#include <string>

#include "ir/graph.h"

namespace onnxc {

// "; the dim N decides it: compile for one size with --dim N=VALUE" if only dims decide it; "" if data does.
std::string hint_at_deciding_dims(const Value& condition);

}  // namespace onnxc
