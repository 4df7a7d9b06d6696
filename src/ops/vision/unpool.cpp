// The inverses of gathering windows: MaxUnpool puts pooled values back in their places, Col2Im adds the columns of a
// convolution up to an image.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/window_attributes.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

// ---------------------------------------------------------------------------------------------------- MaxUnpool

// The shape that the indices count in: that of the pool's input, as far as it follows from the output's (ONNX MaxUnpool
// 9, 11, 22).
Shape pooled_shape(const NodeReader& c) {
  const Shape& x = c.shape(0);
  c.check(x.size() >= 3, "an input [batch, channels, space] is expected, found {}", short_text(x));
  const size_t axes = x.size() - 2;
  c.check(c.has_attribute("kernel_shape"), "attribute 'kernel_shape' is missing");
  const std::vector<int64_t> kernel = per_axis(c, "kernel_shape", axes, 1, 1);
  const std::vector<int64_t> strides = per_axis(c, "strides", axes, 1, 1);
  const std::vector<int64_t> pads = begin_and_end_pads(c, axes);
  Shape shape{x[0], x[1]};
  for (size_t i = 0; i < axes; ++i) shape.push_back((x[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[axes + i]);
  return shape;
}

void infer_max_unpool(InferContext& c) {
  const Shape &x = c.shape(0), &indices = c.shape(1);
  c.check(c.dtype(1) == DType::int64, "indices of int64 are expected, found {}", info(c.dtype(1)).name);
  c.check(indices.size() == x.size(), "indices of the input's shape are expected, found {} for {}", short_text(indices),
          short_text(x));
  for (size_t i = 0; i < x.size(); ++i) c.same(indices[i], x[i], fmt::format("dim {} of the indices and the input", i));
  Shape shape = pooled_shape(c);
  for (size_t i = 2; i < shape.size(); ++i) c.at_least(shape[i], 0, "a dim that the pads leave");
  if (c.has_input(2)) {
    shape = c.needed_elements(2, "output_shape");
    c.check(shape.size() == x.size(), "an output_shape of {} is expected, found {}", counted(x.size(), "value"),
            shape.size());
    for (const Expr& dim : shape) c.at_least(dim, 0, "a dim of output_shape");
  }
  c.output(0, c.dtype(0), shape);
}

// y = 0; then y[the place of I[i...]] = x[i...]. A place outside of y is left out. A MaxPool gives several values for
// one place only if they are equal; that of the last window of a channel stands.
void define_max_unpool(DefineContext& c) {
  const Operand x = c.in(0), indices = c.in(1), y = c.out(0);
  c.elementwise([&](const std::vector<Expr>&) { return scalar::constant(y.dtype, 0); });
  const Shape counted = pooled_shape(c);
  NestBuilder nest("max_unpool");
  std::vector<Expr> from{nest.parallel(x.shape[0]), nest.parallel(x.shape[1])};
  for (size_t i = 2; i < x.rank(); ++i) from.push_back(nest.ordered(x.shape[i]));
  const Expr flat = nest.let(indices(from));
  std::vector<Expr> to(x.rank());
  Scalar inside = within(flat, product(counted));
  Expr rest = flat;
  for (size_t i = x.rank(); i-- > 0;) {
    to[i] = mod(rest, max(counted[i], 1));
    rest = floor_div(rest, max(counted[i], 1));
    inside = both(inside, less(to[i], y.shape[i]));
  }
  nest.store(y, to, x(from), StoreKind::assign, inside);
  c.emit(std::move(nest));
}

// ------------------------------------------------------------------------------------------------------- Col2Im

struct Columns {
  std::vector<WindowAxis> axes;  // `kernel` is not used: blocks may be symbolic
  Shape image, block, columns;   // of each spatial axis; columns counts the places of a block
};

Columns resolve_columns(const NodeReader& c, const std::vector<Expr>& image, const std::vector<Expr>& block) {
  const size_t axes = image.size();
  c.check(axes >= 1 && block.size() == axes, "image_shape has {} and block_shape {}; as many are expected",
          counted(axes, "value"), block.size());
  const std::vector<int64_t> strides = per_axis(c, "strides", axes, 1, 1);
  const std::vector<int64_t> dilations = per_axis(c, "dilations", axes, 1, 1);
  const std::vector<int64_t> pads = begin_and_end_pads(c, axes);
  Columns columns{std::vector<WindowAxis>(axes), image, block, {}};
  for (size_t i = 0; i < axes; ++i) {
    WindowAxis& axis = columns.axes[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    axis.pad_begin = pads[i];
    const Expr span = (block[i] - 1) * axis.dilation + 1;
    columns.columns.push_back(floor_div(image[i] + pads[i] + pads[axes + i] - span, axis.stride) + 1);
  }
  return columns;
}

// X [N, C * block size, columns] gives Y [N, C, image...] (ONNX Col2Im 18).
void infer_col2im(InferContext& c) {
  expect_type(c, 0, Types::numeric);
  const Columns columns = resolve_columns(c, c.needed_elements(1, "image_shape"), c.needed_elements(2, "block_shape"));
  const Shape& x = c.shape(0);
  c.check(x.size() == 3, "an input [batch, channels * block, columns] is expected, found {}", short_text(x));
  for (size_t i = 0; i < columns.axes.size(); ++i) {
    c.at_least(columns.image[i], 0, "a dim of image_shape");
    c.at_least(columns.block[i], 1, "a dim of block_shape");
    c.at_least(columns.columns[i], 0, "the number of blocks along an axis");
  }
  const Expr block = product(columns.block);
  c.same(mod(x[1], max(block, 1)), 0, fmt::format("the remainder of dim 1, {}, by the block", x[1].to_string()));
  c.same(x[2], product(columns.columns), "the columns and the blocks that the image holds");
  Shape shape{x[0], floor_div(x[1], max(block, 1))};
  shape.insert(shape.end(), columns.image.begin(), columns.image.end());
  c.output(0, c.dtype(0), shape);
}

// y[n, c, i...] = the sum over the elements k... of a block, of x[n, (c, k...), the block that has them at i...].
void define_col2im(DefineContext& c) {
  const Columns columns = resolve_columns(c, *c.elements(1), *c.elements(2));
  const Operand x = c.in(0), y = c.out(0);
  NestBuilder nest("col2im");
  const std::vector<Expr> out = nest.parallel(y.shape), taps = nest.reduce(columns.block);
  Expr row = out[1], column = 0;
  Scalar inside;
  for (size_t i = 0; i < taps.size(); ++i) {
    const WindowAxis& axis = columns.axes[i];
    const Expr start = out[2 + i] + axis.pad_begin - taps[i] * axis.dilation;
    const Expr place = floor_div(start, axis.stride);
    if (axis.stride != 1)
      inside = both(inside, scalar::binary(ScalarOp::equal, scalar::index(mod(start, axis.stride)), scalar::index(0)));
    inside = both(inside, within(place, columns.columns[i]));
    row = row * columns.block[i] + taps[i];
    column = column * columns.columns[i] + place;
  }
  const Scalar element = x.compute({out[0], row, column});
  nest.store(y, out,
             nest.accumulate(ReduceKind::sum, scalar::select(inside, element, scalar::constant(element.dtype(), 0))));
  c.emit(std::move(nest));
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "MaxUnpool", infer_max_unpool, define_max_unpool, unchanged},
    {"", "Col2Im", infer_col2im, define_col2im, unchanged},
};

}  // namespace

std::span<const OpRow> unpool_ops() { return rows; }

}  // namespace onnxc
