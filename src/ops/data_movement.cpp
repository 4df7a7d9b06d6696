// Operators that move data without computing: reshaping, transposing, slicing, joining, padding.
#include <algorithm>
#include <numeric>
#include <set>

#include "ops/op.h"

namespace onnxc {
namespace {

std::vector<Expr> all_zero(size_t count) { return std::vector<Expr>(count, 0); }

// out[i] = in[source(i)], element by element.
void define_copy(DefineContext& c, const std::function<std::vector<Expr>(const std::vector<Expr>&)>& source) {
  Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return x(source(i)); });
}

// The output is the input's elements in row-major order under the output's shape.
void define_reshape(DefineContext& c) {
  Operand reshaped = c.reshaped(c.in(0), c.out(0).shape);
  c.elementwise([&](const std::vector<Expr>& i) { return reshaped(i); });
}

std::vector<size_t> axes_of(const NodeReader& c, const std::vector<Expr>& values, size_t rank) {
  std::vector<size_t> axes;
  for (const Expr& value : values) {
    std::optional<int64_t> axis = value.constant();
    c.check(axis.has_value(), "axes must be known when the model is compiled, found {}", value.to_string());
    size_t normal = c.axis(*axis, rank);
    c.check(std::find(axes.begin(), axes.end(), normal) == axes.end(), "axis {} is given twice", *axis);
    axes.push_back(normal);
  }
  return axes;
}

// ----------------------------------------------------------------------------------------- Reshape and its kin

// A dim of the new shape that may be 0 (copy), -1 (what is left) or a size: only a run knows which.
bool is_open(const Expr& dim) {
  const std::set<Symbol> symbols = dim.symbols();
  return std::ranges::any_of(symbols, [](const Symbol& symbol) { return symbol.info().bounds.minimum < 0; });
}

// What a run computes such dims from. A dim that cannot be is -1, which the binding refuses.
void bind_open_dims(DefineContext& c, const std::vector<Expr>& wanted) {
  const Shape& from = c.shape(0);
  const bool zero_is_zero = c.integer("allowzero", 0) != 0;
  auto number = [](int64_t value) { return scalar::index(value); };
  auto is = [&](const Scalar& value, int64_t other) { return scalar::binary(ScalarOp::equal, value, number(other)); };
  std::vector<Scalar> known;  // sizes with 1 in place of -1
  Scalar rest = scalar::index(product(from)), divisor = number(1), inferred_count = number(0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    Scalar dim = scalar::index(wanted[i]);
    Scalar copied = zero_is_zero ? number(0) : i < from.size() ? scalar::index(from[i]) : number(-1);
    known.push_back(scalar::select(is(dim, -1), number(1), scalar::select(is(dim, 0), copied, dim)));
    divisor = divisor * known.back();
    inferred_count = inferred_count + scalar::cast(DType::int64, is(dim, -1));
  }
  Scalar can_infer = both(is(inferred_count, 1), scalar::unary(ScalarOp::logical_not, is(divisor, 0)));
  Scalar inferred = scalar::select(can_infer, rest / divisor, number(-1));
  std::vector<Scalar> values;
  for (size_t i = 0; i < wanted.size(); ++i)
    values.push_back(scalar::select(is(scalar::index(wanted[i]), -1), inferred, known[i]));
  c.bind(c.out(0).shape, values);
}

void define_reshape_to(DefineContext& c) {
  const std::vector<Expr> wanted = *c.integers_from(1, "shape");
  if (std::ranges::any_of(wanted, is_open)) bind_open_dims(c, wanted);
  define_reshape(c);
}

// ONNX Reshape: 0 copies the input's dim (unless allowzero), one -1 takes what is left.
void infer_reshape(InferContext& c) {
  std::optional<std::vector<Expr>> wanted = c.integers_from(1, "shape");
  c.check(wanted.has_value(), "the new shape is missing: input 1, or attribute 'shape' before version 5");
  const Shape& from = c.shape(0);
  bool zero_is_zero = c.integer("allowzero", 0) != 0;
  Shape shape;
  std::optional<size_t> inferred;
  Expr known = 1;
  const bool has_open = std::ranges::any_of(*wanted, is_open);
  for (size_t i = 0; i < wanted->size(); ++i) {
    Expr dim = (*wanted)[i];
    if (is_open(dim) || (has_open && dim.is_constant(-1))) {
      shape.push_back(c.run_time_dim(0, i));
      continue;
    }
    if (dim.is_constant(-1)) {
      c.check(!inferred, "the new shape {} holds more than one -1", to_string(*wanted));
      inferred = i;
      shape.push_back(1);
      continue;
    }
    if (dim.is_constant(0) && !zero_is_zero) {
      c.check(i < from.size(), "dim {} of the new shape {} is 0 (copy), but the input has rank {}", i,
              to_string(*wanted), from.size());
      dim = from[i];
    }
    c.check(!proven_less(dim, 0), "the new shape {} holds a negative dim", to_string(*wanted));
    shape.push_back(dim);
    known *= dim;
  }
  Expr total = product(from);
  if (inferred) {
    c.check(!known.is_constant(0), "the new shape {} holds both -1 and 0", to_string(*wanted));
    shape[*inferred] = exact_quotient(total, known).value_or(floor_div(total, known));
  }
  c.same(total, product(shape),
         fmt::format("{} elements of the input {} cannot take the shape {}", total.to_string(), to_string(from),
                     to_string(*wanted)));
  c.output(0, c.dtype(0), shape);
}

// ONNX Flatten: two dims, the product before the axis and the product from it on; the axis may be the rank.
void infer_flatten(InferContext& c) {
  const Shape& from = c.shape(0);
  auto rank = static_cast<int64_t>(from.size());
  int64_t axis = c.integer("axis", 1);
  c.check(axis >= -rank && axis <= rank, "axis {} is out of range for a tensor of rank {}", axis, rank);
  auto split = from.begin() + (axis < 0 ? axis + rank : axis);
  c.output(0, c.dtype(0), {product(Shape(from.begin(), split)), product(Shape(split, from.end()))});
}

void infer_squeeze(InferContext& c) {
  const Shape& from = c.shape(0);
  std::optional<std::vector<Expr>> given = c.integers_from(1, "axes");
  std::vector<size_t> axes;
  if (given) {
    axes = axes_of(c, *given, from.size());
    for (size_t axis : axes) c.same(from[axis], 1, fmt::format("axis {} that is squeezed must be 1", axis));
  } else {
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i].is_constant(1)) axes.push_back(i);
  }
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) shape.push_back(from[i]);
  c.output(0, c.dtype(0), shape);
}

void infer_unsqueeze(InferContext& c) {
  std::optional<std::vector<Expr>> given = c.integers_from(1, "axes");
  c.check(given.has_value(), "the axes are missing");
  const Shape& from = c.shape(0);
  std::vector<size_t> axes = axes_of(c, *given, from.size() + given->size());
  Shape shape;
  auto next = from.begin();
  for (size_t i = 0; i < from.size() + axes.size(); ++i)
    shape.push_back(std::find(axes.begin(), axes.end(), i) != axes.end() ? Expr(1) : *next++);
  c.output(0, c.dtype(0), shape);
}

// --------------------------------------------------------------------------------------------------- Transpose

std::vector<size_t> permutation(const NodeReader& c) {
  size_t rank = c.rank(0);
  std::vector<int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  order = c.integers("perm", order);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> identity(rank);
  std::iota(identity.begin(), identity.end(), 0);
  c.check(sorted == identity, "attribute 'perm' is [{}]; a permutation of {} axes is expected", fmt::join(order, ", "),
          rank);
  return {order.begin(), order.end()};
}

void infer_transpose(InferContext& c) {
  Shape shape;
  for (size_t axis : permutation(c)) shape.push_back(c.shape(0)[axis]);
  c.output(0, c.dtype(0), shape);
}

void define_transpose(DefineContext& c) {
  std::vector<size_t> order = permutation(c);
  define_copy(c, [&](const std::vector<Expr>& i) {
    std::vector<Expr> source = all_zero(order.size());
    for (size_t axis = 0; axis < order.size(); ++axis) source[order[axis]] = i[axis];
    return source;
  });
}

// ------------------------------------------------------------------------------------------------------- Slice

// One axis of a Slice, resolved: element i of the output is element start + i * step of the input.
struct SliceAxis {
  Expr start = 0;
  int64_t step = 1;
  Expr count;
};

// An index given from either end: negative ones count from the end. Where the sign is not proven (`D - 3`, `-(D//2)`,
// or what only a run knows) the index is first brought into [least, extent], so that nothing can overflow.
Expr from_either_end(const Expr& index, const Expr& extent, const Expr& least) {
  if (proven_less(index, 0)) return index + extent;
  if (proven_at_least(index, 0)) return index;
  Expr near = max(min(index, extent), least);
  return near + extent * min(max(-near, 0), 1);
}

// ONNX Slice (10 and later): starts and ends are clamped to [0, extent] for a positive step, to [-1, extent - 1] for a
// negative one.
SliceAxis resolve_slice(const NodeReader& c, const Expr& extent, const Expr& start, const Expr& end, int64_t step) {
  c.check(step != 0, "a step of 0");
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
          "starts, ends, axes and steps have {}, {}, {} and {} values; as many of each are expected", starts->size(),
          ends->size(), given_axes.size(), steps.size());
  std::vector<SliceAxis> result;
  for (const Expr& extent : from) result.push_back({0, 1, extent});
  std::vector<size_t> axes = axes_of(c, given_axes, from.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<int64_t> step = steps[i].constant();
    c.check(step.has_value(), "steps must be known when the model is compiled, found {}", steps[i].to_string());
    result[axes[i]] = resolve_slice(c, from[axes[i]], (*starts)[i], (*ends)[i], *step);
  }
  return result;
}

void infer_slice(InferContext& c) {
  Shape shape;
  for (const SliceAxis& axis : slice_axes(c)) shape.push_back(axis.count);
  c.output(0, c.dtype(0), shape);
}

void define_slice(DefineContext& c) {
  std::vector<SliceAxis> axes = slice_axes(c);
  define_copy(c, [&](const std::vector<Expr>& i) {
    std::vector<Expr> source;
    for (size_t axis = 0; axis < axes.size(); ++axis) source.push_back(axes[axis].start + i[axis] * axes[axis].step);
    return source;
  });
}

// -------------------------------------------------------------------------------------------- Concat and Split

void infer_concat(InferContext& c) {
  c.check(c.input_count() > 0, "at least one input is expected");
  Shape shape = c.shape(0);
  size_t axis = c.axis(c.version() < 4 ? c.integer("axis", 1) : c.integer("axis"), shape.size());
  for (size_t i = 1; i < c.input_count(); ++i) {
    const Shape& other = c.shape(i);
    c.check(c.dtype(i) == c.dtype(0), "inputs of one type are expected, found {} and {}", info(c.dtype(0)).name,
            info(c.dtype(i)).name);
    c.check(other.size() == shape.size(), "inputs of one rank are expected, found {} and {}", to_string(shape),
            to_string(other));
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == axis)
        shape[d] += other[d];
      else
        shape[d] = c.same(shape[d], other[d], fmt::format("dim {} of every input must agree", d));
    }
  }
  c.output(0, c.dtype(0), shape);
}

void define_concat(DefineContext& c) {
  Operand y = c.out(0);
  size_t axis = c.axis(c.version() < 4 ? c.integer("axis", 1) : c.integer("axis"), y.rank());
  Expr begin = 0;
  for (size_t i = 0; i < c.input_count(); ++i) {
    Operand x = c.in(i);
    NestBuilder nest("concat");
    std::vector<Expr> source = nest.parallel(x.shape), destination = source;
    destination[axis] += begin;
    nest.store(y, destination, x(source));
    c.emit(std::move(nest));
    begin += x.shape[axis];
  }
}

// The extents of a Split's outputs along its axis: given, or equal parts of which the last may be smaller (18).
std::vector<Expr> split_extents(const NodeReader& c, const Expr& extent) {
  auto given = c.integers_from(1, "split");
  size_t outputs = c.output_count();
  if (given) {
    c.check(given->size() == outputs, "{} parts are given for {} outputs", given->size(), outputs);
    for (const Expr& part : *given) c.check(!proven_less(part, 0), "a part of {} elements", part.to_string());
    return *given;
  }
  if (c.has_attribute("num_outputs"))
    c.check(c.integer("num_outputs") == static_cast<int64_t>(outputs), "attribute 'num_outputs' is {} for {} outputs",
            c.integer("num_outputs"), outputs);
  auto count = static_cast<int64_t>(outputs);
  Expr part = ceil_div(extent, count);
  std::vector<Expr> parts(outputs, part);
  parts.back() = extent - part * (count - 1);
  return parts;
}

void infer_split(InferContext& c) {
  const Shape& from = c.shape(0);
  size_t axis = c.axis(c.integer("axis", 0), from.size());
  std::vector<Expr> parts = split_extents(c, from[axis]);
  Expr total = 0;
  for (const Expr& part : parts) total += part;
  c.same(total, from[axis], "the parts must add up to the axis");
  for (const Expr& part : parts) c.at_least(part, 0, "the axis must have elements for every part");
  for (size_t i = 0; i < parts.size(); ++i) {
    Shape shape = from;
    shape[axis] = parts[i];
    c.output(i, c.dtype(0), shape);
  }
}

void define_split(DefineContext& c) {
  Operand x = c.in(0);
  size_t axis = c.axis(c.integer("axis", 0), x.rank());
  std::vector<Expr> parts = split_extents(c, x.shape[axis]);
  Expr begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (c.has_output(i)) {
      c.elementwise(
          [&](const std::vector<Expr>& indices) {
            std::vector<Expr> source = indices;
            source[axis] += begin;
            return x(source);
          },
          i);
    }
    begin += parts[i];
  }
}

// --------------------------------------------------------------------------------------------- Expand and Tile

void infer_expand(InferContext& c) {
  auto shape = c.integers_from(1, "shape");
  c.check(shape.has_value(), "the shape to expand to is missing");
  for (const Expr& dim : *shape) {
    c.check(!proven_less(dim, 0), "the shape {} holds a negative dim", to_string(*shape));
    if (is_open(dim)) c.at_least(dim, 0, "a dim of the shape to expand to");
  }
  c.output(0, c.dtype(0), c.broadcast(c.shape(0), *shape));
}

void define_expand(DefineContext& c) {
  Operand x = c.in(0);
  define_copy(c, [&](const std::vector<Expr>& i) { return x.broadcast_indices(i); });
}

// Version 1 repeats along one axis; its number of tiles and its axis are of the data's type.
std::vector<Expr> single_repeat(const NodeReader& c) {
  auto number = [&](size_t input, std::string_view name) {
    const Tensor* tensor = c.constant(input);
    c.check(tensor != nullptr && tensor->size() == 1, "input {} ({}) must be a constant of one element", input, name);
    return static_cast<int64_t>(tensor->as_double().front());
  };
  std::vector<Expr> repeats(c.rank(0), 1);
  repeats[c.axis(number(2, "axis"), repeats.size())] = number(1, "tiles");
  return repeats;
}

void infer_tile(InferContext& c) {
  auto repeats = c.version() < 6 ? single_repeat(c) : c.integers_from(1, "repeats");
  const Shape& from = c.shape(0);
  c.check(repeats && repeats->size() == from.size(), "one repeat a dim of {} is expected", to_string(from));
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    c.check(!proven_less((*repeats)[i], 0), "a repeat of {}", (*repeats)[i].to_string());
    if (is_open((*repeats)[i])) c.at_least((*repeats)[i], 0, "a repeat");
    shape.push_back(from[i] * (*repeats)[i]);
  }
  c.output(0, c.dtype(0), shape);
}

void define_tile(DefineContext& c) {
  Operand x = c.in(0);
  define_copy(c, [&](const std::vector<Expr>& i) {
    std::vector<Expr> source;
    for (size_t axis = 0; axis < i.size(); ++axis) source.push_back(mod(i[axis], x.shape[axis]));
    return source;
  });
}

// --------------------------------------------------------------------------------------------------------- Pad

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
  if (c.version() >= 18)
    if (auto given = c.integers_from(3, "axes")) axes = axes_of(c, *given, rank);
  c.check(pads->size() == 2 * axes.size(), "{} pads are given; {} are expected, begin and end of each axis",
          pads->size(), 2 * axes.size());
  Padding padding{all_zero(rank), all_zero(rank)};
  for (size_t i = 0; i < axes.size(); ++i) {
    padding.begin[axes[i]] = (*pads)[i];
    padding.end[axes[i]] = (*pads)[axes.size() + i];
  }
  return padding;
}

void infer_pad(InferContext& c) {
  std::string mode = c.text("mode", "constant");
  c.check(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap",
          "mode '{}' is none of constant, reflect, edge, wrap", mode);
  Padding padding = padding_of(c);
  Shape shape;
  for (size_t i = 0; i < padding.begin.size(); ++i) {
    Expr dim = c.shape(0)[i] + padding.begin[i] + padding.end[i];
    c.at_least(dim, 0, "a negative pad may not take more than there is");
    shape.push_back(dim);
  }
  c.output(0, c.dtype(0), shape);
}

Scalar pad_value(const DefineContext& c, DType dtype) {
  if (c.has_input(2) && c.version() >= 11) {
    Operand value = c.in(2);
    return value(all_zero(value.rank()));
  }
  return scalar::constant(dtype, c.real("value", 0));
}

// The element of an axis that stands at `position` outside of it.
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
  std::string mode = c.text("mode", "constant");
  c.elementwise([&](const std::vector<Expr>& i) {
    std::vector<Expr> source;
    Scalar inside;
    for (size_t axis = 0; axis < i.size(); ++axis) {
      Expr position = i[axis] - padding.begin[axis];
      bool untouched = padding.begin[axis].is_constant(0) && padding.end[axis].is_constant(0);
      if (!untouched && mode == "constant") inside = both(inside, within(position, x.shape[axis]));
      source.push_back(untouched || mode == "constant" ? position : mirrored(mode, position, x.shape[axis]));
    }
    Scalar value = x(source);
    return inside ? scalar::select(inside, value, pad_value(c, x.dtype)) : value;
  });
}

// ------------------------------------------------------------------------------------------------------- Trilu

void infer_trilu(InferContext& c) {
  c.check(c.rank(0) >= 2, "matrices are expected, found {}", to_string(c.shape(0)));
  c.output(0, c.dtype(0), c.shape(0));
}

// Keeps the elements on and above (upper) or below diagonal k of the last two axes, zero elsewhere (ONNX Trilu 14).
void define_trilu(DefineContext& c) {
  Operand x = c.in(0);
  bool upper = c.integer("upper", 1) != 0;
  c.elementwise([&](const std::vector<Expr>& i) {
    const Expr &row = i[i.size() - 2], &column = i.back();
    Scalar diagonal = c.has_input(1) ? scalar::cast(DType::int64, c.in(1)(all_zero(c.rank(1)))) : scalar::index(0);
    Scalar distance = scalar::index(column - row);
    Scalar kept = upper ? scalar::binary(ScalarOp::less_or_equal, diagonal, distance)
                        : scalar::binary(ScalarOp::less_or_equal, distance, diagonal);
    return scalar::select(kept, x(i), scalar::constant(x.dtype, 0));
  });
}

// ------------------------------------------------------------------------------------ DepthToSpace, SpaceToDepth

int64_t block_size(const NodeReader& c) {
  int64_t block = c.integer("blocksize");
  c.check(block >= 1 && block <= INT32_MAX, "attribute 'blocksize' is {}", block);
  c.check(c.rank(0) == 4, "a tensor of rank 4 is expected, found {}", to_string(c.shape(0)));
  return block;
}

void infer_depth_to_space(InferContext& c) {
  int64_t block = block_size(c);
  const Shape& x = c.shape(0);
  c.same(mod(x[1], block * block), 0, "the channels must be divisible by the block's area");
  c.output(0, c.dtype(0), {x[0], floor_div(x[1], block * block), x[2] * block, x[3] * block});
}

void define_depth_to_space(DefineContext& c) {
  int64_t block = block_size(c);
  bool column_row_depth = c.text("mode", "DCR") == "CRD";
  Expr channels = c.out(0).shape[1];
  define_copy(c, [&](const std::vector<Expr>& i) -> std::vector<Expr> {
    Expr place = mod(i[2], block) * block + mod(i[3], block);
    Expr channel = column_row_depth ? i[1] * (block * block) + place : place * channels + i[1];
    return {i[0], channel, floor_div(i[2], block), floor_div(i[3], block)};
  });
}

void infer_space_to_depth(InferContext& c) {
  int64_t block = block_size(c);
  const Shape& x = c.shape(0);
  for (size_t axis : {2, 3}) c.same(mod(x[axis], block), 0, "the spatial dims must be divisible by the block's size");
  c.output(0, c.dtype(0), {x[0], x[1] * (block * block), floor_div(x[2], block), floor_div(x[3], block)});
}

void define_space_to_depth(DefineContext& c) {
  int64_t block = block_size(c);
  bool column_row_depth = c.text("mode", "DCR") == "CRD";  // since version 28
  Expr channels = c.in(0).shape[1];
  define_copy(c, [&](const std::vector<Expr>& i) -> std::vector<Expr> {
    Expr place = column_row_depth ? mod(i[1], block * block) : floor_div(i[1], channels);
    Expr channel = column_row_depth ? floor_div(i[1], block * block) : mod(i[1], channels);
    return {i[0], channel, i[2] * block + floor_div(place, block), i[3] * block + mod(place, block)};
  });
}

using enum LayoutRule;

constexpr OpRow rows[] = {
    {"", "Reshape", infer_reshape, define_reshape_to},
    {"", "Flatten", infer_flatten, define_reshape},
    {"", "Squeeze", infer_squeeze, define_reshape},
    {"", "Unsqueeze", infer_unsqueeze, define_reshape},
    {"", "Transpose", infer_transpose, define_transpose},
    {"", "Slice", infer_slice, define_slice, follows},
    {"", "Concat", infer_concat, define_concat, follows},
    {"", "Split", infer_split, define_split, follows},
    {"", "Expand", infer_expand, define_expand, follows},
    {"", "Tile", infer_tile, define_tile, follows},
    {"", "Pad", infer_pad, define_pad, follows},
    {"", "Trilu", infer_trilu, define_trilu},
    {"", "DepthToSpace", infer_depth_to_space, define_depth_to_space},
    {"", "SpaceToDepth", infer_space_to_depth, define_space_to_depth},
};

}  // namespace

std::span<const OpRow> data_movement_ops() { return rows; }

}  // namespace onnxc
