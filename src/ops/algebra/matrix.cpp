// Matrix products.
#include "ops/algebra/product_spec.h"
#include "ops/families.h"

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

// The shape of the product of inputs 0 and 1.
Shape product_shape(InferContext& c) {
  c.check(c.rank(0) >= 1 && c.rank(1) >= 1, "operands of at least one axis are expected, found {} and {}",
          short_text(c.shape(0)), short_text(c.shape(1)));
  Matrices a = left_matrices(c.shape(0)), b = right_matrices(c.shape(1));
  c.same(a.columns, b.rows, "the columns of the first operand must be as many as the rows of the second");
  Shape shape = c.broadcast(a.batch, b.batch);
  if (c.rank(0) > 1) shape.push_back(a.rows);
  if (c.rank(1) > 1) shape.push_back(b.columns);
  return shape;
}

void infer_matmul(InferContext& c) {
  check_types(c, 2);
  c.output(0, c.dtype(0), product_shape(c));
}

// An element of an operand, in the type of the product.
using Factor = std::function<Scalar(const Operand& operand, const std::vector<Expr>& indices)>;

// y[batch..., i, j] = sum over k of a[batch..., i, k] * b[batch..., k, j]
void define_product(DefineContext& c, const Factor& left, const Factor& right) {
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
  nest.store(y, out, nest.accumulate(ReduceKind::sum, left(a, a_index) * right(b, b_index)));
  c.emit(std::move(nest));
}

// ONNX MatMul 13.
void define_matmul(DefineContext& c) {
  const Factor element = [](const Operand& operand, const std::vector<Expr>& at) { return operand.compute(at); };
  define_product(c, element, element);
}

// ----------------------------------------------------------------------------------------------- MatMulInteger

void check_byte(const NodeReader& c, size_t i) {
  c.check(c.dtype(i) == DType::uint8 || c.dtype(i) == DType::int8, "input {} must be of uint8 or int8, found {}", i,
          info(c.dtype(i)).name);
}

// A zero point is one number, one for each row of a left operand or column of a right one, or of the operand's own rank
// with 1 for the axis that is summed over.
void check_zero_point(InferContext& c, size_t operand, const Expr& lines) {
  const size_t i = operand + 2;
  if (!c.has_input(i)) return;
  c.check(c.dtype(i) == c.dtype(operand), "input {} must be of the type of input {}, {}; found {}", i, operand,
          info(c.dtype(operand)).name, info(c.dtype(i)).name);
  const char* what = "a zero point has one number, or one for each row or column";
  if (c.rank(i) == 1) {
    c.same(c.broadcast(c.shape(i)[0], lines), lines, what);
    return;
  }
  if (c.rank(i) == 0) return;
  c.check(c.rank(i) == c.rank(operand), "the zero point of shape {} does not fit the operand of shape {}",
          short_text(c.shape(i)), short_text(c.shape(operand)));
  Shape summed = c.shape(operand);
  summed[operand == 0 ? summed.size() - 1 : summed.size() - 2] = 1;
  for (size_t axis = 0; axis < summed.size(); ++axis)
    c.same(c.broadcast(c.shape(i)[axis], summed[axis]), summed[axis], what);
}

void infer_matmul_integer(InferContext& c) {
  check_byte(c, 0);
  check_byte(c, 1);
  const Shape shape = product_shape(c);
  check_zero_point(c, 0, left_matrices(c.shape(0)).rows);
  check_zero_point(c, 1, right_matrices(c.shape(1)).columns);
  c.output(0, DType::int32, shape);
}

// y = (a - a_zero_point) * (b - b_zero_point) in 32 bits (ONNX MatMulInteger 10).
void define_matmul_integer(DefineContext& c) {
  const auto factor = [&](size_t input, bool is_left) -> Factor {
    return [&c, input, is_left](const Operand& operand, const std::vector<Expr>& at) {
      const Scalar value = scalar::cast(DType::int32, operand(at));
      if (!c.has_input(input)) return value;
      const Operand zero = c.in(input);
      // The row of a left operand, the column of a right one; vectors have one.
      const Expr line = at.size() < 2 ? Expr(0) : is_left ? at[at.size() - 2] : at.back();
      return value - scalar::cast(DType::int32, zero(zero.broadcast_indices(zero.rank() < 2 ? std::vector{line} : at)));
    };
  };
  define_product(c, factor(2, true), factor(3, false));
}

// -------------------------------------------------------------------------------------------------------- Gemm

void infer_gemm(InferContext& c) {
  check_types(c, 3);
  c.check(c.rank(0) == 2 && c.rank(1) == 2, "matrices are expected, found {} and {}", short_text(c.shape(0)),
          short_text(c.shape(1)));
  const Shape &a = c.shape(0), &b = c.shape(1);
  const ProductSpec spec = resolve_product(c);
  c.same(a[spec.a_depth_axis()], b[spec.b_depth_axis()],
         "the columns of the first matrix must be as many as the rows of the second");
  Shape shape{a[spec.a_row_axis()], b[spec.b_column_axis()]};
  if (c.has_input(2)) {
    Shape whole = c.broadcast(shape, c.shape(2));
    c.check(whole.size() == 2, "C of shape {} does not broadcast to {}", short_text(c.shape(2)), short_text(shape));
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

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "MatMul", infer_matmul, define_matmul, product},
    {"", "MatMulInteger", infer_matmul_integer, define_matmul_integer, unchanged},
    {"", "Gemm", infer_gemm, define_gemm, reduces},
};

}  // namespace

std::span<const OpRow> matrix_ops() { return rows; }

}  // namespace onnxc
