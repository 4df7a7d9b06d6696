#include "frontend/file/node_order.h"

#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/file/needed_nodes.h"

namespace onnxc {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// For each node, the nodes that use what it makes; and of each node, how many others it waits for.
struct Dependencies {
  std::vector<std::vector<int>> users;
  std::vector<int> waits;
  bool are_in_order = true;
};

Dependencies find_dependencies(const Nodes& nodes) {
  std::unordered_map<std::string, int> producers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].output())
      if (!output.empty()) producers.emplace(output, i);
  Dependencies result{std::vector<std::vector<int>>(static_cast<size_t>(nodes.size())),
                      std::vector<int>(static_cast<size_t>(nodes.size()), 0)};
  for (int i = 0; i < nodes.size(); ++i) {
    std::unordered_set<std::string> names;
    add_used_names(nodes[i], names);
    for (const std::string& name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      result.users[static_cast<size_t>(producer->second)].push_back(i);
      ++result.waits[static_cast<size_t>(i)];
      result.are_in_order = result.are_in_order && producer->second < i;
    }
  }
  return result;
}

// Among the nodes that wait for nothing, the first in the file comes first. Shorter than `nodes` if they form a cycle.
std::vector<int> topological_order(Dependencies dependencies) {
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < dependencies.waits.size(); ++i)
    if (dependencies.waits[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (int user : dependencies.users[static_cast<size_t>(order.back())])
      if (--dependencies.waits[static_cast<size_t>(user)] == 0) ready.push(user);
  }
  return order;
}

bool sort_nodes(onnx::GraphProto& graph);

bool sort_nodes(Nodes& nodes) {
  bool has_moved = false;
  for (onnx::NodeProto& node : nodes)
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && sort_nodes(*attribute.mutable_g())) has_moved = true;
      for (onnx::GraphProto& graph : *attribute.mutable_graphs())
        if (sort_nodes(graph)) has_moved = true;
    }
  const Dependencies dependencies = find_dependencies(nodes);
  if (dependencies.are_in_order) return has_moved;
  const std::vector<int> order = topological_order(dependencies);
  if (order.size() != static_cast<size_t>(nodes.size())) return has_moved;
  std::vector<onnx::NodeProto*> taken(order.size());
  nodes.ExtractSubrange(0, nodes.size(), taken.data());
  for (int i : order) nodes.AddAllocated(taken[static_cast<size_t>(i)]);
  return true;
}

bool sort_nodes(onnx::GraphProto& graph) { return sort_nodes(*graph.mutable_node()); }

}  // namespace

bool sort_nodes(onnx::ModelProto& model) {
  bool has_moved = sort_nodes(*model.mutable_graph());
  for (onnx::FunctionProto& function : *model.mutable_functions())
    if (sort_nodes(*function.mutable_node())) has_moved = true;
  return has_moved;
}

}  // namespace onnxc
