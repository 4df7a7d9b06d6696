// How errors call the parts of a model, and what ONNX spells in two ways.
#pragma once

#include <string>

#include "ir/graph.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

// The node's name, or its first output's if it has none.
std::string display_name(const onnx::NodeProto& node);
// As Origin::describe says.
std::string describe(const onnx::NodeProto& node);
// "" for ai.onnx, else as it is.
std::string normal_domain(const std::string& domain);
// Whether the domain is one whose operators ONNX itself defines.
bool is_onnx_domain(const std::string& domain);
// "ai.onnx" for "", for messages.
std::string domain_text(const std::string& domain);
// "FLOAT", or the number of an unknown one.
std::string element_type_name(int code);

}  // namespace onnxc
