// Softmax, LogSoftmax, Hardmax.
//
// The largest element is subtracted before the exponentials, so that none overflows. A row of -inf, or one that holds
// +inf or NaN, gives NaN, as in PyTorch.
#include "ops/axes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/softmax_spec.h"

namespace onnxc {
namespace {

FoldedAxes axes_of(const NodeReader& node, const SoftmaxSpec& spec) {
  return FoldedAxes::range(node.shape(0), spec.first_axis, spec.end_axis);
}

void infer_softmax(InferContext& c) {
  expect_type(c, 0, Types::floating);
  resolve_softmax(c);
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

void define_softmax(DefineContext& c) {
  const SoftmaxSpec spec = resolve_softmax(c);
  FoldedAxes axes = axes_of(c, spec);
  Operand x = c.in(0);
  Operand largest =
      fold(c, "maximum", ReduceKind::maximum, axes, [&](const std::vector<Expr>& i) { return x.compute(i); });
  auto shifted = [&](const std::vector<Expr>& i) { return x.compute(i) - largest(axes.kept(i)); };
  Operand sum =
      fold(c, "sum", ReduceKind::sum, axes, [&](const std::vector<Expr>& i) { return exponential(shifted(i)); });
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar total = sum(axes.kept(i));
    return spec.takes_logarithm() ? shifted(i) - logarithm(total) : exponential(shifted(i)) / total;
  });
}

// 1 at the first of the largest elements, 0 elsewhere.
void define_hardmax(DefineContext& c) {
  FoldedAxes axes = axes_of(c, resolve_softmax(c));
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

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Softmax", infer_softmax, define_softmax, computes},
    {"", "LogSoftmax", infer_softmax, define_softmax, unchanged},
    {"", "Hardmax", infer_softmax, define_hardmax, unchanged},
};

}  // namespace

std::span<const OpRow> softmax_ops() { return rows; }

}  // namespace onnxc
