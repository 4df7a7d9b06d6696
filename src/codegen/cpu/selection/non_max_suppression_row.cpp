#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "ops/node_reader.h"
#include "ops/vision/chosen_boxes.h"

namespace onnxc {
namespace {

class SuppressionCallSpec : public CpuKernelSpec {
 public:
  // `inputs`: which of the call's inputs is which of the node's; absent ones have none.
  SuppressionCallSpec(const Node& node, std::vector<std::optional<size_t>> inputs)
      : order_(*node.inputs[ChosenBoxes::order]->shape), inputs_(std::move(inputs)) {
    for (const Value* input : node.inputs)
      if (input != nullptr) operands_.inputs.push_back(operand(*input));
    operands_.output = operand(*node.outputs[0]);
  }

  std::string describe() const override { return "non_max_suppression"; }
  bool accepts_views() const override { return false; }
  KernelOperands operands() const override { return operands_; }
  std::vector<std::string> headers() const override { return {"kernels/cpu/selection/non_max_suppression.h"}; }
  std::string type(const KernelCall&, const Program&, const std::string&) const override { return "NonMaxSuppression"; }
  std::string sizes(const KernelText& text) const override {
    return braced({text.expr(order_[0]), text.expr(order_[1]), text.expr(order_[2])});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    std::vector<std::string> parts;
    for (const std::optional<size_t>& input : inputs_)
      parts.push_back(input ? text.pointer(call.inputs[*input]) : "nullptr");
    parts.push_back(text.pointer(call.output));
    parts.push_back(sizes(text));
    return braced(parts);
  }
  Expr operations() const override { return 0; }

 private:
  static KernelOperand operand(const Value& value) {
    KernelOperand result = whole_operand(*value.shape, {Layout::row_major(value.shape->size())});
    result.types = {value.dtype};
    return result;
  }

  Shape order_;
  std::vector<std::optional<size_t>> inputs_;
  KernelOperands operands_;
};

}  // namespace

// Non-maximum suppression of boxes in float32: non_max_suppression.h.
void offer_non_max_suppression(const CpuProblem& problem, const CpuMachine& /*machine*/, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_chosen_boxes(node)) return;
  const NodeReader reader(node);
  const bool has_threshold = reader.has_input(ChosenBoxes::threshold);
  if (reader.dtype(ChosenBoxes::corners) != DType::float32) return;
  if (has_threshold && reader.dtype(ChosenBoxes::threshold) != DType::float32) return;
  offers.push_back(
      {.kernel = "non_max_suppression",
       .reads = LayoutDemand::rows,
       .gives = LayoutDemand::rows,
       .lower = [&node](LoweringContext& context) {
         KernelCall call;
         std::vector<std::optional<size_t>> inputs;
         for (size_t i = 0; i < ChosenBoxes::inputs; ++i) {
           const bool is_given = i < node.inputs.size() && node.inputs[i] != nullptr;
           inputs.push_back(is_given ? std::optional(call.inputs.size()) : std::nullopt);
           if (!is_given) continue;
           const Value& input = *node.inputs[i];
           call.inputs.push_back(context.buffer_as(input, Layout::row_major(input.shape->size()), node.origin));
         }
         call.spec = std::make_shared<SuppressionCallSpec>(node, std::move(inputs));
         const Value& output = *node.outputs[0];
         context.emit_kernel(std::move(call), output, Layout::row_major(output.shape->size()), node.origin);
       }});
}

}  // namespace onnxc
