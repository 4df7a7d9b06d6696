// From a graph of onnxruntime's to compiled models of its parts.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "provider/api.h"
#include "provider/compiler_command.h"
#include "provider/graph_view.h"
#include "provider/loaded_model.h"

namespace onnxc::provider {

// Nodes of a graph that one model computes.
struct CompiledPart {
  std::vector<size_t> nodes;
  std::shared_ptr<const LoadedModel> model;
};

struct CompiledGraph {
  std::vector<CompiledPart> parts;
  std::string reason;  // why nodes are left; empty if none is
};

class GraphCompiler {
 public:
  // `options` are the command's, for each compile.
  GraphCompiler(const Api& api, std::vector<std::string> options) : api_(api), options_(std::move(options)) {}

  // The whole graph if it can be compiled; else the largest parts without the nodes that cannot. Throws nothing for
  // what the compiler refuses in a model. UsageError for options, or variables of the environment, that have no
  // meaning.
  CompiledGraph compile(const GraphView& graph);

 private:
  CompiledGraph compile_parts(const GraphView& graph, const CompilerCommand& command);
  std::shared_ptr<const LoadedModel> compile_model(const CompilerCommand& command, const std::string& model,
                                                   const std::string& name);

  const Api& api_;
  std::vector<std::string> options_;
  // Keyed by the cache's name: onnxruntime may ask more than once for the same graph.
  std::unordered_map<std::string, std::shared_ptr<const LoadedModel>> models_;
};

}  // namespace onnxc::provider
