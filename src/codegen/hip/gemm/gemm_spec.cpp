#include "codegen/hip/gemm/gemm_spec.h"

#include "codegen/call/kernel_call.h"
#include "codegen/call/kernel_convolution.h"
#include "passes/lowering/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {

using kernels::GemmPlan;
using kernels::Products;

namespace {

const char* order_name(kernels::InputOrder order) {
  switch (order) {
    case kernels::InputOrder::blocks:
      return "blocks";
    case kernels::InputOrder::elements:
      return "elements";
    case kernels::InputOrder::planar:
      return "planar";
  }
  internal_error("an order of the input");
}

const char* order_name(kernels::WeightOrder order) {
  switch (order) {
    case kernels::WeightOrder::packed:
      return "packed";
    case kernels::WeightOrder::computed:
      return "computed";
    case kernels::WeightOrder::strided:
      return "strided";
  }
  internal_error("an order of the weights");
}

// `usual_value` gives the value of a size, if there is one.
template <class Usual>
GemmSizes sizes_by(const Usual& usual_value, const GemmOperation& operation) {
  bool are_known = true, have_hints = true;
  auto value = [&](const Expr& expr) {
    const std::optional<int64_t> usual = usual_value(expr);
    are_known = are_known && expr.constant().has_value();
    have_hints = have_hints && usual.has_value();
    return usual.value_or(1);
  };
  auto axes = [&](const std::array<Expr, 3>& exprs) {
    return kernels::Axes{value(exprs[0]), value(exprs[1]), value(exprs[2])};
  };
  const Expr& batch = operation.batch;
  const kernels::ConvSizes sizes = {batch.constant() ? value(batch) : 1, axes(operation.input), axes(operation.output),
                                    axes(operation.begin_pads)};
  return {sizes, are_known && batch.constant().has_value(), have_hints};
}

}  // namespace

GemmSizes GemmOperation::sizes(const Graph& graph) const {
  return sizes_by([&](const Expr& size) { return usual_size(graph, size); }, *this);
}

GemmSizes GemmOperation::sizes(const Program& program) const {
  return sizes_by([&](const Expr& size) { return usual_size(program, size); }, *this);
}

std::optional<kernels::ConvSizes> GemmOperation::known_sizes() const {
  const GemmSizes found = sizes_by([](const Expr& size) { return size.constant(); }, *this);
  return found.are_known ? std::optional(found.sizes) : std::nullopt;
}

std::string PlannedGemm::title() const {
  const GemmPlan& plan = choice.plan;
  const std::string brick =
      plan.has_halo() ? fmt::format(" of {}x{}x{} voxels", plan.brick.d, plan.brick.h, plan.brick.w) : "";
  return fmt::format("{} {} tile {}x{}{}{}", operation.title, name(plan.products), plan.tile.rows, plan.tile.columns,
                     brick, plan.is_split ? " split" : "");
}

const char* name(Products products) {
  switch (products) {
    case Products::float32:
      return "float32";
    case Products::xf32:
      return "xf32";
    case Products::bf16x3:
      return "bf16x3";
    case Products::float16:
      return "float16";
    case Products::bfloat16:
      return "bfloat16";
    case Products::int8:
      return "int8";
    case Products::uint8:
      return "uint8";
  }
  internal_error("a kind of products");
}

std::string plan_text(const GemmPlan& plan) {
  return fmt::format(
      "GemmPlan{{{}, {}, Products::{}, {{{}, {}}}, InputOrder::{}, {}, WeightOrder::{}, {}, {}, {}, {}{}}}",
      shape_text(plan.shape), plan.transposed, name(plan.products), plan.tile.rows, plan.tile.columns,
      order_name(plan.input_order), plan.input_lanes, order_name(plan.weight_order), plan.matrix_product, plan.is_split,
      plan.output_lanes, plan.has_run_time_depth, plan.has_halo() ? ", " + braced(plan.brick) : "");
}

std::vector<std::string> gemm_coordinates(const GemmOperation& operation, size_t rank) {
  std::vector<std::string> names(rank, "0");
  const GemmAxes& axes = operation.output_axes;
  names.at(axes.channel) = "c";
  const std::pair<const std::optional<size_t>&, const char*> others[] = {
      {axes.batch, "n"}, {axes.group, "g"}, {axes.d, "d"}, {axes.h, "h"}, {axes.w, "w"}};
  for (const auto& [axis, text] : others)
    if (axis) names.at(*axis) = text;
  return names;
}

std::string GemmSpec::arguments_type(const KernelCall& call, const Program& program) const {
  return fmt::format("GemmArguments<{}, {}, {}>", c_type(program, call.inputs[0]), c_type(program, call.inputs[1]),
                     c_type(program, call.output));
}

std::string GemmSpec::function(const KernelCall& call, const Program& program) const {
  return fmt::format("implicit_gemm<{}>", plan_text(plan_of(call, program)));
}

std::string GemmSpec::arguments(const KernelCall& call, const KernelText& text) const {
  const std::string zeros = call.inputs.size() == 2
                                ? fmt::format("{} + {}", text.pointer(call.inputs[1]), plan().weight_count())
                                : text.pointer(call.inputs[2]);
  return braced(
      {text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.output), sizes(text),
       view(text, call.inputs[0], operation().input_axes, plan().input_lanes, plan().shape.group_input_channels()),
       view(text, call.output, operation().output_axes, plan_of(call, text.program).output_lanes, 0),
       weight_view(text, call.inputs[1]), zeros, call.workspace ? text.pointer(*call.workspace) : "nullptr",
       fmt::format("{}.launch({}, planned_gpu)", plan_text(plan()), sizes(text)),
       plan().has_run_time_depth ? fmt::format("static_cast<int32_t>({})", text.expr(operation().depth)) : "0"});
}

std::string GemmSpec::blocks() const { return plan_text(plan()) + ".blocks_of(arguments.call, planned_gpu)"; }

std::vector<DeviceFunction> GemmSpec::further(const KernelCall& call, const Program& program) const {
  if (!plan().is_split) return {};
  return {{fmt::format("combine_parts<{}>", plan_text(plan_of(call, program))),
           plan_text(plan()) + ".combining_blocks(arguments.call.sizes, planned_gpu)"}};
}

KernelFigures GemmSpec::figures() const {
  const GemmChoice& choice = planned_.choice;
  KernelFigures figures{choice.lds_bytes, choice.waves};
  figures.launch_lds_bytes = choice.launch_lds_bytes;
  if (choice.are_sizes_known)
    figures.expected = Expected{choice.estimate.microseconds, onnxc::describe(choice.estimate.bound)};
  return figures;
}

// With the layout of the output, which an epilogue may have changed. Columns of a row-major matrix are like a block.
GemmPlan GemmSpec::plan_of(const KernelCall& call, const Program& program) const {
  GemmPlan plan = this->plan();
  if (!plan.matrix_product && program.buffer(call.output).layout.is_row_major()) plan.output_lanes = 1;
  return plan;
}

std::string GemmSpec::sizes(const KernelText& text) const {
  auto axes = [&](const std::array<Expr, 3>& extents) {
    return braced({text.expr(extents[0]), text.expr(extents[1]), text.expr(extents[2])});
  };
  return braced(
      {text.expr(operation().batch), axes(operation().input), axes(operation().output), axes(operation().begin_pads)});
}

// `group_channels` is what a group is further in the channels, unless groups have an axis of their own.
std::string GemmSpec::view(const KernelText& text, BufferId id, const GemmAxes& axes, int64_t lanes,
                           int64_t group_channels) const {
  const Program& program = text.program;
  // If channels are read one by one the kernel itself counts them through all groups.
  const bool counts_channels = plan().input_order != kernels::InputOrder::blocks || group_channels == 0;
  const Expr group = axes.group        ? axis_stride(program, id, axes.group)
                     : counts_channels ? Expr(0)
                                       : axis_stride(program, id, axes.channel, group_channels);
  return braced({text.expr(axis_stride(program, id, axes.batch)),
                 text.expr(plan().matrix_product && !axes.group ? Expr(0) : group),
                 text.expr(axis_stride(program, id, axes.channel, lanes)), text.expr(axis_stride(program, id, axes.d)),
                 text.expr(axis_stride(program, id, axes.h)), text.expr(axis_stride(program, id, axes.w))});
}

std::string GemmSpec::weight_view(const KernelText& text, BufferId id) const {
  if (!operation().weight_axes) return "{}";
  const GemmOperation::Matrix& axes = *operation().weight_axes;
  return braced({text.expr(axis_stride(text.program, id, axes.batch)),
                 text.expr(axis_stride(text.program, id, axes.group)), text.expr(axis_stride(text.program, id, axes.k)),
                 text.expr(axis_stride(text.program, id, axes.column))});
}

}  // namespace onnxc
