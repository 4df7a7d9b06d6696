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

// Whether a pool of rows is worth copies to blocks and back. Loops fold a tap a cycle, one channel after another.
bool is_worth_blocks(const ConvSpec& window, const kernels::PoolShape& shape, const machine::VectorUnit& vectors) {
  constexpr int64_t cycles_of_a_fold = 4, cycles_of_copies = 16;  // of a vector, measured
  if (!kernels::is_separable(shape)) return false;
  const int64_t channels = window.input_channels.constant().value_or(1);
  return channels * shape.kernel.product() >
         kernels::divide_up(channels, vectors.lanes) *
             (cycles_of_a_fold * kernels::separable_folds(shape) + cycles_of_copies);
}

// Whether it stays in rows, in which lanes are voxels, if that is how its input is.
bool stays_in_rows(const ConvSpec& window, const kernels::PoolShape& shape, const machine::VectorUnit& vectors) {
  return kernels::has_planar_pool(shape) && (has_separable_rows(shape) || !is_worth_blocks(window, shape, vectors));
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
  const auto add = [&](std::string kernel, LayoutDemand gives, LayoutDemand needs) {
    const size_t rank = node.outputs[0]->shape->size();
    const Layout layout =
        gives == LayoutDemand::blocks ? Layout::channel_blocked(rank, machine.lanes()) : Layout::row_major(rank);
    offers.push_back({.kernel = std::move(kernel),
                      .reads = LayoutDemand::blocks,
                      .gives = gives,
                      .needs = needs,
                      .lower = [&node, layout](LoweringContext& context) { lower_pool(node, layout, context); }});
  };
  // In this order: as its input is, else with copies.
  add(name, LayoutDemand::blocks, LayoutDemand::blocks);
  if (stays_in_rows(window, shape, machine.vectors)) add(name_in_rows, LayoutDemand::rows, LayoutDemand::rows);
  if (is_worth_blocks(window, shape, machine.vectors)) add(name, LayoutDemand::blocks, LayoutDemand::none);
}

// The means of channels: channel_moments.h.
void offer_global_average_pool(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_operator(&node, "GlobalAveragePool") || !is_on_kernel_type(node)) return;
  offers.push_back({.kernel = "mean_of_channels",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .needs = LayoutDemand::blocks,
                    .lower = [&node, vectors = machine.vectors](LoweringContext& context) {
                      const Value& input = *node.inputs[0];
                      const MomentsCall call{context.buffer(input), (*input.shape)[1], vectors.lanes, node.origin};
                      emit_means(call, *node.outputs[0], context);
                    }});
}

}  // namespace onnxc
