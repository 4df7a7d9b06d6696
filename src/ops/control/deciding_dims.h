// Which free dims of the inputs decide a condition, for messages: where a model needs to know the condition when it is
// compiled, these are what its user can give.
#pragma once

#include <string>

#include "ir/graph.h"

namespace onnxc {

// "; the dim N decides it: compile for one size with --dim N=VALUE" where dims alone decide it; "" where data does.
std::string hint_at_deciding_dims(const Value& condition);

}  // namespace onnxc
