// Matrix products.
#include "ops/algebra/product_spec.h"
#include "ops/op.h"

namespace onnxc {
namespace {

void check_types(const NodeReader& c, size_t inputs) {
  for (size_t i = 1; i < inputs; ++i)
    if (c.has_input(i))
      c.check(c.dtype(i) == c.dtype(0), "inputs of one type are expected, found {} and {}", info(c.dtype(0)).name,
              info(c.dtype(i)).name);
}

// ------------------------------------------------------------------------------------------------------ MatMul

// A shape as batch dims, rows and columns; a vector is a row on the left and a column on the right (numpy.matmul).
struct Matrices {
  Shape batch;
  Expr rows, columns;
};

Matrices left_matrices(const Shape& shape) {
  if (shape.size() == 1) return {{}, 1, shape[0]};
  return {Shape(shape.begin(), shape.end() - 2), shape[shape.size() - 2], shape.back()};
}

Matrices right_matrices(const Shape& shape) {
  if (shape.size() == 1) return {{}, shape[0], 1};
  return left_matrices(shape);
}

void infer_matmul(InferContext& c) {
  check_types(c, 2);
  c.check(c.rank(0) >= 1 && c.rank(1) >= 1, "operands of at least one axis are expected, found {} and {}",
          to_string(c.shape(0)), to_string(c.shape(1)));
  Matrices a = left_matrices(c.shape(0)), b = right_matrices(c.shape(1));
  c.same(a.columns, b.rows, "the columns of the first operand must be as many as the rows of the second");
  Shape shape = c.broadcast(a.batch, b.batch);
  if (c.rank(0) > 1) shape.push_back(a.rows);
  if (c.rank(1) > 1) shape.push_back(b.columns);
  c.output(0, c.dtype(0), shape);
}

// y[batch..., i, j] = sum over k of a[batch..., i, k] * b[batch..., k, j] (ONNX MatMul 13).
void define_matmul(DefineContext& c) {
  Operand a = c.in(0), b = c.in(1), y = c.out(0);
  NestBuilder nest("matmul");
  std::vector<Expr> out = nest.parallel(y.shape);
  Expr k = nest.reduce(a.shape.back());
  size_t batch_rank = out.size() - (a.rank() > 1 ? 1 : 0) - (b.rank() > 1 ? 1 : 0);
  std::vector<Expr> batch(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(batch_rank));
  auto batch_of = [&](const Operand& operand) {
    Operand batches{operand.buffer, operand.dtype, {}};
    if (operand.rank() > 2) batches.shape = Shape(operand.shape.begin(), operand.shape.end() - 2);
    return batches.broadcast_indices(batch);
  };
  std::vector<Expr> a_index = batch_of(a), b_index = batch_of(b);
  if (a.rank() > 1) a_index.push_back(out[batch_rank]);
  a_index.push_back(k);
  b_index.push_back(k);
  if (b.rank() > 1) b_index.push_back(out.back());
  Scalar sum = nest.accumulate(ReduceKind::sum, a.compute(a_index) * b.compute(b_index));
  nest.store(y, out, sum);
  c.emit(std::move(nest));
}

// -------------------------------------------------------------------------------------------------------- Gemm

void infer_gemm(InferContext& c) {
  check_types(c, 3);
  c.check(c.rank(0) == 2 && c.rank(1) == 2, "matrices are expected, found {} and {}", to_string(c.shape(0)),
          to_string(c.shape(1)));
  const Shape &a = c.shape(0), &b = c.shape(1);
  const ProductSpec spec = resolve_product(c);
  c.same(a[spec.a_depth_axis()], b[spec.b_depth_axis()],
         "the columns of the first matrix must be as many as the rows of the second");
  Shape shape{a[spec.a_row_axis()], b[spec.b_column_axis()]};
  if (c.has_input(2)) {
    Shape whole = c.broadcast(shape, c.shape(2));
    c.check(whole.size() == 2, "C of shape {} does not broadcast to {}", to_string(c.shape(2)), to_string(shape));
    for (size_t i = 0; i < 2; ++i) c.same(whole[i], shape[i], "C must broadcast to the product");
  }
  c.output(0, c.dtype(0), shape);
}

// y = alpha * op(a) * op(b) + beta * c (ONNX Gemm 13).
void define_gemm(DefineContext& c) {
  Operand a = c.in(0), b = c.in(1), y = c.out(0);
  const ProductSpec spec = resolve_product(c);
  NestBuilder nest("gemm");
  std::vector<Expr> out = nest.parallel(y.shape);
  Expr k = nest.reduce(a.shape[spec.a_depth_axis()]);
  Scalar left = spec.a_is_transposed ? a.compute({k, out[0]}) : a.compute({out[0], k});
  Scalar right = spec.b_is_transposed ? b.compute({out[1], k}) : b.compute({k, out[1]});
  Scalar value = nest.accumulate(ReduceKind::sum, left * right);
  value = scaled(value, spec.alpha);
  if (spec.has_addend) {
    Operand added = c.in(2);
    value = value + scaled(added.compute(added.broadcast_indices(out)), spec.beta);
  }
  nest.store(y, out, value);
  c.emit(std::move(nest));
}

constexpr OpRow rows[] = {
    {"", "MatMul", infer_matmul, define_matmul},
    {"", "Gemm", infer_gemm, define_gemm},
};

}  // namespace

std::span<const OpRow> matrix_ops() { return rows; }

}  // namespace onnxc
