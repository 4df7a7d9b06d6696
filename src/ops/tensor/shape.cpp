// Operators that give shapes, or tensors made from little more than a shape. Sizes stand in the loops as indices, so
// that running a definition over expressions follows shape arithmetic.
#include <algorithm>
#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

void store_scalars(DefineContext& c, const std::vector<Expr>& values) {
  if (values.empty()) return c.elementwise([](const std::vector<Expr>&) { return scalar::index(0); });
  Operand y = c.out(0);
  NestBuilder nest(c.node().origin.type);
  for (size_t i = 0; i < values.size(); ++i)
    nest.store(y, y.rank() == 0 ? std::vector<Expr>{} : std::vector<Expr>{Expr(static_cast<int64_t>(i))},
               scalar::index(values[i]));
  c.emit(std::move(nest));
}

// ------------------------------------------------------------------------------------------------ Shape and Size

// Dims `start` to `end` (attributes since version 15), counted from the end if negative, cut to the rank.
Shape dims_asked_for(const NodeReader& node) {
  auto rank = static_cast<int64_t>(node.rank(0));
  auto position = [&](std::string_view attribute, int64_t otherwise) {
    int64_t value = node.integer(attribute, otherwise);
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = position("start", 0), end = position("end", rank);
  const Shape& shape = node.shape(0);
  return start < end ? Shape(shape.begin() + start, shape.begin() + end) : Shape{};
}

void infer_shape(InferContext& c) {
  Shape dims = dims_asked_for(c);
  c.output(0, DType::int64, {Expr(static_cast<int64_t>(dims.size()))});
  c.output_elements(0, dims);
}

void define_shape(DefineContext& c) { store_scalars(c, dims_asked_for(c)); }

void infer_size(InferContext& c) {
  c.output(0, DType::int64, {});
  c.output_elements(0, {product(c.shape(0))});
}

void define_size(DefineContext& c) { store_scalars(c, {product(c.shape(0))}); }

// ---------------------------------------------------------------------------------------------- ConstantOfShape

DType filling_type(const NodeReader& node) {
  const Tensor* value = node.tensor("value");
  node.check(value == nullptr || value->size() == 1, "attribute 'value' must hold one element, found {}",
             value == nullptr ? 0 : value->size());
  return value == nullptr ? DType::float32 : value->dtype();
}

void infer_constant_of_shape(InferContext& c) {
  c.check(c.rank(0) == 1, "input 0 must be a list of dims, found a tensor of shape {}", short_text(c.shape(0)));
  const std::vector<Expr> dims = c.needed_elements(0, "dims");
  for (const Expr& dim : dims) c.at_least(dim, 0, "a dim of the output");
  c.output(0, filling_type(c), dims);
}

void define_constant_of_shape(DefineContext& c) {
  DType dtype = filling_type(c);
  const Tensor* value = c.tensor("value");
  Scalar filling = value == nullptr     ? scalar::constant(dtype, 0)
                   : is_floating(dtype) ? scalar::constant(dtype, value->as_double()[0])
                                        : scalar::integer_constant(dtype, value->as_int64()[0]);
  c.elementwise([&](const std::vector<Expr>&) { return filling; });
}

// --------------------------------------------------------------------------------------------------------- Range

// The length of start, start + delta, ... before limit, for integers that are expressions of dims.
Expr integer_range_length(const InferContext& c, const Expr& start, const Expr& limit, const Expr& delta) {
  std::optional<int64_t> step = delta.constant();
  c.check(step.has_value(), "input 2 (delta), {}, must be a number that is known when the model is compiled",
          short_text(delta));
  c.check(*step != 0, "input 2 (delta) must not be 0");
  return max(*step > 0 ? ceil_div(limit - start, *step) : ceil_div(start - limit, -Expr(*step)), 0);
}

// As onnxruntime counts: the difference in the type of the inputs, the quotient in float64.
Expr floating_range_length(const InferContext& c, double start, double limit, double delta) {
  c.check(delta != 0, "input 2 (delta) must not be 0");
  double span = c.dtype(0) == DType::float64 ? limit - start : static_cast<float>(limit) - static_cast<float>(start);
  double length = std::max(std::ceil(span / delta), 0.0);
  c.check(length < 0x1p62, "the range from {} to {} in steps of {} has no end", start, limit, delta);
  return static_cast<int64_t>(length);
}

// The length, if it follows from shapes or constants.
std::optional<Expr> range_length(const InferContext& c) {
  std::vector<Expr> integers;
  std::vector<double> numbers;
  for (size_t i = 0; i < 3; ++i) {
    if (const Tensor* constant = c.constant(i)) {
      c.check(constant->size() == 1, "input {} must be a scalar, found {}", i, short_text(c.shape(i)));
      numbers.push_back(constant->as_double()[0]);
    }
    if (const std::optional<Expr> number = c.whole_number(i)) integers.push_back(*number);
  }
  if (numbers.size() == 3 && is_floating(c.dtype(0)))
    return floating_range_length(c, numbers[0], numbers[1], numbers[2]);
  // Also of floats: nearest upsampling as exporters write it counts to Cast(2*h).
  if (integers.size() == 3 && integers[2].constant())
    return integer_range_length(c, integers[0], integers[1], integers[2]);
  if (numbers.size() == 3) return floating_range_length(c, numbers[0], numbers[1], numbers[2]);
  return std::nullopt;
}

void infer_range(InferContext& c) {
  expect_one_type(c, Types::numeric);
  constexpr std::string_view roles[] = {"start", "limit", "delta"};
  for (size_t i = 0; i < 3; ++i) c.one_number(i, roles[i]);
  std::optional<Expr> length = range_length(c);
  c.output(0, c.dtype(0), {length ? *length : c.run_time_dim(0, 0)});
}

// How many steps of delta lead from start to before limit: as onnxruntime counts, with the difference in the type of
// the inputs and the quotient in float64. -1, which the binding refuses, for a delta of 0.
Scalar range_length(const Scalar& start, const Scalar& limit, const Scalar& delta) {
  auto number = [](double value) { return scalar::constant(DType::float64, value); };
  Scalar span = scalar::cast(DType::float64, limit - start);
  Scalar steps = scalar::unary(ScalarOp::ceil, span / scalar::cast(DType::float64, delta));
  Scalar length = scalar::cast(DType::int64, scalar::binary(ScalarOp::maximum, steps, number(0)));
  Scalar is_zero = scalar::binary(ScalarOp::equal, delta, scalar::constant(delta.dtype(), 0));
  return scalar::select(is_zero, scalar::index(-1), length);
}

void define_range(DefineContext& c) {
  auto number_in = [&](size_t i) {
    Operand operand = c.in(i);
    return operand.compute(std::vector<Expr>(operand.rank(), 0));
  };
  Scalar start = number_in(0), delta = number_in(2);
  c.bind(c.out(0).shape, {range_length(start, number_in(1), delta)});
  c.elementwise(
      [&](const std::vector<Expr>& i) { return start + scalar::cast(start.dtype(), scalar::index(i[0])) * delta; });
}

// ------------------------------------------------------------------------------------------------------- EyeLike

void infer_eye_like(InferContext& c) {
  c.check(c.rank(0) == 2, "input 0 must be a matrix, found {}", short_text(c.shape(0)));
  DType dtype = c.has_attribute("dtype") ? dtype_attribute(c, "dtype", c.integer("dtype"), Types::any) : c.dtype(0);
  c.output(0, dtype, c.shape(0));
}

// Ones on diagonal k: above the main one if k is positive.
void define_eye_like(DefineContext& c) {
  DType dtype = c.out(0).dtype;
  Expr k = c.integer("k", 0);
  c.elementwise([&](const std::vector<Expr>& i) {
    return scalar::cast(dtype, equal(scalar::index(i[1] - i[0]), scalar::index(k)));
  });
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Shape", infer_shape, define_shape, unchanged},
    {"", "Size", infer_size, define_size, unchanged},
    {"", "ConstantOfShape", infer_constant_of_shape, define_constant_of_shape, unchanged},
    {"", "Range", infer_range, define_range, unchanged},
    {"", "EyeLike", infer_eye_like, define_eye_like, unchanged},
};

}  // namespace

std::span<const OpRow> shape_ops() { return rows; }

}  // namespace onnxc
