// The parts that classifiers of ai.onnx.ml share: labels of classes, and the functions that attribute 'post_transform'
// names.
#pragma once

#include <string>

#include "ops/expand_context.h"

namespace onnxc {

// The value of attribute 'post_transform'; fails for what ONNX does not name.
std::string post_transform(const NodeReader& c);
// Scores [rows, classes] as the transform gives them.
Value* transformed(ExpandContext& c, Value* scores, const std::string& transform);

// The attribute with integers or strings that is given of two, as a vector.
Value* integers_or_strings(ExpandContext& c, const char* integers, const char* strings);
// The first of each row's greatest, [rows].
Value* best_class(ExpandContext& c, Value* scores);

// An input as float32.
Value* as_float(ExpandContext& c, size_t i);

}  // namespace onnxc
