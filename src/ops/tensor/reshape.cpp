// Operators that give the same elements another shape: Reshape, Flatten, Squeeze, Unsqueeze.
#include <algorithm>

#include "ops/families.h"
#include "ops/run_time_axes.h"
#include "support/count_text.h"
#include "support/limits.h"

namespace onnxc {
namespace {

// The output is the input's elements in row-major order under the output's shape.
void define_reshape(DefineContext& c) {
  Operand reshaped = c.reshaped(c.in(0), c.out(0).shape);
  c.elementwise([&](const std::vector<Expr>& i) { return reshaped(i); });
}

// The elements from which a run computes dims; only the run knows whether they are 0 (copy), -1 (what is left) or a
// size. A dim that cannot be is -1, which the binding refuses.
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
  if (std::ranges::any_of(wanted, may_be_negative)) bind_open_dims(c, wanted);
  define_reshape(c);
}

// Whether the input's dim is 0 wherever the dim of the new shape is, so that to copy it changes nothing.
bool is_zero_with(const Expr& from, const Expr& dim) {
  if (from.is_constant(0)) return true;
  const std::optional<Expr> factor = proven_at_least(from, 1) ? std::nullopt : exact_quotient(dim, from);
  return (factor && proven_at_least(*factor, 1)) || exact_quotient(from, dim).has_value();
}

Expr quotient(const Expr& total, const Expr& known) {
  return exact_quotient(total, known).value_or(floor_div(total, known));
}

// Sets the dim that stands for -1, in whose place is 1. Dims that a run may find to be 0 copy the input's dim then. If
// the -1 stands for a constant by the sizes' algebra, [T, B, 64] by [T*B, -1], a run that would have to copy is
// refused. The next node, a matrix product with weights, needs that constant, and no other run has it. Without a -1
// nothing is done: the dim that was copied would have to be 0 as well.
Shape with_inferred_dim(InferContext& c, const Shape& from, Shape shape, size_t inferred) {
  const Expr total = product(from);
  const std::optional<Expr> rest = exact_quotient(total, product(shape));
  const bool refuses = rest && rest->constant();
  Expr is_full = 1;  // 0 if a dim copies
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == inferred || proven_at_least(shape[i], 1)) continue;
    const Expr copied = i < from.size() ? from[i] : Expr(0);
    if (i < from.size() && is_zero_with(copied, shape[i])) continue;
    if (refuses || i >= from.size())
      c.at_least(shape[i] + 1 - min(copied, 1), 1,
                 fmt::format("dim {} of the new shape would be 0, which means a copy of the input's", i));
    else {
      const Expr is_set = min(shape[i], 1);
      shape[i] += copied * (1 - is_set);
      is_full *= is_set;
    }
  }
  if (!is_full.is_constant(1)) c.at_least(product(shape), 1, "what -1 stands for does not follow if another dim is 0");
  // `rest` times the dims that were asked for is the input's size: if one of them is 0 the input is empty, and so is
  // the output.
  shape[inferred] = rest ? *rest * is_full : quotient(total, product(shape));
  return shape;
}

// ONNX Reshape: 0 copies the input's dim (unless allowzero), one -1 takes what is left.
void infer_reshape(InferContext& c) {
  std::optional<std::vector<Expr>> wanted = c.integers_from(1, "shape");
  c.check(wanted.has_value(), "the new shape is missing: input 1, or attribute 'shape' before version 5");
  const Shape& from = c.shape(0);
  bool zero_is_zero = c.integer("allowzero", 0) != 0;
  Shape shape;
  std::optional<size_t> inferred;
  const bool has_open = std::ranges::any_of(*wanted, may_be_negative);
  for (size_t i = 0; i < wanted->size(); ++i) {
    Expr dim = (*wanted)[i];
    if (may_be_negative(dim) || (has_open && dim.is_constant(-1))) {
      shape.push_back(c.run_time_dim(0, i));
      continue;
    }
    if (dim.is_constant(-1)) {
      c.check(!inferred, "the new shape {} holds more than one -1", short_text(*wanted));
      inferred = i;
      shape.push_back(1);
      continue;
    }
    if (dim.is_constant(0) && !zero_is_zero) {
      c.check(i < from.size(), "dim {} of the new shape {} is 0 (copy), but the input has rank {}", i,
              short_text(*wanted), from.size());
      dim = from[i];
    }
    c.check(!proven_less(dim, 0), "the new shape {} holds a negative dim", short_text(*wanted));
    shape.push_back(dim);
  }
  const Expr total = product(from);
  if (inferred) {
    c.check(!product(shape).is_constant(0), "the new shape {} holds both -1 and 0", short_text(*wanted));
    if (zero_is_zero)
      shape[*inferred] = quotient(total, product(shape));
    else
      shape = with_inferred_dim(c, from, std::move(shape), *inferred);
  }
  c.same(total, product(shape),
         fmt::format("{} of the input {} cannot take the shape {}", counted(short_text(total), "element"),
                     short_text(from), short_text(*wanted)));
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

void define_squeeze(DefineContext& c) {
  const std::optional<std::vector<Expr>> axes = c.integers_from(1, "axes");
  if (axes && any_unknown(*axes))
    c.bind(c.out(0).shape, dims_without_axes(c.shape(0), listed_axes(*axes, c.rank(0)), axes->size()));
  define_reshape(c);
}

void define_unsqueeze(DefineContext& c) {
  const std::optional<std::vector<Expr>> axes = c.integers_from(1, "axes");
  if (axes && any_unknown(*axes))
    c.bind(c.out(0).shape, dims_with_axes(c.shape(0), listed_axes(*axes, c.rank(0) + axes->size())));
  define_reshape(c);
}

// Each axis that a run names must be 1: all of them if as many different ones are named as there are.
void guard_ones(InferContext& c, const std::vector<Expr>& axes) {
  const Shape& shape = c.shape(0);
  const std::vector<Expr> listed =
      axes.size() == shape.size() ? Shape(shape.size(), 1) : listed_axes(axes, shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    c.same(listed[axis] * (shape[axis] - 1), 0, "an axis that is squeezed must be 1");
}

// The axes of one element, if no list names any. The rank follows from them, so that no other may be 1 in a run.
std::vector<size_t> axes_of_one(InferContext& c) {
  const Shape& shape = c.shape(0);
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].is_constant(1))
      axes.push_back(axis);
    else
      c.at_least(
          max(shape[axis] - 1, 1 - shape[axis]), 1,
          fmt::format("axis {} must not have one element, or the result has another rank; let the model name the "
                      "axes, or give the size when compiling (--dim)",
                      axis));
  }
  return axes;
}

void infer_squeeze(InferContext& c) {
  const Shape& from = c.shape(0);
  std::optional<std::vector<Expr>> given = c.integers_from(1, "axes");
  std::vector<size_t> axes;
  if (given && any_unknown(*given)) {
    c.check(given->size() <= from.size(), "{} named for a tensor of rank {}", counted_are(given->size(), "axis"),
            from.size());
    guard_axes(c, *given, from.size());
    guard_ones(c, *given);
    return output_of_rank(c, c.dtype(0), from.size() - given->size(), product(from));
  }
  if (given) {
    axes = c.axes(*given, from.size());
    for (size_t axis : axes) c.same(from[axis], 1, fmt::format("axis {} that is squeezed must be 1", axis));
  } else {
    axes = axes_of_one(c);
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
  const auto most_axes = static_cast<size_t>(Limits::max_rank);
  c.check(given->size() <= most_axes, "{} added; a tensor may have {}", counted_are(given->size(), "axis"), most_axes);
  if (any_unknown(*given)) {
    guard_axes(c, *given, from.size() + given->size());
    return output_of_rank(c, c.dtype(0), from.size() + given->size(), product(from));
  }
  std::vector<size_t> axes = c.axes(*given, from.size() + given->size());
  Shape shape;
  auto next = from.begin();
  for (size_t i = 0; i < from.size() + axes.size(); ++i)
    shape.push_back(std::find(axes.begin(), axes.end(), i) != axes.end() ? Expr(1) : *next++);
  c.output(0, c.dtype(0), shape);
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Reshape", infer_reshape, define_reshape_to, moves},
    {"", "Flatten", infer_flatten, define_reshape, moves},
    {"", "Squeeze", infer_squeeze, define_squeeze, moves},
    {"", "Unsqueeze", infer_unsqueeze, define_unsqueeze, moves},
};

}  // namespace

std::span<const OpRow> reshape_ops() { return rows; }

}  // namespace onnxc
