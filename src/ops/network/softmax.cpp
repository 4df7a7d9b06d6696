// Softmax, LogSoftmax, Hardmax. Until version 12 of the operator set they look at the tensor as a matrix whose columns
// are all axes from attribute 'axis' (default 1) on; since 13 at one axis (default the last).
//
// The largest element is subtracted before the exponentials, so that none overflows. A row of -inf, or one that holds
// +inf or NaN, gives NaN, as in PyTorch.
#include "ops/axes.h"
#include "ops/elementwise/elementwise.h"

namespace onnxc {
namespace {

FoldedAxes softmax_axes(const NodeReader& node) {
  bool flattens = node.version() < 13;
  size_t axis = node.axis(node.integer("axis", flattens ? 1 : -1), node.rank(0));
  return flattens ? FoldedAxes::from(node.shape(0), axis) : FoldedAxes::one(node.shape(0), axis);
}

void infer_softmax(InferContext& c) {
  expect_type(c, 0, Types::floating);
  softmax_axes(c);
  c.output(0, c.dtype(0), c.shape(0));
}

// kept[...] = fold of element(indices of x) over the folded axes, in the type that arithmetic is done in.
template <class Element>
Operand fold(DefineContext& c, const std::string& role, ReduceKind kind, const FoldedAxes& axes,
             const Element& element) {
  Operand result = c.temporary(role, info(c.dtype(0)).compute, axes.kept_shape());
  NestBuilder nest("softmax_" + role);
  std::vector<Expr> kept = nest.parallel(result.shape);
  std::vector<Expr> folded = nest.reduce(axes.folded_shape());
  nest.store(result, kept, nest.accumulate(kind, element(axes.join(kept, folded))));
  c.emit(std::move(nest));
  return result;
}

template <bool takes_logarithm>
void define_softmax(DefineContext& c) {
  FoldedAxes axes = softmax_axes(c);
  Operand x = c.in(0);
  Operand largest =
      fold(c, "maximum", ReduceKind::maximum, axes, [&](const std::vector<Expr>& i) { return x.compute(i); });
  auto shifted = [&](const std::vector<Expr>& i) { return x.compute(i) - largest(axes.kept(i)); };
  Operand sum =
      fold(c, "sum", ReduceKind::sum, axes, [&](const std::vector<Expr>& i) { return exponential(shifted(i)); });
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar total = sum(axes.kept(i));
    return takes_logarithm ? shifted(i) - logarithm(total) : exponential(shifted(i)) / total;
  });
}

// 1 at the first of the largest elements, 0 elsewhere.
void define_hardmax(DefineContext& c) {
  FoldedAxes axes = softmax_axes(c);
  Operand x = c.in(0);
  // The place of an element among the folded ones, in row-major order.
  auto place = [extents = axes.folded_shape()](const std::vector<Expr>& folded) {
    Expr result = 0;
    for (size_t i = 0; i < folded.size(); ++i) result = result * extents[i] + folded[i];
    return result;
  };
  Operand first = c.temporary("first", DType::int64, axes.kept_shape());
  NestBuilder nest("hardmax_first");
  std::vector<Expr> kept = nest.parallel(first.shape);
  std::vector<Expr> folded = nest.reduce(axes.folded_shape());
  nest.store(first, kept,
             nest.accumulate(ReduceKind::argument_maximum, x.compute(axes.join(kept, folded)), place(folded)));
  c.emit(std::move(nest));
  c.elementwise([&](const std::vector<Expr>& i) {
    return scalar::cast(x.dtype, equal(scalar::index(place(axes.folded(i))), first(axes.kept(i))));
  });
}

constexpr OpRow rows[] = {
    {"", "Softmax", infer_softmax, define_softmax<false>},
    {"", "LogSoftmax", infer_softmax, define_softmax<true>},
    {"", "Hardmax", infer_softmax, define_hardmax},
};

}  // namespace

std::span<const OpRow> softmax_ops() { return rows; }

}  // namespace onnxc
