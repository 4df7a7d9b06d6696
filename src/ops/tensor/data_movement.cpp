// Operators that move data without computing: transposing, joining, splitting, repeating.
#include <algorithm>
#include <numeric>

#include "ops/families.h"
#include "support/count_text.h"
#include "support/list_text.h"

namespace onnxc {
namespace {

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
  c.check(sorted == identity, "attribute 'perm' is [{}]; a permutation of {} is expected", list_text(order),
          counted(rank, "axis"));
  return {order.begin(), order.end()};
}

void infer_transpose(InferContext& c) {
  Shape shape;
  for (size_t axis : permutation(c)) shape.push_back(c.shape(0)[axis]);
  c.output(0, c.dtype(0), shape);
}

void define_transpose(DefineContext& c) {
  std::vector<size_t> order = permutation(c);
  c.copy([&](const std::vector<Expr>& i) {
    std::vector<Expr> source(order.size());
    for (size_t axis = 0; axis < order.size(); ++axis) source[order[axis]] = i[axis];
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
    c.check(other.size() == shape.size(), "inputs of one rank are expected, found {} and {}", short_text(shape),
            short_text(other));
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

// The extents of a Split's outputs along its axis: given, or equal parts; the last may be smaller (18).
std::vector<Expr> split_extents(const NodeReader& c, const Expr& extent) {
  auto given = c.integers_from(1, "split");
  size_t outputs = c.output_count();
  if (given) {
    c.check(given->size() == outputs, "{} given for {}", counted_are(given->size(), "part"),
            counted(outputs, "output"));
    for (const Expr& part : *given) c.check(!proven_less(part, 0), "a part of {} elements", short_text(part));
    return *given;
  }
  if (c.has_attribute("num_outputs"))
    c.check(c.integer("num_outputs") == static_cast<int64_t>(outputs), "attribute 'num_outputs' is {} for {}",
            c.integer("num_outputs"), counted(outputs, "output"));
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
    c.check(!proven_less(dim, 0), "the shape {} holds a negative dim", short_text(*shape));
    if (may_be_negative(dim)) c.at_least(dim, 0, "a dim of the shape to expand to");
  }
  c.output(0, c.dtype(0), c.broadcast(c.shape(0), *shape));
}

void define_expand(DefineContext& c) {
  Operand x = c.in(0);
  c.copy([&](const std::vector<Expr>& i) { return x.broadcast_indices(i); });
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
  c.check(repeats && repeats->size() == from.size(), "one repeat a dim of {} is expected", short_text(from));
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    c.check(!proven_less((*repeats)[i], 0), "a repeat of {}", (*repeats)[i].to_string());
    if (may_be_negative((*repeats)[i])) c.at_least((*repeats)[i], 0, "a repeat");
    shape.push_back(from[i] * (*repeats)[i]);
  }
  c.output(0, c.dtype(0), shape);
}

// Nothing is read of an axis without elements.
Expr divisor_of(const Expr& extent) { return extent.is_constant(0) ? Expr(1) : extent; }

void define_tile(DefineContext& c) {
  Operand x = c.in(0);
  c.copy([&](const std::vector<Expr>& i) {
    std::vector<Expr> source;
    for (size_t axis = 0; axis < i.size(); ++axis) source.push_back(mod(i[axis], divisor_of(x.shape[axis])));
    return source;
  });
}

// ------------------------------------------------------------------------------------------------------- Trilu

void infer_trilu(InferContext& c) {
  c.check(c.rank(0) >= 2, "matrices are expected, found {}", short_text(c.shape(0)));
  if (c.has_input(1)) c.one_number(1, "diagonal k");
  c.output(0, c.dtype(0), c.shape(0));
}

// Keeps the elements on and above (upper) or below diagonal k of the last two axes, zero elsewhere (ONNX Trilu 14).
void define_trilu(DefineContext& c) {
  Operand x = c.in(0);
  bool upper = c.integer("upper", 1) != 0;
  c.elementwise([&](const std::vector<Expr>& i) {
    const Expr &row = i[i.size() - 2], &column = i.back();
    Scalar diagonal =
        c.has_input(1) ? scalar::cast(DType::int64, c.in(1)(std::vector<Expr>(c.rank(1)))) : scalar::index(0);
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
  c.check(c.rank(0) == 4, "a tensor of rank 4 is expected, found {}", short_text(c.shape(0)));
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
  c.copy([&](const std::vector<Expr>& i) -> std::vector<Expr> {
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
  Expr channels = divisor_of(c.in(0).shape[1]);
  c.copy([&](const std::vector<Expr>& i) -> std::vector<Expr> {
    Expr place = column_row_depth ? mod(i[1], block * block) : floor_div(i[1], channels);
    Expr channel = column_row_depth ? floor_div(i[1], block * block) : mod(i[1], channels);
    return {i[0], channel, i[2] * block + floor_div(place, block), i[3] * block + mod(place, block)};
  });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Transpose", infer_transpose, define_transpose, moves},
    {"", "Concat", infer_concat, define_concat, moves, follows},
    {"", "Split", infer_split, define_split, moves, follows},
    {"", "Expand", infer_expand, define_expand, moves, follows},
    {"", "Tile", infer_tile, define_tile, moves, follows},
    {"", "Trilu", infer_trilu, define_trilu, moves},
    {"", "DepthToSpace", infer_depth_to_space, define_depth_to_space, moves},
    {"", "SpaceToDepth", infer_space_to_depth, define_space_to_depth, moves},
};

}  // namespace

std::span<const OpRow> data_movement_ops() { return rows; }

}  // namespace onnxc
