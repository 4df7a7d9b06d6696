// Conv and ConvTranspose: their shapes and their meaning. Fast kernels are tested against these definitions.
#include "ops/network/conv_spec.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// `expected` is how many channels of the input the weights are for.
void infer(InferContext& c, const ConvSpec& spec, const Expr& expected) {
  for (size_t i = 1; i < c.input_count() && c.has_input(i); ++i)
    c.check(c.dtype(i) == c.dtype(0), "inputs of one type are expected, found {} and {}", info(c.dtype(0)).name,
            info(c.dtype(i)).name);
  c.same(c.shape(0)[1], expected, "the input's channels must be those that the weights expect");
  for (const Expr& channels : {expected, spec.output_channels})
    c.same(mod(channels, spec.groups), 0, "the channels must be divisible by the attribute 'group'");
  if (c.has_input(2)) c.same(c.shape(2)[0], spec.output_channels, "the bias must have an element a channel");
  Shape shape{spec.batch, spec.output_channels};
  for (const WindowAxis& axis : spec.axes) {
    c.at_least(axis.output, 0, "the kernel must fit into the padded input");
    shape.push_back(axis.output);
  }
  c.output(0, c.dtype(0), shape);
}

void infer_conv(InferContext& c) {
  const ConvSpec spec = resolve_conv(c);
  infer(c, spec, c.shape(1)[1] * spec.groups);
}

void infer_conv_transpose(InferContext& c) { infer(c, resolve_conv_transpose(c), c.shape(1)[0]); }

Shape kernel_shape(const ConvSpec& spec) {
  Shape shape;
  for (const WindowAxis& axis : spec.axes) shape.push_back(axis.kernel);
  return shape;
}

Scalar with_bias(const DefineContext& c, const Scalar& sum, const Expr& channel) {
  if (!c.has_input(2)) return sum;
  return sum + c.in(2).compute({channel});
}

// y[n, f, o...] = b[f] + sum over c, k... of w[f, c, k...] * x[n, group(f) * C/g + c, o * stride + k * dilation - pad]
// with x zero outside its extent (ONNX Conv).
void define_conv(DefineContext& c) {
  ConvSpec spec = resolve_conv(c);
  Operand x = c.in(0), w = c.in(1), y = c.out(0);
  NestBuilder nest("conv");
  std::vector<Expr> out = nest.parallel(y.shape);
  Expr channel = nest.reduce(spec.input_channels_per_group());
  std::vector<Expr> taps = nest.reduce(kernel_shape(spec));

  std::vector<Expr> x_index{
      out[0], floor_div(out[1], spec.output_channels_per_group()) * spec.input_channels_per_group() + channel};
  std::vector<Expr> w_index{out[1], channel};
  Scalar inside;
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const WindowAxis& axis = spec.axes[i];
    Expr position = out[2 + i] * axis.stride + taps[i] * axis.dilation - axis.pad_begin;
    inside = both(inside, within(position, axis.input));
    x_index.push_back(position);
    w_index.push_back(taps[i]);
  }
  Scalar product = x.compute(x_index) * w.compute(w_index);
  Scalar sum = nest.accumulate(ReduceKind::sum, scalar::select(inside, product, scalar::constant(product.dtype(), 0)));
  nest.store(y, out, with_bias(c, sum, out[1]));
  c.emit(std::move(nest));
}

// y[n, f, o...] = b[f] + sum over the input elements i and taps k with i * stride + k * dilation - pad = o, written as
// a gather so that no two points of the loop store to one place (ONNX ConvTranspose; W is [C, M/group, k...]).
void define_conv_transpose(DefineContext& c) {
  ConvSpec spec = resolve_conv_transpose(c);
  Operand x = c.in(0), w = c.in(1), y = c.out(0);
  NestBuilder nest("conv_transpose");
  std::vector<Expr> out = nest.parallel(y.shape);
  Expr channel = nest.reduce(spec.input_channels_per_group());
  std::vector<Expr> taps = nest.reduce(kernel_shape(spec));

  Expr input_channel = floor_div(out[1], spec.output_channels_per_group()) * spec.input_channels_per_group() + channel;
  std::vector<Expr> x_index{out[0], input_channel};
  std::vector<Expr> w_index{input_channel, mod(out[1], spec.output_channels_per_group())};
  Scalar inside;
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const WindowAxis& axis = spec.axes[i];
    Expr scaled = out[2 + i] + axis.pad_begin - taps[i] * axis.dilation;
    Expr position = floor_div(scaled, axis.stride);
    Scalar divides = scalar::binary(ScalarOp::equal, scalar::index(mod(scaled, axis.stride)), scalar::index(0));
    inside = both(inside, both(divides, within(position, axis.input)));
    x_index.push_back(position);
    w_index.push_back(taps[i]);
  }
  Scalar product = x.compute(x_index) * w.compute(w_index);
  Scalar sum = nest.accumulate(ReduceKind::sum, scalar::select(inside, product, scalar::constant(product.dtype(), 0)));
  nest.store(y, out, with_bias(c, sum, out[1]));
  c.emit(std::move(nest));
}

constexpr OpRow rows[] = {
    {"", "Conv", infer_conv, define_conv, LayoutRule::follows},
    {"", "ConvTranspose", infer_conv_transpose, define_conv_transpose, LayoutRule::follows},
};

}  // namespace

std::span<const OpRow> convolution_ops() { return rows; }

}  // namespace onnxc
