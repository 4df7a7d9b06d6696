// Elementwise arithmetic with broadcasting: from Add to Pow, the functions of one number, and sums of many tensors.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

#include <algorithm>

namespace onnxc {
namespace {

std::string_view describe(Types types) {
  switch (types) {
    case Types::any_or_string:
      return "any type";
    case Types::any:
      return "any type but string";
    case Types::numeric:
      return "a type of numbers";
    case Types::floating:
      return "a floating-point type";
    case Types::integer:
      return "an integer type";
    case Types::boolean:
      return "bool";
  }
  internal_error("every kind of types has its text");
}

bool contains(Types types, DType dtype) {
  switch (types) {
    case Types::any_or_string:
      return dtype == DType::string || contains(Types::any, dtype);
    case Types::any:
      return is_floating(dtype) || is_integer(dtype) || dtype == DType::boolean;
    case Types::numeric:
      return is_floating(dtype) || is_integer(dtype);
    case Types::floating:
      return is_floating(dtype);
    case Types::integer:
      return is_integer(dtype);
    case Types::boolean:
      return dtype == DType::boolean;
  }
  internal_error("every kind of types has its members");
}

// The axis of input 0 that axis 0 of input 1 lies on, before version 7.
size_t first_axis_of_second(const NodeReader& node) {
  size_t rank = node.rank(0);
  node.check(node.rank(1) <= rank, "input 1 of rank {} cannot be broadcast to input 0 of rank {}", node.rank(1), rank);
  if (!node.has_attribute("axis") || node.rank(1) == 0) return rank - node.rank(1);
  size_t axis = node.axis(node.integer("axis"), rank);
  node.check(axis + node.rank(1) <= rank, "input 1 of rank {} from axis {} on exceeds input 0 of rank {}", node.rank(1),
             axis, rank);
  return axis;
}

}  // namespace

void expect_type(const NodeReader& node, size_t i, Types types) {
  node.check(contains(types, node.dtype(i)), "input {} must have {}, found {}", i, describe(types),
             info(node.dtype(i)).name);
}

void expect_one_type(const NodeReader& node, Types types, size_t first) {
  expect_type(node, first, types);
  for (size_t i = first + 1; i < node.input_count(); ++i)
    node.check(node.dtype(i) == node.dtype(first), "inputs {} and {} must have one type, found {} and {}", first, i,
               info(node.dtype(first)).name, info(node.dtype(i)).name);
}

DType dtype_attribute(const NodeReader& node, std::string_view attribute, int64_t code, Types types) {
  const DTypeInfo* found = code > 0 && code < 256 ? find_dtype(static_cast<int>(code)) : nullptr;
  node.check(found != nullptr && contains(types, found->dtype),
             "attribute '{}' is element type {} of TensorProto.DataType; onnxc takes {} here", attribute, code,
             describe(types));
  return found->dtype;
}

void expect_broadcasts_to_first(InferContext& c, size_t i) {
  const Shape &shape = c.shape(i), &first = c.shape(0);
  c.check(shape.size() <= first.size(), "input {} of shape {} does not broadcast to input 0 of shape {}", i,
          short_text(shape), short_text(first));
  size_t offset = first.size() - shape.size();
  for (size_t k = 0; k < shape.size(); ++k)
    c.one_or_same(shape[k], first[offset + k],
                  fmt::format("dim {} of input {} and dim {} of input 0", k, i, offset + k));
}

Shape broadcast_inputs(InferContext& c) {
  Shape shape = c.shape(0);
  for (size_t i = 1; i < c.input_count(); ++i) shape = c.broadcast(shape, c.shape(i));
  return shape;
}

Shape broadcast_pair(InferContext& c) {
  if (c.version() >= 7) return c.broadcast(c.shape(0), c.shape(1));
  const Shape &first = c.shape(0), &second = c.shape(1);
  if (c.integer("broadcast", 0) == 0) {
    c.check(
        first.size() == second.size(),
        "shapes {} and {} must be equal (attribute 'broadcast' is 0, operator set {} does not broadcast without it)",
        short_text(first), short_text(second), c.version());
    for (size_t i = 0; i < first.size(); ++i) c.same(first[i], second[i], fmt::format("dim {} of both inputs", i));
    return first;
  }
  size_t offset = first_axis_of_second(c);
  for (size_t i = 0; i < second.size(); ++i)
    if (!second[i].is_constant(1)) c.same(first[offset + i], second[i], fmt::format("dim {} of input 1", i));
  return first;
}

std::vector<Expr> second_indices(const NodeReader& node, const Operand& second, const std::vector<Expr>& indices) {
  if (node.version() >= 7) return second.broadcast_indices(indices);
  auto begin = indices.begin() + static_cast<std::ptrdiff_t>(first_axis_of_second(node));
  return second.broadcast_indices({begin, begin + static_cast<std::ptrdiff_t>(second.rank())});
}

namespace {

// ------------------------------------------------------------------------------------------------- two operands

// The base's type is the result's; the exponent may have another (ONNX Pow 12). If either is not a float32 or half, the
// power is taken in float64, as onnxruntime does.
void infer_power(InferContext& c) {
  expect_type(c, 0, Types::numeric);
  expect_type(c, 1, Types::numeric);
  c.output(0, c.dtype(0), broadcast_pair(c));
}

// The exponent, when it is one number that is known: squares and cubes are then products.
std::optional<double> known_exponent(const NodeReader& node) {
  const Tensor* exponent = node.constant(1);
  if (exponent == nullptr || exponent->size() != 1) return std::nullopt;
  return exponent->as_double()[0];
}

// The power of integers: a library's power may be a unit in the last place below a whole number, which would be lost as
// it is cut off. Near one means it.
Scalar near_whole(const Scalar& power) {
  constexpr double roundings = 0x1p-48;  // sixteen of float64's
  const Scalar whole = scalar::unary(ScalarOp::round_even, power);
  const Scalar bound = scalar::unary(ScalarOp::absolute, whole) * scalar::constant(DType::float64, roundings);
  const Scalar gap = scalar::unary(ScalarOp::absolute, power - whole);
  return scalar::select(scalar::binary(ScalarOp::less_or_equal, gap, bound), whole, power);
}

void define_power(DefineContext& c) {
  Operand base = c.in(0), exponent = c.in(1);
  std::optional<double> known = known_exponent(c);
  auto single = [](DType dtype) { return info(dtype).compute == DType::float32; };
  DType dtype = single(base.dtype) && single(exponent.dtype) ? DType::float32 : DType::float64;
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar x = base.compute(base.broadcast_indices(i));
    if (known == 2) return x * x;
    if (known == 3) return x * x * x;
    Scalar power = scalar::binary(ScalarOp::power, scalar::cast(dtype, x),
                                  scalar::cast(dtype, exponent.compute(second_indices(c, exponent, i))));
    return scalar::cast(base.dtype, is_floating(base.dtype) ? power : near_whole(power));
  });
}

// 1, 0 or -1, and of a NaN the NaN itself, as in ONNX's reference.
Scalar sign(const NodeReader&, const Scalar& x) {
  const Scalar value = scalar::unary(ScalarOp::sign, x);
  return is_floating(x.dtype()) ? scalar::select(scalar::unary(ScalarOp::is_nan, x), x, value) : value;
}

// fmod = 1 is C's remainder, of the dividend's sign; fmod = 0 is Python's, of the divisor's.
void infer_modulo(InferContext& c) {
  infer_binary<Types::numeric>(c);
  c.check(c.version() >= 28 || !is_floating(c.dtype(0)) || c.integer("fmod", 0) == 1,
          "attribute 'fmod' must be 1 for {} inputs", info(c.dtype(0)).name);
}

Scalar modulo(const NodeReader& node, const Scalar& a, const Scalar& b) {
  bool truncate = node.integer("fmod", 0) == 1;
  return scalar::binary(truncate ? ScalarOp::modulo_truncate : ScalarOp::modulo_floor, a, b);
}

// ------------------------------------------------------------------------------------------------ many operands

template <Types types>
void infer_variadic(InferContext& c) {
  expect_one_type(c, types);
  c.output(0, c.dtype(0), broadcast_inputs(c));
}

// finish(the inputs joined by `op`, in their order). Many inputs are joined a few at a time, in a temporary: an
// expression of any depth would need a stack of any depth, here and in clang.
void define_folded(DefineContext& c, ScalarOp op, const std::function<Scalar(const Scalar& folded)>& finish) {
  constexpr size_t at_a_time = 32;
  const size_t count = c.input_count();
  std::optional<Operand> before;
  for (size_t begin = 0; begin < count; begin += at_a_time) {
    const size_t end = std::min(count, begin + at_a_time);
    const auto joined = [&](const std::vector<Expr>& indices) {
      Scalar result = before ? before->compute(indices) : Scalar();
      for (size_t k = begin; k < end; ++k) {
        Operand x = c.in(k);
        Scalar element = x.compute(x.broadcast_indices(indices));
        result = result ? scalar::binary(op, result, element) : element;
      }
      return result;
    };
    if (end == count) return c.elementwise([&](const std::vector<Expr>& i) { return finish(joined(i)); });
    Operand partial = c.temporary("partial", info(c.out(0).dtype).compute, c.out(0).shape);
    NestBuilder nest("partial");
    std::vector<Expr> indices = nest.parallel(partial.shape);
    nest.store(partial, indices, joined(indices));
    c.emit(std::move(nest));
    before = partial;
  }
}

template <ScalarOp op>
void define_variadic(DefineContext& c) {
  define_folded(c, op, [](const Scalar& folded) { return folded; });
}

void define_mean(DefineContext& c) {
  auto count = static_cast<double>(c.input_count());
  define_folded(c, ScalarOp::add, [&](const Scalar& sum) { return sum / number(sum, count); });
}

// ---------------------------------------------------------------------------------------------------------- Clip

// The bounds are attributes until version 10 and optional scalar inputs since; an absent one does not bind. If the
// lower is above the upper, the upper holds.
void infer_clip(InferContext& c) {
  infer_like_input<Types::numeric>(c);
  for (size_t i = 1; i < 3; ++i) {
    if (!c.has_input(i)) continue;
    c.check(c.dtype(i) == c.dtype(0), "input {} must have the type of input 0, {}, found {}", i, info(c.dtype(0)).name,
            info(c.dtype(i)).name);
    c.check(c.rank(i) <= 1, "input {} must be a scalar, found {}", i, short_text(c.shape(i)));
    c.one_number(i, i == 1 ? "min" : "max");
  }
}

Scalar clip_bound(DefineContext& c, size_t input, std::string_view attribute, const Scalar& x) {
  if (c.has_input(input)) {
    Operand bound = c.in(input);
    return bound.compute(std::vector<Expr>(bound.rank(), 0));
  }
  if (c.version() < 11 && c.has_attribute(attribute)) return number(x, c.real(attribute, 0));
  return {};
}

void define_clip(DefineContext& c) {
  Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar value = x.compute(i);
    if (Scalar lower = clip_bound(c, 1, "min", value)) value = maximum(value, lower);
    if (Scalar upper = clip_bound(c, 2, "max", value)) value = minimum(value, upper);
    return value;
  });
}

// Shrink 9: towards zero by `bias`, and to zero within `lambd` of it.
Scalar shrink(const NodeReader& node, const Scalar& x) {
  double threshold = node.real("lambd", 0.5F), bias = node.real("bias", 0);
  // Integers are compared as float64, so that a threshold of one half is not lost.
  DType wide = is_integer(x.dtype()) ? DType::float64 : x.dtype();
  Scalar value = scalar::cast(wide, x);
  Scalar shrunk = scalar::select(
      less(value, number(value, -threshold)), value + number(value, bias),
      scalar::select(less(number(value, threshold), value), value - number(value, bias), number(value, 0)));
  return scalar::cast(x.dtype(), shrunk);
}

using enum LayoutRule;
using enum StorageRule;
using Op = ScalarOp;

constexpr OpRow rows[] = {
    {"", "Add", infer_binary<Types::numeric>, define_binary<Op::add>, computes, follows},
    {"", "Sub", infer_binary<Types::numeric>, define_binary<Op::subtract>, computes, follows},
    {"", "Mul", infer_binary<Types::numeric>, define_binary<Op::multiply>, computes, follows},
    {"", "Div", infer_binary<Types::numeric>, define_binary<Op::divide>, computes, follows},
    {"", "Pow", infer_power, define_power, unchanged, follows},
    {"", "Mod", infer_modulo, define_binary_formula<modulo>, unchanged, follows},

    {"", "Sum", infer_variadic<Types::numeric>, define_variadic<Op::add>, computes, follows},
    {"", "Mean", infer_variadic<Types::floating>, define_mean, computes, follows},
    {"", "Max", infer_variadic<Types::numeric>, define_variadic<Op::maximum>, computes, follows},
    {"", "Min", infer_variadic<Types::numeric>, define_variadic<Op::minimum>, computes, follows},

    {"", "Abs", infer_like_input<Types::numeric>, define_unary<Op::absolute>, computes, follows},
    {"", "Neg", infer_like_input<Types::numeric>, define_unary<Op::negate>, computes, follows},
    {"", "Sign", infer_like_input<Types::numeric>, define_unary_formula<sign>, unchanged, follows},
    {"", "Clip", infer_clip, define_clip, computes, follows},
    {"", "Shrink", infer_like_input<Types::numeric>, define_unary_formula<shrink>, unchanged, follows},

    {"", "Ceil", infer_like_input<Types::floating>, define_unary<Op::ceil>, unchanged, follows},
    {"", "Floor", infer_like_input<Types::floating>, define_unary<Op::floor>, unchanged, follows},
    {"", "Round", infer_like_input<Types::floating>, define_unary<Op::round_even>, unchanged, follows},
    {"", "Reciprocal", infer_like_input<Types::floating>, define_unary<Op::reciprocal>, unchanged, follows},
    {"", "Sqrt", infer_like_input<Types::floating>, define_unary<Op::square_root>, unchanged, follows},
    {"", "Exp", infer_like_input<Types::floating>, define_unary<Op::exponential>, unchanged, follows},
    {"", "Log", infer_like_input<Types::floating>, define_unary<Op::logarithm>, unchanged, follows},
    {"", "Erf", infer_like_input<Types::floating>, define_unary<Op::error_function>, computes, follows},
    {"", "Sin", infer_like_input<Types::floating>, define_unary<Op::sine>, unchanged, follows},
    {"", "Cos", infer_like_input<Types::floating>, define_unary<Op::cosine>, unchanged, follows},
    {"", "Tan", infer_like_input<Types::floating>, define_unary<Op::tangent>, unchanged, follows},
    {"", "Asin", infer_like_input<Types::floating>, define_unary<Op::arc_sine>, unchanged, follows},
    {"", "Acos", infer_like_input<Types::floating>, define_unary<Op::arc_cosine>, unchanged, follows},
    {"", "Atan", infer_like_input<Types::floating>, define_unary<Op::arc_tangent>, unchanged, follows},
    {"", "Sinh", infer_like_input<Types::floating>, define_unary<Op::hyperbolic_sine>, unchanged, follows},
    {"", "Cosh", infer_like_input<Types::floating>, define_unary<Op::hyperbolic_cosine>, unchanged, follows},
    {"", "Tanh", infer_like_input<Types::floating>, define_unary<Op::hyperbolic_tangent>, computes, follows},
    {"", "Asinh", infer_like_input<Types::floating>, define_unary<Op::arc_hyperbolic_sine>, unchanged, follows},
    {"", "Acosh", infer_like_input<Types::floating>, define_unary<Op::arc_hyperbolic_cosine>, unchanged, follows},
    {"", "Atanh", infer_like_input<Types::floating>, define_unary<Op::arc_hyperbolic_tangent>, unchanged, follows},
};

}  // namespace

std::span<const OpRow> elementwise_ops() { return rows; }

}  // namespace onnxc
