#include "ops/run_time_axes.h"

#include <algorithm>

namespace onnxc {
namespace {

// 1 where they are equal, else 0.
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
  for (const Expr& value : values) {
    c.at_least(value, -most, "an axis must be one of the tensor's");
    c.at_least(most - 1, value, "an axis must be one of the tensor's");
  }
}

Shape without_axes(const Shape& shape, const std::vector<Expr>& listed, size_t count) {
  Shape result(shape.size() - count, 0);
  Expr before = 0;  // how many stay before this axis
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    for (size_t i = 0; i < result.size(); ++i)
      result[i] += (1 - listed[axis]) * are_equal(before, static_cast<int64_t>(i)) * shape[axis];
    before += 1 - listed[axis];
  }
  return result;
}

Shape with_axes(const Shape& shape, const std::vector<Expr>& listed) {
  Shape result;
  Expr before = 0;
  for (const Expr& is_new : listed) {
    Expr dim = is_new;
    for (size_t i = 0; i < shape.size(); ++i)
      dim += (1 - is_new) * are_equal(before, static_cast<int64_t>(i)) * shape[i];
    result.push_back(dim);
    before += 1 - is_new;
  }
  return result;
}

void output_with_dims(InferContext& c, DType dtype, const Shape& dims, const Shape& from) {
  Shape shape;
  for (size_t i = 0; i < dims.size(); ++i) shape.push_back(dims[i].constant() ? dims[i] : c.run_time_dim(0, i));
  c.same(product(from), product(shape), "the axes must be different ones");
  c.output(0, dtype, shape);
}

void bind_dims(DefineContext& c, const Shape& dims) {
  std::vector<Scalar> values;
  for (const Expr& dim : dims) values.push_back(scalar::index(dim));
  c.bind(c.out(0).shape, values);
}

}  // namespace onnxc
