#include "codegen/cpu/memory_bound/pooling_row.h"

#include <algorithm>

#include "codegen/call/kernel_convolution.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/memory_bound/channel_moments.h"
#include "kernels/cpu/memory_bound/pooling_geometry.h"
#include "ops/op.h"

namespace onnxc {
namespace {

using kernels::PoolKind;

const char* name_of(PoolKind kind) {
  switch (kind) {
    case PoolKind::maximum:
      return "maximum";
    case PoolKind::average:
      return "average";
    case PoolKind::average_with_padding:
      return "average_with_padding";
  }
  internal_error("a kind of pool");
}

kernels::PoolShape shape_of(PoolKind kind, const ConvSpec& window) {
  const std::array<WindowAxis, 3> axes = three_axes(window.axes);
  return {kind, gather(axes, &WindowAxis::kernel), gather(axes, &WindowAxis::stride),
          gather(axes, &WindowAxis::dilation)};
}

// Whether rows can be folded axis by axis as they are.
bool has_separable_rows(const kernels::PoolShape& shape) { return shape.stride.w == 1; }

class PoolSpec : public PoolCallSpec {
 public:
  PoolSpec(std::string name, PoolKind kind, ConvSpec window, Layout layout, bool is_of_bytes)
      : name_(std::move(name)),
        kind_(kind),
        window_(std::move(window)),
        axes_(three_axes(window_.axes)),
        layout_(std::move(layout)),
        is_of_bytes_(is_of_bytes) {}

  std::string describe() const override {
    return fmt::format("{} {} {} stride {}", name_, name_of(kind_), onnxc::describe(gather(axes_, &WindowAxis::kernel)),
                       onnxc::describe(gather(axes_, &WindowAxis::stride)));
  }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override {
    KernelOperands result{{window_operand(window_, window_.input_channels, &WindowAxis::input, {layout_})},
                          window_operand(window_, window_.input_channels, &WindowAxis::output, {layout_})};
    if (!is_of_bytes_) return result;
    result.inputs[0].types = {DType::int8, DType::uint8};
    result.output.types = vector_types;
    return result;
  }
  EpilogueForm epilogue_form() const override { return is_in_rows() ? EpilogueForm::rows : EpilogueForm::blocks; }
  DType accumulator() const override { return is_of_bytes_ ? DType::int32 : DType::float32; }
  std::string arithmetic() const override { return is_of_bytes_ ? "int8" : "float32"; }
  std::vector<std::string> headers() const override {
    return {is_separable() ? "kernels/cpu/memory_bound/separable_pool.h"
            : is_in_rows() ? "kernels/cpu/memory_bound/planar_pool.h"
                           : "kernels/cpu/memory_bound/pooling.h"};
  }
  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("{}<PoolShape{{PoolKind::{}, {}, {}, {}}}, {}, {}, {}{}>",
                       is_separable() ? "SeparablePool"
                       : is_in_rows() ? "PlanarPool"
                                      : "Pool",
                       name_of(kind_), braced(gather(axes_, &WindowAxis::kernel)),
                       braced(gather(axes_, &WindowAxis::stride)), braced(gather(axes_, &WindowAxis::dilation)),
                       c_type(program, call.inputs[0]), c_type(program, call.output), epilogue,
                       is_in_rows() ? fmt::format(", {}", window_.axes.size()) : "");
  }
  std::string sizes(const KernelText& text) const override {
    return braced({text.expr(window_.batch), text.expr(window_.input_channels), braced(text, axes_, &WindowAxis::input),
                   braced(text, axes_, &WindowAxis::output), braced(text, axes_, &WindowAxis::pad_begin),
                   braced(text, axes_, &WindowAxis::pad_end)});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text),
                   blocked_view(text, call.inputs[0]), blocked_view(text, call.output)});
  }
  Expr operations() const override {
    Expr result = window_.batch * window_.input_channels;
    for (const WindowAxis& axis : axes_) result *= axis.output * (is_separable() ? 1 : axis.kernel);
    return is_separable() ? result * kernels::separable_folds(shape()) : result;
  }

  std::optional<std::array<WindowAxis, 3>> separate_maximum_windows() const override {
    if (kind_ != PoolKind::maximum || is_of_bytes_) return std::nullopt;
    const bool are_separate = std::ranges::all_of(axes_, [](const WindowAxis& axis) {
      return axis.stride == axis.kernel && axis.dilation == 1 && axis.pad_begin.is_constant(0) &&
             axis.pad_end.is_constant(0);
    });
    return are_separate ? std::optional(axes_) : std::nullopt;
  }

 private:
  kernels::PoolShape shape() const { return shape_of(kind_, window_); }
  bool is_in_rows() const { return layout_.is_row_major(); }
  bool is_separable() const { return kernels::is_separable(shape()) && (!is_in_rows() || has_separable_rows(shape())); }

  std::string name_;
  PoolKind kind_;
  ConvSpec window_;
  std::array<WindowAxis, 3> axes_;
  Layout layout_;  // of both operands
  bool is_of_bytes_;
};

PoolKind kind_of(const NodeReader& node) {
  if (node.node().op->name == "MaxPool") return PoolKind::maximum;
  return node.integer("count_include_pad", 0) != 0 ? PoolKind::average_with_padding : PoolKind::average;
}

bool is_on_kernel_type(const Node& node) {
  return is_kernel_type(node.inputs[0]->dtype) && is_within_rank(*node.inputs[0]);
}

bool is_maximum_of_bytes(const Node& node) {
  const DType dtype = node.inputs[0]->dtype;
  return (dtype == DType::int8 || dtype == DType::uint8) && kind_of(NodeReader(node)) == PoolKind::maximum &&
         is_within_rank(*node.inputs[0]);
}

// In vector multiply-adds at the peak rate, measured on Zen 5: of a vector of outputs each fold, and without folds each
// tap; in rows with a stride along them as often as that costs.
constexpr double fold_cost = 8.0, tap_cost = 4.0, strided_rows = 1.5;

double cost_of(const CpuProblem& problem, const kernels::PoolShape& shape, LayoutDemand layout, int lanes) {
  const bool is_in_rows = layout == LayoutDemand::rows;
  const bool is_separable = kernels::is_separable(shape) && (!is_in_rows || has_separable_rows(shape));
  double of_output =
      is_separable ? fold_cost * as_real(kernels::separable_folds(shape)) : tap_cost * as_real(shape.kernel.product());
  if (is_in_rows && !has_separable_rows(shape)) of_output *= strided_rows;
  const double moved = problem.input.vectors(layout, lanes) + problem.output.vectors(layout, lanes);
  return problem.output.vectors(layout, lanes) * of_output + moved * moved_vector_cost;
}

void lower_pool(const Node& node, const Layout& layout, LoweringContext& context) {
  const NodeReader reader(node);
  const Value& output = *node.outputs[0];
  KernelCall call;
  call.inputs = {context.buffer_as(*node.inputs[0], layout, node.origin)};
  call.spec = std::make_shared<PoolSpec>(context.kernel(), kind_of(reader), resolve_pool(reader), layout,
                                         is_maximum_of_bytes(node));
  call.epilogue = plain_epilogue(output, call.spec->accumulator());
  context.emit_kernel(std::move(call), output, layout, node.origin);
}

}  // namespace

// MaxPool without indices, and AveragePool: pooling.h, separable_pool.h, planar_pool.h.
void offer_pool(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_operator(&node, "MaxPool") && !is_operator(&node, "AveragePool")) return;
  const bool gives_indices = node.outputs.size() > 1 && node.outputs[1] != nullptr;
  if (gives_indices || !(is_on_kernel_type(node) || is_maximum_of_bytes(node))) return;
  const NodeReader reader(node);
  const ConvSpec window = resolve_pool(reader);
  const kernels::PoolShape shape = shape_of(kind_of(reader), window);
  const std::string name = kernels::is_separable(shape) ? "pool_separable" : "pool";
  const std::string name_in_rows = has_separable_rows(shape) ? name + " in rows" : "pool in rows";
  const auto add = [&](std::string kernel, LayoutDemand demand) {
    const size_t rank = node.outputs[0]->shape->size();
    const Layout layout =
        demand == LayoutDemand::blocks ? Layout::channel_blocked(rank, machine.lanes()) : Layout::row_major(rank);
    offers.push_back({.kernel = std::move(kernel),
                      .reads = demand,
                      .gives = demand,
                      .cost = cost_of(problem, shape, demand, machine.lanes()),
                      .lower = [&node, layout](LoweringContext& context) { lower_pool(node, layout, context); }});
  };
  add(name, LayoutDemand::blocks);
  if (kernels::has_planar_pool(shape)) add(name_in_rows, LayoutDemand::rows);
}

// The means of channels: channel_moments.h.
void offer_global_average_pool(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_operator(&node, "GlobalAveragePool") || !is_on_kernel_type(node)) return;
  offers.push_back({.kernel = "mean_of_channels",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .cost = problem.input.vectors_in_blocks(machine.lanes()) * (moved_vector_cost + 1),
                    .lower = [&node, vectors = machine.vectors](LoweringContext& context) {
                      const Value& input = *node.inputs[0];
                      const Layout blocks = Layout::channel_blocked(input.shape->size(), vectors.lanes);
                      const BufferId read = context.buffer_as(input, blocks, node.origin);
                      const MomentsCall call{read, (*input.shape)[1], vectors.lanes, node.origin};
                      emit_means(call, *node.outputs[0], context);
                    }});
}

}  // namespace onnxc
