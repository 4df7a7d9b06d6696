// Normalisations over chosen axes: LayerNormalization, RMSNormalization, MeanVarianceNormalization, LpNormalization;
// and LRN, over neighbouring channels.
#include "ops/families.h"
#include "ops/network/normalization_spec.h"
#include "ops/network/statistics.h"

namespace onnxc {
namespace {

// ---------------------------------------------------------------------- LayerNormalization and RMSNormalization

FoldedAxes last_axes(const NodeReader& node) {
  return FoldedAxes::from(node.shape(0), resolve_layer_normalization(node).first_axis);
}

DType stash_type(const NodeReader& node) {
  return dtype_attribute(node, "stash_type", node.integer("stash_type", 1), Types::floating);
}

void expect_scale(InferContext& c, size_t input) {
  expect_type(c, input, Types::floating);
  expect_broadcasts_to_first(c, input);
}

void infer_layer_normalization(InferContext& c) {
  expect_type(c, 0, Types::floating);
  expect_scale(c, 1);
  if (c.has_input(2)) expect_scale(c, 2);
  Shape statistics = last_axes(c).shape_with_ones();
  c.output(0, c.dtype(0), c.shape(0));
  c.output(1, stash_type(c), statistics);
  c.output(2, stash_type(c), statistics);
}

void define_layer_normalization(DefineContext& c) {
  Operand x = c.in(0), scale = c.in(1);
  FoldedAxes axes = last_axes(c);
  Moments statistics = moments(c, x, axes);
  auto inverse = [&](const Indices& i) { return inverse_deviation(statistics.variance(axes.kept(i)), epsilon_of(c)); };
  if (c.has_output(0))
    c.elementwise([&](const Indices& i) {
      Scalar y = statistics.centered(x.compute(i), axes.kept(i)) * inverse(i) *
                 parameter(c, scale, scale.broadcast_indices(i));
      if (!c.has_input(2)) return y;
      Operand shift = c.in(2);
      return y + parameter(c, shift, shift.broadcast_indices(i));
    });
  if (c.has_output(1)) c.elementwise([&](const Indices& i) { return statistics.mean(axes.kept(i)); }, 1);
  if (c.has_output(2)) c.elementwise(inverse, 2);
}

void infer_rms_normalization(InferContext& c) {
  expect_type(c, 0, Types::floating);
  expect_scale(c, 1);
  last_axes(c);
  stash_type(c);
  c.output(0, c.dtype(1), c.shape(0));
}

void define_rms_normalization(DefineContext& c) {
  Operand x = c.in(0), scale = c.in(1);
  FoldedAxes axes = last_axes(c);
  Operand factor = mean_of(
      c, "inverse_root_mean_square", axes.kept_shape(), axes.folded_shape(),
      [&](const Indices& kept, const Indices& folded) {
        Scalar value = x.compute(axes.join(kept, folded));
        return value * value;
      },
      [&](const Scalar& mean) { return inverse_deviation(mean, epsilon_of(c)); });
  c.elementwise([&](const Indices& i) {
    return x.compute(i) * factor(axes.kept(i)) * parameter(c, scale, scale.broadcast_indices(i));
  });
}

// ----------------------------------------------------------------------------------------- MeanVarianceNormalization

FoldedAxes mean_variance_axes(const NodeReader& node) {
  std::vector<bool> folded(node.rank(0), false);
  for (int64_t axis : node.integers("axes", {0, 2, 3})) folded[node.axis(axis, node.rank(0))] = true;
  return {node.shape(0), std::move(folded)};
}

void infer_mean_variance(InferContext& c) {
  expect_type(c, 0, Types::floating);
  mean_variance_axes(c);
  c.output(0, c.dtype(0), c.shape(0));
}

// (x - mean) / (sqrt(variance) + 1e-9), as the function body that ONNX gives for it.
void define_mean_variance(DefineContext& c) {
  Operand x = c.in(0);
  FoldedAxes axes = mean_variance_axes(c);
  Moments statistics = moments(c, x, axes);
  c.elementwise([&](const Indices& i) {
    Scalar deviation = square_root(statistics.variance(axes.kept(i)));
    return statistics.centered(x.compute(i), axes.kept(i)) / (deviation + number(deviation, 1e-9));
  });
}

// --------------------------------------------------------------------------------------------------- LpNormalization

FoldedAxes norm_axis(const NodeReader& node) {
  return FoldedAxes::one(node.shape(0), node.axis(node.integer("axis", -1), node.rank(0)));
}

void infer_lp_normalization(InferContext& c) {
  expect_type(c, 0, Types::floating);
  int64_t p = c.integer("p", 2);
  c.check(p == 1 || p == 2, "attribute 'p' must be 1 or 2, found {}", p);
  norm_axis(c);
  c.output(0, c.dtype(0), c.shape(0));
}

// Divided by the norm, or 0 if the norm is 0.
void define_lp_normalization(DefineContext& c) {
  Operand x = c.in(0);
  FoldedAxes axes = norm_axis(c);
  bool absolute_values = c.integer("p", 2) == 1;
  Operand norm = c.temporary("norm", compute_type(c), axes.kept_shape());
  NestBuilder nest("norm");
  Indices kept = nest.parallel(norm.shape);
  Scalar value = x.compute(axes.join(kept, nest.reduce(axes.folded_shape())));
  Scalar sum = nest.accumulate(ReduceKind::sum, absolute_values ? absolute(value) : value * value);
  nest.store(norm, kept, absolute_values ? sum : square_root(sum));
  c.emit(std::move(nest));
  c.elementwise([&](const Indices& i) {
    Scalar divisor = norm(axes.kept(i));
    return scalar::select(equal(divisor, number(divisor, 0)), number(divisor, 0), x.compute(i) / divisor);
  });
}

// -------------------------------------------------------------------------------------------------------------- LRN

void infer_local_response(InferContext& c) {
  expect_channels(c);
  int64_t size = c.integer("size");
  c.check(size > 0, "attribute 'size' must be positive, found {}", size);
  c.output(0, c.dtype(0), c.shape(0));
}

// x / (bias + alpha / size * sum of squares of the `size` channels around)^beta; if size is even, the window has one
// more channel after than before.
void define_local_response(DefineContext& c) {
  Operand x = c.in(0), y = c.out(0);
  int64_t size = c.integer("size");
  NestBuilder nest("local_response");
  Indices out = nest.parallel(y.shape);
  Indices neighbour = out;
  neighbour[1] = out[1] + nest.reduce(size) - (size - 1) / 2;
  Scalar value = x.compute(neighbour);
  Scalar squares = nest.accumulate(ReduceKind::sum,
                                   scalar::select(within(neighbour[1], x.shape[1]), value * value, number(value, 0)));
  Scalar base = number(squares, c.real("bias", 1)) + number(squares, c.real("alpha", 1e-4F) / double(size)) * squares;
  nest.store(y, out, x.compute(out) / scalar::binary(ScalarOp::power, base, number(squares, c.real("beta", 0.75F))));
  c.emit(std::move(nest));
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "LayerNormalization", infer_layer_normalization, define_layer_normalization, computes},
    {"", "RMSNormalization", infer_rms_normalization, define_rms_normalization, computes},
    {"", "MeanVarianceNormalization", infer_mean_variance, define_mean_variance, unchanged, follows},
    {"", "LpNormalization", infer_lp_normalization, define_lp_normalization, unchanged, follows},
    {"", "LRN", infer_local_response, define_local_response, unchanged, follows},
};

}  // namespace

std::span<const OpRow> layer_normalization_ops() { return rows; }

}  // namespace onnxc
