// MaxRoiPool: the greatest element of each bin of a box, as Fast R-CNN has it (R. Girshick, ICCV 2015).
#include <limits>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/interpolation.h"
#include "support/list_text.h"

namespace onnxc {
namespace {

struct PoolSpec {
  int64_t height, width;  // bins of a box
  double scale;           // of a box's coordinates, to elements of the map
};

PoolSpec resolve_pool(const NodeReader& c) {
  const std::vector<int64_t> shape = c.integers("pooled_shape");
  c.check(shape.size() == 2 && shape[0] > 0 && shape[1] > 0,
          "attribute 'pooled_shape' must hold two positive sizes, found {}", list_text(shape));
  return {shape[0], shape[1], static_cast<double>(c.real("spatial_scale", 1))};
}

// X [N, C, H, W] and boxes [R, 5], each an image and x1, y1, x2, y2, give Y [R, C, height, width].
void infer_max_roi_pool(InferContext& c) {
  const PoolSpec spec = resolve_pool(c);
  expect_one_type(c, Types::floating);
  const Shape &x = c.shape(0), &rois = c.shape(1);
  c.check(x.size() == 4 && rois.size() == 2, "a map [N, C, H, W] and boxes [R, 5] are expected, found {} and {}",
          short_text(x), short_text(rois));
  c.same(rois[1], 5, "the image and the coordinates of a box");
  const Shape shape{rois[0], x[1], spec.height, spec.width};
  for (size_t i : {0, 2, 3}) c.not_empty(x[i], product(shape), "a map that is pooled must have elements");
  for (const char* axis : {"height", "width"})
    c.run_time_symbol(fmt::format("{}_bin_{}", c.node().outputs[0]->name, axis), {0, Bounds::infinity},
                      fmt::format("the {} of the largest bin", axis));
  c.output(0, c.dtype(0), shape);
}

// To the nearest whole number, halves away from zero.
Scalar nearest(const Scalar& x) {
  const Scalar size = absolute(x), below = scalar::unary(ScalarOp::floor, size);
  const Scalar is_above = scalar::binary(ScalarOp::less_or_equal, number(x, 0.5), size - below);
  const Scalar whole = scalar::select(is_above, below + number(x, 1), below);
  return scalar::select(less(x, number(x, 0)), number(x, 0) - whole, whole);
}

Scalar whole_number(const Scalar& x) { return scalar::cast(DType::int64, x); }

// The elements of a bin along one axis: from `first` up to `end`, both inside the map.
struct Bin {
  Scalar first, end;
};

Bin bin_of(const PoolSpec& spec, const Operand& rois, const Expr& roi, const Expr& bin, bool is_height,
           const Expr& extent) {
  const auto corner = [&](int64_t i) {
    const Scalar value = rois.compute({roi, i});
    return nearest(value * number(value, spec.scale));
  };
  const Scalar start = corner(is_height ? 2 : 1);
  // A box is one element long at least.
  const Scalar length = maximum(corner(is_height ? 4 : 3) - start + number(start, 1), number(start, 1));
  const Scalar size = length / number(length, static_cast<double>(is_height ? spec.height : spec.width));
  const auto edge = [&](const Expr& index) { return scalar::cast(size.dtype(), scalar::index(index)) * size; };
  const auto inside = [&](const Scalar& place) {
    return minimum(maximum(place, number(place, 0)), scalar::cast(place.dtype(), scalar::index(extent)));
  };
  return {whole_number(inside(scalar::unary(ScalarOp::floor, edge(bin)) + start)),
          whole_number(inside(scalar::unary(ScalarOp::ceil, edge(bin + 1)) + start))};
}

// How long the longest bin is along both axes, bound as the extents of the loops over a bin.
Shape longest_bin(DefineContext& c, const PoolSpec& spec) {
  const Operand x = c.in(0), rois = c.in(1), longest = c.temporary("longest_bin", DType::int64, {2});
  const Shape extents = c.run_time_dims();  // the height's first
  for (int64_t axis : {0, 1}) {
    NestBuilder nest("longest_bin");
    const Expr roi = nest.reduce(rois.shape[0]), index = nest.reduce(axis == 0 ? spec.height : spec.width);
    const Bin bin = bin_of(spec, rois, roi, index, axis == 0, x.shape[2 + static_cast<size_t>(axis)]);
    const Scalar length = nest.accumulate(ReduceKind::maximum, bin.end - bin.first);
    nest.store(longest, {axis}, maximum(length, scalar::index(0)));
    c.emit(std::move(nest));
  }
  c.bind(extents, {longest({0}), longest({1})});
  return extents;
}

// ONNX MaxRoiPool 1, 22. A bin outside of the map gives 0.
void define_max_roi_pool(DefineContext& c) {
  const PoolSpec spec = resolve_pool(c);
  const Operand x = c.in(0), rois = c.in(1), y = c.out(0);
  const Shape extents = longest_bin(c, spec);
  NestBuilder nest("max_roi_pool");
  const std::vector<Expr> out = nest.parallel(y.shape), tap = nest.reduce(extents);
  const Expr image = nest.let(whole_number(rois.compute({out[0], 0})));
  std::vector<Expr> at{clamped(image, x.shape[0]), out[1]};
  Scalar is_inside, has_elements;
  for (size_t axis : {0, 1}) {
    const Expr& extent = x.shape[2 + axis];
    const Bin bin = bin_of(spec, rois, out[0], out[2 + axis], axis == 0, extent);
    const Expr first = nest.let(bin.first), end = nest.let(bin.end);
    at.push_back(clamped(first + tap[axis], extent));
    is_inside = both(is_inside, less(first + tap[axis], end));
    has_elements = both(has_elements, less(first, end));
  }
  const Scalar element = x.compute(at);
  const Scalar lowest = number(element, -std::numeric_limits<double>::infinity());
  const Scalar greatest = nest.accumulate(ReduceKind::maximum, scalar::select(is_inside, element, lowest));
  nest.store(y, out, scalar::select(has_elements, greatest, number(greatest, 0)));
  c.emit(std::move(nest));
}

constexpr OpRow rows[] = {
    {"", "MaxRoiPool", infer_max_roi_pool, define_max_roi_pool, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> max_roi_pool_ops() { return rows; }

}  // namespace onnxc
