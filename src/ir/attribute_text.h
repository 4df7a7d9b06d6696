// An attribute of a node as people read it.
#pragma once

#include <string>

#include "ir/graph.h"

namespace onnxc {

// "1", "0.5", "\"linear\"", "[1, 2]"; of a tensor its type and dims, "float32[3, 4]".
std::string to_string(const Attribute& attribute);

}  // namespace onnxc
