// Det (ONNX 11, 22): the determinants of the matrices in the last two axes.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

// Up to this size, known when the model is compiled, a determinant is one expression: the Jacobians of images and
// volumes.
constexpr int64_t largest_expanded = 3;

// For square matrices: the number of their rows and of their columns, a constant if either is one.
Expr matrix_size(const NodeReader& c) {
  const Shape& x = c.shape(0);
  return x.back().constant() ? x.back() : x[x.size() - 2];
}

void infer_det(InferContext& c) {
  expect_type(c, 0, Types::floating);
  const Shape& x = c.shape(0);
  c.check(x.size() >= 2, "matrices are expected, found a tensor of shape {}", short_text(x));
  c.same(x[x.size() - 2], x.back(), "the rows and the columns of a square matrix");
  const Expr size = matrix_size(c);
  if (!size.constant() || *size.constant() > largest_expanded)
    c.run_time_symbol(fmt::format("{}_column", c.node().outputs[0]->name), {0, Bounds::infinity},
                      "the column that is eliminated");
  c.output(0, c.dtype(0), Shape(x.begin(), x.end() - 2));
}

// Along the first of the rows (Laplace), with the columns that are left.
Scalar expanded(const std::function<Scalar(int64_t row, int64_t column)>& element, int64_t row,
                const std::vector<int64_t>& columns) {
  Scalar sum;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<int64_t> others = columns;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Scalar factor = element(row, columns[i]);
    const Scalar term = others.empty() ? factor : factor * expanded(element, row + 1, others);
    sum = !sum ? term : i % 2 == 0 ? sum + term : sum - term;
  }
  return sum;
}

void define_expanded(DefineContext& c, int64_t size) {
  const Operand y = c.out(0);
  Shape matrices = y.shape;
  matrices.insert(matrices.end(), 2, size);
  const Operand x = c.reshaped(c.in(0), matrices);
  std::vector<int64_t> columns;
  for (int64_t i = 0; i < size; ++i) columns.push_back(i);
  c.elementwise([&](const std::vector<Expr>& out) {
    auto element = [&](int64_t row, int64_t column) {
      std::vector<Expr> place = out;
      place.insert(place.end(), {row, column});
      return x.compute(place);
    };
    return size == 0 ? scalar::constant(info(y.dtype).compute, 1) : expanded(element, 0, columns);
  });
}

// Gaussian elimination with the largest element of each column as pivot: the product of the pivots, with a changed sign
// for each exchange of rows. A round eliminates one column.
class Elimination {
 public:
  Elimination(DefineContext& c, const Operand& x, const Expr& size, const Expr& column) : c_(c), column_(column) {
    const Shape batch(x.shape.begin(), x.shape.end() - 2);
    const Operand flat = c.reshaped(x, {product(batch), size, size});
    matrices_ = c.temporary("matrices", info(x.dtype).compute, flat.shape);
    NestBuilder copy("matrices");
    const std::vector<Expr> at = copy.parallel(flat.shape);
    copy.store(matrices(), at, flat.compute(at));
    c.emit(std::move(copy));
    determinants_ = c.temporary("determinants", matrices().dtype, {flat.shape[0]});
    NestBuilder ones("determinants");
    ones.store(determinants(), {ones.parallel(flat.shape[0])}, scalar::constant(matrices().dtype, 1));
    c.emit(std::move(ones));
  }

  const Operand& matrices() const { return *matrices_; }
  const Operand& determinants() const { return *determinants_; }

  void emit_round() {
    const Operand pivots = c_.temporary("pivots", DType::int64, {matrices().shape[0]});
    const Expr &count = matrices().shape[0], &size = matrices().shape[1];
    {
      NestBuilder nest("pivots");
      const Expr b = nest.parallel(count), row = nest.reduce(size);
      const Scalar magnitude = absolute(matrices()({b, row, column_}));
      const Scalar candidate = scalar::select(less(row, column_), number(magnitude, -1), magnitude);
      nest.store(pivots, {b}, nest.accumulate(ReduceKind::argument_maximum, candidate, row));
      c_.emit(std::move(nest));
    }
    auto pivot_row = [&](NestBuilder& nest, const Expr& b) { return max(min(nest.let(pivots({b})), size - 1), 0); };
    {
      NestBuilder nest("determinants");
      const Expr b = nest.parallel(count), pivot = pivot_row(nest, b);
      const Scalar value = matrices()({b, pivot, column_});
      const Scalar is_in_place = equal(scalar::index(pivot), scalar::index(column_));
      nest.store(determinants(), {b}, determinants()({b}) * scalar::select(is_in_place, value, -value));
      c_.emit(std::move(nest));
    }
    const Operand next = c_.temporary("next", matrices().dtype, matrices().shape);
    {
      NestBuilder nest("eliminate");
      const std::vector<Expr> at = nest.parallel(matrices().shape);
      const Expr pivot = pivot_row(nest, at[0]);
      // The row that stands at the pivot's place from now on is the one that it replaces.
      const Scalar is_pivot = equal(scalar::index(at[1]), scalar::index(pivot));
      auto element = [&](const Expr& column) {
        return scalar::select(is_pivot, matrices()({at[0], column_, column}), matrices()({at[0], at[1], column}));
      };
      const Scalar value = matrices()({at[0], pivot, column_}), zero = number(value, 0);
      const Scalar factor = scalar::select(equal(value, zero), zero, element(column_) / value);
      nest.store(next, at, element(at[2]) - factor * matrices()({at[0], pivot, at[2]}));
      c_.emit(std::move(nest));
    }
    NestBuilder copy("matrices");
    const std::vector<Expr> at = copy.parallel(matrices().shape);
    copy.store(matrices(), at, next(at));
    c_.emit(std::move(copy));
  }

 private:
  DefineContext& c_;
  Expr column_;
  std::optional<Operand> matrices_, determinants_;
};

void define_det(DefineContext& c) {
  const Operand x = c.in(0), y = c.out(0);
  const Expr size = matrix_size(c);
  if (size.constant() && *size.constant() <= largest_expanded) return define_expanded(c, *size.constant());
  const Symbol column = *c.node().bound_symbols.begin();
  Elimination elimination(c, x, size, column);
  c.emit(LoopBegin{column, size, -1, {elimination.matrices().buffer, elimination.determinants().buffer}});
  elimination.emit_round();
  c.emit(LoopEnd{});
  const Operand found = c.reshaped(elimination.determinants(), y.shape);
  c.elementwise([&](const std::vector<Expr>& at) { return found(at); });
}

constexpr OpRow rows[] = {
    {"", "Det", infer_det, define_det, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> determinant_ops() { return rows; }

}  // namespace onnxc
