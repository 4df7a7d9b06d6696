// Constants in the text of graphs and programs.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace onnxc {

// " = {1, 2.5, -3}"; nothing for a tensor that is not small.
std::string print_elements(const Tensor& tensor);

}  // namespace onnxc
