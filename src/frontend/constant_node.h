// The tensor of a Constant node, in every form that ONNX has had.
#pragma once

#include <memory>
#include <string>

#include "frontend/attributes.h"
#include "frontend/file/tensor_data.h"

namespace onnxc {

// Constant (ONNX 1, 9, 11, 12, 13, 19, 21, 23, 24, 25): exactly one of value, sparse_value, value_int, value_ints,
// value_float and value_floats. UserError if there is not exactly one, and for strings.
Tensor read_constant(const AttributeMap& attributes, TensorReader& tensors, const std::shared_ptr<const void>& owner,
                     const std::string& what);

}  // namespace onnxc
