// GridSample (ONNX 16, 20, 22) reads an image or a volume at places that a tensor holds; AffineGrid (20) makes such a
// tensor. Both in any number of spatial axes.
//
// A place has a coordinate for each spatial axis, the last axis first; -1 and 1 are the ends of the axis: the centres
// of its outer elements with align_corners, else their outer edges.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/interpolation.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

enum class Mode : uint8_t { nearest, linear, cubic };
enum class Padding : uint8_t { zeros, border, reflection };

struct SampleSpec {
  Mode mode;
  Padding padding;
  bool align_corners;
};

SampleSpec resolve_grid_sample(const NodeReader& c) {
  SampleSpec spec{};
  const std::string mode = c.text("mode", "linear"), padding = c.text("padding_mode", "zeros");
  // The names of version 16 are those of images.
  if (mode == "nearest")
    spec.mode = Mode::nearest;
  else if (mode == "linear" || mode == "bilinear")
    spec.mode = Mode::linear;
  else if (mode == "cubic" || mode == "bicubic")
    spec.mode = Mode::cubic;
  else
    c.fail("mode must be one of nearest, linear, cubic, found '{}'", mode);
  if (padding == "zeros")
    spec.padding = Padding::zeros;
  else if (padding == "border")
    spec.padding = Padding::border;
  else if (padding == "reflection")
    spec.padding = Padding::reflection;
  else
    c.fail("padding_mode must be one of zeros, border, reflection, found '{}'", padding);
  spec.align_corners = c.integer("align_corners", 0) != 0;
  return spec;
}

// X [N, C, spatial...] and grid [N, places..., spatial axes] give Y [N, C, places...].
void infer_grid_sample(InferContext& c) {
  const SampleSpec spec = resolve_grid_sample(c);
  const Shape &x = c.shape(0), &grid = c.shape(1);
  expect_type(c, 1, Types::floating);
  c.check(spec.mode == Mode::nearest || c.dtype(0) != DType::boolean, "booleans have no mode but nearest");
  c.check(x.size() >= 3 && grid.size() == x.size(),
          "an input [batch, channels, space] and a grid of its rank are expected, found {} and {}", short_text(x),
          short_text(grid));
  Shape shape{c.same(x[0], grid[0], "the batch of the input and of the grid"), x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  const auto axes = static_cast<int64_t>(x.size()) - 2;
  c.same(grid.back(), axes, "the last dim of the grid and the number of spatial axes");
  for (size_t i = 2; i < x.size(); ++i) c.not_empty(x[i], product(shape), "a spatial axis must have elements");
  c.output(0, c.dtype(0), shape);
}

Scalar floor_of(const Scalar& x) { return scalar::unary(ScalarOp::floor, x); }
Scalar size_like(const Scalar& like, const Expr& size) { return scalar::cast(like.dtype(), scalar::index(size)); }

// The coordinate of the grid in elements of the axis.
Scalar in_elements(const SampleSpec& spec, const Scalar& coordinate, const Expr& extent) {
  const Scalar one = number(coordinate, 1), half = number(coordinate, 0.5);
  if (spec.align_corners) return (coordinate + one) * half * size_like(coordinate, extent - 1);
  return ((coordinate + one) * size_like(coordinate, extent) - one) * half;
}

// A place outside of the axis, mirrored at its ends as often as needed (ONNX GridSample, padding_mode).
Scalar reflected(const SampleSpec& spec, const Scalar& place, const Expr& extent) {
  const Scalar low = number(place, spec.align_corners ? 0 : -0.5);
  const Scalar high = size_like(place, extent) - number(place, spec.align_corners ? 1 : 0.5);
  const Scalar is_below = less(place, low), length = high - low;
  const Scalar distance = scalar::select(is_below, low - place, place - high);
  const Scalar times = floor_of(distance / length), rest = distance - times * length;
  const Scalar is_even = equal(times, number(place, 2) * floor_of(times * number(place, 0.5)));
  const Scalar inwards = scalar::select(is_below, low + rest, high - rest);
  const Scalar outwards = scalar::select(is_below, high - rest, low + rest);
  const Scalar is_outside = any_of(is_below, less(high, place));
  const Scalar mirrored = scalar::select(is_outside, scalar::select(is_even, inwards, outwards), place);
  if (!spec.align_corners) return mirrored;
  // Between the centres of one element there is no length.
  return scalar::select(less(1, extent), mirrored, number(place, 0));
}

// The place that stands for one outside of the axis. Those that read nothing but zeros stay near, where their indices
// do not overflow.
Scalar padded_place(const SampleSpec& spec, const Scalar& place, const Expr& extent) {
  if (spec.padding == Padding::reflection) return reflected(spec, place, extent);
  if (spec.padding == Padding::zeros) return maximum(minimum(place, size_like(place, extent + 3)), number(place, -4));
  // Between the centre and the edge of the outer elements a place stays where it is, as in ONNX's reference.
  const Scalar margin = number(place, spec.align_corners ? 0 : 0.5), last = size_like(place, extent - 1);
  const Scalar from_above = scalar::select(less(last + margin, place), last, place);
  return scalar::select(less(place, -margin), number(place, 0), from_above);
}

// The same for the index of an element.
Tap padded_tap(const SampleSpec& spec, const Expr& index, const Expr& extent, const Scalar& weight) {
  if (spec.padding == Padding::zeros) return {index, weight, within(index, extent)};
  if (spec.padding == Padding::border) return {clamped(index, extent), weight};
  // Mirrored at the centres, the elements repeat after 2 (extent - 1), at the edges after 2 extent.
  const Expr period = max(2 * (spec.align_corners ? extent - 1 : extent), 1);
  const Expr place = mod(index, period);
  return {clamped(min(place, spec.align_corners ? period - place : period - 1 - place), extent), weight};
}

// The taps around a coordinate along one axis.
std::vector<Tap> taps_at(NestBuilder& nest, const SampleSpec& spec, const Scalar& coordinate, const Expr& extent) {
  const Scalar exact = in_elements(spec, coordinate, extent);
  if (spec.mode == Mode::nearest) {
    const Scalar place = padded_place(spec, scalar::unary(ScalarOp::round_even, exact), extent);
    return {padded_tap(spec, nest.let(place), extent, {})};
  }
  const Scalar place = padded_place(spec, exact, extent), below = floor_of(place), fraction = place - below;
  const Expr first = nest.let(below);
  std::vector<Scalar> weights{number(place, 1) - fraction, fraction};
  if (spec.mode == Mode::cubic) weights = CubicKernel{-0.75}.weights(fraction);
  std::vector<Tap> taps;
  for (const Scalar& weight : weights) {
    const auto offset = static_cast<int64_t>(taps.size()) - (spec.mode == Mode::cubic ? 1 : 0);
    taps.push_back(padded_tap(spec, first + offset, extent, weight));
  }
  return taps;
}

void define_grid_sample(DefineContext& c) {
  const SampleSpec spec = resolve_grid_sample(c);
  const Operand x = c.in(0), grid = c.in(1), y = c.out(0);
  NestBuilder nest("grid_sample");
  const std::vector<Expr> out = nest.parallel(y.shape);
  std::vector<Expr> place = out;
  place.erase(place.begin() + 1);
  std::vector<std::vector<Tap>> taps{{{out[0]}}, {{out[1]}}};
  for (size_t axis = 2; axis < x.rank(); ++axis) {
    place.push_back(static_cast<int64_t>(x.rank() - 1 - axis));
    taps.push_back(taps_at(nest, spec, grid.compute(place), x.shape[axis]));
    place.pop_back();
  }
  const bool exact = spec.mode == Mode::nearest;
  const Scalar value =
      weighted_sum(taps, [&](const std::vector<Expr>& at) { return exact ? x(at) : interpolated_element(x, at); });
  nest.store(y, out, scalar::cast(y.dtype, value));
  c.emit(std::move(nest));
}

// -------------------------------------------------------------------------------------------------- AffineGrid

// theta [N, axes, axes + 1] and the size [N, C, spatial...] give a grid [N, spatial..., axes].
void infer_affine_grid(InferContext& c) {
  expect_type(c, 0, Types::floating);
  const std::vector<Expr> size = c.needed_elements(1, "size");
  const Shape& theta = c.shape(0);
  c.check(size.size() >= 3, "a size [batch, channels, space] is expected, found {}", counted(size.size(), "value"));
  c.check(theta.size() == 3, "theta must have rank 3, found {}", short_text(theta));
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  c.same(theta[1], axes, "dim 1 of theta and the number of spatial axes");
  c.same(theta[2], axes + 1, "dim 2 of theta and the number of spatial axes plus 1");
  Shape shape{c.same(theta[0], size[0], "the batch of theta and of the size")};
  for (size_t i = 2; i < size.size(); ++i) {
    c.at_least(size[i], 0, "a size");
    shape.push_back(size[i]);
  }
  shape.emplace_back(axes);
  c.output(0, c.dtype(0), shape);
}

// y[n, place..., i] = sum over k of theta[n, i, k] * coordinate k of the place, the last one being 1.
void define_affine_grid(DefineContext& c) {
  const Operand theta = c.in(0), y = c.out(0);
  const bool align_corners = c.integer("align_corners", 0) != 0;
  c.elementwise([&](const std::vector<Expr>& out) {
    const size_t axes = y.rank() - 2;
    auto element = [&](size_t k) { return theta.compute({out[0], out.back(), static_cast<int64_t>(k)}); };
    Scalar sum = element(axes);
    for (size_t k = 0; k < axes; ++k) {
      const Expr &index = out[axes - k], &extent = y.shape[axes - k];
      const Expr steps = align_corners ? max(extent - 1, 1) : extent;
      const Scalar numerator = scalar::cast(sum.dtype(), scalar::index(2 * index + (align_corners ? 0 : 1) - steps));
      Scalar coordinate = numerator / scalar::cast(sum.dtype(), scalar::index(steps));
      // A single element stands in the middle, as in PyTorch; ONNX's text divides by 0.
      if (align_corners) coordinate = scalar::select(less(1, extent), coordinate, number(sum, 0));
      sum = sum + element(k) * coordinate;
    }
    return sum;
  });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "GridSample", infer_grid_sample, define_grid_sample, unchanged, follows},
    {"", "AffineGrid", infer_affine_grid, define_affine_grid, unchanged},
};

}  // namespace

std::span<const OpRow> grid_sample_ops() { return rows; }

}  // namespace onnxc
