#include "passes/graph/reduce_precision.h"

#include <Eigen/Core>

#include <algorithm>
#include <set>
#include <string_view>

#include "ir/node_pattern.h"
#include "ops/op.h"
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

class PrecisionReduction {
 public:
  PrecisionReduction(Graph& graph, const StoragePrecision& precision)
      : graph_(graph), precision_(precision), narrow_(precision.dtype) {}

  void run() {
    for (const auto& node : graph_.nodes()) reduce(*node);
    graph_.erase_unused();
  }

 private:
  void reduce(Node& node) {
    switch (is_kept(node) ? StorageRule::unchanged : node.op->storage) {
      case StorageRule::unsaid:
        internal_error(fmt::format("{}: its row has no rule of storage", node.op->name));
      case StorageRule::unchanged:
        for (size_t i = 0; i < node.inputs.size(); ++i) convert_input(node, i, DType::float32);
        return;
      case StorageRule::product:
        if (has_one_position(node) || node.outputs[0]->dtype != DType::float32) return;
        // Two computed matrices are multiplied in one type.
        if (!node.inputs[1]->constant && reads_narrowed(node))
          for (size_t i = 0; i < 2; ++i) convert_input(node, i, narrow_);
        round_weights(node);
        narrow_outputs(node);
        return;
      case StorageRule::computes:
        if (reads_narrowed(node)) narrow_outputs(node);
        return;
      case StorageRule::moves:
        if (!reads_narrowed(node)) return;
        for (size_t i = 0; i < node.inputs.size(); ++i) convert_input(node, i, narrow_);
        narrow_outputs(node);
        return;
      case StorageRule::reduces:
        return;
    }
  }

  bool is_kept(const Node& node) const { return fits_any(precision_.kept_float32, node.origin); }

  bool reads_narrowed(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](const Value* value) { return narrowed_.contains(value); });
  }

  void narrow_outputs(const Node& node) {
    for (Value* output : node.outputs) {
      if (output == nullptr || output->dtype != DType::float32 || graph_.is_output(output)) continue;
      output->dtype = narrow_;
      narrowed_.insert(output);
    }
  }

  // Reads the input through a Cast if it is stored in the other type.
  void convert_input(Node& node, size_t index, DType wanted) {
    Value* const input = node.inputs[index];
    if (input == nullptr || !input->shape) return;
    const bool is_other = wanted == DType::float32 ? narrowed_.contains(input) : input->dtype == DType::float32;
    if (!is_other) return;
    auto cast = std::make_unique<Node>();
    constexpr int version = 13;
    cast->op = find_op("", "Cast", version);
    cast->origin = {fmt::format("{}/{}", input->name, info(wanted).name), "Cast", "", version};
    cast->attributes = {{"to", static_cast<int64_t>(wanted)}};
    cast->inputs = {input};
    cast->branch = node.branch;
    cast->condition = node.condition;
    Value* const converted = graph_.add_value(cast->origin.name);
    converted->dtype = wanted;
    converted->shape = input->shape;
    if (wanted == narrow_) narrowed_.insert(converted);
    cast->outputs = {converted};
    graph_.insert(std::move(cast), &node);
    graph_.set_input(&node, index, converted);
  }

  // The values stay float32: a kernel packs them in the type that it multiplies.
  void round_weights(Node& node) {
    const Value& weights = *node.inputs[1];
    if (!weights.constant || weights.dtype != DType::float32) return;
    const std::vector<double> values = weights.constant->as_double();
    std::vector<float> rounded(values.size());
    std::ranges::transform(values, rounded.begin(), [&](double value) { return round(static_cast<float>(value)); });
    Value* const constant = graph_.add_constant(fmt::format("{}/{}", weights.name, info(narrow_).name),
                                                Tensor::of(DType::float32, weights.constant->dims(), rounded));
    graph_.set_input(&node, 1, constant);
  }

  float round(float value) const {
    return narrow_ == DType::bfloat16 ? static_cast<float>(Eigen::bfloat16(value))
                                      : static_cast<float>(Eigen::half(value));
  }

  Graph& graph_;
  const StoragePrecision& precision_;
  DType narrow_;
  std::set<const Value*> narrowed_;
};

}  // namespace

void reduce_precision(Graph& graph, const StoragePrecision& precision) {
  if (precision.dtype != DType::float32) PrecisionReduction(graph, precision).run();
}

}  // namespace onnxc
