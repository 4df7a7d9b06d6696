#include "provider/model_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <unordered_set>

#include "support/diagnostics.h"

namespace onnxc::provider {
namespace {

using protozero::pbf_writer;

// The fields of ONNX's messages (onnx.proto); no message needs more.
namespace model {
enum : uint32_t { ir_version = 1, producer_name = 2, graph = 7, opset_import = 8 };
}
namespace operator_set {
enum : uint32_t { domain = 1, version = 2 };
}
namespace graph {
enum : uint32_t { node = 1, name = 2, initializer = 5, input = 11, output = 12 };
}
namespace node {
enum : uint32_t { input = 1, output = 2, name = 3, type = 4, attribute = 5, domain = 7 };
}
namespace attribute {
enum : uint32_t {
  name = 1,
  number = 2,
  integer = 3,
  text = 4,
  tensor = 5,
  graph = 6,
  numbers = 7,
  integers = 8,
  texts = 9,
  type = 20
};
// The numbers of AttributeProto.AttributeType, by onnxruntime's.
int32_t onnx_type(AttributeType type) {
  constexpr std::array<int32_t, 9> types = {0, 2, 7, 1, 6, 3, 8, 5, 4};
  return types.at(static_cast<size_t>(type));
}
}  // namespace attribute
namespace tensor {
enum : uint32_t { dims = 1, element = 2, name = 8, raw = 9 };
}
namespace value {
enum : uint32_t { name = 1, type = 2 };
}
namespace type {
enum : uint32_t { tensor = 1, element = 1, shape = 2, dim = 1, size = 1, symbol = 2 };
}

// The values that cross the border of some nodes.
struct Border {
  std::vector<ValueUse> inputs, outputs, constants;
};

class Writer {
 public:
  explicit Writer(const Api& api) : api_(api) {}

  void write_node(pbf_writer to, const NodeView& view, const std::string& name) const {
    for (const ValueUse& use : view.inputs) to.add_string(node::input, use.name);
    for (const ValueUse& use : view.outputs) to.add_string(node::output, use.name);
    to.add_string(node::name, name);
    to.add_string(node::type, view.type);
    to.add_string(node::domain, view.domain);
    for (const OrtOpAttr* each : api_.list(entry::Node_GetNumAttributes, entry::Node_GetAttributes, view.handle))
      write_attribute(to, each);
    write_subgraphs(to, view.handle);
  }

  void write_border(pbf_writer& to, const Border& border) const {
    for (const ValueUse& use : border.constants)
      write_tensor(pbf_writer(to, graph::initializer), use.name,
                   api_.get(entry::ValueInfo_GetInitializerValue, use.info));
    for (const ValueUse& use : border.inputs) write_value(pbf_writer(to, graph::input), use);
    for (const ValueUse& use : border.outputs) write_value(pbf_writer(to, graph::output), use);
  }

  bool is_constant(const ValueUse& use) const { return api_.get(entry::ValueInfo_IsConstantInitializer, use.info); }

 private:
  void write_value(pbf_writer to, const ValueUse& use) const {
    to.add_string(value::name, use.name);
    const std::optional<TensorType> read = tensor_type(api_, use.info);
    if (!read) throw OrtFailure("the value " + use.name + " is not a tensor of numbers");
    pbf_writer type_writer(to, value::type);
    pbf_writer tensor_writer(type_writer, type::tensor);
    tensor_writer.add_int32(type::element, read->element);
    // A writer of a nested message writes nothing if the message is empty; a shape without dims and a dim without a
    // name are such, and say something.
    const std::string empty;
    if (read->dims && read->dims->empty()) tensor_writer.add_message(type::shape, empty);
    if (!read->dims || read->dims->empty()) return;
    pbf_writer shape(tensor_writer, type::shape);
    for (const TensorType::Dim& dim : *read->dims) {
      if (dim.size < 0 && dim.symbol.empty()) shape.add_message(type::dim, empty);
      pbf_writer dim_writer(shape, type::dim);
      if (dim.size >= 0) dim_writer.add_int64(type::size, dim.size);
      if (!dim.symbol.empty()) dim_writer.add_string(type::symbol, dim.symbol);
    }
  }

  void write_tensor(pbf_writer to, const std::string& name, const OrtValue* tensor) const {
    const auto info = api_.own(entry::ReleaseTensorTypeAndShapeInfo, api_.get(entry::GetTensorTypeAndShape, tensor));
    const OrtTensorTypeAndShapeInfo* shape = info.get();
    const std::vector<int64_t> dims = api_.list(entry::GetDimensionsCount, entry::GetDimensions, shape);
    const int element = api_.get(entry::GetTensorElementType, shape);
    if (element == element_is_string) throw OrtFailure("the tensor " + name + " holds strings");
    to.add_packed_int64(tensor::dims, dims.begin(), dims.end());
    to.add_int32(tensor::element, element);
    to.add_string(tensor::name, name);
    const size_t size = api_.get(entry::GetTensorSizeInBytes, tensor);
    to.add_bytes(tensor::raw, size == 0 ? "" : static_cast<const char*>(api_.get(entry::GetTensorData, tensor)), size);
  }

  void write_attribute(pbf_writer& to, const OrtOpAttr* read) const {
    const AttributeType type = api_.get(entry::OpAttr_GetType, read);
    if (type == AttributeType::graph) return;  // write_subgraphs
    pbf_writer writer(to, node::attribute);
    writer.add_string(attribute::name, api_.get(entry::OpAttr_GetName, read));
    writer.add_int32(attribute::type, attribute::onnx_type(type));
    switch (type) {
      case AttributeType::integer:
        return writer.add_int64(attribute::integer, elements_of<int64_t>(api_, read, type).at(0));
      case AttributeType::number:
        return writer.add_float(attribute::number, elements_of<float>(api_, read, type).at(0));
      case AttributeType::integers: {
        const std::vector<int64_t> elements = elements_of<int64_t>(api_, read, type);
        return writer.add_packed_int64(attribute::integers, elements.begin(), elements.end());
      }
      case AttributeType::numbers: {
        const std::vector<float> elements = elements_of<float>(api_, read, type);
        return writer.add_packed_float(attribute::numbers, elements.begin(), elements.end());
      }
      case AttributeType::text: {
        const std::vector<char> text = elements_of<char>(api_, read, type);
        return writer.add_bytes(attribute::text, text.data(), text.size());
      }
      case AttributeType::texts: {
        const std::vector<char> texts = elements_of<char>(api_, read, type);  // each ends with a 0
        for (auto at = texts.begin(); at != texts.end();) {
          const auto end = std::find(at, texts.end(), '\0');
          writer.add_string(attribute::texts, std::string(at, end));
          at = end == texts.end() ? end : end + 1;
        }
        return;
      }
      case AttributeType::tensor: {
        const auto tensor = api_.own(entry::ReleaseValue, api_.get(entry::OpAttr_GetTensorAttributeAsOrtValue, read));
        return write_tensor(pbf_writer(writer, attribute::tensor), "", tensor.get());
      }
      case AttributeType::undefined:
      case AttributeType::graph:
        throw OrtFailure("an attribute has a type that onnxruntime does not give");
    }
  }

  void write_subgraphs(pbf_writer& to, const OrtNode* read) const {
    std::vector<const OrtGraph*> graphs(api_.get(entry::Node_GetNumSubgraphs, read));
    std::vector<const char*> names(graphs.size());
    if (!graphs.empty()) api_.check(entry::Node_GetSubgraphs, read, graphs.data(), graphs.size(), names.data());
    for (size_t i = 0; i < graphs.size(); ++i) {
      pbf_writer writer(to, node::attribute);
      writer.add_string(attribute::name, names[i]);
      writer.add_int32(attribute::type, attribute::onnx_type(AttributeType::graph));
      write_subgraph(pbf_writer(writer, attribute::graph), graphs[i]);
    }
  }

  void write_subgraph(pbf_writer to, const OrtGraph* read) const {
    const GraphView view(api_, read);
    to.add_string(graph::name, "subgraph");
    Border border{uses_of(api_, api_.list(entry::Graph_GetNumInputs, entry::Graph_GetInputs, read)),
                  uses_of(api_, api_.list(entry::Graph_GetNumOutputs, entry::Graph_GetOutputs, read)),
                  {}};
    std::unordered_set<std::string> seen;
    const auto add_constants = [&](const std::vector<ValueUse>& uses) {
      for (const ValueUse& use : uses)
        if (use.is_given() && is_constant(use) && !api_.get(entry::ValueInfo_IsFromOuterScope, use.info) &&
            seen.insert(use.name).second)
          border.constants.push_back(use);
    };
    for (const NodeView& each : view.nodes()) {
      write_node(pbf_writer(to, graph::node), each, each.name);
      add_constants(each.inputs);
      add_constants(each.captured);
    }
    add_constants(border.outputs);
    write_border(to, border);
  }

  const Api& api_;
};

bool contains(const std::vector<size_t>& sorted, size_t node) { return std::ranges::binary_search(sorted, node); }

Border border_of(const Api& api, const Writer& writer, const GraphView& view, const std::vector<size_t>& nodes) {
  Border border;
  std::unordered_set<std::string_view> seen;
  for (const size_t index : nodes) {
    const NodeView& each = view.nodes()[index];
    for (const auto* uses : {&each.inputs, &each.captured}) {
      for (const ValueUse& use : *uses) {
        const std::optional<size_t> made_by = view.producer(use.name);
        if (!use.is_given() || (made_by && contains(nodes, *made_by)) || !seen.insert(use.name).second) continue;
        (writer.is_constant(use) ? border.constants : border.inputs).push_back(use);
      }
    }
    for (const ValueUse& output : each.outputs) {
      const auto is_outside = [&](size_t consumer) { return !contains(nodes, consumer); };
      if (output.is_given() && (api.get(entry::ValueInfo_IsGraphOutput, output.info) ||
                                std::ranges::any_of(view.consumers(output.name), is_outside)))
        border.outputs.push_back(output);
    }
  }
  return border;
}

void write_operator_sets(const Api& api, pbf_writer& to, const OrtGraph* read) {
  const size_t count = api.get(entry::Graph_GetNumOperatorSets, read);
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  api.check(entry::Graph_GetOperatorSets, read, domains.data(), versions.data(), count);
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < count; ++i) {
    if (!seen.insert(domains[i] == std::string_view("ai.onnx") ? "" : domains[i]).second) continue;
    pbf_writer writer(to, model::opset_import);
    writer.add_string(operator_set::domain, domains[i]);
    writer.add_int64(operator_set::version, versions[i]);
  }
}

}  // namespace

bool ModelWriter::can_write(const NodeView& node) const {
  for (const auto* uses : {&node.inputs, &node.captured, &node.outputs})
    for (const ValueUse& use : *uses)
      if (use.is_given() && !tensor_type(api_, use.info)) return false;
  std::string scratch;
  try {
    Writer(api_).write_node(pbf_writer(scratch), node, node.name);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

std::string ModelWriter::write(const std::vector<size_t>& nodes, NodeNames names) const {
  const Writer writer(api_);
  const Border border = border_of(api_, writer, graph_, nodes);
  std::string bytes;
  pbf_writer to(bytes);
  to.add_int64(model::ir_version, api_.get(entry::Graph_GetOnnxIRVersion, graph_.handle()));
  to.add_string(model::producer_name, "onnxruntime");
  write_operator_sets(api_, to, graph_.handle());
  {
    pbf_writer graph_writer(to, model::graph);
    graph_writer.add_string(graph::name, "graph");
    for (const size_t index : nodes) {
      const NodeView& node = graph_.nodes()[index];
      writer.write_node(pbf_writer(graph_writer, graph::node), node,
                        names == NodeNames::own ? node.name : fmt::format("n{}", index));
    }
    writer.write_border(graph_writer, border);
    user_check(bytes.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
               "its constants are more than the 2 GiB of a protobuf message");
  }
  return bytes;
}

}  // namespace onnxc::provider
