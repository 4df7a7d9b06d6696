// QuantizeLinear and DequantizeLinear: numbers as integers, float8 or float4 with a scale and a zero point, for a
// tensor, for each index of an axis, or for each block along an axis. Onnxruntime's rows of the same names in
// com.microsoft mean the same.
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/saturation.h"
#include "ops/families.h"

namespace onnxc {
namespace {

constexpr const char* microsoft = "com.microsoft";

int64_t block_size(const NodeReader& node) {
  const int64_t size = node.integer("block_size", 0);
  node.check(size >= 0, "attribute 'block_size' is {}; 0 or more is expected", size);
  return size;
}

// The axis that scales of one axis are spread over. A vector needs none to be named (ONNX DequantizeLinear 25, axis).
size_t quantized_axis(const NodeReader& node) {
  return node.rank(0) == 1 ? 0 : node.axis(node.integer("axis", 1), node.rank(0));
}

// Input i, a scale or zero point, must have one number, one for each index of the axis, or one for each block.
void check_parameter(InferContext& c, size_t i) {
  const Shape &x = c.shape(0), &given = c.shape(i);
  if (block_size(c) > 0) {
    c.check(given.size() == x.size(), "with 'block_size', input {} must have the rank of the input, {}; found {}", i,
            x.size(), short_text(given));
    const size_t axis = quantized_axis(c);
    for (size_t k = 0; k < x.size(); ++k)
      c.same(given[k], k == axis ? ceil_div(x[k], block_size(c)) : x[k],
             fmt::format("dim {} of input {} must be that of the input, or its number of blocks", k, i));
    return;
  }
  c.check(given.size() <= 1, "input {} must be one number, or one for each index of the axis; found {}", i,
          short_text(given));
  if (given.empty() || given[0].is_constant(1)) return;
  const Expr extent = x.empty() ? Expr(1) : x[quantized_axis(c)];  // a scalar takes one number
  c.same(c.broadcast(given[0], extent), extent,
         fmt::format("input {} must be one number, or one for each index of the axis", i));
}

void check_parameters(InferContext& c) {
  c.check(c.output_count() == 1, "one output is expected, found {}", c.output_count());
  check_parameter(c, 1);
  if (c.has_input(2)) check_parameter(c, 2);
}

// The element of a scale or zero point for the element of the input at `indices`.
Scalar parameter(const NodeReader& node, const Operand& operand, std::vector<Expr> indices) {
  if (const int64_t size = block_size(node); size > 0) {
    Expr& index = indices[quantized_axis(node)];
    index = floor_div(index, size);
    return operand(indices);
  }
  if (operand.rank() == 0) return operand({});
  if (operand.shape[0].is_constant(1) || indices.empty()) return operand({0});
  return operand(operand.broadcast_indices({indices[quantized_axis(node)]}));
}

DType chosen_type(const NodeReader& node, std::string_view attribute, DType otherwise, Types types) {
  const int64_t code = node.integer(attribute, 0);
  return code == 0 ? otherwise : dtype_attribute(node, attribute, code, types);
}

// The types that numbers are quantised to, but for int32, which is only ever a sum.
bool is_quantized(DType dtype) {
  return (is_integer(dtype) && info(dtype).bits <= 16) || greatest_finite(dtype).has_value();
}

void infer_quantize(InferContext& c) {
  check_parameters(c);
  const DType given = c.has_input(2) ? c.dtype(2) : DType::undefined;
  const DType chosen = chosen_type(c, "output_dtype", given == DType::undefined ? DType::uint8 : given, Types::any);
  c.check(given == DType::undefined || chosen == given,
          "attribute 'output_dtype' says {}, and the zero point is of type {}", info(chosen).name, info(given).name);
  c.check(is_quantized(chosen), "integers of at most 16 bits, a float8 or float4 are expected as output, found {}",
          info(chosen).name);
  c.output(0, chosen, c.shape(0));
}

// y = saturate(round_to_even(x / scale) + zero_point) (ONNX QuantizeLinear 25); to a float8 or float4 the cast rounds
// instead. The quotient is of the type that attribute 'precision' names, else of the scale's; with a scale of integers
// or powers of two it is a float32, as ONNX's reference divides them.
void define_quantize(DefineContext& c) {
  Operand x = c.in(0), scale = c.in(1);
  const bool has_quotients = !is_integer(scale.dtype) && scale.dtype != DType::float8e8m0;
  const DType of_scale = has_quotients ? scale.dtype : DType::float32;
  const DType precision = chosen_type(c, "precision", of_scale, Types::floating);
  const DType compute = info(precision).compute;
  const auto rounded = [&](const Scalar& value) { return scalar::cast(compute, scalar::cast(precision, value)); };
  const DType to = c.out(0).dtype;
  const bool saturates = c.integer("saturate", 1) != 0;
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar value = rounded(rounded(x(i)) / rounded(parameter(c, scale, i)));
    if (is_integer(to)) value = scalar::unary(ScalarOp::round_even, value);
    if (c.has_input(2)) value = value + scalar::cast(compute, parameter(c, c.in(2), i));
    if (is_integer(to)) return saturated_integer(value, to);
    return scalar::cast(to, saturates ? saturated(value, *greatest_finite(to)) : value);
  });
}

void infer_dequantize(InferContext& c) {
  c.check(is_quantized(c.dtype(0)) || c.dtype(0) == DType::int32,
          "int32, an integer of at most 16 bits, a float8 or float4 is expected as input, found {}",
          info(c.dtype(0)).name);
  expect_type(c, 1, Types::floating);
  c.check(!c.has_input(2) || c.dtype(2) == c.dtype(0), "the zero point must be of the input's type, {}; found {}",
          info(c.dtype(0)).name, info(c.has_input(2) ? c.dtype(2) : c.dtype(0)).name);
  c.check(c.dtype(1) != DType::float8e8m0 || c.integer("output_dtype", 0) != 0,
          "a scale of float8e8m0 is a power of two, which says no type for the output: give attribute 'output_dtype', "
          "such as 1 for float32");
  check_parameters(c);
  c.output(0, chosen_type(c, "output_dtype", c.dtype(1), Types::floating), c.shape(0));
}

// y = (x - zero_point) * scale (ONNX DequantizeLinear 25).
void define_dequantize(DefineContext& c) {
  Operand x = c.in(0), scale = c.in(1);
  const DType compute = info(scale.dtype).compute, difference = is_integer(x.dtype) ? DType::int32 : compute;
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar value = scalar::cast(difference, x(i));
    if (c.has_input(2)) value = value - scalar::cast(difference, parameter(c, c.in(2), i));
    return scalar::cast(compute, value) * scalar::cast(compute, parameter(c, scale, i));
  });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "QuantizeLinear", infer_quantize, define_quantize, unchanged, follows},
    {"", "DequantizeLinear", infer_dequantize, define_dequantize, unchanged, follows},
    {microsoft, "QuantizeLinear", infer_quantize, define_quantize, unchanged, follows},
    {microsoft, "DequantizeLinear", infer_dequantize, define_dequantize, unchanged, follows},
};

}  // namespace

std::span<const OpRow> quantize_linear_ops() { return rows; }

}  // namespace onnxc
