#include "provider/graph_view.h"

#include <algorithm>

namespace onnxc::provider {
namespace {

NodeView read_node(const Api& api, const OrtNode* node) {
  return {node,
          api.get(entry::Node_GetName, node),
          api.get(entry::Node_GetOperatorType, node),
          api.get(entry::Node_GetDomain, node),
          uses_of(api, api.list(entry::Node_GetNumInputs, entry::Node_GetInputs, node)),
          uses_of(api, api.list(entry::Node_GetNumImplicitInputs, entry::Node_GetImplicitInputs, node)),
          uses_of(api, api.list(entry::Node_GetNumOutputs, entry::Node_GetOutputs, node))};
}

// The dims of a value between nodes may have texts of onnxruntime's own; one that is not a name is left out.
bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_part);
}

std::vector<TensorType::Dim> read_dims(const Api& api, const OrtTensorTypeAndShapeInfo* info) {
  const std::vector<int64_t> sizes = api.list(entry::GetDimensionsCount, entry::GetDimensions, info);
  const std::vector<const char*> symbols = api.list(entry::GetDimensionsCount, entry::GetSymbolicDimensions, info);
  std::vector<TensorType::Dim> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool is_named = sizes[i] < 0 && symbols[i] != nullptr && is_identifier(symbols[i]);
    dims.push_back({std::max<int64_t>(sizes[i], -1), is_named ? symbols[i] : ""});
  }
  return dims;
}

}  // namespace

std::vector<ValueUse> uses_of(const Api& api, const std::vector<const OrtValueInfo*>& infos) {
  std::vector<ValueUse> uses;
  for (const OrtValueInfo* info : infos) {
    const std::string name = info != nullptr ? api.get(entry::GetValueInfoName, info) : "";
    uses.push_back(name.empty() ? ValueUse() : ValueUse{name, info});
  }
  return uses;
}

std::optional<TensorType> tensor_type(const Api& api, const OrtValueInfo* info) {
  const OrtTypeInfo* type = api.get(entry::GetValueInfoTypeInfo, info);
  if (type == nullptr || api.get(entry::GetOnnxTypeFromTypeInfo, type) != type_is_tensor) return std::nullopt;
  const OrtTensorTypeAndShapeInfo* tensor = api.get(entry::CastTypeInfoToTensorInfo, type);
  const int element = api.get(entry::GetTensorElementType, tensor);
  if (element == 0 || element == element_is_string) return std::nullopt;
  TensorType result{element};
  if (api.call(entry::TensorTypeAndShape_HasShape, tensor)) result.dims = read_dims(api, tensor);
  return result;
}

GraphView::GraphView(const Api& api, const OrtGraph* graph) : graph_(graph) {
  for (const OrtNode* node : api.list(entry::Graph_GetNumNodes, entry::Graph_GetNodes, graph))
    nodes_.push_back(read_node(api, node));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const ValueUse& output : nodes_[i].outputs) producers_.emplace(output.name, i);
    for (const auto* uses : {&nodes_[i].inputs, &nodes_[i].captured})
      for (const ValueUse& use : *uses) consumers_[use.name].push_back(i);
  }
}

std::optional<size_t> GraphView::producer(std::string_view value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() || value.empty() ? std::nullopt : std::optional(found->second);
}

std::vector<size_t> GraphView::consumers(std::string_view value) const {
  const auto found = consumers_.find(value);
  return found == consumers_.end() || value.empty() ? std::vector<size_t>() : found->second;
}

std::vector<std::vector<size_t>> GraphView::predecessors() const {
  std::vector<std::vector<size_t>> result(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (const auto* uses : {&nodes_[i].inputs, &nodes_[i].captured})
      for (const ValueUse& use : *uses)
        if (const std::optional<size_t> made = producer(use.name)) result[i].push_back(*made);
  return result;
}

}  // namespace onnxc::provider
