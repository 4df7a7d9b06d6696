// Products of bytes on the matrix units of NVIDIA's GPUs and of AMD's RDNA: ConvInteger and MatMulInteger with constant
// weights, and what becomes one of them (QLinearConv, QLinearMatMul, and with use_integer_products.h convolutions
// between dequantised numbers).
//
//   sum of (x - zero) * w   =   sum of x * w   -   zero * (sum of w)
//
// The kernel gives the first sum of the right side: what lies outside the input counts as the zero point. The second is
// a number for each output channel, which the epilogue subtracts. All are int32 and wrap around, so that the result is
// the same to the bit.
//
// Groups that cut blocks of channels are computed some at once, with weights of 0 between them: a depthwise convolution
// 16 channels at once.
//
// Limits: weights whose differences from their zero point are int8; 16 groups at once at most, which are whole blocks
// or all groups; of a matrix product a depth of whole blocks. Else loops compute the node.
#include <algorithm>

#include "codegen/call/byte_operands.h"
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/gemm/gemm_call.h"
#include "codegen/hip/gemm/implicit_gemm_row.h"
#include "codegen/hip/gemm/matrix_product_row.h"
#include "ops/op.h"

namespace onnxc {
namespace {

using kernels::GemmPlan;
using kernels::Products;

// Inputs of both operators (ONNX 10).
constexpr size_t input = 0, weights = 1, input_zero_point = 2, weights_zero_point = 3;

Products products_of(const Value& bytes) { return bytes.dtype == DType::int8 ? Products::int8 : Products::uint8; }

// A node with its weights less their zero point, in ONNX's order.
struct ByteProduct {
  const Node* node;
  PlannedGemm planned;
  std::vector<int8_t> weights;
  int64_t outputs;
  // The place of a weight in ONNX's order; nothing if it is 0 between two groups.
  std::function<std::optional<size_t>(int64_t group, int64_t column, int64_t tap, int64_t channel)> place;

  int8_t weight(int64_t group, int64_t column, int64_t tap, int64_t channel) const {
    const std::optional<size_t> at = place(group, column, tap, channel);
    return at ? weights[*at] : int8_t{0};
  }
};

// Groups that are computed at once, as few as make whole blocks. More than 16 would be needed only if their number has
// no such divisor.
std::optional<int64_t> groups_at_once(const kernels::ConvShape& shape) {
  for (int64_t count = 1; count <= std::min(shape.groups, kernels::block_channels); ++count) {
    kernels::ConvShape joined = shape;
    joined.groups = shape.groups / count;
    if (shape.groups % count == 0 && has_whole_blocks(joined)) return count;
  }
  return std::nullopt;
}

// The weights of each output, added up as int32 is.
Tensor sums_of_weights(const ByteProduct& product, const GemmPlan& plan) {
  std::vector<uint32_t> sums(static_cast<size_t>(product.outputs));
  const int64_t columns = plan.shape.group_output_channels();
  for (int64_t group = 0; group < plan.shape.groups; ++group)
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t tap = 0; tap < plan.taps(); ++tap)
        for (int64_t channel = 0; channel < plan.shape.group_input_channels(); ++channel)
          sums[static_cast<size_t>(group * columns + column)] +=
              static_cast<uint32_t>(product.weight(group, column, tap, channel));
  return Tensor::of(DType::int32, {product.outputs}, std::vector<int32_t>(sums.begin(), sums.end()));
}

// The number of an input with one, at any place.
Scalar one_number(const Value& value, LoweringContext& context, const Origin& origin) {
  const size_t rank = value.shape->size();
  const BufferId buffer = context.buffer_as(value, Layout::row_major(rank), origin);
  return scalar::cast(DType::int32, scalar::load(value.dtype, buffer, std::vector<Expr>(rank, Expr(0))));
}

// The result less what the zero point adds. `channel_axis` is that of the output's channels.
Epilogue epilogue_of(const ByteProduct& product, const GemmPlan& plan, size_t channel_axis, LoweringContext& context) {
  const Node& node = *product.node;
  Epilogue epilogue = plain_epilogue(*node.outputs[0], DType::int32);
  const NodeReader reader(node);
  if (!reader.has_input(input_zero_point)) return epilogue;
  const BufferId sums =
      add_parameters(context.program(), node.inputs[weights]->name + " summed", sums_of_weights(product, plan));
  const Scalar excess =
      scalar::binary(ScalarOp::multiply, one_number(*node.inputs[input_zero_point], context, node.origin),
                     scalar::load(DType::int32, sums, {epilogue.axes[channel_axis].symbol}));
  epilogue.value = scalar::binary(ScalarOp::subtract, scalar::accumulator(DType::int32, 0), excess);
  return epilogue;
}

void lower(const ByteProduct& product, const Layout& reads, const Layout& gives, size_t channel_axis,
           LoweringContext& context) {
  const Node& node = *product.node;
  const NodeReader reader(node);
  const Tensor* zero = reader.has_input(input_zero_point) ? reader.constant(input_zero_point) : nullptr;
  const auto outside = static_cast<int8_t>(zero != nullptr ? zero->as_int64().at(0) : 0);
  const auto packed = [&](const GemmPlan& plan) {
    return add_packed(
        context.program(), node.inputs[weights]->name,
        pack_byte_weights(plan, outside, [&](int64_t group, int64_t column, int64_t tap, int64_t channel) {
          return product.weight(group, column, tap, channel);
        }));
  };
  const GemmPlan& plan = product.planned.choice.plan;
  lower_gemm(node, product.planned, context.buffer_as(*node.inputs[input], reads, node.origin), packed,
             epilogue_of(product, plan, channel_axis, context), gives, context);
}

// A convolution's padding is of zero points, which the compile must know.
std::optional<ByteProduct> as_convolution(const HipProblem& problem, const GpuMachine& gpu) {
  const Node& node = *problem.node;
  if (!is_operator(&node, "ConvInteger") || !is_within_rank(*node.inputs[input])) return std::nullopt;
  const NodeReader reader(node);
  if (reader.has_input(input_zero_point) && reader.constant(input_zero_point) == nullptr) return std::nullopt;
  const std::optional<KernelConvolution> convolution = with_static_channels(resolve_conv_integer(reader));
  if (!convolution || !may_count_positions(*convolution) || !may_step_over_planes(*convolution)) return std::nullopt;
  const std::optional<int64_t> at_once = groups_at_once(convolution->shape);
  if (!at_once) return std::nullopt;
  std::optional<std::vector<int8_t>> values = bytes_less_zero_point(reader, weights, weights_zero_point, 0);
  if (!values) return std::nullopt;
  GemmPlan plan{.shape = convolution->shape, .products = products_of(*node.inputs[input])};
  const int64_t taps = plan.taps(), inputs = plan.shape.group_input_channels(),
                outputs = plan.shape.group_output_channels(), joined = *at_once;
  plan.shape.groups /= joined;
  return ByteProduct{
      &node,
      plan_gemm(convolution_operation(*convolution, node.inputs[input]->shape->size(), plan), *problem.graph, gpu),
      *std::move(values), plan.shape.output_channels,
      [=](int64_t group, int64_t column, int64_t tap, int64_t channel) -> std::optional<size_t> {
        if (column / outputs != channel / inputs) return std::nullopt;
        const int64_t output = (group * joined + column / outputs) * outputs + column % outputs;
        return static_cast<size_t>((output * inputs + channel % inputs) * taps + tap);
      }};
}

// The left matrix may have a zero point that a run computes, but only one.
bool has_one_zero_point(const NodeReader& reader) {
  if (!reader.has_input(input_zero_point) || reader.rank(input_zero_point) == 0) return true;
  return reader.rank(input_zero_point) == 1 && reader.shape(input_zero_point)[0].is_constant(1);
}

std::optional<ByteProduct> as_matrix_product(const HipProblem& problem, const GpuMachine& gpu) {
  const Node& node = *problem.node;
  if (!is_operator(&node, "MatMulInteger")) return std::nullopt;
  const NodeReader reader(node);
  const Value &a = *node.inputs[input], &b = *node.inputs[weights];
  if (!has_one_zero_point(reader) || reader.constant(weights) == nullptr) return std::nullopt;
  const std::optional<MatrixProduct> product = as_matmul(a, b);
  if (!product || !is_packed(b, *product) || !may_count_positions(product->positions)) return std::nullopt;
  if (*product->depth.constant() % kernels::block_channels != 0) return std::nullopt;
  std::optional<std::vector<int8_t>> values = bytes_less_zero_point(reader, weights, weights_zero_point, 1);
  if (!values) return std::nullopt;
  return ByteProduct{
      &node, plan_gemm(matrix_operation(a, b, *problem.graph, products_of(a), *product), *problem.graph, gpu),
      *std::move(values), product->columns, [columns = product->columns](int64_t, int64_t column, int64_t, int64_t k) {
        return static_cast<size_t>(k * columns + column);
      }};
}

void offer(ByteProduct product, LayoutDemand demand, const Layout& reads, const Layout& gives, size_t channel_axis,
           Offers& offers) {
  offers.push_back({.kernel = product.planned.title(),
                    .reads = demand,
                    .gives = demand,
                    .cost = product.planned.cost,
                    .lower = [product = std::move(product), reads, gives, channel_axis](LoweringContext& context) {
                      lower(product, reads, gives, channel_axis, context);
                    }});
}

}  // namespace

void offer_byte_convolution(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  if (!machine::multiplies_bytes(gpu)) return;
  std::optional<ByteProduct> product = as_convolution(problem, gpu);
  if (!product) return;
  const Layout blocks = Layout::channel_blocked(problem.node->inputs[input]->shape->size(), kernels::block_channels);
  offer(*std::move(product), LayoutDemand::blocks, blocks, blocks, 1, offers);
}

void offer_byte_matrix_product(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  if (!machine::multiplies_bytes(gpu)) return;
  std::optional<ByteProduct> product = as_matrix_product(problem, gpu);
  if (!product) return;
  const size_t rank = problem.node->inputs[input]->shape->size();
  offer(*std::move(product), LayoutDemand::rows, Layout::row_major(rank), Layout::row_major(rank), rank - 1, offers);
}

}  // namespace onnxc
