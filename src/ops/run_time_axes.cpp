#include "ops/run_time_axes.h"

#include <algorithm>

namespace onnxc {
namespace {

// 1 if they are equal, else 0.
Expr are_equal(const Expr& a, const Expr& b) {
  if (proven_equal(a, b)) return 1;
  if (proven_different(a, b)) return 0;
  return min(max(1 - max(a - b, b - a), 0), 1);
}

}  // namespace

bool any_unknown(const std::vector<Expr>& axes) {
  return std::ranges::any_of(axes, [](const Expr& value) { return !value.constant(); });
}

Expr is_axis(const Expr& value, size_t axis, size_t rank) {
  return are_equal(mod(value, static_cast<int64_t>(rank)), static_cast<int64_t>(axis));
}

std::vector<Expr> listed_axes(const std::vector<Expr>& values, size_t rank) {
  std::vector<Expr> listed(rank, 0);
  for (size_t axis = 0; axis < rank; ++axis)
    for (const Expr& value : values) listed[axis] = max(listed[axis], is_axis(value, axis, rank));
  return listed;
}

void guard_axes(InferContext& c, const std::vector<Expr>& values, size_t rank) {
  const auto most = static_cast<int64_t>(rank);
  for (size_t i = 0; i < values.size(); ++i) {
    c.at_least(values[i], -most, "an axis must be one of the tensor's");
    c.at_least(most - 1, values[i], "an axis must be one of the tensor's");
    for (size_t k = 0; k < i; ++k) {
      const Expr distance = mod(values[i], most) - mod(values[k], most);
      c.at_least(max(distance, -distance), 1, "the axes must be different ones");
    }
  }
}

namespace {

// Dim i of `count`: the sum of those of `shape` whose place is i.
std::vector<Scalar> dims_at(const Shape& shape, const std::vector<Scalar>& places, size_t count) {
  std::vector<Scalar> dims;
  for (size_t i = 0; i < count; ++i) {
    Scalar dim = scalar::index(0);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Scalar is_here = scalar::binary(ScalarOp::equal, places[axis], scalar::index(static_cast<int64_t>(i)));
      dim = scalar::select(is_here, scalar::index(shape[axis]), dim);
    }
    dims.push_back(dim);
  }
  return dims;
}

}  // namespace

std::vector<Scalar> dims_without_axes(const Shape& shape, const std::vector<Expr>& listed, size_t count) {
  std::vector<Scalar> places;
  Expr before = 0;  // how many stay before this axis
  for (const Expr& is_listed : listed) {
    const Scalar goes = scalar::binary(ScalarOp::equal, scalar::index(is_listed), scalar::index(1));
    places.push_back(scalar::select(goes, scalar::index(-1), scalar::index(before)));
    before += 1 - is_listed;
  }
  return dims_at(shape, places, shape.size() - count);
}

std::vector<Scalar> dims_with_axes(const Shape& shape, const std::vector<Expr>& listed) {
  std::vector<Scalar> dims;
  Expr before = 0;  // how many of the shape's axes stand before this one
  for (const Expr& is_new : listed) {
    Scalar dim = scalar::index(1);
    for (size_t i = 0; i < shape.size(); ++i) {
      const Scalar is_next = scalar::binary(ScalarOp::equal, scalar::index(before), scalar::index(int64_t(i)));
      dim = scalar::select(is_next, scalar::index(shape[i]), dim);
    }
    const Scalar is_one = scalar::binary(ScalarOp::equal, scalar::index(is_new), scalar::index(1));
    dims.push_back(scalar::select(is_one, scalar::index(1), dim));
    before += 1 - is_new;
  }
  return dims;
}

std::vector<Scalar> extents_where(bool is_listed, const Shape& shape, const std::vector<Expr>& listed) {
  std::vector<Scalar> extents;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Scalar counts =
        scalar::binary(ScalarOp::equal, scalar::index(listed[axis]), scalar::index(is_listed ? 1 : 0));
    extents.push_back(scalar::select(counts, scalar::index(shape[axis]), scalar::index(1)));
  }
  return extents;
}

std::vector<Expr> symbols_of(const Node& node) {
  std::vector<Symbol> symbols(node.bound_symbols.begin(), node.bound_symbols.end());
  std::ranges::sort(symbols, {}, [](const Symbol& symbol) { return symbol.info().serial; });
  return {symbols.begin(), symbols.end()};
}

void output_of_rank(InferContext& c, DType dtype, size_t rank, const Expr& elements) {
  Shape shape;
  for (size_t i = 0; i < rank; ++i) shape.push_back(c.run_time_dim(0, i));
  c.same(product(shape), elements, "the elements of the output");
  c.output(0, dtype, shape);
}

}  // namespace onnxc
