#include "frontend/operator_list.h"

#include <map>

#include "frontend/file/onnx_names.h"
#include "onnx/defs/schema.h"
#include "ops/op.h"

namespace onnxc {
namespace {

std::string form_of(const OpRow& row) { return row.expand != nullptr ? "expansion" : "loops"; }

// How a version is compiled; "" if it is not.
std::string form_of(const onnx::OpSchema& schema, const std::string& domain) {
  const std::string& name = schema.Name();
  if (domain.empty() && name == "Constant") return "constant";
  if (domain.empty() && (name == "If" || name == "Loop" || name == "Scan" || name == "SequenceMap"))
    return "control flow";
  if (const OpRow* row = find_op(domain, name, schema.SinceVersion())) return form_of(*row);
  return schema.HasFunction() || schema.HasContextDependentFunction() ? "body" : "";
}

}  // namespace

std::vector<ListedOperator> list_operators() {
  std::map<std::pair<std::string, std::string>, std::map<int, std::string>> forms;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.Deprecated()) continue;
    const std::string domain = normal_domain(schema.domain());
    forms[{domain, schema.Name()}][schema.SinceVersion()] = form_of(schema, domain);
  }

  // Operators of other domains, which only have rows.
  std::map<std::pair<std::string, std::string>, const OpRow*> others;
  for (const OpRow* row : all_ops()) {
    const std::pair key{std::string(row->domain), std::string(row->name)};
    if (!is_own_domain(row->domain) && forms.try_emplace(key).second) others[key] = row;
  }

  std::vector<ListedOperator> list;
  for (const auto& [key, versions] : forms) {
    ListedOperator entry{key.first, key.second, versions.empty() ? form_of(*others.at(key)) : "", {}, {}};
    for (const auto& [version, form] : versions) {
      (form.empty() ? entry.missing_versions : entry.versions).push_back(version);
      if (!form.empty()) entry.form = form;  // the newest version's
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace onnxc
