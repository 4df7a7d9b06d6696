// Operators that read or write at places that a tensor holds.
//
// An index counts from the end if it is negative. One that is out of range is the caller's mistake; it never leaves the
// tensor: gathers read the nearest element, scatters leave the update out.
#include <algorithm>

#include "support/count_text.h"

#include "ops/families.h"

namespace onnxc {
namespace {

// The element of `indices` as an index into an axis of this extent.
Expr index_at(NestBuilder& nest, const Operand& indices, const std::vector<Expr>& place, const Expr& extent) {
  Scalar value = scalar::cast(DType::int64, indices(place));
  Scalar is_negative = scalar::binary(ScalarOp::less, value, scalar::index(0));
  return nest.let(scalar::select(is_negative, value + scalar::index(extent), value));
}

// For an axis that holds something: not_empty says so.
Expr clamped(const Expr& index, const Expr& extent) { return max(min(index, extent - 1), 0); }
constexpr std::string_view no_empty_axis = "an axis that is indexed must have elements";

void check_indices(const NodeReader& c, size_t i) {
  c.check(c.dtype(i) == DType::int32 || c.dtype(i) == DType::int64, "indices of int32 or int64 are expected, found {}",
          info(c.dtype(i)).name);
}

// The elements of a list from `begin` (and up to `end`).
std::vector<Expr> part(const std::vector<Expr>& list, size_t begin, size_t end) {
  return {list.begin() + static_cast<std::ptrdiff_t>(begin), list.begin() + static_cast<std::ptrdiff_t>(end)};
}

void append(std::vector<Expr>& list, const std::vector<Expr>& tail) {
  list.insert(list.end(), tail.begin(), tail.end());
}

// ------------------------------------------------------------------------------------------------------ Gather

void infer_gather(InferContext& c) {
  check_indices(c, 1);
  const Shape& data = c.shape(0);
  size_t axis = c.axis(c.integer("axis", 0), data.size());
  Shape shape = part(data, 0, axis);
  append(shape, c.shape(1));
  append(shape, part(data, axis + 1, data.size()));
  c.not_empty(data[axis], product(c.shape(1)), no_empty_axis);
  c.output(0, c.dtype(0), shape);
}

// y[a..., i..., b...] = data[a..., indices[i...], b...]
void define_gather(DefineContext& c) {
  Operand data = c.in(0), indices = c.in(1), y = c.out(0);
  size_t axis = c.axis(c.integer("axis", 0), data.rank());
  NestBuilder nest("gather");
  std::vector<Expr> out = nest.parallel(y.shape);
  Expr index = index_at(nest, indices, part(out, axis, axis + indices.rank()), data.shape[axis]);
  std::vector<Expr> source = part(out, 0, axis);
  source.push_back(clamped(index, data.shape[axis]));
  append(source, part(out, axis + indices.rank(), out.size()));
  nest.store(y, out, data(source));
  c.emit(std::move(nest));
}

void infer_gather_elements(InferContext& c) {
  check_indices(c, 1);
  c.check(c.rank(0) == c.rank(1), "indices of the data's rank are expected, found {} for {}", short_text(c.shape(1)),
          short_text(c.shape(0)));
  const Shape &data = c.shape(0), &indices = c.shape(1);
  const size_t axis = c.axis(c.integer("axis", 0), data.size());
  c.not_empty(data[axis], product(indices), no_empty_axis);
  // The indices stand at their own place along the other axes.
  for (size_t i = 0; i < data.size(); ++i)
    if (i != axis) c.at_least(data[i], indices[i], fmt::format("dim {} of the indices may not exceed the data's", i));
  c.output(0, c.dtype(0), indices);
}

// y[i...] = data[i..., with indices[i...] at the axis]
void define_gather_elements(DefineContext& c) {
  Operand data = c.in(0), indices = c.in(1), y = c.out(0);
  size_t axis = c.axis(c.integer("axis", 0), data.rank());
  NestBuilder nest("gather_elements");
  std::vector<Expr> out = nest.parallel(y.shape), source = out;
  source[axis] = clamped(index_at(nest, indices, out, data.shape[axis]), data.shape[axis]);
  nest.store(y, out, data(source));
  c.emit(std::move(nest));
}

// The length of the index tuples: the last dim of the indices.
size_t tuple_length(const NodeReader& c, size_t batch) {
  check_indices(c, 1);
  c.check(c.rank(1) >= 1, "indices of at least one axis are expected");
  std::optional<int64_t> length = c.shape(1).back().constant();
  c.check(length.has_value(), "the last dim of the indices must be known when the model is compiled, found {}",
          c.shape(1).back().to_string());
  c.check(*length >= 1 && *length + static_cast<int64_t>(batch) <= static_cast<int64_t>(c.rank(0)),
          "index tuples of {} for data of rank {} with {}", *length, c.rank(0), counted(batch, "batch dim"));
  return static_cast<size_t>(*length);
}

size_t batch_dims(const NodeReader& c) {
  int64_t batch = c.integer("batch_dims", 0);
  c.check(batch >= 0 && batch < static_cast<int64_t>(std::min(c.rank(0), c.rank(1))),
          "attribute 'batch_dims' is {} for tensors of rank {} and {}", batch, c.rank(0), c.rank(1));
  return static_cast<size_t>(batch);
}

void infer_gather_nd(InferContext& c) {
  size_t batch = batch_dims(c), length = tuple_length(c, batch);
  const Shape& indices = c.shape(1);
  Shape shape = part(indices, 0, indices.size() - 1);
  for (size_t i = 0; i < batch; ++i) shape[i] = c.same(shape[i], c.shape(0)[i], "batch dims must agree");
  const Expr tuples = product(shape);
  for (size_t k = 0; k < length; ++k) c.not_empty(c.shape(0)[batch + k], tuples, no_empty_axis);
  append(shape, part(c.shape(0), batch + length, c.rank(0)));
  c.output(0, c.dtype(0), shape);
}

// y[b..., i..., s...] = data[b..., indices[b..., i..., :], s...]
void define_gather_nd(DefineContext& c) {
  Operand data = c.in(0), indices = c.in(1), y = c.out(0);
  size_t batch = batch_dims(c), length = tuple_length(c, batch);
  NestBuilder nest("gather_nd");
  std::vector<Expr> out = nest.parallel(y.shape), source = part(out, 0, batch);
  std::vector<Expr> place = part(out, 0, indices.rank() - 1);
  place.push_back(0);
  for (size_t k = 0; k < length; ++k) {
    place.back() = static_cast<int64_t>(k);
    const Expr& extent = data.shape[batch + k];
    source.push_back(clamped(index_at(nest, indices, place, extent), extent));
  }
  append(source, part(out, indices.rank() - 1, out.size()));
  nest.store(y, out, data(source));
  c.emit(std::move(nest));
}

// ---------------------------------------------------------------------------------------------- ReverseSequence

struct SequenceAxes {
  size_t batch, time;
};

SequenceAxes sequence_axes(const NodeReader& c) {
  int64_t batch = c.integer("batch_axis", 1), time = c.integer("time_axis", 0);
  c.check(std::min(batch, time) == 0 && std::max(batch, time) == 1,
          "attributes 'batch_axis' and 'time_axis' must be 0 and 1 in either order, found {} and {}", batch, time);
  return {static_cast<size_t>(batch), static_cast<size_t>(time)};
}

void infer_reverse_sequence(InferContext& c) {
  check_indices(c, 1);
  c.check(c.rank(0) >= 2 && c.rank(1) == 1,
          "data of rank 2 or more and a vector of lengths are expected, found {} and {}", short_text(c.shape(0)),
          short_text(c.shape(1)));
  c.same(c.shape(1)[0], c.shape(0)[sequence_axes(c).batch], "one length a sequence is expected");
  c.output(0, c.dtype(0), c.shape(0));
}

// The first `length` elements of each sequence backwards, the rest as they are.
void define_reverse_sequence(DefineContext& c) {
  Operand data = c.in(0), lengths = c.in(1), y = c.out(0);
  SequenceAxes axes = sequence_axes(c);
  NestBuilder nest("reverse_sequence");
  std::vector<Expr> out = nest.parallel(y.shape), source = out;
  Scalar length = scalar::cast(DType::int64, lengths({out[axes.batch]})), time = scalar::index(out[axes.time]);
  Expr place =
      nest.let(scalar::select(scalar::binary(ScalarOp::less, time, length), length - scalar::index(1) - time, time));
  source[axes.time] = clamped(place, data.shape[axes.time]);
  nest.store(y, out, data(source));
  c.emit(std::move(nest));
}

// ----------------------------------------------------------------------------------------------------- Scatter

StoreKind reduction_of(const NodeReader& c) {
  std::string reduction = c.text("reduction", "none");
  if (reduction == "none") return StoreKind::assign;
  c.check(c.dtype(0) != DType::string, "strings have no reduction '{}'", reduction);
  if (reduction == "add") return StoreKind::add;
  if (reduction == "mul") return StoreKind::multiply;
  if (reduction == "min") return StoreKind::minimum;
  if (reduction == "max") return StoreKind::maximum;
  c.fail("reduction must be one of none, add, mul, min, max, found '{}'", reduction);
}

// An update of y. On truths "add" and "max" are or, "mul" and "min" are and: an update that decides the result is put
// in its place, and any other leaves it.
void store_update(const NodeReader& c, NestBuilder& nest, const Operand& y, const std::vector<Expr>& destination,
                  const Scalar& update, const Scalar& inside) {
  const StoreKind kind = reduction_of(c);
  if (y.dtype != DType::boolean || kind == StoreKind::assign) return nest.store(y, destination, update, kind, inside);
  const bool decides = kind == StoreKind::add || kind == StoreKind::maximum;
  nest.store(y, destination, scalar::constant(DType::boolean, decides ? 1 : 0), StoreKind::assign,
             both(inside, decides ? update : scalar::unary(ScalarOp::logical_not, update)));
}

// The output begins as the data.
void define_start(DefineContext& c) {
  Operand data = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return data(i); });
}

void infer_scatter_elements(InferContext& c) {
  check_indices(c, 1);
  reduction_of(c);
  c.check(c.rank(0) == c.rank(1) && c.rank(0) == c.rank(2),
          "data, indices and updates of one rank are expected, found {}, {} and {}", short_text(c.shape(0)),
          short_text(c.shape(1)), short_text(c.shape(2)));
  c.axis(c.integer("axis", 0), c.rank(0));
  for (size_t i = 0; i < c.rank(1); ++i)
    c.same(c.shape(1)[i], c.shape(2)[i], "indices and updates must have one shape");
  c.output(0, c.dtype(0), c.shape(0));
}

// y = data; then in order y[i..., with indices[i...] at the axis] (op)= updates[i...]. Ordered, so that of two updates
// of one place the later one stands.
void define_scatter_elements(DefineContext& c) {
  define_start(c);
  Operand indices = c.in(1), updates = c.in(2), y = c.out(0);
  size_t axis = c.axis(c.integer("axis", 0), y.rank());
  NestBuilder nest("scatter_elements");
  std::vector<Expr> place(y.rank());
  // Updates that differ in another axis never meet.
  for (size_t i = 0; i < y.rank(); ++i)
    if (i != axis) place[i] = nest.parallel(updates.shape[i]);
  place[axis] = nest.ordered(updates.shape[axis]);
  std::vector<Expr> destination = place;
  destination[axis] = index_at(nest, indices, place, y.shape[axis]);
  Scalar inside;
  for (size_t i = 0; i < y.rank(); ++i) inside = both(inside, within(destination[i], y.shape[i]));
  store_update(c, nest, y, destination, updates(place), inside);
  c.emit(std::move(nest));
}

void infer_scatter_nd(InferContext& c) {
  reduction_of(c);
  size_t length = tuple_length(c, 0);
  const Shape &data = c.shape(0), &indices = c.shape(1), &updates = c.shape(2);
  Shape expected = part(indices, 0, indices.size() - 1);
  append(expected, part(data, length, data.size()));
  c.check(updates.size() == expected.size(), "updates of shape {} are expected, found {}", short_text(expected),
          short_text(updates));
  for (size_t i = 0; i < expected.size(); ++i)
    c.same(updates[i], expected[i], fmt::format("dim {} of the updates must be the indices' or the data's", i));
  c.output(0, c.dtype(0), data);
}

// y = data; then in order y[indices[i..., :], s...] (op)= updates[i..., s...].
void define_scatter_nd(DefineContext& c) {
  define_start(c);
  Operand indices = c.in(1), updates = c.in(2), y = c.out(0);
  size_t length = tuple_length(c, 0), outer = indices.rank() - 1;
  NestBuilder nest("scatter_nd");
  std::vector<Expr> slice = nest.parallel(Shape(part(updates.shape, outer, updates.rank())));
  std::vector<Expr> place;
  for (size_t i = 0; i < outer; ++i) place.push_back(nest.ordered(indices.shape[i]));
  std::vector<Expr> source = place, destination;
  append(source, slice);
  place.push_back(0);
  Scalar inside;
  for (size_t k = 0; k < length; ++k) {
    place.back() = static_cast<int64_t>(k);
    destination.push_back(index_at(nest, indices, place, y.shape[k]));
    inside = both(inside, within(destination.back(), y.shape[k]));
  }
  append(destination, slice);
  store_update(c, nest, y, destination, updates(source), inside);
  c.emit(std::move(nest));
}

// ----------------------------------------------------------------------------------------------- TensorScatter

// A cache [batch, ..., places, ...] and an update of it with fewer places (ONNX TensorScatter 24).
void infer_tensor_scatter(InferContext& c) {
  const Shape &cache = c.shape(0), &update = c.shape(1);
  const std::string mode = c.text("mode", "linear");
  c.check(mode == "linear" || mode == "circular", "mode '{}' is neither linear nor circular", mode);
  c.check(cache.size() >= 2 && update.size() == cache.size(),
          "a cache of rank 2 or more and an update of its rank are expected, found {} and {}", short_text(cache),
          short_text(update));
  c.check(c.dtype(0) == c.dtype(1), "an update of the cache's type is expected, found {}", info(c.dtype(1)).name);
  const size_t axis = c.axis(c.integer("axis", -2), cache.size());
  c.check(axis != 0, "the axis may not be that of the batch");
  for (size_t i = 0; i < cache.size(); ++i)
    if (i != axis) c.same(update[i], cache[i], fmt::format("dim {} of the update and of the cache", i));
  c.at_least(cache[axis], update[axis], "the update may not have more places than the cache");
  if (c.has_input(2)) {
    c.check(c.dtype(2) == DType::int64 && c.rank(2) == 1, "a vector of int64 is expected as write_indices, found {}{}",
            info(c.dtype(2)).name, short_text(c.shape(2)));
    c.same(c.shape(2)[0], cache[0], "one write index a sample is expected");
  }
  c.output(0, c.dtype(0), cache);
}

// y[b, ..., t, ...] = update[b, ..., t - w[b], ...] if it has that place, counted modulo the places of the cache in the
// circular mode; else the cache's element.
void define_tensor_scatter(DefineContext& c) {
  const Operand cache = c.in(0), update = c.in(1), y = c.out(0);
  const size_t axis = c.axis(c.integer("axis", -2), cache.rank());
  const bool is_circular = c.text("mode", "linear") == "circular";
  NestBuilder nest("tensor_scatter");
  std::vector<Expr> out = nest.parallel(y.shape), source = out;
  if (c.has_input(2)) {
    const Expr place = nest.let(scalar::index(out[axis]) - c.in(2)({out[0]}));
    source[axis] = is_circular ? mod(place, max(cache.shape[axis], 1)) : place;
  }
  nest.store(y, out, scalar::select(within(source[axis], update.shape[axis]), update(source), cache(out)));
  c.emit(std::move(nest));
}

// ------------------------------------------------------------------------------------------------------ OneHot

size_t one_hot_axis(const NodeReader& c) { return c.axis(c.integer("axis", -1), c.rank(0) + 1); }

void infer_one_hot(InferContext& c) {
  Expr depth;
  if (auto elements = c.elements(1); elements && elements->size() == 1) {
    depth = elements->front();
  } else {
    const Tensor* constant = c.constant(1);
    c.one_number(1, "depth");
    depth = constant != nullptr ? Expr(static_cast<int64_t>(constant->as_double().front()))
                                : c.run_time_dim(0, one_hot_axis(c));
  }
  c.at_least(depth, 0, "the depth");
  c.check(c.rank(2) == 1 && !proven_different(c.shape(2)[0], 2), "values [off, on] are expected, found shape {}",
          short_text(c.shape(2)));
  c.same(c.shape(2)[0], 2, "values [off, on] are expected");
  Shape shape = c.shape(0);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(one_hot_axis(c)), depth);
  c.output(0, c.dtype(2), shape);
}

// y[..., k, ...] = k is the index, counted from the end if it is negative, ? on : off. An index outside of [-depth,
// depth) matches nothing.
void define_one_hot(DefineContext& c) {
  Operand indices = c.in(0), values = c.in(2), y = c.out(0);
  size_t axis = one_hot_axis(c);
  c.bind({y.shape[axis]}, {scalar::cast(DType::int64, c.in(1)(std::vector<Expr>(c.rank(1), 0)))});
  c.elementwise([&](const std::vector<Expr>& out) {
    std::vector<Expr> place = out;
    place.erase(place.begin() + static_cast<std::ptrdiff_t>(axis));
    Scalar index = scalar::cast(DType::int64, indices(place));
    Scalar from_end = index + scalar::index(y.shape[axis]);
    auto is_here = [&](const Scalar& value) {
      return scalar::binary(ScalarOp::equal, value, scalar::index(out[axis]));
    };
    Scalar hit = scalar::binary(ScalarOp::logical_or, is_here(index), is_here(from_end));
    return scalar::select(hit, values({1}), values({0}));
  });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Gather", infer_gather, define_gather, moves},
    {"", "GatherElements", infer_gather_elements, define_gather_elements, moves},
    {"", "GatherND", infer_gather_nd, define_gather_nd, moves},
    {"", "ReverseSequence", infer_reverse_sequence, define_reverse_sequence, moves},
    {"", "Scatter", infer_scatter_elements, define_scatter_elements, unchanged},
    {"", "ScatterElements", infer_scatter_elements, define_scatter_elements, unchanged},
    {"", "ScatterND", infer_scatter_nd, define_scatter_nd, unchanged},
    {"", "TensorScatter", infer_tensor_scatter, define_tensor_scatter, unchanged},
    {"", "OneHot", infer_one_hot, define_one_hot, unchanged},
};

}  // namespace

std::span<const OpRow> gather_scatter_ops() { return rows; }

}  // namespace onnxc
