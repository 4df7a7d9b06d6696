#include "ops/tensor/run_time_slice.h"

#include <numeric>

#include "ops/elementwise/elementwise.h"
#include "ops/run_time_axes.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

// The inputs of ONNX Slice 10, with the defaults of those that are absent.
struct Cuts {
  std::vector<Expr> starts, ends, axes, steps;
};

Cuts read_cuts(const NodeReader& c) {
  Cuts cuts{c.needed_elements(1, "starts"), c.needed_elements(2, "ends"), {}, {}};
  const size_t count = cuts.starts.size();
  cuts.axes.resize(count);
  std::iota(cuts.axes.begin(), cuts.axes.end(), int64_t{0});
  cuts.steps.assign(count, 1);
  if (c.has_input(3)) cuts.axes = c.needed_elements(3, "axes");
  if (c.has_input(4)) cuts.steps = c.needed_elements(4, "steps");
  c.check(cuts.ends.size() == count && cuts.axes.size() == count && cuts.steps.size() == count,
          "starts, ends, axes and steps have {}, {}, {} and {}; as many of each are expected", count, cuts.ends.size(),
          cuts.axes.size(), counted(cuts.steps.size(), "value"));
  return cuts;
}

Scalar integer(int64_t value) { return scalar::integer_constant(DType::int64, value); }

// Element i of the output is element start + i * step of the input.
struct CutAxis {
  Scalar start, step, count;
};

// ONNX Slice 13: an index below 0 counts from the end; starts and ends are clamped to [0, extent] for a positive step,
// to [0, extent - 1] and [-1, extent - 1] for a negative one. Nothing overflows for any values.
CutAxis cut_axis(const Expr& extent_of_axis, const Expr& start_index, const Expr& end_index, const Expr& step_index) {
  const Scalar extent = scalar::index(extent_of_axis), step = scalar::index(step_index), zero = integer(0);
  const auto from_start = [&](const Expr& index) {
    const Scalar value = scalar::index(index);
    return scalar::select(less(value, zero), value + extent, value);
  };
  const auto clamp = [](const Scalar& value, const Scalar& low, const Scalar& high) {
    return maximum(minimum(value, high), low);
  };
  const Scalar is_backwards = less(step, zero), last = extent - integer(1);
  const Scalar start = clamp(from_start(start_index), zero, scalar::select(is_backwards, last, extent));
  const Scalar end = clamp(from_start(end_index), scalar::select(is_backwards, integer(-1), zero),
                           scalar::select(is_backwards, last, extent));
  const Scalar distance = scalar::select(is_backwards, start - end, end - start);
  const Scalar rounds = (distance - integer(1)) / step;  // towards zero, with the sign of the step
  const Scalar count = integer(1) + scalar::select(is_backwards, -rounds, rounds);
  return {start, step, minimum(scalar::select(less(zero, distance), count, zero), extent)};
}

std::vector<CutAxis> cut_axes(const NodeReader& c) {
  const Shape& shape = c.shape(0);
  const Cuts cuts = read_cuts(c);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<CutAxis> axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const Expr& extent = shape[static_cast<size_t>(axis)];
    CutAxis result{integer(0), integer(1), scalar::index(extent)};
    for (size_t i = 0; i < cuts.axes.size(); ++i) {
      const Scalar given = scalar::index(cuts.axes[i]);
      const Scalar is_meant = any_of(equal(given, integer(axis)), equal(given, integer(axis - rank)));
      const CutAxis cut = cut_axis(extent, cuts.starts[i], cuts.ends[i], cuts.steps[i]);
      result = {scalar::select(is_meant, cut.start, result.start), scalar::select(is_meant, cut.step, result.step),
                scalar::select(is_meant, cut.count, result.count)};
    }
    axes.push_back(std::move(result));
  }
  return axes;
}

}  // namespace

bool is_slice_decided_by_run(const NodeReader& node) {
  for (size_t i : {size_t{3}, size_t{4}})
    if (node.has_input(i) && any_unknown(node.needed_elements(i, "axes or steps"))) return true;
  return false;
}

void infer_run_time_slice(InferContext& c) {
  const Cuts cuts = read_cuts(c);
  guard_axes(c, cuts.axes, c.rank(0));
  for (const Expr& step : cuts.steps)  // the least integer has no negative
    c.at_least(max(min(step, 1), -max(step, -1)), 1, "a step may not be 0");
  Shape shape;
  for (size_t axis = 0; axis < c.rank(0); ++axis) shape.push_back(c.run_time_dim(0, axis));
  c.output(0, c.dtype(0), shape);
}

void define_run_time_slice(DefineContext& c) {
  const std::vector<CutAxis> axes = cut_axes(c);
  const auto rank = static_cast<int64_t>(axes.size());
  std::vector<Scalar> counts;
  for (const CutAxis& axis : axes) counts.push_back(axis.count);
  c.bind(c.out(0).shape, counts);

  Operand places = c.temporary("starts_and_steps", DType::int64, {rank, 2});
  NestBuilder resolve("starts_and_steps");
  for (int64_t axis = 0; axis < rank; ++axis) {
    resolve.store(places, {axis, 0}, axes[static_cast<size_t>(axis)].start);
    resolve.store(places, {axis, 1}, axes[static_cast<size_t>(axis)].step);
  }
  c.emit(std::move(resolve));

  Operand x = c.in(0), y = c.out(0);
  NestBuilder nest("Slice");
  std::vector<Expr> indices = nest.parallel(y.shape), source;
  for (int64_t axis = 0; axis < rank; ++axis)
    source.push_back(nest.let(places({axis, 0})) + indices[static_cast<size_t>(axis)] * nest.let(places({axis, 1})));
  nest.store(y, indices, x(source));
  c.emit(std::move(nest));
}

}  // namespace onnxc
