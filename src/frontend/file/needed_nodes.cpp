#include "frontend/file/needed_nodes.h"

#include <algorithm>

namespace onnxc {
namespace {

// Adds more than needed if a subgraph gives a value a name of its own: harmless.
void add_names_inside(const onnx::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const onnx::NodeProto& node : graph.node()) add_used_names(node, names);
  for (const onnx::ValueInfoProto& output : graph.output()) names.insert(output.name());
}

}  // namespace

std::vector<std::string> names_in_attributes(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  if (node.domain() != "ai.onnx.preview.training" || node.op_type() != "Gradient") return names;
  for (const char* role : {"xs", "zs", "y"})
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != role) continue;
      names.insert(names.end(), attribute.strings().begin(), attribute.strings().end());
      if (attribute.has_s()) names.push_back(attribute.s());
    }
  return names;
}

void add_used_names(const onnx::NodeProto& node, std::unordered_set<std::string>& names) {
  names.insert(node.input().begin(), node.input().end());
  for (std::string& name : names_in_attributes(node)) names.insert(std::move(name));
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) add_names_inside(attribute.g(), names);
    for (const onnx::GraphProto& graph : attribute.graphs()) add_names_inside(graph, names);
  }
}

NeededParts find_needed_parts(const onnx::GraphProto& graph, const std::vector<std::string>& outputs) {
  NeededParts needed;
  needed.values.insert(outputs.begin(), outputs.end());
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    const auto is_needed = [&](const std::string& name) { return !name.empty() && needed.values.contains(name); };
    if (!std::ranges::any_of(node.output(), is_needed)) continue;
    needed.nodes.insert(&node);
    add_used_names(node, needed.values);
  }
  return needed;
}

}  // namespace onnxc
