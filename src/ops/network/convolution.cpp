// Conv and ConvTranspose: their shapes and their meaning. Fast kernels are tested against these definitions.
#include "ops/families.h"
#include "ops/network/conv_spec.h"

namespace onnxc {
namespace {

// The shape of output 0. `expected` is how many channels of the input the weights are for.
Shape output_shape(InferContext& c, const ConvSpec& spec, const Expr& expected) {
  c.same(c.shape(0)[1], expected, "the input's channels must be those that the weights expect");
  for (const Expr& channels : {expected, spec.output_channels})
    c.same(mod(channels, spec.groups), 0, "the channels must be divisible by the attribute 'group'");
  Shape shape{spec.batch, spec.output_channels};
  for (const WindowAxis& axis : spec.axes) {
    c.at_least(axis.output, 0, "the kernel must fit into the padded input");
    shape.push_back(axis.output);
  }
  return shape;
}

void infer(InferContext& c, const ConvSpec& spec, const Expr& expected) {
  for (size_t i = 1; i < c.input_count() && c.has_input(i); ++i)
    c.check(c.dtype(i) == c.dtype(0), "inputs of one type are expected, found {} and {}", info(c.dtype(0)).name,
            info(c.dtype(i)).name);
  if (c.has_input(2)) c.same(c.shape(2)[0], spec.output_channels, "the bias must have an element a channel");
  c.output(0, c.dtype(0), output_shape(c, spec, expected));
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

// An element of the input or the weights, in the type of the sum.
using Factor = std::function<Scalar(const Operand& operand, const std::vector<Expr>& indices)>;

// y[n, f, o...] = b[f] + sum over c, k... of w[f, c, k...] * x[n, group(f) * C/g + c, o * stride + k * dilation - pad]
// with x zero outside its extent; b is left out if `has_bias` is false.
void define_sum(DefineContext& c, const ConvSpec& spec, bool has_bias, const Factor& of_input,
                const Factor& of_weights) {
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
  Scalar product = of_input(x, x_index) * of_weights(w, w_index);
  Scalar sum = nest.accumulate(ReduceKind::sum, scalar::select(inside, product, scalar::constant(product.dtype(), 0)));
  nest.store(y, out, has_bias ? with_bias(c, sum, out[1]) : sum);
  c.emit(std::move(nest));
}

// ONNX Conv.
void define_conv(DefineContext& c) {
  const Factor element = [](const Operand& operand, const std::vector<Expr>& at) { return operand.compute(at); };
  define_sum(c, resolve_conv(c), true, element, element);
}

// ----------------------------------------------------------------------------------------------------- ConvInteger

void infer_conv_integer(InferContext& c) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    c.check(c.dtype(i) == DType::uint8 || c.dtype(i) == DType::int8, "input {} must be of uint8 or int8, found {}", i,
            info(c.dtype(i)).name);
    c.check(!c.has_input(i + 2) || c.dtype(i + 2) == c.dtype(i), "input {} must be of the type of input {}", i + 2, i);
  }
  const ConvSpec spec = resolve_conv_integer(c);
  if (c.has_input(2)) c.one_number(2, "x_zero_point");
  if (c.has_input(3) && c.rank(3) > 0) {
    c.check(c.rank(3) == 1, "w_zero_point has shape {}; one number or one an output channel are expected",
            short_text(c.shape(3)));
    c.same(c.broadcast(c.shape(3)[0], spec.output_channels), spec.output_channels,
           "w_zero_point has one number, or one an output channel");
  }
  c.output(0, DType::int32, output_shape(c, spec, c.shape(1)[1] * spec.groups));
}

// The convolution of x - x_zero_point, which is 0 outside x, by w - w_zero_point, in 32 bits (ONNX ConvInteger 10).
void define_conv_integer(DefineContext& c) {
  const auto factor = [&c](size_t input) -> Factor {
    return [&c, input](const Operand& operand, const std::vector<Expr>& at) {
      const Scalar value = scalar::cast(DType::int32, operand(at));
      if (!c.has_input(input)) return value;
      const Operand zero = c.in(input);
      const std::vector<Expr> place =
          input == 3 && zero.rank() == 1 ? zero.broadcast_indices({at[0]}) : std::vector<Expr>(zero.rank(), 0);
      return value - scalar::cast(DType::int32, zero(place));
    };
  };
  define_sum(c, resolve_conv_integer(c), false, factor(2), factor(3));
}

// --------------------------------------------------------------------------------------------------- ConvTranspose

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

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Conv", infer_conv, define_conv, product, LayoutRule::follows},
    {"", "ConvInteger", infer_conv_integer, define_conv_integer, unchanged},
    {"", "ConvTranspose", infer_conv_transpose, define_conv_transpose, product, LayoutRule::follows},
};

}  // namespace

std::span<const OpRow> convolution_ops() { return rows; }

}  // namespace onnxc
