#include "ir/attribute_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/text.h"

namespace onnxc {
namespace {

struct AttributePrinter {
  template <class T>
  std::string list(const std::vector<T>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(float value) const { return fmt::format("{:#}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", printable(value)); }
  std::string operator()(const Tensor& value) const {
    return fmt::format("{}[{}]", info(value.dtype()).name, fmt::join(value.dims(), ", "));
  }
  std::string operator()(const std::vector<int64_t>& values) const { return list(values); }
  std::string operator()(const std::vector<float>& values) const { return list(values); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::vector<std::string> shown;
    for (const std::string& value : values) shown.push_back(quote(value));
    return list(shown);
  }
  std::string operator()(const std::shared_ptr<Graph>&) const { return "graph"; }
};

}  // namespace

std::string to_string(const Attribute& attribute) { return std::visit(AttributePrinter{}, attribute); }

}  // namespace onnxc
