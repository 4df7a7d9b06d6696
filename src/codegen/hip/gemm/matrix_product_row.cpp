// Matrix products (MatMul, Gemm) on MFMA: which nodes the implicit-GEMM kernel supports, their weights and calls.
//
// The first operand's rows are the kernel's voxels, its columns the channels. The second operand is a packed constant,
// or a matrix made at run time, one for each element of a batch; the second batch axis is then the kernel's groups and
// must be static. Columns of the second operand must be static; rows, the batch and the reduction may be dynamic.
#include "codegen/hip/gemm/matrix_product_row.h"
#include "codegen/call/kernel_call.h"
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/gemm/gemm_call.h"
#include "ops/algebra/product_spec.h"
#include "ops/node_reader.h"
#include "passes/lowering/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::GemmPlan;
using kernels::InputOrder;
using kernels::WeightOrder;

constexpr int64_t usual_depth = 256;  // of a reduction without known facts

bool is_static(const Expr& extent) { return extent.constant().has_value() && *extent.constant() > 0; }

// A static reduction that is not empty, or one whose length only a run knows.
bool may_be_reduced(const Expr& extent) { return is_static(extent) || !extent.constant(); }

// Axes in front of the matrix, from the right: h, d, then the batch.
void spread_batch(const Shape& shape, MatrixProduct& product) {
  std::optional<size_t> GemmAxes::* const places[] = {&GemmAxes::h, &GemmAxes::d, &GemmAxes::batch};
  for (size_t i = 0; i + 2 < shape.size(); ++i) {
    const size_t axis = shape.size() - 3 - i;
    product.left.*places[i] = product.output.*places[i] = axis;
    (i == 2 ? product.batch : product.positions[1 - i]) = shape[axis];
  }
}

// A matrix of its own for each place in the batch: one axis as the batch, a static one as groups.
bool match_batch(const Shape& left, const Shape& right, MatrixProduct& product) {
  if (left.size() != right.size() || left.size() > 4) return false;
  for (size_t axis = 0; axis + 2 < left.size(); ++axis)
    if (!proven_equal(left[axis], right[axis])) return false;
  const size_t batch = left.size() == 4 && is_static(left[0]) && !is_static(left[1]) ? 1 : 0;
  product.left.batch = product.output.batch = product.right.batch = batch;
  product.batch = left[batch];
  if (left.size() == 4) {
    const size_t group = 1 - batch;
    if (!is_static(left[group])) return false;
    product.left.group = product.output.group = product.right.group = group;
    product.groups = *left[group].constant();
  }
  return true;
}

std::optional<MatrixProduct> as_gemm(const Node& node) {
  const ProductSpec spec = resolve_product(NodeReader(node));
  const Shape &left = *node.inputs[0]->shape, &right = *node.inputs[1]->shape;
  const size_t row = spec.a_row_axis(), column = spec.b_column_axis();
  if (!may_be_reduced(left[1 - row]) || !is_static(right[column])) return std::nullopt;
  MatrixProduct product{.left = {.channel = 1 - row, .batch = {}, .group = {}, .d = {}, .h = {}, .w = row},
                        .output = {.channel = 1, .batch = {}, .group = {}, .d = {}, .h = {}, .w = 0},
                        .right = {.k = 1 - column, .column = column, .batch = {}, .group = {}},
                        .rows = left[row],
                        .depth = left[1 - row],
                        .columns = *right[column].constant()};
  product.positions[2] = product.rows;
  return product;
}

std::optional<MatrixProduct> as_matrix_product(const Node& node) {
  if (!is_matrix_product(node)) return std::nullopt;
  if (!is_kernel_type(node.inputs[0]->dtype)) return std::nullopt;
  return is_gemm(node) ? as_gemm(node) : as_matmul(*node.inputs[0], *node.inputs[1]);
}

// The right matrix, a constant, as the plan's weights.
Tensor pack(const GemmPlan& plan, const MatrixProduct& product, const Tensor& matrix) {
  const std::vector<float> values = as_float(matrix);
  const int64_t depth = plan.shape.group_input_channels();
  const bool is_transposed = product.right.column == 0;
  return pack_weights(plan, [&](int64_t, int64_t column, int64_t, int64_t k) {
    return values[static_cast<size_t>(is_transposed ? column * depth + k : k * product.columns + column)];
  });
}

void lower_matrix_product(const Node& node, const MatrixProduct& product, const PlannedGemm& planned,
                          LoweringContext& context) {
  const Value &a = *node.inputs[0], &b = *node.inputs[1];
  auto row_major = [&](const Value& value) {
    return context.buffer_as(value, Layout::row_major(value.shape->size()), node.origin);
  };
  auto weights = [&](const GemmPlan& chosen) {
    return is_packed(b, product) ? add_packed(context.program(), b.name, pack(chosen, product, *b.constant))
                                 : row_major(b);
  };
  lower_gemm(node, planned, row_major(a), weights, product_epilogue(node, context),
             Layout::row_major(node.outputs[0]->shape->size()), context);
}

}  // namespace

std::optional<MatrixProduct> as_matmul(const Value& a, const Value& b) {
  const Shape &left = *a.shape, &right = *b.shape;
  const size_t rank = left.size(), right_rank = right.size();
  if (rank < 2 || rank > 5 || right_rank < 2) return std::nullopt;
  if (!may_be_reduced(left[rank - 1]) || !is_static(right[right_rank - 1])) return std::nullopt;
  MatrixProduct product{.left = {.channel = rank - 1, .batch = {}, .group = {}, .d = {}, .h = {}, .w = rank - 2},
                        .output = {.channel = rank - 1, .batch = {}, .group = {}, .d = {}, .h = {}, .w = rank - 2},
                        .right = {.k = right_rank - 2, .column = right_rank - 1, .batch = {}, .group = {}},
                        .rows = left[rank - 2],
                        .depth = left[rank - 1],
                        .columns = *right[right_rank - 1].constant()};
  product.positions[2] = product.rows;
  if (right_rank == 2)
    spread_batch(left, product);
  else if (!match_batch(left, right, product))
    return std::nullopt;
  return product;
}

bool is_packed(const Value& b, const MatrixProduct& product) {
  return b.constant && b.shape->size() == 2 && product.depth.constant();
}

GemmOperation matrix_operation(const Value& a, const Value& b, const Graph& graph, kernels::Products products,
                               const MatrixProduct& product) {
  const bool has_run_time_depth = !product.depth.constant();
  const int64_t depth = usual_size(graph, product.depth).value_or(usual_depth);
  // Whole blocks of columns, next to each other, are read as blocks of channels.
  const bool has_blocks =
      product.left.channel + 1 == a.shape->size() && !has_run_time_depth && depth % kernels::block_channels == 0;
  // Rows that lie next to each other: a transposed matrix.
  const bool has_planes = product.left.w == a.shape->size() - 1;
  GemmPlan plan{.shape = {product.groups * depth, product.groups * product.columns, product.groups},
                .products = products,
                .input_order = has_blocks   ? InputOrder::blocks
                               : has_planes ? InputOrder::planar
                                            : InputOrder::elements,
                .input_lanes = has_blocks ? kernels::block_channels : 1,
                .weight_order = is_packed(b, product) ? WeightOrder::packed : WeightOrder::strided,
                .matrix_product = true,
                .has_run_time_depth = has_run_time_depth};
  GemmOperation operation{.title = fmt::format("matmul {}->{}", product.depth.to_string(), product.columns),
                          .plan = plan,
                          .batch = product.batch,
                          .input = product.positions,
                          .output = product.positions,
                          .begin_pads = {0, 0, 0},
                          .input_axes = product.left,
                          .output_axes = product.output,
                          .weight_axes = {},
                          .depth = product.depth};
  if (!is_packed(b, product)) operation.weight_axes = product.right;
  return operation;
}

// MatMul and Gemm on MFMA.
void offer_matrix_product(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const std::optional<MatrixProduct> product = as_matrix_product(*problem.node);
  if (!product || !may_count_positions(product->positions)) return;
  const Value &a = *problem.node->inputs[0], &b = *problem.node->inputs[1];
  const kernels::Products products = products_for(a.dtype, problem.products);
  const PlannedGemm planned =
      plan_gemm(matrix_operation(a, b, *problem.graph, products, *product), *problem.graph, gpu);
  offers.push_back({.kernel = planned.title(),
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .activations = 2,
                    .cost = planned.cost,
                    .lower = [&node = *problem.node, product = *product, planned](LoweringContext& context) {
                      lower_matrix_product(node, product, planned, context);
                    }});
}

}  // namespace onnxc
