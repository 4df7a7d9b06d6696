#include "frontend/unsupported.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "frontend/file/onnx_names.h"
#include "support/count_text.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

// The version in which an operator set gained an operator, or 0 if it never did.
int first_version(const Origin& origin) {
  using FirstVersions = std::map<std::pair<std::string, std::string>, int>;
  static const FirstVersions first_versions = [] {
    FirstVersions result;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
      const auto [entry, is_new] = result.emplace(std::pair(schema.domain(), schema.Name()), schema.SinceVersion());
      if (!is_new) entry->second = std::min(entry->second, schema.SinceVersion());
    }
    return result;
  }();
  const auto found = first_versions.find({origin.domain, origin.type});
  return found == first_versions.end() ? 0 : found->second;
}

std::string reason_for(const Origin& origin, const onnx::OpSchema* schema) {
  // CastMap and DictVectorizer take a map, which no input of a model can be.
  if (origin.domain == "ai.onnx.ml" && origin.type == "ZipMap")
    return "it gives a map for each row, and onnxc has only tensors; export the model without it (skl2onnx: options "
           "{'zipmap': False}), or name the tensor in front of it with --outputs";
  if (schema != nullptr && schema->Deprecated())
    return fmt::format("ONNX removed it in version {}; export the model with an older opset_version",
                       schema->SinceVersion());
  if (schema != nullptr)
    return "not supported yet; export the model with other operators, or drop the output with --outputs";
  if (const int first = first_version(origin))
    return fmt::format("ONNX has it since version {}; export the model with opset_version {} or newer", first, first);
  if (origin.domain.empty()) return "ONNX has no operator of this name; define it as a function in the model";
  if (origin.domain == "com.microsoft")
    return "an operator of onnxruntime; export the model without onnxruntime's graph optimizations";
  return "a custom operator; define it as a function in the model, or export the model without it";
}

}  // namespace

std::optional<int> version_outside_onnx(const Origin& origin) {
  static constexpr std::array versions = {std::pair{"ThresholdedRelu", 10}, std::pair{"LayerNormalization", 17},
                                          std::pair{"SimplifiedLayerNormalization", 0}, std::pair{"ImageScaler", 0}};
  for (const auto& [type, version] : versions)
    if (origin.domain.empty() && origin.type == type) return version;
  return std::nullopt;
}

void UnsupportedNodes::add(const Origin& origin, const onnx::OpSchema* schema) {
  nodes_.push_back({origin, reason_for(origin, schema)});
}

void UnsupportedNodes::add(const Origin& origin, std::string reason) { nodes_.push_back({origin, std::move(reason)}); }

std::string UnsupportedNodes::report() const {
  // In a long list the first node of each operator comes first, since that is what its reader has to know.
  std::vector<std::string> first, others;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const auto& [origin, reason] : nodes_) {
    const bool is_first = seen.emplace(origin.type, origin.domain, reason).second;
    std::vector<std::string>& lines = is_first || nodes_.size() <= most_listed ? first : others;
    lines.push_back(fmt::format("{}: {} of {} version {}{}: {}", quote(origin.name), printable(origin.type),
                                domain_text(origin.domain), origin.version,
                                origin.place.is_known() ? ", " + origin.place.describe() : "", reason));
  }
  const bool is_long = !others.empty();
  first.insert(first.end(), others.begin(), others.end());
  return fmt::format("{} cannot be compiled{}:\n  {}", counted(nodes_.size(), "node"),
                     is_long ? fmt::format(", of {}", counted(seen.size(), "operator")) : "", list_text(first, "\n  "));
}

}  // namespace onnxc
