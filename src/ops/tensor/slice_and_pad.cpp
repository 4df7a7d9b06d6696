// Operators that cut from the ends of axes or add to them: Slice, Pad.
#include <algorithm>
#include <numeric>

#include "ops/families.h"
#include "ops/run_time_axes.h"
#include "ops/tensor/run_time_slice.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

// One axis of a Slice, resolved: element i of the output is element start + i * step of the input.
struct SliceAxis {
  Expr start = 0;
  int64_t step = 1;
  Expr count;
};

// An index given from either end: negative ones count from the end. If the sign is not proven (`D - 3`, `-(D//2)`, or
// what only a run knows) the index is first brought into [least, extent], so that nothing can overflow.
Expr from_either_end(const Expr& index, const Expr& extent, const Expr& least) {
  if (proven_less(index, 0)) return index + extent;
  if (proven_at_least(index, 0)) return index;
  Expr near = max(min(index, extent), least);
  return near + extent * min(max(-near, 0), 1);
}

// ONNX Slice (10 and later): starts and ends are clamped to [0, extent] for a positive step, to [-1, extent - 1] for a
// negative one.
SliceAxis resolve_slice(const NodeReader& c, const Expr& extent, const Expr& start, const Expr& end, int64_t step) {
  c.check(step != 0 && step >= -INT64_MAX, "a step of {}", step);
  Expr low = step > 0 ? Expr(0) : Expr(-1), high = step > 0 ? extent : extent - 1;
  auto clamp = [&](const Expr& index) {
    std::optional<int64_t> constant = index.constant();
    // Exporters write the extremes of their integer types for "to the end"; adding the extent to them would overflow.
    if (constant && *constant >= INT32_MAX) return high;
    if (constant && *constant <= -INT32_MAX) return low;
    return max(min(from_either_end(index, extent, step > 0 ? -extent : -extent - 1), high), low);
  };
  SliceAxis axis;
  axis.step = step;
  axis.start = step > 0 ? clamp(start) : max(min(from_either_end(start, extent, -extent), extent - 1), Expr(0));
  if (step < 0 && start.constant().value_or(0) >= INT32_MAX) axis.start = extent - 1;
  Expr distance = step > 0 ? clamp(end) - axis.start : axis.start - clamp(end);
  axis.count = max(ceil_div(distance, step > 0 ? step : -step), 0);
  // An empty axis has no last element to start at.
  if (step < 0 && !proven_at_least(extent, 1)) axis.count = min(axis.count, extent);
  return axis;
}

std::vector<SliceAxis> slice_axes(const NodeReader& c) {
  const Shape& from = c.shape(0);
  std::optional<std::vector<Expr>> starts = c.integers_from(1, "starts"), ends = c.integers_from(2, "ends");
  c.check(starts && ends, "starts or ends are missing");
  std::vector<Expr> given_axes(starts->size()), steps(starts->size(), 1);
  for (size_t i = 0; i < given_axes.size(); ++i) given_axes[i] = static_cast<int64_t>(i);
  if (auto given = c.integers_from(3, "axes")) given_axes = *given;
  if (auto given = c.integers_from(4, "steps")) steps = *given;
  c.check(ends->size() == starts->size() && given_axes.size() == starts->size() && steps.size() == starts->size(),
          "starts, ends, axes and steps have {}, {}, {} and {}; as many of each are expected", starts->size(),
          ends->size(), given_axes.size(), counted(steps.size(), "value"));
  std::vector<SliceAxis> result;
  for (const Expr& extent : from) result.push_back({0, 1, extent});
  std::vector<size_t> axes = c.axes(given_axes, from.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<int64_t> step = steps[i].constant();
    c.check(step.has_value(), "steps must be known when the model is compiled, found {}", steps[i].to_string());
    result[axes[i]] = resolve_slice(c, from[axes[i]], (*starts)[i], (*ends)[i], *step);
  }
  return result;
}

void infer_slice(InferContext& c) {
  if (is_slice_decided_by_run(c)) return infer_run_time_slice(c);
  Shape shape;
  for (const SliceAxis& axis : slice_axes(c)) shape.push_back(axis.count);
  c.output(0, c.dtype(0), shape);
}

void define_slice(DefineContext& c) {
  if (is_slice_decided_by_run(c)) return define_run_time_slice(c);
  std::vector<SliceAxis> axes = slice_axes(c);
  c.copy([&](const std::vector<Expr>& i) {
    std::vector<Expr> source;
    for (size_t axis = 0; axis < axes.size(); ++axis) source.push_back(axes[axis].start + i[axis] * axes[axis].step);
    return source;
  });
}

// ---------------------------------------------------------------------------------------------------------- Pad

struct Padding {
  std::vector<Expr> begin, end;
};

// ONNX Pad: [begins..., ends...] of every axis, or (18) of the axes given.
Padding padding_of(const NodeReader& c) {
  size_t rank = c.rank(0);
  auto pads = c.integers_from(1, c.version() < 2 ? "paddings" : "pads");
  c.check(pads.has_value(), "the pads are missing");
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::optional<std::vector<Expr>> given;
  if (c.version() >= 18) given = c.integers_from(3, "axes");
  const bool are_decided_by_run = given && any_unknown(*given);
  if (given && !are_decided_by_run) axes = c.axes(*given, rank);
  const size_t count = given ? given->size() : rank;
  c.check(pads->size() == 2 * count, "{} given; {} are expected, begin and end of each axis",
          counted_are(pads->size(), "pad"), 2 * count);
  Padding padding{std::vector<Expr>(rank), std::vector<Expr>(rank)};
  if (are_decided_by_run) {
    for (size_t axis = 0; axis < rank; ++axis)
      for (size_t i = 0; i < count; ++i) {
        padding.begin[axis] += is_axis((*given)[i], axis, rank) * (*pads)[i];
        padding.end[axis] += is_axis((*given)[i], axis, rank) * (*pads)[count + i];
      }
    return padding;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    padding.begin[axes[i]] = (*pads)[i];
    padding.end[axes[i]] = (*pads)[axes.size() + i];
  }
  return padding;
}

// The part of an axis that negative pads leave; the other pads repeat only elements of this part.
struct KeptPart {
  Expr begin, extent;
};

KeptPart kept_part(const Padding& padding, size_t axis, const Expr& extent) {
  return {max(-padding.begin[axis], 0), extent + min(padding.begin[axis], 0) + min(padding.end[axis], 0)};
}

bool are_axes_of_run(const NodeReader& c) {
  if (c.version() < 18) return false;
  const std::optional<std::vector<Expr>> axes = c.integers_from(3, "axes");
  return axes && any_unknown(*axes);
}

void infer_pad(InferContext& c) {
  std::string mode = c.text("mode", "constant");
  c.check(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap",
          "mode must be one of constant, reflect, edge, wrap, found '{}'", mode);
  if (are_axes_of_run(c)) guard_axes(c, *c.integers_from(3, "axes"), c.rank(0));
  Padding padding = padding_of(c);
  Shape shape;
  for (size_t i = 0; i < padding.begin.size(); ++i) {
    Expr dim = c.shape(0)[i] + padding.begin[i] + padding.end[i];
    c.at_least(dim, 0, "a negative pad may not take more than there is");
    if (are_axes_of_run(c)) dim = c.run_time_dim(0, i);
    const bool is_untouched = padding.begin[i].is_constant(0) && padding.end[i].is_constant(0);
    if (mode != "constant" && !is_untouched)
      c.not_empty(kept_part(padding, i, c.shape(0)[i]).extent, dim, "the pads repeat elements, and none are left");
    shape.push_back(dim);
  }
  if (mode == "constant" && c.version() >= 11 && c.has_input(2)) c.one_number(2, "value of the padding");
  c.output(0, c.dtype(0), shape);
}

Scalar pad_value(const DefineContext& c, DType dtype) {
  if (c.has_input(2) && c.version() >= 11) {
    Operand value = c.in(2);
    return value(std::vector<Expr>(value.rank()));
  }
  return scalar::constant(dtype, c.real("value", 0));
}

// The element of an axis that stands at `position`, which may lie outside of it.
Expr mirrored(const std::string& mode, const Expr& position, const Expr& extent) {
  if (mode == "edge") return max(min(position, extent - 1), 0);
  if (mode == "wrap") return mod(position, extent);
  // reflect: a triangle wave of period 2 * (extent - 1); an axis of one element repeats it.
  Expr period = max((extent - 1) * 2, Expr(1));
  Expr phase = mod(position, period);
  return min(min(phase, period - phase), extent - 1);
}

void define_pad(DefineContext& c) {
  Operand x = c.in(0);
  Padding padding = padding_of(c);
  if (are_axes_of_run(c)) {
    std::vector<Scalar> dims;
    for (size_t i = 0; i < x.rank(); ++i) dims.push_back(scalar::index(x.shape[i] + padding.begin[i] + padding.end[i]));
    c.bind(c.out(0).shape, dims);
  }
  std::string mode = c.text("mode", "constant");
  c.elementwise([&](const std::vector<Expr>& i) {
    std::vector<Expr> source;
    Scalar inside;
    for (size_t axis = 0; axis < i.size(); ++axis) {
      Expr position = i[axis] - padding.begin[axis];
      bool untouched = padding.begin[axis].is_constant(0) && padding.end[axis].is_constant(0);
      if (!untouched && mode == "constant") inside = both(inside, within(position, x.shape[axis]));
      if (!untouched && mode != "constant") {
        const KeptPart kept = kept_part(padding, axis, x.shape[axis]);
        position = kept.begin + mirrored(mode, position - kept.begin, kept.extent);
      }
      source.push_back(position);
    }
    Scalar value = x(source);
    return inside ? scalar::select(inside, value, pad_value(c, x.dtype)) : value;
  });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Slice", infer_slice, define_slice, moves, follows},
    {"", "Pad", infer_pad, define_pad, moves, follows},
};

}  // namespace

std::span<const OpRow> slice_and_pad_ops() { return rows; }

}  // namespace onnxc
