// DeformConv (ONNX 19, 22; Dai et al., "Deformable Convolutional Networks", 2017, with the mask of Zhu et al., 2018): a
// convolution whose taps stand at places that a tensor moves, and that are interpolated there.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/interpolation.h"
#include "ops/network/window_attributes.h"

namespace onnxc {
namespace {

constexpr size_t offset_input = 2, bias_input = 3, mask_input = 4;

int64_t tap_count(const ConvSpec& spec) {
  int64_t count = 1;
  for (const WindowAxis& axis : spec.axes) count *= axis.kernel;
  return count;
}

int64_t offset_groups(const NodeReader& c) {
  const int64_t groups = c.integer("offset_group", 1);
  c.check(groups >= 1, "attribute 'offset_group' must be at least 1, found {}", groups);
  return groups;
}

// X [N, C, space], W [M, C/group, kernel], offset [N, offset groups * taps * axes, places], B [M], mask [N, offset
// groups
// * taps, places] give Y [N, M, places].
void infer_deform_conv(InferContext& c) {
  expect_type(c, 0, Types::floating);
  for (size_t input : {bias_input, mask_input})
    c.check(!c.has_input(input) || c.dtype(input) == c.dtype(0), "input {} must be of the input's type, {}", input,
            info(c.dtype(0)).name);
  const ConvSpec spec = resolve_deform_conv(c);
  const Shape& x = c.shape(0);
  c.same(x[1], c.shape(1)[1] * spec.groups, "the input's channels must be those that the weights expect");
  c.same(mod(spec.output_channels, spec.groups), 0, "the channels must be divisible by the attribute 'group'");
  c.same(mod(x[1], offset_groups(c)), 0, "the channels must be divisible by the attribute 'offset_group'");
  if (c.has_input(bias_input))
    c.same(c.shape(bias_input)[0], spec.output_channels, "the bias must have an element a channel");
  Shape shape{spec.batch, spec.output_channels};
  for (const WindowAxis& axis : spec.axes) {
    c.at_least(axis.output, 0, "the kernel must fit into the padded input");
    shape.push_back(axis.output);
  }
  const int64_t taps = tap_count(spec) * offset_groups(c);
  auto check_places = [&](size_t input, int64_t channels, std::string_view role) {
    const Shape& given = c.shape(input);
    c.check(given.size() == shape.size(), "the {} must have the input's rank, found {}", role, to_string(given));
    for (size_t i = 0; i < shape.size(); ++i)
      c.same(given[i], i == 1 ? Expr(channels) : shape[i], fmt::format("dim {} of the {}", i, role));
  };
  check_places(offset_input, taps * std::ssize(spec.axes), "offset");
  if (c.has_input(mask_input)) check_places(mask_input, taps, "mask");
  c.output(0, c.dtype(0), shape);
}

// The taps of linear interpolation; what is outside of the axis counts as 0. A place far outside is moved nearer, so
// that its indices do not overflow.
std::vector<Tap> linear_taps(NestBuilder& nest, const Scalar& place, const Expr& extent) {
  const Scalar far = scalar::cast(place.dtype(), scalar::index(extent + 2));
  const Scalar near = maximum(minimum(place, far), number(place, -3));
  const Scalar below = scalar::unary(ScalarOp::floor, near), fraction = near - below;
  const Expr first = nest.let(below), second = first + 1;
  return {{first, number(fraction, 1) - fraction, within(first, extent)}, {second, fraction, within(second, extent)}};
}

// y[n, f, o...] = b[f] + the sum over c, k... of w[f, c, k...] * mask[n, (g, k...), o...] * x[n, c', o * stride + k *
// dilation - pad + offset[n, (g, k..., axis), o...]].
void define_deform_conv(DefineContext& c) {
  const ConvSpec spec = resolve_deform_conv(c);
  const Operand x = c.in(0), w = c.in(1), offset = c.in(offset_input), y = c.out(0);
  NestBuilder nest("deform_conv");
  const std::vector<Expr> out = nest.parallel(y.shape);
  const Expr of_group = nest.reduce(spec.input_channels_per_group());
  std::vector<Expr> w_index{out[1], of_group};
  for (const WindowAxis& axis : spec.axes) w_index.push_back(nest.reduce(axis.kernel));

  const Expr channel = floor_div(out[1], spec.output_channels_per_group()) * spec.input_channels_per_group() + of_group;
  Expr tap = floor_div(channel, floor_div(spec.input_channels, offset_groups(c)));
  for (size_t i = 0; i < spec.axes.size(); ++i) tap = tap * spec.axes[i].kernel + w_index[2 + i];

  std::vector<Expr> place = out;
  std::vector<std::vector<Tap>> taps{{{out[0]}}, {{channel}}};
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const WindowAxis& axis = spec.axes[i];
    place[1] = tap * std::ssize(spec.axes) + static_cast<int64_t>(i);
    const Scalar moved = offset.compute(place);
    const Expr start = out[2 + i] * axis.stride + w_index[2 + i] * axis.dilation - axis.pad_begin;
    taps.push_back(linear_taps(nest, scalar::cast(moved.dtype(), scalar::index(start)) + moved, axis.input));
  }
  Scalar value = weighted_sum(taps, [&](const std::vector<Expr>& at) { return x.compute(at); }) * w.compute(w_index);
  if (c.has_input(mask_input)) {
    place[1] = tap;
    value = value * c.in(mask_input).compute(place);
  }
  Scalar sum = nest.accumulate(ReduceKind::sum, value);
  if (c.has_input(bias_input)) sum = sum + c.in(bias_input).compute({out[1]});
  nest.store(y, out, sum);
  c.emit(std::move(nest));
}

constexpr OpRow rows[] = {
    {"", "DeformConv", infer_deform_conv, define_deform_conv, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> deform_conv_ops() { return rows; }

}  // namespace onnxc
