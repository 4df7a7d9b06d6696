#include "passes/graph/reduce_precision.h"

#include <Eigen/Core>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string_view>

#include "ir/node_pattern.h"
#include "ops/node_reader.h"
#include "ops/op.h"
#include "passes/graph/insert_node.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Whether a product has one row or voxel: a fully connected layer, a squeeze.
bool has_one_position(const Node& node) {
  const Shape& shape = *node.outputs[0]->shape;
  const bool is_matrix = is_operator(&node, "MatMul");
  if (is_matrix) return shape.size() <= 2;
  return std::all_of(shape.begin() + 2, shape.end(), [](const Expr& extent) { return extent.is_constant(1); });
}

// Whether a product adds up the channels of a feature map. An image's few keep float32: they are data as somebody
// measured it, and one layer reads them.
bool has_many_channels(const Node& node) {
  constexpr int64_t many = 8;
  const Shape &input = *node.inputs[0]->shape, &weights = *node.inputs[1]->shape;
  if (is_operator(&node, "MatMul")) return proven_at_least(input.back(), many);
  if (is_operator(&node, "Conv")) return proven_at_least(weights[1], many);
  return proven_at_least(input[1], many * NodeReader(node).integer("group", 1));
}

class PrecisionReduction {
 public:
  PrecisionReduction(Graph& graph, const StoragePrecision& precision)
      : graph_(graph), precision_(precision), narrow_(precision.dtype) {}

  void run() {
    find_values_for_products();
    for (const auto& node : graph_.nodes()) reduce(*node);
    graph_.erase_unused();
  }

 private:
  void find_values_for_products() {
    for (const auto& node : graph_.nodes() | std::views::reverse) {
      const StorageRule rule = rule_of(*node);
      const bool goes_on = rule == StorageRule::computes || rule == StorageRule::moves;
      if (rule == StorageRule::product ? !has_one_position(*node)
                                       : goes_on && std::ranges::any_of(node->outputs, [&](const Value* output) {
                                           return for_products_.contains(output);
                                         }))
        for_products_.insert(node->inputs.begin(), node->inputs.end());
    }
  }

  void reduce(Node& node) {
    switch (rule_of(node)) {
      case StorageRule::unsaid:
        internal_error(fmt::format("{}: its row has no rule of storage", node.op->name));
      case StorageRule::unchanged:
        for (size_t i = 0; i < node.inputs.size(); ++i) widen_input(node, i);
        return;
      case StorageRule::product:
        if (has_one_position(node) || !is_of_float32(node)) return;
        narrow_operands(node);
        round_weights(node);
        narrow_outputs(node);
        return;
      case StorageRule::computes:
        if (reads_narrowed(node)) narrow_outputs(node);
        return;
      case StorageRule::moves:
        if (!reads_narrowed(node)) return;
        for (size_t i = 0; i < node.inputs.size(); ++i) narrow_input(node, i);
        narrow_outputs(node);
        return;
      case StorageRule::reduces:
        return;
    }
  }

  // A product of half types is not one, also if its sums are kept in float32.
  bool is_of_float32(const Node& node) const {
    const Value* const operand = node.inputs[0];
    return node.outputs[0]->dtype == DType::float32 &&
           (operand->dtype == DType::float32 || narrowed_.contains(operand));
  }

  StorageRule rule_of(const Node& node) const {
    return fits_any(precision_.kept_float32, node.origin) ? StorageRule::unchanged : node.op->storage;
  }

  bool reads_narrowed(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](const Value* value) { return narrowed_.contains(value); });
  }

  // Two computed matrices are multiplied in one type.
  void narrow_operands(Node& node) {
    const bool is_computed = !node.inputs[1]->constant;
    if (!has_many_channels(node) && !(is_computed && reads_narrowed(node))) return;
    narrow_operand(node, 0);
    if (is_computed) narrow_operand(node, 1);
  }

  void narrow_outputs(const Node& node) {
    for (Value* output : node.outputs) {
      if (output == nullptr || output->dtype != DType::float32) continue;
      if (graph_.is_output(output)) {
        if (!for_products_.contains(output)) continue;
        give_copy(output);
      }
      output->dtype = narrow_;
      narrowed_.insert(output);
    }
  }

  // The model gives a float32 copy of the value, and the nodes that read the value still do.
  void give_copy(Value* value) {
    const std::vector<Use> readers = value->uses;
    Value* const copy = insert_cast(graph_, value, DType::float32, after(*value), value->producer);
    copy->name = narrow_name(*value);
    graph_.replace_uses(value, copy);  // swaps the names
    graph_.set_input(copy->producer, 0, value);
    for (const Use& reader : readers) graph_.set_input(reader.node, reader.index, value);
  }

  // A Cast for each reader: what reads it computes it in passing.
  void widen_input(Node& node, size_t index) {
    Value* const input = node.inputs[index];
    if (!narrowed_.contains(input)) return;
    graph_.set_input(&node, index, insert_cast(graph_, input, DType::float32, &node, &node));
  }

  // The same to the other side, for an operator that moves elements.
  void narrow_input(Node& node, size_t index) {
    Value* const input = node.inputs[index];
    if (input == nullptr || !input->shape || input->dtype != DType::float32) return;
    graph_.set_input(&node, index, narrow_copy(input, &node, &node));
  }

  // A product's kernel needs it in memory: one copy for all products.
  void narrow_operand(Node& node, size_t index) {
    Value* const operand = node.inputs[index];
    if (operand->dtype != DType::float32) return;
    Value*& copy = operands_[operand];
    if (copy == nullptr) copy = narrow_copy(operand, after(*operand), operand->producer);
    graph_.set_input(&node, index, copy);
  }

  Value* narrow_copy(Value* value, const Node* before, const Node* other) {
    Value* const copy = value->constant
                            ? graph_.add_constant(narrow_name(*value), float_tensor(narrow_, value->constant->dims(),
                                                                                    value->constant->as_double()))
                            : insert_cast(graph_, value, narrow_, before, other);
    narrowed_.insert(copy);
    return copy;
  }

  // The node after the one that makes the value; null at the end.
  const Node* after(const Value& value) const {
    const auto& nodes = graph_.nodes();
    const auto next = value.producer == nullptr ? nodes.begin() : std::next(value.producer->place);
    return next == nodes.end() ? nullptr : next->get();
  }

  std::string narrow_name(const Value& value) const { return fmt::format("{}/{}", value.name, info(narrow_).name); }

  // The values stay float32: a kernel packs them in the type that it multiplies.
  void round_weights(Node& node) {
    const Value& weights = *node.inputs[1];
    if (!weights.constant || weights.dtype != DType::float32) return;
    const std::vector<double> values = weights.constant->as_double();
    std::vector<float> rounded(values.size());
    std::ranges::transform(values, rounded.begin(), [&](double value) { return round(static_cast<float>(value)); });
    Value* const constant =
        graph_.add_constant(narrow_name(weights), Tensor::of(DType::float32, weights.constant->dims(), rounded));
    graph_.set_input(&node, 1, constant);
  }

  float round(float value) const {
    return narrow_ == DType::bfloat16 ? static_cast<float>(Eigen::bfloat16(value))
                                      : static_cast<float>(Eigen::half(value));
  }

  Graph& graph_;
  const StoragePrecision& precision_;
  DType narrow_;
  std::set<const Value*> for_products_;  // what products read, on ways that go on in 16 bits
  std::set<const Value*> narrowed_;
  std::map<const Value*, Value*> operands_;  // and their narrow copies
};

}  // namespace

void reduce_precision(Graph& graph, const StoragePrecision& precision) {
  if (precision.dtype != DType::float32) PrecisionReduction(graph, precision).run();
}

}  // namespace onnxc
