#include "codegen/hip/gemm/implicit_gemm_row.h"

#include "codegen/call/kernel_convolution.h"
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/gemm/gemm_call.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::ConvShape;
using kernels::GemmPlan;
using kernels::InputOrder;

// With few input channels a block of them would be mostly padding: they are read one by one. So is a row-major input
// that each tile reads once: its copy in blocks would cost more than the loads.
constexpr int64_t most_stem_channels = 4;
// A group of fewer output channels would leave most of a tile unused: its loops do better.
constexpr int64_t fewest_group_columns = 12;

bool reads_elements(const KernelConvolution& convolution, bool is_row_major) {
  const ConvShape& shape = convolution.shape;
  if (convolution.spec.transposed || shape.groups != 1) return false;
  return shape.input_channels <= most_stem_channels || (is_row_major && shape.kernel.product() == 1);
}

std::array<Expr, 3> three(const std::array<WindowAxis, 3>& axes, Expr WindowAxis::* member) {
  return {axes[0].*member, axes[1].*member, axes[2].*member};
}

// Batch, channel, and up to three spatial axes that end with w.
GemmAxes axes_of(size_t rank) {
  GemmAxes axes{.channel = 1, .batch = 0, .group = {}, .d = {}, .h = {}, .w = rank - 1};
  if (rank >= 4) axes.h = rank - 2;
  if (rank >= 5) axes.d = rank - 3;
  return axes;
}

// ONNX's [output channels, input channels / groups, taps...], transposed [input channels, output channels / groups,
// taps...].
Tensor pack(const GemmPlan& plan, const std::vector<float>& weights) {
  const ConvShape& shape = plan.shape;
  const int64_t taps = plan.taps(), inputs = shape.group_input_channels(), outputs = shape.group_output_channels();
  internal_check(static_cast<int64_t>(weights.size()) == shape.output_channels * inputs * taps,
                 "as many weights as the shape has");
  return pack_weights(plan, [&](int64_t group, int64_t column, int64_t tap, int64_t channel) {
    const int64_t row =
        plan.transposed ? (group * inputs + channel) * outputs + column : (group * outputs + column) * inputs + channel;
    return weights[static_cast<size_t>(row * taps + tap)];
  });
}

// The same of weights that a run computes.
BufferId pack_computed(const GemmPlan& plan, const Node& node, LoweringContext& context) {
  const Value& weights = *node.inputs[1];
  const size_t rank = weights.shape->size();
  const BufferId buffer = context.buffer_as(weights, Layout::row_major(rank), node.origin);
  const int64_t inputs = plan.shape.group_input_channels(), outputs = plan.shape.group_output_channels();
  return pack_computed_weights(
      plan, weights.dtype, node.origin, context.program(),
      [&](const Expr& group, const Expr& column, const Expr& tap, const Expr& channel) {
        std::vector<Expr> indices = plan.transposed ? std::vector<Expr>{group * inputs + channel, column}
                                                    : std::vector<Expr>{group * outputs + column, channel};
        const std::array<int64_t, 3> extents = {plan.shape.kernel.d, plan.shape.kernel.h, plan.shape.kernel.w};
        const std::array<Expr, 3> taps = {floor_div(tap, extents[1] * extents[2]),
                                          mod(floor_div(tap, extents[2]), extents[1]), mod(tap, extents[2])};
        indices.insert(indices.end(), taps.end() - static_cast<std::ptrdiff_t>(rank - 2), taps.end());
        return scalar::load(weights.dtype, buffer, std::move(indices));
      });
}

// How a convolution's float32 is multiplied: weights that a run computes are not split into two halves.
kernels::Products products_of(const Node& node, kernels::Products float32) {
  const kernels::Products products = products_for(node.inputs[0]->dtype, float32);
  const bool is_computed = !node.inputs[1]->constant;
  return is_computed && products == kernels::Products::bf16x3 ? kernels::Products::float32 : products;
}

// The product that computes the convolution of an input in rows or in blocks.
GemmOperation operation_of(const HipProblem& problem, bool is_row_major) {
  const Node& node = *problem.node;
  const KernelConvolution& convolution = *problem.convolution;
  GemmPlan plan{
      .shape = convolution.shape,
      .transposed = convolution.spec.transposed,
      .products = products_of(node, problem.products),
      .weight_order = node.inputs[1]->constant ? kernels::WeightOrder::packed : kernels::WeightOrder::computed};
  if (reads_elements(convolution, is_row_major)) {
    plan.input_order = InputOrder::planar;
    plan.input_lanes = is_row_major ? 1 : kernels::block_channels;
  } else if (!has_whole_blocks(convolution.shape)) {
    plan.input_order = InputOrder::elements;
  }
  return convolution_operation(convolution, node.inputs[0]->shape->size(), plan);
}

Layout layout_of(LayoutDemand demand, size_t rank) {
  return demand == LayoutDemand::rows ? Layout::row_major(rank)
                                      : Layout::channel_blocked(rank, kernels::block_channels);
}

void lower_implicit_gemm(const Node& node, const PlannedGemm& planned, LayoutDemand reads, LayoutDemand gives,
                         LoweringContext& context) {
  const size_t rank = node.inputs[0]->shape->size();
  const BufferId x = context.buffer_as(*node.inputs[0], layout_of(reads, rank), node.origin);
  auto weights = [&](const GemmPlan& chosen) {
    if (!node.inputs[1]->constant) return pack_computed(chosen, node, context);
    return add_packed(context.program(), node.inputs[1]->name, pack(chosen, as_float(*node.inputs[1]->constant)));
  };
  lower_gemm(node, planned, x, weights, bias_epilogue(node, context), layout_of(gives, rank), context);
}

}  // namespace

bool may_count_positions(const KernelConvolution& convolution) {
  return may_count_positions(three(convolution.axes, &WindowAxis::input)) &&
         may_count_positions(three(convolution.axes, &WindowAxis::output));
}

bool has_whole_blocks(const ConvShape& shape) {
  return shape.groups == 1 || (shape.group_input_channels() % kernels::block_channels == 0 &&
                               shape.group_output_channels() % kernels::block_channels == 0);
}

GemmOperation convolution_operation(const KernelConvolution& convolution, size_t rank, const GemmPlan& plan) {
  return {.title = convolution_title(convolution.spec.transposed ? "conv_transpose" : "conv", convolution),
          .plan = plan,
          .batch = convolution.spec.batch,
          .input = three(convolution.axes, &WindowAxis::input),
          .output = three(convolution.axes, &WindowAxis::output),
          .begin_pads = three(convolution.axes, &WindowAxis::pad_begin),
          .input_axes = axes_of(rank),
          .output_axes = axes_of(rank),
          .weight_axes = {},
          .depth = {}};
}

bool may_step_over_planes(const KernelConvolution& convolution) {
  if (convolution.spec.axes.size() < 3) return true;
  constexpr int64_t most = (int64_t{1} << 31) / kernels::block_channels;
  const auto fits = [&](Expr WindowAxis::* extent) {
    const auto known = [&](size_t axis) { return (convolution.axes[axis].*extent).constant().value_or(1); };
    return known(1) * known(2) < most;
  };
  return fits(&WindowAxis::input) && fits(&WindowAxis::output);
}

bool is_for_implicit_gemm(const KernelConvolution& convolution) {
  if (!may_count_positions(convolution) || !may_step_over_planes(convolution)) return false;
  if (has_whole_blocks(convolution.shape)) return true;
  return !convolution.spec.transposed && convolution.shape.group_output_channels() >= fewest_group_columns;
}

// Convolutions and transposed convolutions on MFMA, from blocks and, element by element, from rows; to either.
void offer_implicit_gemm(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  if (!problem.convolution || !is_for_implicit_gemm(*problem.convolution)) return;
  for (const LayoutDemand reads : {LayoutDemand::rows, LayoutDemand::blocks}) {
    const bool reads_rows = reads == LayoutDemand::rows;
    if (reads_rows && !reads_elements(*problem.convolution, reads_rows)) continue;
    const PlannedGemm planned = plan_gemm(operation_of(problem, reads_rows), *problem.graph, gpu);
    for (const LayoutDemand gives : {LayoutDemand::blocks, LayoutDemand::rows})
      offers.push_back({.kernel = planned.title(),
                        .reads = reads,
                        .gives = gives,
                        .cost = planned.cost,
                        .plan = planned,
                        .lower = [&node = *problem.node, planned, reads, gives](LoweringContext& context) {
                          lower_implicit_gemm(node, planned, reads, gives, context);
                        }});
  }
}

}  // namespace onnxc
