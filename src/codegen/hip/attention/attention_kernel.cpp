#include "codegen/hip/attention/attention_kernel.h"

#include <algorithm>

#include "codegen/call/kernel_call.h"
#include "codegen/call/typed_call.h"
#include "codegen/hip/attention/attention_choice.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_spec.h"
#include "codegen/hip/memory_bound/line_spec.h"
#include "ir/loops/rounding.h"
#include "kernels/hip/attention/attention_geometry.h"

namespace onnxc {
namespace {

using kernels::FlashAttentionPlan;
using kernels::Products;

std::string plan_text(const FlashAttentionPlan& plan) {
  return fmt::format("FlashAttentionPlan{{{}, {}, Products::{}, {}}}", plan.depth, plan.columns, name(plan.products),
                     plan.reads_scores);
}

// The axes of an operand; the batch and the groups may be missing.
struct OperandAxes {
  std::optional<size_t> batch, group;
  size_t row, element;
};
OperandAxes axes_of(const GemmAxes& axes) { return {axes.batch, axes.group, *axes.w, axes.channel}; }

std::string view(const KernelText& text, BufferId id, const OperandAxes& axes) {
  auto stride = [&](const std::optional<size_t>& axis) { return text.expr(axis_stride(text.program, id, axis)); };
  return braced({stride(axes.batch), stride(axes.group), stride(axes.row), stride(axes.element)});
}

class AttentionSpec : public HipKernelSpec {
 public:
  AttentionSpec(const GemmOperation& scores, const GemmOperation& product, KernelOperands operands,
                const FlashAttentionPlan& plan, const KernelFigures& figures)
      : scores_(scores), product_(product), operands_(std::move(operands)), plan_(plan), figures_(figures) {}

  std::string describe() const override {
    return fmt::format("attention {}->{}->{} {}", plan_.depth, keys(), plan_.columns, name(plan_.products));
  }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }
  std::string device_header() const override { return "kernels/hip/attention/attention.h"; }
  std::string host_header() const override { return "kernels/hip/attention/attention_geometry.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return fmt::format("FlashAttentionArguments<{}, {}>", c_type(program, call.inputs[0]),
                       c_type(program, call.output));
  }
  std::string function(const KernelCall&, const Program&) const override {
    return fmt::format("attention<{}>", plan_text(plan_));
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    const GemmOperation::Matrix &key = *scores_.weight_axes, &value = *product_.weight_axes;
    const std::string sizes = braced(
        {text.expr(scores_.batch), std::to_string(groups()), text.expr(scores_.input[2]), std::to_string(keys())});
    return braced({text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.inputs[2]),
                   text.pointer(call.output), sizes, view(text, call.inputs[0], axes_of(scores_.input_axes)),
                   view(text, call.inputs[1], {key.batch, key.group, key.column, key.k}),
                   view(text, call.inputs[2], {value.batch, value.group, value.k, value.column}),
                   view(text, call.output, axes_of(product_.output_axes)),
                   fmt::format("Divisor::of(FlashAttentionSizes{}.query_tiles())", sizes),
                   fmt::format("Divisor::of({})", groups())});
  }
  std::string blocks() const override { return "attention_blocks(arguments.call)"; }
  std::vector<std::string> coordinates(size_t rank) const override { return gemm_coordinates(product_, rank); }
  std::vector<std::string> inner_coordinates(size_t rank) const override { return gemm_coordinates(scores_, rank); }

  KernelFigures figures() const override { return figures_; }

  bool wants_registers() const override { return true; }

 private:
  int64_t keys() const { return scores_.plan.shape.group_output_channels(); }
  int64_t groups() const { return scores_.plan.shape.groups; }

  GemmOperation scores_, product_;
  KernelOperands operands_;
  FlashAttentionPlan plan_;
  KernelFigures figures_;
};

// A batch of matrices, the right ones made at run time.
bool is_batched(const GemmOperation& operation) {
  return operation.plan.matrix_product && operation.weight_axes && operation.input_axes.w && !operation.input_axes.d &&
         !operation.input_axes.h;
}

bool is_softmax_over_last_axis(const TypedCall<LineSpec>& weights) {
  if (!weights.spec.is_softmax_of_last_axis()) return false;
  const Scalar& value = weights.call.epilogue.value;
  return value->op == ScalarOp::accumulator ||
         (value->op == ScalarOp::cast && value->operands[0]->op == ScalarOp::accumulator);
}

bool have_equal_places(const GemmOperation& a, const GemmOperation& b) {
  return proven_equal(a.batch, b.batch) && proven_equal(a.input[2], b.input[2]) &&
         a.plan.shape.groups == b.plan.shape.groups && a.input_axes.batch == b.input_axes.batch &&
         a.input_axes.group == b.input_axes.group;
}

// Whether it reads an element for each query and key.
bool reads_scores(const Program& program, const Epilogue& epilogue) {
  const size_t rank = epilogue.axes.size();
  bool found = false;
  visit(epilogue.value, [&](const ScalarNode& node) {
    if (node.op != ScalarOp::load) return;
    const std::set<Symbol> symbols = program.offset(node.buffer, node.indices).symbols();
    found =
        found || (symbols.contains(epilogue.axes[rank - 1].symbol) && symbols.contains(epilogue.axes[rank - 2].symbol));
  });
  return found;
}

// At the sizes that the products were planned for.
double separate_microseconds(const GemmSpec& scores, const GemmSpec& product, const kernels::FlashAttentionSizes& sizes,
                             int64_t element_bytes, const GpuMachine& gpu) {
  const int64_t bytes = sizes.batch * sizes.groups * sizes.queries * sizes.keys * element_bytes;
  return scores.planned_microseconds() + estimate_memory(2 * bytes, gpu).microseconds + product.planned_microseconds() +
         2 * launch_microseconds;
}

// The scores' epilogue becomes the inner one.
KernelCall joined(const KernelCall& scores, const KernelCall& product) {
  KernelCall call;
  call.inputs = {scores.inputs[0], scores.inputs[1], product.inputs[1]};
  call.output = product.output;
  call.inner_epilogue = scores.epilogue;
  call.inner_epilogue.value = without_rounding(scores.epilogue.value);
  call.epilogue = product.epilogue;
  return call;
}

std::optional<KernelCall> attention_call(const Program& program, const TypedCall<GemmSpec>& of_scores,
                                         const TypedCall<LineSpec>& of_weights, const TypedCall<GemmSpec>& of_product,
                                         const GpuMachine& gpu) {
  const KernelCall &scores = of_scores.call, &weights = of_weights.call, &product = of_product.call;
  const GemmOperation &first = of_scores.spec.operation(), &second = of_product.spec.operation();
  if (!is_batched(first) || !is_batched(second) || !is_softmax_over_last_axis(of_weights)) return std::nullopt;
  if (weights.output != product.inputs[0] || scores.output == product.inputs[1]) return std::nullopt;
  if (!have_equal_places(first, second)) return std::nullopt;
  const int64_t keys = first.plan.shape.group_output_channels();
  if (second.plan.shape.group_input_channels() != keys) return std::nullopt;
  const DType dtype = program.buffer(scores.inputs[0]).dtype;
  const BufferId tensors[] = {scores.inputs[1], weights.output, product.inputs[1]};
  if (!std::ranges::all_of(tensors, [&](BufferId id) { return program.buffer(id).dtype == dtype; }))
    return std::nullopt;
  const FlashAttentionPlan plan{.depth = first.plan.shape.group_input_channels(),
                                .columns = second.plan.shape.group_output_channels(),
                                .products = first.plan.products,
                                .reads_scores = reads_scores(program, scores.epilogue)};
  if (second.plan.products != plan.products || !plan.fits(gpu)) return std::nullopt;
  const GemmSizes usual = first.sizes(program);
  const kernels::FlashAttentionSizes sizes{usual.sizes.batch, first.plan.shape.groups, usual.sizes.input.w, keys};
  const GpuEstimate estimate = estimate_attention(plan, sizes, gpu);
  if (estimate.microseconds > separate_microseconds(of_scores.spec, of_product.spec, sizes,
                                                    element_size(program.buffer(scores.output).dtype), gpu))
    return std::nullopt;

  KernelCall call = joined(scores, product);
  const KernelOperands left = of_scores.spec.operands(), right = of_product.spec.operands();
  KernelOperands operands{{left.inputs[0], left.inputs[1], right.inputs[1]}, right.output};
  KernelFigures figures{plan.lds_bytes(gpu), plan.waves(gpu)};
  if (usual.are_known) figures.expected = Expected{estimate.microseconds, describe(estimate.bound)};
  call.spec = std::make_shared<AttentionSpec>(first, second, std::move(operands), plan, figures);
  return call;
}

}  // namespace

Fusion attention_fusion(const GpuMachine& gpu) {
  return fusion_of<GemmSpec, LineSpec, GemmSpec>(
      "attention", [gpu](const Program& program, const auto& scores, const auto& weights, const auto& product) {
        return attention_call(program, scores, weights, product, gpu);
      });
}

}  // namespace onnxc
