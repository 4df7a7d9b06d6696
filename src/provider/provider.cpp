#include "provider/provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "provider/context_node.h"
#include "provider/fused_node.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc::provider {
namespace {

namespace fs = std::filesystem;

using Entries = std::map<std::string, std::string>;

const std::string own_prefix = "ep.onnxcexecutionprovider.";
const std::vector<std::string> own_options = {"options", "load_native_code"};

// The session's value for each key.
Entries session_entries(const Api& api, const OrtSessionOptions* options) {
  const auto pairs = api.own(entry::ReleaseKeyValuePairs, api.get(entry::GetSessionOptionsConfigEntries, options));
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api.call(entry::GetKeyValuePairs, pairs.get(), &keys, &values, &count);
  Entries entries;
  for (size_t i = 0; i < count; ++i) entries[keys[i]] = values[i];
  return entries;
}

// The fault of the provider's own options; empty if there is none.
std::string fault_of_options(Entries& entries) {
  for (const auto& [key, value] : entries) {
    if (!key.starts_with(own_prefix)) continue;
    const std::string name = key.substr(own_prefix.size());
    if (std::ranges::find(own_options, name) != own_options.end()) continue;
    const std::string nearest = nearest_word(name, own_options);
    return fmt::format("the provider has no option {}; {}it has {}", quote(name),
                       nearest.empty() ? "" : fmt::format("did you mean {}? ", quote(nearest)), list_text(own_options));
  }
  const std::string& trust = entries[own_prefix + "load_native_code"];
  if (!trust.empty() && trust != "0" && trust != "1")
    return fmt::format("the provider's option 'load_native_code' is {}; give it 1 or 0", quote(trust));
  return {};
}

std::vector<std::string> names_of(const std::vector<ValueUse>& uses) {
  std::vector<std::string> names;
  for (const ValueUse& use : uses) names.push_back(use.name);
  return names;
}

}  // namespace

Settings read_settings(const Api& api, const OrtSessionOptions* options) {
  Entries entries = session_entries(api, options);
  Settings settings;
  settings.fault = fault_of_options(entries);
  std::istringstream words(entries[own_prefix + "options"]);
  for (std::string word; words >> word;) settings.options.push_back(word);
  settings.loads_native_code = entries[own_prefix + "load_native_code"] == "1";
  settings.writes_context = entries["ep.context_enable"] == "1";
  settings.embeds_context = entries["ep.context_embed_mode"] == "1";
  settings.context_file = entries["ep.context_file_path"];
  return settings;
}

// The node that onnxruntime puts in place of a part.
struct Provider::FusedInterface {
  std::string name;
  std::vector<std::string> inputs, outputs;

  FusedInterface(const Api& api, const OrtNode* node)
      : name(api.get(entry::Node_GetName, node)),
        inputs(names_of(uses_of(api, api.list(entry::Node_GetNumInputs, entry::Node_GetInputs, node)))),
        outputs(names_of(uses_of(api, api.list(entry::Node_GetNumOutputs, entry::Node_GetOutputs, node)))) {}
};

Provider::Provider(const Api& api, Settings settings, const OrtLogger* logger)
    : api_(api), settings_(std::move(settings)), logger_(logger), compiler_(api, settings_.options) {
  get_name = [](const OrtEp*) { return provider_name; };
  get_capability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
    Provider& provider = *static_cast<Provider*>(self);
    return provider.api_.status_of([&] { provider.take_parts(graph, support); });
  };
  compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
               OrtNodeComputeInfo** compute_infos, OrtNode** context_nodes) {
    Provider& provider = *static_cast<Provider*>(self);
    return provider.api_.status_of([&] {
      for (size_t i = 0; i < count; ++i) {
        const FusedInterface fused(provider.api_, fused_nodes[i]);
        const std::shared_ptr<const LoadedModel> model = provider.model_of(graphs[i], fused);
        compute_infos[i] = std::make_unique<FusedNode>(provider.api_, model, fused.inputs, fused.outputs).release();
        if (provider.settings_.writes_context) context_nodes[i] = provider.make_context(graphs[i], fused, model);
      }
    });
  };
  release_compute_infos = [](OrtEp*, OrtNodeComputeInfo** compute_infos, size_t count) {
    for (size_t i = 0; i < count; ++i) delete static_cast<FusedNode*>(compute_infos[i]);
  };
}

void Provider::take_parts(const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  // onnxruntime asks for the branches of an If before the If: the node itself is taken, with all that is in it.
  if (api_.get(entry::Graph_GetParentNode, graph) != nullptr) return;
  const GraphView view(api_, graph);
  if (view.nodes().empty()) return;
  try {
    if (settings_.fault.empty() && !take_context_nodes(view, support)) take_compiled_parts(view, support);
  } catch (const UsageError& error) {
    settings_.fault = error.what();
  }
  // Here an error would be a line of onnxruntime's log, and in the factory a session of the CPU provider.
  if (!settings_.fault.empty())
    api_.check(entry::EpGraphSupportInfo_AddNodesToFuse, support, &view.nodes().front().handle, 1, nullptr);
}

void Provider::take_compiled_parts(const GraphView& view, OrtEpGraphSupportInfo* support) {
  const CompiledGraph compiled = compiler_.compile(view);
  OrtNodeFusionOptions options;
  options.drop_constant_initializers = true;  // the compiled model has them
  for (const CompiledPart& part : compiled.parts) {
    std::vector<const OrtNode*> nodes;
    for (const size_t index : part.nodes) {
      nodes.push_back(view.nodes()[index].handle);
      for (const ValueUse& output : view.nodes()[index].outputs) models_[output.name] = part.model;
    }
    api_.check(entry::EpGraphSupportInfo_AddNodesToFuse, support, nodes.data(), nodes.size(), &options);
  }
  say_what_is_left(view, compiled);
}

// For a saved model; nodes that are not compiled there were left to others when it was saved.
bool Provider::take_context_nodes(const GraphView& graph, OrtEpGraphSupportInfo* support) {
  bool has_any = false;
  for (const NodeView& node : graph.nodes()) {
    if (!is_context_node(api_, node, provider_name)) continue;
    has_any = true;
    api_.check(entry::EpGraphSupportInfo_AddNodesToFuse, support, &node.handle, 1, nullptr);
  }
  return has_any;
}

void Provider::say_what_is_left(const GraphView& graph, const CompiledGraph& compiled) {
  if (compiled.reason.empty() || !said_.insert(compiled.reason).second) return;
  size_t taken = 0;
  for (const CompiledPart& part : compiled.parts) taken += part.nodes.size();
  api_.log(logger_, LogLevel::warning,
           fmt::format("onnxc compiles {} of {}, in {}, and leaves the others to onnxruntime: {}", taken,
                       counted(graph.nodes().size(), "node"), counted(compiled.parts.size(), "part"), compiled.reason));
}

std::shared_ptr<const LoadedModel> Provider::model_of(const OrtGraph* graph, const FusedInterface& fused) const {
  if (!settings_.fault.empty()) throw UsageError(settings_.fault);
  const GraphView view(api_, graph);
  if (view.nodes().size() == 1 && is_context_node(api_, view.nodes()[0], provider_name)) {
    user_check(settings_.loads_native_code,
               "the model holds native code, which does what this process may; if you trust its file as a program, "
               "give the provider the option load_native_code with the value 1");
    return load_context(api_, view.nodes()[0], place_of(graph).parent_path());
  }
  internal_check(!fused.outputs.empty() && models_.contains(fused.outputs[0]), "what onnxruntime fuses is compiled");
  return models_.at(fused.outputs[0]);
}

// The model's file; of one from memory what the session says in its place, or nothing.
fs::path Provider::place_of(const OrtGraph* graph) const {
  const fs::path file = api_.get(entry::Graph_GetModelPath, graph);
  return file.empty() ? settings_.context_file : file;
}

OrtNode* Provider::make_context(const OrtGraph* graph, const FusedInterface& fused,
                                std::shared_ptr<const LoadedModel> model) {
  const fs::path model_file = place_of(graph);
  const fs::path saved = settings_.context_file.empty() ? model_file : settings_.context_file;
  user_check(settings_.embeds_context || !saved.empty(),
             "a model from memory, whose compiled parts are files: say where with ep.context_file_path");
  const fs::path file = saved.parent_path() / fmt::format("{}_onnxc_{}.so", saved.stem().string(), context_count_++);
  InputFiles inputs;
  inputs.add("the model", model_file);
  if (!settings_.embeds_context) inputs.check_output("the compiled part", file);
  return make_context_node(api_, {provider_name, ONNXC_VERSION, fused.name, fused.inputs, fused.outputs,
                                  std::move(model), settings_.embeds_context, file});
}

}  // namespace onnxc::provider
