// DeformConv (ONNX 19, 22; Dai et al., "Deformable Convolutional Networks", 2017, with the mask of Zhu et al., 2018): a
// convolution whose taps stand at places that a tensor moves, and that are interpolated there.
//
// It is what its taps find (DeformedColumns), times the weights, by the kernels of MatMul. The elements under a tap are
// computed once for its offset group, and read for all of the group's channels, which lie next to each other. The
// columns take taps * C values a place in memory, as onnxruntime's do, of all images of the batch at once.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/network/interpolation.h"
#include "ops/network/window_attributes.h"

namespace onnxc {
namespace {

constexpr size_t offset_input = 2, bias_input = 3, mask_input = 4, product_input = 5;

int64_t tap_count(const ConvSpec& spec) {
  int64_t count = 1;
  for (const WindowAxis& axis : spec.axes) count *= axis.kernel;
  return count;
}

int64_t offset_groups_of(const NodeReader& c) {
  const int64_t groups = c.integer("offset_group", 1);
  c.check(groups >= 1, "attribute 'offset_group' must be at least 1, found {}", groups);
  return groups;
}

// X [N, C, space], W [M, C/group, kernel], offset [N, offset groups * taps * axes, places], B [M] and
// mask [N, offset groups * taps, places] give Y [N, M, places].
void check_deform_conv(InferContext& c) {
  expect_type(c, 0, Types::floating);
  for (size_t input : {bias_input, mask_input})
    c.check(!c.has_input(input) || c.dtype(input) == c.dtype(0), "input {} must be of the input's type, {}", input,
            info(c.dtype(0)).name);
  const ConvSpec spec = resolve_deform_conv(c);
  const Shape& x = c.shape(0);
  c.same(x[1], c.shape(1)[1] * spec.groups, "the input's channels must be those that the weights expect");
  c.same(mod(spec.output_channels, spec.groups), 0, "the channels must be divisible by the attribute 'group'");
  c.same(mod(x[1], offset_groups_of(c)), 0, "the channels must be divisible by the attribute 'offset_group'");
  if (c.has_input(bias_input))
    c.same(c.shape(bias_input)[0], spec.output_channels, "the bias must have an element a channel");
  Shape shape{spec.batch, spec.output_channels};
  for (const WindowAxis& axis : spec.axes) {
    c.at_least(axis.output, 0, "the kernel must fit into the padded input");
    shape.push_back(axis.output);
  }
  const int64_t taps = tap_count(spec) * offset_groups_of(c);
  auto check_places = [&](size_t input, int64_t channels, std::string_view role) {
    const Shape& given = c.shape(input);
    c.check(given.size() == shape.size(), "the {} must have the input's rank, found {}", role, short_text(given));
    for (size_t i = 0; i < shape.size(); ++i)
      c.same(given[i], i == 1 ? Expr(channels) : shape[i], fmt::format("dim {} of the {}", i, role));
  };
  check_places(offset_input, taps * std::ssize(spec.axes), "offset");
  if (c.has_input(mask_input)) check_places(mask_input, taps, "mask");
}

// The shared parts of the steps of the expansion: places are counted by one index, taps by another.
struct DeformSpec : ConvSpec {
  explicit DeformSpec(const NodeReader& c)
      : ConvSpec(resolve_deform_conv(c)), offset_groups(offset_groups_of(c)), taps(tap_count(*this)) {}

  Shape output_extents() const {
    Shape extents;
    for (const WindowAxis& axis : axes) extents.push_back(axis.output);
    return extents;
  }
  Expr depth() const { return input_channels_per_group() * taps; }

  int64_t offset_groups, taps;
};

// The input with its channels last, in the type that arithmetic is done in. Zeros stand around it, so that no tap is
// outside.
constexpr int64_t border = 2;

Operand with_zeros_around(DefineContext& c, const DeformSpec& spec) {
  const Operand x = c.in(0);
  Shape shape{spec.batch};
  for (const WindowAxis& axis : spec.axes) shape.push_back(axis.input + 2 * border);
  shape.push_back(spec.input_channels);
  const Operand padded = c.temporary("padded", info(x.dtype).compute, shape);
  NestBuilder zeros("deform_border");
  zeros.store(padded, zeros.parallel(shape), scalar::constant(padded.dtype, 0));
  c.emit(std::move(zeros));

  NestBuilder copy("deform_channels_last");
  const Expr n = copy.parallel(x.shape[0]), channel = copy.parallel(x.shape[1]);
  std::vector<Expr> from{n, channel}, to{n};
  for (const WindowAxis& axis : spec.axes) {
    from.push_back(copy.parallel(axis.input));
    to.push_back(from.back() + border);
  }
  to.push_back(channel);
  copy.store(padded, to, x.compute(from));
  c.emit(std::move(copy));
  return padded;
}

// For each offset group, tap and place: along each axis the first of the two elements that the tap stands between,
// counted from the border's first, and how far beyond it the tap stands.
struct Places {
  Operand first, fraction;
};

Places find_places(DefineContext& c, const DeformSpec& spec) {
  const Operand offset = c.in(offset_input);
  const DType dtype = info(offset.dtype).compute;
  const auto axes = std::ssize(spec.axes);
  Shape shape{spec.batch, spec.offset_groups * spec.taps * axes};
  for (const WindowAxis& axis : spec.axes) shape.push_back(axis.output);
  const Operand first = c.temporary("first", DType::int32, shape), fraction = c.temporary("fraction", dtype, shape);
  for (int64_t i = 0; i < axes; ++i) {
    const WindowAxis& axis = spec.axes[static_cast<size_t>(i)];
    NestBuilder nest("deform_places");
    const Expr n = nest.parallel(spec.batch), group = nest.parallel(spec.offset_groups);
    Expr tap = 0, along = 0;
    for (int64_t j = 0; j < axes; ++j) {
      const int64_t kernel = spec.axes[static_cast<size_t>(j)].kernel;
      const Expr k = nest.parallel(kernel);
      tap = tap * kernel + k;
      if (i == j) along = k;
    }
    std::vector<Expr> at{n, (group * spec.taps + tap) * axes + i};
    for (const WindowAxis& each : spec.axes) at.push_back(nest.parallel(each.output));
    const Expr start = at[2 + static_cast<size_t>(i)] * axis.stride + along * axis.dilation - axis.pad_begin;
    const Scalar place = scalar::cast(dtype, scalar::index(start)) + scalar::cast(dtype, offset(at));
    // Places outside are moved to the border if no element of the input is next to them: 0 times infinity is NaN.
    const Scalar far = scalar::cast(dtype, scalar::index(axis.input));
    const Scalar near = scalar::select(scalar::binary(ScalarOp::less_or_equal, place, number(place, -1)),
                                       number(place, -border), minimum(place, far));
    const Scalar below = scalar::unary(ScalarOp::floor, near);
    nest.store(first, at, scalar::cast(DType::int32, below + number(below, border)));
    nest.store(fraction, at, near - below);
    c.emit(std::move(nest));
  }
  Shape flat{shape[0], shape[1], product(spec.output_extents())};
  return {c.reshaped(first, flat), c.reshaped(fraction, flat)};
}

// The inputs of the node give [N, groups, places, taps * C/group].
void infer_deformed_columns(InferContext& c) {
  check_deform_conv(c);
  const DeformSpec spec(c);
  c.output(0, info(c.dtype(0)).compute, {spec.batch, spec.groups, product(spec.output_extents()), spec.depth()});
}

// The sum of the 2^axes elements around a place, each with its share.
Scalar interpolated(NestBuilder& nest, const DeformSpec& spec, const Operand& padded, const Places& places,
                    std::vector<Expr> at, const Expr& channel, const Scalar& factor) {
  const auto axes = std::ssize(spec.axes);
  const Expr tap = at[1];
  std::vector<Expr> firsts;
  std::vector<Scalar> fractions;
  for (int64_t i = 0; i < axes; ++i) {
    at[1] = tap * axes + i;
    firsts.push_back(clamped(nest.let(places.first(at)), spec.axes[static_cast<size_t>(i)].input + 2 * border - 1));
    fractions.push_back(scalar::cast(padded.dtype, places.fraction(at)));
  }
  Scalar sum;
  for (int64_t corner = 0; corner < int64_t{1} << axes; ++corner) {
    std::vector<Expr> element{at[0]};
    Scalar share = factor;
    for (size_t i = 0; i < firsts.size(); ++i) {
      const bool is_second = (corner >> i & 1) != 0;
      element.push_back(firsts[i] + (is_second ? 1 : 0));
      const Scalar weight = is_second ? fractions[i] : number(fractions[i], 1) - fractions[i];
      share = share ? share * weight : weight;
    }
    element.push_back(channel);
    const Scalar term = padded(element) * share;
    sum = sum ? sum + term : term;
  }
  return sum;
}

// sampled[n, place, (tap, c)] = mask[n, (offset group, tap), place] * x[n, c, the place of the tap]. The channels of an
// offset group are the innermost loop, around which its places are read.
void sample(DefineContext& c, const DeformSpec& spec, const Operand& sampled) {
  const Operand padded = with_zeros_around(c, spec);
  const Places places = find_places(c, spec);
  NestBuilder nest("deform_columns");
  const Expr n = nest.parallel(spec.batch), place = nest.parallel(sampled.shape[1]), tap = nest.parallel(spec.taps);
  const Expr group = nest.parallel(spec.offset_groups), width = floor_div(spec.input_channels, spec.offset_groups);
  const Expr channel = group * width + nest.parallel(width);
  const std::vector<Expr> at{n, group * spec.taps + tap, place};
  Scalar factor;
  if (c.has_input(mask_input)) {
    const Operand mask = c.in(mask_input);
    factor = scalar::cast(padded.dtype, c.reshaped(mask, {mask.shape[0], mask.shape[1], sampled.shape[1]})(at));
  }
  nest.store(sampled, {n, place, tap * spec.input_channels + channel},
             interpolated(nest, spec, padded, places, at, channel, factor));
  c.emit(std::move(nest));
}

// columns[n, g, place, (tap, c)] = sampled[n, place, (tap, g, c)].
void define_deformed_columns(DefineContext& c) {
  const DeformSpec spec(c);
  const Operand columns = c.out(0);
  const Shape in_order{spec.batch, columns.shape[2], spec.input_channels * spec.taps};
  if (spec.groups == 1) return sample(c, spec, c.reshaped(columns, in_order));
  const Operand sampled = c.temporary("sampled", columns.dtype, in_order);
  sample(c, spec, sampled);
  NestBuilder nest("deform_groups");
  const Expr n = nest.parallel(spec.batch), group = nest.parallel(spec.groups), place = nest.parallel(columns.shape[2]);
  const Expr tap = nest.parallel(spec.taps), width = spec.input_channels_per_group(), of_group = nest.parallel(width);
  nest.store(columns, {n, group, place, tap * width + of_group},
             sampled({n, place, tap * spec.input_channels + group * width + of_group}));
  c.emit(std::move(nest));
}

// W [M, C/group, kernel] as [groups, taps * C/group, M/group], in the type that arithmetic is done in.
void infer_deformed_weights(InferContext& c) {
  const Shape& w = c.shape(0);
  const int64_t groups = c.integer("group");
  c.output(0, info(c.dtype(0)).compute, {groups, product(Shape(w.begin() + 1, w.end())), floor_div(w[0], groups)});
}

void define_deformed_weights(DefineContext& c) {
  const Operand w = c.in(0), y = c.out(0);
  NestBuilder nest("deform_weights");
  const Expr group = nest.parallel(y.shape[0]);
  Expr tap = 0;
  std::vector<Expr> from{0, 0};
  for (size_t i = 2; i < w.rank(); ++i) {
    from.push_back(nest.parallel(w.shape[i]));
    tap = tap * w.shape[i] + from.back();
  }
  from[1] = nest.parallel(w.shape[1]);
  const Expr filter = nest.parallel(y.shape[2]);
  from[0] = group * y.shape[2] + filter;
  nest.store(y, {group, tap * w.shape[1] + from[1], filter}, w.compute(from));
  c.emit(std::move(nest));
}

// The inputs of the node and the product [N, groups, places, M/group] give Y.
void infer_deformed_output(InferContext& c) {
  const DeformSpec spec(c);
  Shape shape{spec.batch, spec.output_channels};
  for (const Expr& extent : spec.output_extents()) shape.push_back(extent);
  c.output(0, c.dtype(0), shape);
}

void define_deformed_output(DefineContext& c) {
  const DeformSpec spec(c);
  const Operand y = c.out(0), given = c.in(product_input);
  Shape shape{given.shape[0], given.shape[1]};
  for (const Expr& extent : spec.output_extents()) shape.push_back(extent);
  shape.push_back(given.shape[3]);
  const Operand sums = c.reshaped(given, shape);
  NestBuilder nest("deform_output");
  const Expr n = nest.parallel(y.shape[0]), group = nest.parallel(given.shape[1]),
             of_group = nest.parallel(shape.back());
  const Expr filter = group * shape.back() + of_group;
  std::vector<Expr> from{n, group}, to{n, filter};
  for (const Expr& extent : spec.output_extents()) {
    from.push_back(nest.parallel(extent));
    to.push_back(from.back());
  }
  from.push_back(of_group);
  const Scalar sum = sums(from);
  nest.store(y, to, c.has_input(bias_input) ? sum + c.in(bias_input).compute({filter}) : sum);
  c.emit(std::move(nest));
}

void expand_deform_conv(ExpandContext& c) {
  const std::vector<NamedAttribute>& attributes = c.node().attributes;
  const std::vector<Value*> inputs{c.in(0), c.in(1), c.in(offset_input), c.in(bias_input), c.in(mask_input)};
  Value* const columns = c.add_row(internal_domain, "DeformedColumns", inputs, 1, attributes)[0];
  Value* const weights =
      c.add_row(internal_domain, "DeformedWeights", {c.in(1)}, 1, {{"group", c.integer("group", 1)}})[0];
  std::vector<Value*> all = inputs;
  all.push_back(c.add("MatMul", {columns, weights}));
  c.give_row(internal_domain, "DeformConv", all, attributes);
}

constexpr OpRow rows[] = {
    {.domain = "", .name = "DeformConv", .expand = expand_deform_conv},
    {internal_domain, "DeformedColumns", infer_deformed_columns, define_deformed_columns, StorageRule::unchanged},
    {internal_domain, "DeformedWeights", infer_deformed_weights, define_deformed_weights, StorageRule::unchanged},
    {internal_domain, "DeformConv", infer_deformed_output, define_deformed_output, StorageRule::unchanged,
     LayoutRule::follows},
};

}  // namespace

std::span<const OpRow> deform_conv_ops() { return rows; }

}  // namespace onnxc
