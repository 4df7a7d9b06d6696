#include "fuzz/model_changes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "ops/op.h"

namespace onnxc::fuzz {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

// Numbers at which code takes another way.
constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
constexpr std::array<int64_t, 20> edges = {-1, 0,  1,  2,  3,  4,    5,  7,  8,    13,
                                           16, 17, 31, 32, 64, 1000, -2, -3, most, least};

std::optional<onnx::ModelProto> model_of(std::string_view bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || model.graph().node().empty()) return {};
  return model;
}

class ModelChanger {
 public:
  ModelChanger(onnx::ModelProto& model, uint32_t seed) : model_(model), random_(seed) {}

  void change() {
    static constexpr std::array changes = {
        &ModelChanger::change_operator,    &ModelChanger::read_another_value, &ModelChanger::read_another_value,
        &ModelChanger::change_input_count, &ModelChanger::change_number,      &ModelChanger::change_number,
        &ModelChanger::set_attribute,      &ModelChanger::set_attribute,      &ModelChanger::take_attribute,
        &ModelChanger::drop_attribute,     &ModelChanger::change_dim,         &ModelChanger::change_dim,
        &ModelChanger::change_type,        &ModelChanger::change_initializer, &ModelChanger::change_initializer,
        &ModelChanger::double_node,        &ModelChanger::drop_node,          &ModelChanger::insert_node,
        &ModelChanger::insert_node,        &ModelChanger::change_outputs,     &ModelChanger::change_version};
    const size_t wanted = 1 + below(4);
    // A graph without attributes or initializers has none to change.
    for (size_t made = 0, tried = 0; made < wanted && tried < 40; ++tried)
      made += (this->*changes[below(changes.size())])() ? 1 : 0;
  }

  void append(GraphProto& other) {
    GraphProto& graph = *model_.mutable_graph();
    const std::string prefix = fresh_name();
    const std::vector<std::string> known = values_of(graph);
    std::set<std::string> fed;
    for (const auto& input : other.input()) fed.insert(input.name());
    const auto renamed = [&](const std::string& name) { return name.empty() ? name : prefix + name; };
    for (auto& tensor : *other.mutable_initializer()) {
      tensor.set_name(renamed(tensor.name()));
      *graph.add_initializer() = std::move(tensor);
    }
    for (auto& node : *other.mutable_node()) {
      for (auto& name : *node.mutable_input()) name = fed.contains(name) ? pick(known) : renamed(name);
      for (auto& name : *node.mutable_output()) name = renamed(name);
      *graph.add_node() = std::move(node);
    }
    for (auto& output : *other.mutable_output()) {
      if (fed.contains(output.name())) continue;
      graph.add_output()->set_name(renamed(output.name()));
    }
  }

 private:
  size_t below(size_t count) { return random_() % count; }  // the bias is of no matter
  template <class List>
  typename List::value_type pick(const List& list) {
    return list[below(list.size())];
  }
  template <class List>
  auto* pick_in(List* list) {
    return list->empty() ? nullptr : list->Mutable(static_cast<int>(below(list->size())));
  }

  std::string fresh_name() { return "v" + std::to_string(random_() % 1'000'000) + "_"; }

  // The main graph, and now and then one within.
  GraphProto& pick_graph() {
    GraphProto* graph = model_.mutable_graph();
    while (below(3) != 0) {
      std::vector<GraphProto*> inner;
      for (auto& node : *graph->mutable_node())
        for (auto& attribute : *node.mutable_attribute())
          if (attribute.has_g()) inner.push_back(attribute.mutable_g());
      if (inner.empty()) break;
      graph = pick(inner);
    }
    return *graph;
  }
  NodeProto* pick_node() { return pick_in(pick_graph().mutable_node()); }

  static std::vector<std::string> values_of(const GraphProto& graph) {
    std::vector<std::string> names = {""};
    for (const auto& input : graph.input()) names.push_back(input.name());
    for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph.node())
      for (const std::string& output : node.output()) names.push_back(output);
    return names;
  }

  int64_t changed(int64_t number) {
    const std::array<int64_t, 4> near = {static_cast<int64_t>(static_cast<uint64_t>(number) + 1),
                                         static_cast<int64_t>(static_cast<uint64_t>(number) - 1),
                                         static_cast<int64_t>(0 - static_cast<uint64_t>(number)), pick(edges)};
    return pick(near);
  }

  const onnx::OpSchema* schema_of(const NodeProto& node) {
    int version = 1;
    for (const auto& import : model_.opset_import())
      if (import.domain() == node.domain()) version = static_cast<int>(import.version());
    return onnx::OpSchemaRegistry::Schema(node.op_type(), version, node.domain());
  }

  const OpRow& pick_operator() {
    static const std::vector<const OpRow*> rows = [] {
      std::vector<const OpRow*> named = all_ops();
      std::erase_if(named, [](const OpRow* row) { return is_own_domain(row->domain); });
      return named;
    }();
    return *pick(rows);
  }

  void make(NodeProto& node, const OpRow& row) {
    node.set_op_type(std::string(row.name));
    node.set_domain(std::string(row.domain));
    const auto& imports = model_.opset_import();
    if (std::ranges::find(imports, row.domain, &onnx::OperatorSetIdProto::domain) != imports.end()) return;
    auto* import = model_.add_opset_import();
    import->set_domain(std::string(row.domain));
    import->set_version(1);
  }

  bool change_operator() {
    NodeProto* node = pick_node();
    if (node == nullptr) return false;
    make(*node, pick_operator());
    return true;
  }

  bool read_another_value() {
    GraphProto& graph = pick_graph();
    NodeProto* node = pick_in(graph.mutable_node());
    if (node == nullptr || node->input().empty()) return false;
    *pick_in(node->mutable_input()) = pick(values_of(graph));
    return true;
  }

  bool change_input_count() {
    GraphProto& graph = pick_graph();
    NodeProto* node = pick_in(graph.mutable_node());
    if (node == nullptr) return false;
    if (below(2) == 0 && !node->input().empty())
      node->mutable_input()->RemoveLast();
    else
      node->add_input(pick(values_of(graph)));
    return true;
  }

  void set_numbers(AttributeProto& attribute) {
    const size_t count = below(5);
    switch (attribute.type()) {
      case AttributeProto::INT:
        attribute.set_i(pick(edges));
        break;
      case AttributeProto::FLOAT:
        attribute.set_f(static_cast<float>(pick(edges)) / 4);
        break;
      case AttributeProto::INTS:
        for (size_t i = 0; i < count; ++i) attribute.add_ints(pick(edges));
        break;
      case AttributeProto::FLOATS:
        for (size_t i = 0; i < count; ++i) attribute.add_floats(static_cast<float>(pick(edges)) / 4);
        break;
      default:
        attribute.set_s("linear");
    }
  }

  bool change_number() {
    NodeProto* node = pick_node();
    AttributeProto* attribute = node == nullptr ? nullptr : pick_in(node->mutable_attribute());
    if (attribute == nullptr) return false;
    if (attribute->has_i())
      attribute->set_i(changed(attribute->i()));
    else if (!attribute->ints().empty())
      attribute->set_ints(static_cast<int>(below(attribute->ints_size())), changed(attribute->ints(0)));
    else if (attribute->has_f())
      attribute->set_f(-2 * attribute->f() + 1);
    else
      return false;
    return true;
  }

  // One that the operator's schema names.
  bool set_attribute() {
    NodeProto* node = pick_node();
    const onnx::OpSchema* schema = node == nullptr ? nullptr : schema_of(*node);
    if (schema == nullptr || schema->attributes().empty()) return false;
    const auto& [name, described] =
        *std::next(schema->attributes().begin(), static_cast<int64_t>(below(schema->attributes().size())));
    if (described.type == AttributeProto::GRAPH) return false;
    AttributeProto attribute;
    attribute.set_name(name);
    attribute.set_type(described.type);
    set_numbers(attribute);
    const auto present = std::ranges::find(*node->mutable_attribute(), name, &AttributeProto::name);
    (present == node->mutable_attribute()->end() ? *node->add_attribute() : *present) = attribute;
    return true;
  }

  bool take_attribute() {
    NodeProto *to = pick_node(), *from = pick_node();
    AttributeProto* attribute = from == nullptr ? nullptr : pick_in(from->mutable_attribute());
    if (to == nullptr || attribute == nullptr || attribute->ByteSizeLong() > 4096) return false;
    const AttributeProto copy = *attribute;  // the list that holds it may be the one that grows
    *to->add_attribute() = copy;
    return true;
  }

  bool drop_attribute() {
    NodeProto* node = pick_node();
    if (node == nullptr || node->attribute().empty()) return false;
    node->mutable_attribute()->DeleteSubrange(static_cast<int>(below(node->attribute_size())), 1);
    return true;
  }

  bool change_dim() {
    onnx::ValueInfoProto* input = pick_in(pick_graph().mutable_input());
    if (input == nullptr || !input->type().has_tensor_type()) return false;
    auto& shape = *input->mutable_type()->mutable_tensor_type()->mutable_shape();
    auto* dim = shape.dim().empty() || below(8) == 0 ? shape.add_dim() : pick_in(shape.mutable_dim());
    static constexpr std::array texts = {"N", "D", "H", "2*N", "D//2", "16*((D - 1)//16) + 16"};
    if (below(2) == 0)
      dim->set_dim_param(pick(texts));
    else
      dim->set_dim_value(changed(dim->dim_value()));
    return true;
  }

  bool change_type() {
    GraphProto& graph = pick_graph();
    onnx::ValueInfoProto* input = pick_in(graph.mutable_input());
    if (input == nullptr || !input->type().has_tensor_type()) return false;
    input->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(below(27)));
    return true;
  }

  bool change_initializer() {
    GraphProto& graph = pick_graph();
    auto* tensor = below(4) == 0 ? graph.add_initializer() : pick_in(graph.mutable_initializer());
    if (tensor == nullptr) return false;
    if (tensor->name().empty()) tensor->set_name(fresh_name());
    if (tensor->data_type() != onnx::TensorProto::INT64 && below(2) == 0 && !tensor->raw_data().empty()) {
      std::string& raw = *tensor->mutable_raw_data();
      raw[below(raw.size())] = static_cast<char>(pick(edges));
      return true;
    }
    const size_t count = below(6);  // as shapes, axes, pads and indices are given
    const std::string name = tensor->name();
    tensor->Clear();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    if (count != 1 || below(2) == 0) tensor->add_dims(static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) tensor->add_int64_data(pick(edges));
    return true;
  }

  bool double_node() {
    GraphProto& graph = pick_graph();
    NodeProto* node = pick_in(graph.mutable_node());
    if (node == nullptr || node->ByteSizeLong() > 4096) return false;
    NodeProto copy = *node;
    copy.clear_name();
    for (auto& output : *copy.mutable_output()) output = fresh_name();
    if (!copy.output().empty()) graph.add_output()->set_name(copy.output(0));
    *graph.add_node() = copy;
    return true;
  }

  bool drop_node() {
    GraphProto& graph = pick_graph();
    if (graph.node_size() < 2) return false;
    graph.mutable_node()->DeleteSubrange(static_cast<int>(below(graph.node_size())), 1);
    return true;
  }

  // At the end, its result an output of the graph.
  bool insert_node() {
    GraphProto& graph = pick_graph();
    const std::vector<std::string> known = values_of(graph);
    NodeProto& node = *graph.add_node();
    make(node, pick_operator());
    const onnx::OpSchema* schema = schema_of(node);
    const size_t needed = schema == nullptr ? 1 : static_cast<size_t>(schema->min_input());
    for (size_t i = 0, count = needed + below(3); i < count; ++i) node.add_input(pick(known));
    node.add_output(fresh_name());
    graph.add_output()->set_name(node.output(0));
    return true;
  }

  bool change_outputs() {
    GraphProto& graph = pick_graph();
    if (below(3) == 0 && graph.output_size() > 1) {
      graph.mutable_output()->RemoveLast();
      return true;
    }
    graph.add_output()->set_name(pick(values_of(graph)));
    return true;
  }

  bool change_version() {
    auto* import = pick_in(model_.mutable_opset_import());
    if (import == nullptr) return false;
    import->set_version(static_cast<int64_t>(7 + below(20)));
    return true;
  }

  onnx::ModelProto& model_;
  std::mt19937 random_;
};

}  // namespace

std::optional<std::string> change_model(std::string_view bytes, uint32_t seed) {
  std::optional<onnx::ModelProto> model = model_of(bytes);
  if (!model) return {};
  ModelChanger(*model, seed).change();
  return model->SerializeAsString();
}

std::optional<std::string> join_models(std::string_view first, std::string_view second, uint32_t seed) {
  std::optional<onnx::ModelProto> model = model_of(first), other = model_of(second);
  if (!model || !other) return {};
  ModelChanger(*model, seed).append(*other->mutable_graph());
  return model->SerializeAsString();
}

}  // namespace onnxc::fuzz
