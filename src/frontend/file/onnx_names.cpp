#include "frontend/file/onnx_names.h"

#include <fmt/format.h>

#include "frontend/file/source_place.h"
#include "onnx/defs/schema.h"
#include "support/text.h"

namespace onnxc {

std::string display_name(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return node.op_type();
}

std::string describe(const onnx::NodeProto& node) {
  return Origin{display_name(node), node.op_type(), "", 0, read_source_place(node)}.describe();
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

bool is_onnx_domain(const std::string& domain) {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().contains(domain);
}

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : printable(domain); }

std::string element_type_name(int code) {
  using onnx::TensorProto;
  return TensorProto::DataType_IsValid(code) ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(code))
                                             : fmt::format("number {}", code);
}

}  // namespace onnxc
