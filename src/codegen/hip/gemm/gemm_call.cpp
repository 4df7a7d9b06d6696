#include "codegen/hip/gemm/gemm_call.h"

#include <Eigen/Core>
#include <cstring>

#include "codegen/call/kernel_call.h"
#include "ops/nest_builder.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::ConvShape;
using kernels::GemmPlan;
using kernels::Products;

// The elements of a group that are summed at one tap.
Expr reduction_of(const GemmOperation& operation) {
  return operation.plan.has_run_time_depth ? operation.depth : Expr(operation.plan.shape.group_input_channels());
}

// The rows of a product or its results: `channels` are those of a group.
KernelOperand gemm_operand(const GemmOperation& operation, const GemmAxes& axes, const std::array<Expr, 3>& positions,
                           const Expr& channels, std::vector<Layout> layouts) {
  const int64_t groups = operation.plan.shape.groups;
  KernelOperand operand{.layouts = std::move(layouts)};
  operand.extents.emplace_back(axes.channel, axes.group ? channels : channels * groups);
  const std::pair<const std::optional<size_t>&, Expr> others[] = {{axes.batch, operation.batch},
                                                                  {axes.group, groups},
                                                                  {axes.d, positions[0]},
                                                                  {axes.h, positions[1]},
                                                                  {axes.w, positions[2]}};
  for (const auto& [axis, extent] : others)
    if (axis) operand.extents.emplace_back(*axis, extent);
  return operand;
}

// The other factor, if it is not packed.
KernelOperand matrix_operand(const GemmOperation& operation, const GemmOperation::Matrix& axes) {
  const ConvShape& shape = operation.plan.shape;
  KernelOperand operand;
  operand.extents = {{axes.k, reduction_of(operation)}, {axes.column, shape.group_output_channels()}};
  if (axes.batch) operand.extents.emplace_back(*axes.batch, operation.batch);
  if (axes.group) operand.extents.emplace_back(*axes.group, shape.groups);
  return operand;
}

// The types of a product of bytes; that of floats takes those of every kernel.
void name_types(const GemmPlan& plan, KernelOperands& operands) {
  if (!kernels::is_bytes(plan.products)) return;
  operands.inputs[0].types = {plan.products == Products::int8 ? DType::int8 : DType::uint8};
  operands.inputs[1].types = {DType::int8};
  operands.output.types = {DType::int32, DType::int8, DType::uint8, DType::bfloat16, DType::float16, DType::float32};
}

// The output may become row-major: see writes_row_major.
KernelOperands gemm_operands(const GemmOperation& operation, const Layout& input, const Layout& output,
                             const std::optional<KernelOperand>& computed_weights) {
  const ConvShape& shape = operation.plan.shape;
  KernelOperands operands;
  operands.inputs = {gemm_operand(operation, operation.input_axes, operation.input, reduction_of(operation), {input}),
                     computed_weights.value_or(KernelOperand{.is_packed = true})};
  if (computed_weights) operands.inputs.push_back({.is_packed = true});
  operands.output = gemm_operand(operation, operation.output_axes, operation.output, shape.group_output_channels(),
                                 {output, Layout::row_major(output.axes.size() - (output.is_row_major() ? 0 : 1))});
  name_types(operation.plan, operands);
  return operands;
}

// As rounded_to_xf32() of gemm_tile.h and the matrix unit's cut do it.
float rounded_to_xf32(float value) {
  const float power = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xff800000U);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(std::fma(power, 0x1p-11F, value)) & 0xffffe000U);
}

uint16_t bits_of(float value, DType dtype) {
  if (dtype == DType::float16) return std::bit_cast<uint16_t>(Eigen::half(value));
  return std::bit_cast<uint16_t>(Eigen::bfloat16(value));
}

// A weight, and its place in the packed order: element `k` of a row.
struct WeightPlace {
  int64_t group, column, tap, channel;
  int64_t row, k;
};

// Calls visit(place) for each weight that is not padding.
template <class Visit>
void visit_weights(const GemmPlan& plan, Visit visit) {
  for (int64_t group = 0; group < plan.shape.groups; ++group)
    for (int64_t step = 0; step < plan.steps(); ++step)
      for (int64_t k = 0; k < plan.depth(); ++k) {
        const GemmPlan::Place at = plan.place(static_cast<int32_t>(step), static_cast<int32_t>(k));
        if (!plan.is_inside(at)) continue;
        for (int64_t column = 0; column < plan.shape.group_output_channels(); ++column)
          visit(WeightPlace{group, column, at.tap, at.channel, plan.weight_offset(group, step, column), k});
      }
}

}  // namespace

bool may_count_positions(const std::array<Expr, 3>& extents) {
  auto known = [&](size_t axis) { return extents[axis].constant().value_or(1); };
  return GemmPlan::fits({known(0), known(1), known(2)});
}

PlannedGemm plan_gemm(GemmOperation operation, const Graph& graph, const GpuMachine& gpu) {
  const GemmSizes sizes = operation.sizes(graph);
  const GemmChoice choice = choose_gemm(operation.plan, sizes, gpu);
  return {std::move(operation), choice, sizes.have_hints ? std::optional(choice.estimate.microseconds) : std::nullopt};
}

Products products_for(DType dtype, Products float32) {
  switch (dtype) {
    case DType::float16:
      return Products::float16;
    case DType::bfloat16:
      return Products::bfloat16;
    case DType::float32:
      return float32;
    default:
      internal_error("products of " + std::string(info(dtype).name));
  }
}

Tensor pack_weights(const GemmPlan& plan,
                    const std::function<float(int64_t group, int64_t column, int64_t tap, int64_t channel)>& weight) {
  const bool is_split = plan.products == Products::bf16x3;
  const DType dtype = is_split || plan.products == Products::bfloat16 ? DType::bfloat16
                      : plan.products == Products::float16            ? DType::float16
                                                                      : DType::float32;
  Tensor packed = Tensor::zeros(dtype, {plan.packed_count()});
  auto set = [&](int64_t index, float value) {
    if (dtype == DType::float32) {
      std::memcpy(packed.mutable_bytes() + index * 4, &value, 4);
    } else {
      const uint16_t bits = bits_of(value, dtype);
      std::memcpy(packed.mutable_bytes() + index * 2, &bits, 2);
    }
  };
  visit_weights(plan, [&](const WeightPlace& at) {
    const float value = weight(at.group, at.column, at.tap, at.channel);
    if (!is_split) return set(at.row + at.k, plan.products == Products::xf32 ? rounded_to_xf32(value) : value);
    // As split() of gemm_tile.h does it.
    const float high =
        std::isfinite(value) ? std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffff0000U) : value;
    set(at.row + at.k, high);
    set(at.row + 16 + at.k, std::isfinite(value) ? value - high : 0.0F);
  });
  return packed;
}

Tensor pack_byte_weights(
    const GemmPlan& plan, int8_t zero_point,
    const std::function<int8_t(int64_t group, int64_t column, int64_t tap, int64_t channel)>& weight) {
  Tensor packed = Tensor::zeros(DType::int8, {plan.packed_count()});
  const auto set = [&](int64_t index, int8_t value) { std::memcpy(packed.mutable_bytes() + index, &value, 1); };
  visit_weights(plan,
                [&](const WeightPlace& at) { set(at.row + at.k, weight(at.group, at.column, at.tap, at.channel)); });
  for (int64_t i = plan.weight_count(); i < plan.packed_count(); ++i) set(i, zero_point);
  return packed;
}

BufferId pack_computed_weights(
    const GemmPlan& plan, DType dtype, const Origin& origin, Program& program,
    const std::function<Scalar(const Expr& group, const Expr& column, const Expr& tap, const Expr& channel)>& weight) {
  internal_check(plan.products != Products::bf16x3, "products whose weights are packed as they are");
  // The source of an element of a step: channel * taps + tap, or -1 for padding.
  Tensor places = Tensor::zeros(DType::int64, {plan.steps(), plan.depth()});
  for (int64_t step = 0; step < plan.steps(); ++step)
    for (int64_t k = 0; k < plan.depth(); ++k) {
      const GemmPlan::Place at = plan.place(static_cast<int32_t>(step), static_cast<int32_t>(k));
      const int64_t place = plan.is_inside(at) ? at.channel * plan.taps() + at.tap : -1;
      std::memcpy(places.mutable_bytes() + (step * plan.depth() + k) * 8, &place, 8);
    }
  Buffer table;
  table.name = "places of weights";
  table.dtype = DType::int64;
  table.kind = BufferKind::constant;
  table.shape = {plan.steps(), plan.depth()};
  table.layout = Layout::row_major(2);
  table.constant = std::move(places);
  const BufferId places_id = program.add(std::move(table));
  Buffer packed;
  packed.name = "packed weights";
  packed.dtype = dtype;
  packed.shape = {plan.weight_count()};
  packed.layout = Layout::row_major(1);
  const BufferId packed_id = program.add(std::move(packed));

  NestBuilder nest("pack_weights");
  const int64_t columns = plan.column_tiles() * plan.tile.columns;
  const Expr group = nest.parallel(plan.shape.groups), step = nest.parallel(plan.steps()),
             column = nest.parallel(columns), k = nest.parallel(plan.depth());
  const Expr place = nest.let(scalar::load(DType::int64, places_id, {step, k}));
  auto is_below = [](const Expr& a, const Expr& b) {
    return scalar::binary(ScalarOp::less, scalar::index(a), scalar::index(b));
  };
  const Scalar is_inside =
      scalar::binary(ScalarOp::logical_and, is_below(-1, place), is_below(column, plan.shape.group_output_channels()));
  const Scalar value = weight(group, column, mod(place, plan.taps()), floor_div(place, plan.taps()));
  nest.store({packed_id, dtype, {plan.weight_count()}},
             {((group * plan.steps() + step) * columns + column) * plan.row_elements() + k},
             scalar::select(is_inside, value, scalar::constant(dtype, 0)));
  program.steps.push_back({nest.take(), {origin}});
  return packed_id;
}

KernelCall gemm_call(const Node& node, PlannedGemm planned, BufferId input,
                     const std::function<BufferId(const GemmPlan&)>& weights, Epilogue epilogue,
                     const Layout& output_layout, LoweringContext& context) {
  const GemmOperation& operation = planned.operation;
  const GemmChoice& choice = planned.choice;
  KernelCall call;
  call.inputs = {input, weights(choice.plan)};
  std::optional<KernelOperand> computed_weights;
  if (operation.weight_axes)
    computed_weights = matrix_operand(operation, *operation.weight_axes);
  else if (!context.program().buffer(call.inputs[1]).is_packed)
    computed_weights = whole_operand({choice.plan.weight_count()}, {Layout::row_major(1)});
  // Constant ones end with a row of zeros.
  if (computed_weights) {
    const auto count = static_cast<int64_t>(kernels::lds_row_bytes);
    call.inputs.push_back(
        add_packed(context.program(), "zeros", Tensor::zeros(context.program().buffer(input).dtype, {count})));
  }
  if (choice.workspace_count > 0)
    call.workspace = add_temporary(context.program(), node.outputs[0]->name + " in parts", {choice.workspace_count});
  call.epilogue = std::move(epilogue);
  KernelOperands operands =
      gemm_operands(operation, context.program().buffer(input).layout, output_layout, computed_weights);
  call.spec = std::make_shared<GemmSpec>(std::move(planned), std::move(operands));
  return call;
}

void lower_gemm(const Node& node, PlannedGemm planned, BufferId input,
                const std::function<BufferId(const GemmPlan&)>& weights, Epilogue epilogue, const Layout& output_layout,
                LoweringContext& context) {
  KernelCall call = gemm_call(node, std::move(planned), input, weights, std::move(epilogue), output_layout, context);
  context.emit_kernel(std::move(call), *node.outputs[0], output_layout, node.origin);
}

}  // namespace onnxc
