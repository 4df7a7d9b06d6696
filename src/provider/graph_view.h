// A graph of onnxruntime's, as the provider reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "provider/api.h"

namespace onnxc::provider {

// An input or output of a node: a value's name and onnxruntime's object; an optional one that is not given has neither.
struct ValueUse {
  std::string name = {};
  const OrtValueInfo* info = nullptr;

  bool is_given() const { return info != nullptr; }
};

struct NodeView {
  const OrtNode* handle;
  std::string name, type, domain;
  std::vector<ValueUse> inputs;
  std::vector<ValueUse> captured;  // values of this graph, or of one around it, that its subgraphs read
  std::vector<ValueUse> outputs;
};

// The type of a tensor. Without `dims` its rank is not known either.
struct TensorType {
  struct Dim {
    int64_t size = -1;  // -1: symbolic
    std::string symbol = {};
  };
  int element = 0;  // of ONNX's TensorProto.DataType
  std::optional<std::vector<Dim>> dims = {};
};

// Nothing for a value that is not a tensor of numbers: a sequence, a map, an optional, or a tensor of strings.
std::optional<TensorType> tensor_type(const Api& api, const OrtValueInfo* info);

// The value of an attribute: a single number or a text as its elements, texts one after the other, each ended by a 0.
template <class Element>
std::vector<Element> elements_of(const Api& api, const OrtOpAttr* attribute, AttributeType type) {
  size_t bytes = 0;
  // With no room the call fails, and says how much is needed.
  if (OrtStatus* status = api.call(entry::ReadOpAttr, attribute, type, nullptr, 0, &bytes)) api.take_text(status);
  std::vector<Element> elements(bytes / sizeof(Element));
  if (!elements.empty()) api.check(entry::ReadOpAttr, attribute, type, elements.data(), bytes, &bytes);
  return elements;
}

std::vector<ValueUse> uses_of(const Api& api, const std::vector<const OrtValueInfo*>& infos);

class GraphView {
 public:
  GraphView(const Api& api, const OrtGraph* graph);
  GraphView(const GraphView&) = delete;
  GraphView& operator=(const GraphView&) = delete;

  const OrtGraph* handle() const { return graph_; }
  // In topological order.
  const std::vector<NodeView>& nodes() const { return nodes_; }
  // The node of this graph that makes a value.
  std::optional<size_t> producer(std::string_view value) const;
  // The nodes of this graph that read a value, their subgraphs included.
  std::vector<size_t> consumers(std::string_view value) const;
  // For each node the nodes whose values it reads.
  std::vector<std::vector<size_t>> predecessors() const;

 private:
  const OrtGraph* graph_;
  std::vector<NodeView> nodes_;
  std::unordered_map<std::string_view, size_t> producers_;               // views into nodes_
  std::unordered_map<std::string_view, std::vector<size_t>> consumers_;  // the same
};

}  // namespace onnxc::provider
