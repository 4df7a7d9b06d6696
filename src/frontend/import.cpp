#include "frontend/import.h"

#include "frontend/file/external_data.h"
#include "frontend/file/model_file.h"
#include "frontend/file/node_order.h"
#include "frontend/graph_builder.h"
#include "frontend/model_checks.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

ModelFacts read_facts(const ModelFile& file) {
  const onnx::ModelProto& model = *file.model;
  ModelFacts facts;
  facts.sha256 = file.sha256;
  facts.producer = model.producer_name();
  if (!model.producer_version().empty()) facts.producer += " " + model.producer_version();
  facts.ir_version = model.ir_version();
  for (const auto& [domain, version] : read_opset_imports(model)) facts.opset_imports.emplace_back(domain, version);
  for (const auto& entry : model.metadata_props()) facts.metadata.emplace_back(entry.key(), entry.value());
  return facts;
}

std::vector<std::filesystem::path> external_files(const onnx::ModelProto& model, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : external_file_names(model)) files.push_back(folder / name);
  return files;
}

ImportedModel import_parts(const std::filesystem::path& path, const ImportOptions& options) {
  const ModelFile file = options.model_bytes ? read_model_bytes(*options.model_bytes) : read_model_file(path);
  ImportedModel result;
  if (sort_nodes(*file.model)) result.warnings.emplace_back("its nodes are in no topological order; they were sorted");
  check_model(*file.model, options.limits);
  result.facts = read_facts(file);
  result.external_files = external_files(*file.model, path.parent_path());
  GraphBuilder builder(file.model, path.parent_path(), options);
  result.graph = builder.build();
  result.warnings.insert(result.warnings.end(), builder.warnings().begin(), builder.warnings().end());
  result.unused_dims = builder.unused_dims();
  if (!builder.unsupported().empty()) result.facts.unsupported = builder.unsupported().report();
  return result;
}

}  // namespace

ImportedModel import_model(const std::filesystem::path& path, const ImportOptions& options) {
  try {
    return import_parts(path, options);
  } catch (const UserError& error) {
    throw UserError(quote(path.string()) + ": " + error.what());
  }
}

std::vector<std::filesystem::path> external_files(const std::filesystem::path& path) {
  try {
    return external_files(*read_model_file(path).model, path.parent_path());
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace onnxc
