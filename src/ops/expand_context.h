// The vocabulary of expansions: operators whose meaning is other nodes of the graph.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/node_reader.h"

namespace onnxc {

// The version of ai.onnx that the nodes of expansions are of.
inline constexpr int expansion_version = 24;

// Puts nodes in front of one node, which they then stand for. The shapes, types and elements of that node's inputs are
// known; those of the nodes that are put are inferred afterwards, by their own rules. All keep the node's name, so that
// reports and messages name the node of the file.
class ExpandContext : public NodeReader {
 public:
  ExpandContext(Graph& graph, Node& node) : NodeReader(node), graph_(graph), mutable_node_(node) {}

  const Graph& graph() const { return graph_; }
  // An input; null if it is absent.
  Value* in(size_t i) const { return has_input(i) ? mutable_node_.inputs[i] : nullptr; }
  // The output of an operator of ai.onnx; an input may be null.
  Value* add(std::string_view type, std::vector<Value*> inputs, std::vector<NamedAttribute> attributes = {});
  // As many outputs as wanted, of an operator of any domain.
  std::vector<Value*> add_row(std::string_view domain, std::string_view type, std::vector<Value*> inputs,
                              size_t outputs, std::vector<NamedAttribute> attributes = {});
  // An operator that gives the node's outputs; it lacks those that the node lacks.
  void give_row(std::string_view domain, std::string_view type, std::vector<Value*> inputs,
                std::vector<NamedAttribute> attributes = {});
  Value* constant(Tensor tensor);
  Value* integers(std::vector<int64_t> values);
  // A vector of strings.
  Tensor string_tensor(const std::vector<std::string>& texts);
  // A number of that type, as a scalar.
  Value* number(DType dtype, double value);
  // The output i of the node is this value from here on. To be called once for each output that is wanted.
  void give(size_t i, Value* value);

 private:
  std::unique_ptr<Node> make_node(std::string_view domain, std::string_view type, std::vector<Value*> inputs,
                                  std::vector<NamedAttribute> attributes) const;
  Value* make_output(const Node& node) const;
  bool is_read(const Value* value) const { return std::ranges::find(node_.inputs, value) != node_.inputs.end(); }

  Graph& graph_;
  Node& mutable_node_;
};

// The node is replaced by what its row's `expand` puts. Returns the first node that was put.
Node* expand_node(Graph& graph, Node& node);

}  // namespace onnxc
