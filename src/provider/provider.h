// The execution provider of one session.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "provider/api.h"
#include "provider/graph_compiler.h"

namespace onnxc::provider {

constexpr const char* provider_name = "OnnxcExecutionProvider";

// The settings of a session.
struct Settings {
  std::vector<std::string> options;  // of the command
  bool loads_native_code = false;    // from a saved model
  bool writes_context = false;       // saves a model whose compiled parts are EPContext nodes
  bool embeds_context = false;       // within its file
  std::filesystem::path context_file;
  std::string fault;  // what is wrong with them; empty if nothing is
};

class Provider : public OrtEp {
 public:
  Provider(const Api& api, Settings settings, const OrtLogger* logger);

 private:
  struct FusedInterface;

  void take_parts(const OrtGraph* graph, OrtEpGraphSupportInfo* support);
  void take_compiled_parts(const GraphView& view, OrtEpGraphSupportInfo* support);
  bool take_context_nodes(const GraphView& graph, OrtEpGraphSupportInfo* support);
  void say_what_is_left(const GraphView& graph, const CompiledGraph& compiled);
  std::filesystem::path place_of(const OrtGraph* graph) const;
  std::shared_ptr<const LoadedModel> model_of(const OrtGraph* graph, const FusedInterface& fused) const;
  OrtNode* make_context(const OrtGraph* graph, const FusedInterface& fused, std::shared_ptr<const LoadedModel> model);

  const Api& api_;
  Settings settings_;
  const OrtLogger* logger_;
  GraphCompiler compiler_;
  // Keyed by a value that a part makes, since no other makes it.
  std::unordered_map<std::string, std::shared_ptr<const LoadedModel>> models_;
  std::set<std::string> said_;
  int context_count_ = 0;
};

// Reads what the session says under onnxruntime's names ("ep.context_enable") and the provider's ("ep.", its name in
// lower case, and the option that a program gave to it).
Settings read_settings(const Api& api, const OrtSessionOptions* options);

}  // namespace onnxc::provider
