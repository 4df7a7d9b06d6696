// EPContext nodes (com.microsoft): a saved model holds a compiled part, or the name of its file, in place of the part.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "provider/api.h"
#include "provider/graph_view.h"
#include "provider/loaded_model.h"

namespace onnxc::provider {

// Whether the node is such a one, of the provider of this name.
bool is_context_node(const Api& api, const NodeView& node, const std::string& provider);

// The compiled model of such a node. It is native code: whoever loads it trusts its file. `folder` is that of the saved
// model, in which a file of its own is looked for; empty: the current one. UserError if it is missing or leads
// elsewhere.
std::shared_ptr<const LoadedModel> load_context(const Api& api, const NodeView& node,
                                                const std::filesystem::path& folder);

// The parts of such a node.
struct Context {
  std::string provider, version;
  std::string name;                          // of the node
  std::vector<std::string> inputs, outputs;  // names of values
  std::shared_ptr<const LoadedModel> model;
  bool is_embedded = false;    // else the compiled model is the file `file`
  std::filesystem::path file;  // beside the saved model, which names it without its folder
};

// Makes the node, which is onnxruntime's then, and writes the file.
OrtNode* make_context_node(const Api& api, const Context& context);

}  // namespace onnxc::provider
