// Operators that choose elements by their values, so that only a run knows how many: NonZero, Compress, Unique, TopK.
//
// The places of what is chosen come from running counts, and orders from ArgSort (argsort.cpp). Limit: slices that
// Unique compares along an axis are compared each with each other, so that the time grows with the square of their
// number.
#include <algorithm>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/tensor/argsort_spec.h"
#include "ops/tensor/running_count.h"
#include "ops/tensor/sorting.h"

namespace onnxc {
namespace {

Scalar whole(int64_t value) { return scalar::integer_constant(DType::int64, value); }
Scalar as_count(const Scalar& condition) { return scalar::cast(DType::int64, condition); }
Scalar equal_to(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::equal, a, b); }

Expr element_count(const Operand& x) { return product(x.shape); }

// The row-major position of an element.
Expr flat_index(const Shape& shape, const std::vector<Expr>& indices) {
  Expr position = 0;
  for (size_t i = 0; i < shape.size(); ++i) position = position * shape[i] + indices[i];
  return position;
}

// ----------------------------------------------------------------------------------------------------- NonZero

Scalar is_nonzero(const Scalar& value) {
  if (value.dtype() == DType::boolean) return value;
  return negated(equal_to(value, scalar::constant(value.dtype(), 0)));
}

// ONNX NonZero: one column of indices an element that is not 0, in row-major order. A scalar counts as a vector.
void infer_non_zero(InferContext& c) {
  c.output(0, DType::int64, {Expr(static_cast<int64_t>(std::max<size_t>(c.rank(0), 1))), c.run_time_dim(0, 1)});
}

void define_non_zero(DefineContext& c) {
  Operand x = c.in(0), y = c.out(0);
  Operand flat = c.reshaped(x, {element_count(x)});
  auto chosen = [&](const Expr& i) { return is_nonzero(flat.compute({i})); };
  Operand counts = running_count(c, element_count(x), chosen);
  c.bind({y.shape[1]}, {total(counts)});

  NestBuilder nest("NonZero");
  std::vector<Expr> indices = nest.parallel(x.shape);
  Expr place = place_of(nest, counts, flat_index(x.shape, indices));
  Scalar is_chosen = is_nonzero(x.compute(indices));
  for (size_t axis = 0; axis < indices.size(); ++axis)
    nest.store(y, {Expr(static_cast<int64_t>(axis)), place}, scalar::index(indices[axis]), StoreKind::assign,
               is_chosen);
  if (indices.empty()) nest.store(y, {0, place}, whole(0), StoreKind::assign, is_chosen);
  c.emit(std::move(nest));
}

// ---------------------------------------------------------------------------------------------------- Compress

// The input along the attribute 'axis'; as one vector if there is none.
std::optional<size_t> chosen_axis(const NodeReader& c) {
  if (!c.has_attribute("axis")) return std::nullopt;
  return c.axis(c.integer("axis"), c.rank(0));
}

// How many are chosen, if the condition is a constant that is not longer than the axis.
std::optional<int64_t> known_count(const InferContext& c, const Expr& extent) {
  const Tensor* condition = c.constant(1);
  if (condition == nullptr || !proven_at_least(extent, condition->size())) return std::nullopt;
  return std::ranges::count(condition->values<bool>(), true);
}

// ONNX Compress: what stands at the places along the axis for which the condition, which may be shorter, holds.
void infer_compress(InferContext& c) {
  c.check(c.dtype(1) == DType::boolean && c.rank(1) == 1, "a vector of booleans is expected as condition, found {}{}",
          info(c.dtype(1)).name, short_text(c.shape(1)));
  const std::optional<size_t> axis = chosen_axis(c);
  Shape shape = axis ? c.shape(0) : Shape{product(c.shape(0))};
  Expr& along = shape[axis.value_or(0)];
  const std::optional<int64_t> count = known_count(c, along);
  along = count ? Expr(*count) : c.run_time_dim(0, axis.value_or(0));
  c.output(0, c.dtype(0), shape);
}

void define_compress(DefineContext& c) {
  const std::optional<size_t> axis = chosen_axis(c);
  Operand x = axis ? c.in(0) : c.reshaped(c.in(0), {element_count(c.in(0))});
  Operand condition = c.in(1), y = c.out(0);
  const size_t along = axis.value_or(0);
  const Expr extent = min(x.shape[along], condition.shape[0]);
  Operand counts = running_count(c, extent, [&](const Expr& i) { return condition({i}); });
  c.bind({y.shape[along]}, {total(counts)});

  NestBuilder nest("Compress");
  Shape visited = x.shape;
  visited[along] = extent;
  std::vector<Expr> from = nest.parallel(visited), to = from;
  to[along] = place_of(nest, counts, from[along]);
  nest.store(y, to, x(from), StoreKind::assign, condition({from[along]}));
  c.emit(std::move(nest));
}

// ------------------------------------------------------------------------------------------------------ Unique

// The input as slices along an axis: [outer, extent, inner]; slice i is all [_, i, _].
struct Slices {
  Operand data;  // of rank 3
  Expr count() const { return data.shape[1]; }
};

Slices slices_of(DefineContext& c, size_t axis) {
  const Operand x = c.in(0);
  const auto at = x.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {c.reshaped(x, {product(Shape(x.shape.begin(), at)), *at, product(Shape(at + 1, x.shape.end()))})};
}

// ONNX Unique: Y, and of each of its elements the first index in X, of each in X the index in Y, and how often it
// stands in X.
void infer_unique(InferContext& c) {
  const std::optional<size_t> axis = chosen_axis(c);
  // The outputs may be left out, but not all of them.
  size_t output = 0;
  while (output < 4 && !c.has_output(output)) ++output;
  c.check(output < 4, "it has no output");
  const Expr count = c.run_time_dim(output, output == 0 ? axis.value_or(0) : 0);
  c.check(output != 2, "the output inverse_indices needs Y to be an output as well");
  const Expr extent = axis ? c.shape(0)[*axis] : product(c.shape(0));
  Shape shape = axis ? c.shape(0) : Shape{0};
  shape[axis.value_or(0)] = count;
  // Slices are compared at the first of their elements that differs, so that they must have one.
  for (size_t i = 0; axis && i < shape.size(); ++i)
    if (i != *axis) c.not_empty(shape[i], extent, "slices without elements cannot be compared");
  c.output(0, c.dtype(0), shape);
  c.output(1, DType::int64, {count});
  c.output(2, DType::int64, {extent});
  c.output(3, DType::int64, {count});
}

// The first place at which slices i and j differ, as a position in row-major order of a slice; 0 if they are equal.
Operand first_difference(DefineContext& c, const Slices& slices) {
  const Shape& shape = slices.data.shape;
  Operand places = c.temporary("first_difference", DType::int64, {slices.count(), slices.count()});
  NestBuilder nest("first_difference");
  Expr i = nest.parallel(slices.count()), j = nest.parallel(slices.count());
  Expr outer = nest.reduce(shape[0]), inner = nest.reduce(shape[2]);
  Scalar differs = negated(equal_to(slices.data.compute({outer, i, inner}), slices.data.compute({outer, j, inner})));
  nest.store(places, {i, j},
             nest.accumulate(ReduceKind::argument_maximum, as_count(differs), outer * shape[2] + inner));
  c.emit(std::move(nest));
  return places;
}

// The order of slices: compares elements i and j at the first place where their slices differ.
class SliceOrder {
 public:
  SliceOrder(DefineContext& c, const Slices& slices) : slices_(slices) {
    const Shape& shape = slices.data.shape;
    if (!shape[0].is_constant(1) || !shape[2].is_constant(1)) differences_ = first_difference(c, slices);
  }

  // The elements that decide between slices i and j.
  std::pair<Scalar, Scalar> deciding(NestBuilder& nest, const Expr& i, const Expr& j) const {
    Expr outer = 0, inner = 0;
    if (differences_) {
      Expr place = nest.let((*differences_)({i, j}));
      outer = floor_div(place, max(slices_.data.shape[2], 1));
      inner = mod(place, max(slices_.data.shape[2], 1));
    }
    return {slices_.data.compute({outer, i, inner}), slices_.data.compute({outer, j, inner})};
  }

 private:
  const Slices& slices_;
  std::optional<Operand> differences_;
};

// The first slice that equals slice i, for each.
Operand first_equals(DefineContext& c, const Slices& slices, const SliceOrder& order) {
  Operand firsts = c.temporary("first_equal", DType::int64, {slices.count()});
  NestBuilder nest("first_equal");
  Expr i = nest.parallel(slices.count()), j = nest.reduce(slices.count());
  auto [a, b] = order.deciding(nest, i, j);
  // A NaN equals nothing, not even itself: it is unique.
  Scalar is_equal = any_of(equal_to(a, b), equal_to(scalar::index(i), scalar::index(j)));
  nest.store(firsts, {i}, nest.accumulate(ReduceKind::argument_maximum, as_count(is_equal), j));
  c.emit(std::move(nest));
  return firsts;
}

// The place among the unique slices, of each slice: sorted, or in the order of their first appearance.
Operand places_in_result(DefineContext& c, const Slices& slices, const SliceOrder& order, const Operand& firsts,
                         const Operand& counts) {
  Operand places = c.temporary("places", DType::int64, {slices.count()});
  NestBuilder nest("places");
  Expr i = nest.parallel(slices.count());
  if (c.integer("sorted", 1) == 0) {
    nest.store(places, {i}, counts({nest.let(firsts({i}))}) - whole(1));
  } else {
    Expr j = nest.reduce(slices.count());
    auto [a, b] = order.deciding(nest, j, i);
    Scalar is_first = equal_to(firsts({j}), scalar::index(j));
    // Several NaN are each unique, and the earlier ones stand before.
    Scalar is_before = ascending(a, b);
    if (is_floating(a.dtype())) {
      Scalar are_nan = both(scalar::unary(ScalarOp::is_nan, a), scalar::unary(ScalarOp::is_nan, b));
      is_before = any_of(is_before, both(are_nan, less(j, i)));
    }
    nest.store(places, {i}, nest.accumulate(ReduceKind::sum, as_count(both(is_first, is_before))));
  }
  c.emit(std::move(nest));
  return places;
}

// Binds the number of unique slices, which the first of the outputs that have it says.
void bind_unique_count(DefineContext& c, const Operand& counts) {
  const size_t known_by = c.has_output(0) ? 0 : c.has_output(1) ? 1 : 3;
  const Expr count = known_by == 0 ? c.out(0).shape[chosen_axis(c).value_or(0)] : c.out(known_by).shape[0];
  c.bind({count}, {total(counts)});
}

// For each slice the first that equals it, and its place among the unique ones.
struct UniquePlaces {
  Operand firsts, places;
  Scalar is_first(const Expr& i) const { return equal_to(firsts({i}), scalar::index(i)); }
};

UniquePlaces compared_places(DefineContext& c, const Slices& slices) {
  const SliceOrder order(c, slices);
  UniquePlaces unique{first_equals(c, slices, order), {}};
  Operand counts = running_count(c, slices.count(), [&](const Expr& i) { return unique.is_first(i); });
  bind_unique_count(c, counts);
  unique.places = places_in_result(c, slices, order, unique.firsts, counts);
  return unique;
}

// The same of elements, by their order: equal ones stand next to each other then, the first of them first.
UniquePlaces ordered_places(DefineContext& c, const Operand& x, const Operand& order) {
  const Expr extent = x.shape[0];
  const Operand begin_marks = c.temporary("begins", DType::boolean, {extent});
  {
    NestBuilder nest("begins");
    const Expr i = nest.parallel(extent);
    const Expr here = nest.let(order({i})), before = nest.let(order({max(i - 1, 0)}));
    nest.store(begin_marks, {i}, any_of(less(i, 1), negated(equal_to(x.compute({before}), x.compute({here})))));
    c.emit(std::move(nest));
  }
  auto begins = [&](const Expr& i) { return begin_marks({i}); };
  Operand groups = running_count(c, extent, begins);
  bind_unique_count(c, groups);

  Operand first_of_group = c.temporary("first_of_group", DType::int64, {extent});
  {
    NestBuilder nest("first_of_group");
    Expr i = nest.parallel(extent), group = place_of(nest, groups, i);
    nest.store(first_of_group, {group}, order({i}), StoreKind::assign, begins(i));
    c.emit(std::move(nest));
  }
  UniquePlaces unique{c.temporary("first_equal", DType::int64, {extent}),
                      c.temporary("places", DType::int64, {extent})};
  {
    NestBuilder nest("unique_places");
    Expr i = nest.parallel(extent), group = place_of(nest, groups, i), to = nest.let(order({i}));
    nest.store(unique.firsts, {to}, first_of_group({group}));
    nest.store(unique.places, {to}, scalar::index(group));
    c.emit(std::move(nest));
  }
  if (c.integer("sorted", 1) != 0) return unique;
  Operand counts = running_count(c, extent, [&](const Expr& i) { return unique.is_first(i); });
  NestBuilder nest("places");
  Expr i = nest.parallel(extent);
  nest.store(unique.places, {i}, counts({nest.let(unique.firsts({i}))}) - whole(1));
  c.emit(std::move(nest));
  return unique;
}

// `x`: the slices, as they stand along the axis.
void store_unique(DefineContext& c, const UniquePlaces& unique, const Operand& x, size_t along) {
  const Expr extent = x.shape[along];
  const Operand& places = unique.places;
  auto is_first = [&](const Expr& i) { return unique.is_first(i); };

  if (c.has_output(0)) {
    Operand y = c.out(0);
    NestBuilder nest("Unique");
    std::vector<Expr> from = nest.parallel(x.shape), to = from;
    to[along] = nest.let(places({from[along]}));
    nest.store(y, to, x(from), StoreKind::assign, is_first(from[along]));
    c.emit(std::move(nest));
  }
  if (c.has_output(1)) {
    NestBuilder nest("unique_indices");
    Expr i = nest.parallel(extent);
    nest.store(c.out(1), {nest.let(places({i}))}, scalar::index(i), StoreKind::assign, is_first(i));
    c.emit(std::move(nest));
  }
  if (c.has_output(2)) c.elementwise([&](const std::vector<Expr>& i) { return places(i); }, 2);
  if (c.has_output(3)) {
    c.elementwise([](const std::vector<Expr>&) { return whole(0); }, 3);
    NestBuilder nest("unique_counts");
    Expr i = nest.ordered(extent);
    nest.store(c.out(3), {nest.let(places({i}))}, whole(1), StoreKind::add);
    c.emit(std::move(nest));
  }
}

void define_unique_slices(DefineContext& c) {
  const size_t axis = *chosen_axis(c);
  store_unique(c, compared_places(c, slices_of(c, axis)), c.in(0), axis);
}

void define_unique_elements(DefineContext& c) { store_unique(c, ordered_places(c, c.in(0), c.in(1)), c.in(0), 0); }

// Slices of one element, also those of a vector, are unique by their order; others are compared each with each other.
void expand_unique(ExpandContext& c) {
  const NamedAttribute sorted{"sorted", c.integer("sorted", 1)};
  const std::optional<size_t> axis = chosen_axis(c);
  if (axis && c.rank(0) > 1)
    return c.give_row(internal_domain, "Unique", {c.in(0)}, {{"axis", static_cast<int64_t>(*axis)}, sorted});
  Value* const x = c.add("Reshape", {c.in(0), c.integers({-1})});
  // Bytes have a kernel, truths have not.
  Value* const ranked =
      c.dtype(0) == DType::boolean ? c.add("Cast", {x}, {{"to", static_cast<int64_t>(DType::uint8)}}) : x;
  Value* const order = add_argsort(c, ranked, 0, false);
  c.give_row(internal_domain, "UniqueElements", {x, order}, {sorted});
}

// -------------------------------------------------------------------------------------------------------- TopK

// The order of the elements, and the elements in it. Equal elements keep their order, and NaN counts as the largest.
void expand_top_k(ExpandContext& c) {
  const auto axis = static_cast<int64_t>(c.axis(c.integer("axis", -1), c.rank(0)));
  Value* const k = c.version() < 10 ? c.integers({c.integer("k")}) : c.in(1);
  c.check(k != nullptr, "input K is missing");
  Value* const order = add_argsort(c, c.in(0), axis, c.integer("largest", 1) != 0, k);
  c.give(0, c.add("GatherElements", {c.in(0), order}, {{"axis", axis}}));
  c.give(1, order);
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "NonZero", infer_non_zero, define_non_zero, unchanged},
    {"", "Compress", infer_compress, define_compress, moves},
    {.domain = "", .name = "Unique", .expand = expand_unique},
    {internal_domain, "Unique", infer_unique, define_unique_slices, unchanged},
    {internal_domain, "UniqueElements", infer_unique, define_unique_elements, unchanged},
    {.domain = "", .name = "TopK", .expand = expand_top_k},
};

}  // namespace

std::span<const OpRow> selection_ops() { return rows; }

}  // namespace onnxc
