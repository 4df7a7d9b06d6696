// onnxruntime's operators on quantised tensors: an operator on numbers between DequantizeLinear and QuantizeLinear.
#include "ops/families.h"

#include "support/count_text.h"

namespace onnxc {
namespace {

constexpr const char* microsoft = "com.microsoft";

// The numbers of the tensor at input i; its scale and zero point are the two inputs after it.
Value* numbers(ExpandContext& c, size_t i, size_t scale) {
  return c.add("DequantizeLinear", {c.in(i), c.in(scale), c.in(scale + 1)});
}

// Output 0, of the type of the quantised input 0 if no zero point says it.
void give_quantized(ExpandContext& c, Value* y, size_t scale, size_t input = 0) {
  Value* zero = c.in(scale + 1);
  if (zero == nullptr) zero = c.number(c.dtype(input), 0);
  c.give(0, c.add("QuantizeLinear", {y, c.in(scale), zero}));
}

// onnxruntime QLinearAdd, QLinearMul: A, its scale and zero point, B, its scale and zero point, those of C.
template <const char* const& type>
void expand_pair(ExpandContext& c) {
  give_quantized(c, c.add(type, {numbers(c, 0, 1), numbers(c, 3, 4)}), 6);
}

// X, its scale and zero point, those of Y.
template <const char* const& type>
void expand_one(ExpandContext& c) {
  give_quantized(c, c.add(type, {numbers(c, 0, 1)}, c.node().attributes), 3);
}

// The same of a pool, whose attribute 'channels_last' says where the channels lie.
template <const char* const& type>
void expand_pool(ExpandContext& c) {
  const auto rank = static_cast<int64_t>(c.rank(0));
  const bool is_channels_last = c.integer("channels_last", 0) != 0;
  std::vector<int64_t> to_first{0, rank - 1}, to_last{0};
  for (int64_t axis = 1; axis < rank - 1; ++axis) to_first.push_back(axis);
  for (int64_t axis = 2; axis < rank; ++axis) to_last.push_back(axis);
  to_last.push_back(1);
  std::vector<NamedAttribute> attributes;
  for (const NamedAttribute& attribute : c.node().attributes)
    if (attribute.name != "channels_last") attributes.push_back(attribute);
  Value* x = numbers(c, 0, 1);
  if (is_channels_last) x = c.add("Transpose", {x}, {{"perm", to_first}});
  Value* y = c.add(type, {x}, std::move(attributes));
  if (is_channels_last) y = c.add("Transpose", {y}, {{"perm", to_last}});
  give_quantized(c, y, 3);
}

// onnxruntime QLinearSoftmax: 'opset' says which Softmax is meant; before 13 it flattens.
void expand_softmax(ExpandContext& c) {
  c.check(c.integer("opset", 13) >= 13 || c.axis(c.integer("axis", -1), c.rank(0)) + 1 == c.rank(0),
          "attribute 'opset' is {}: Softmax as before version 13 is compiled for the last axis only",
          c.integer("opset", 13));
  give_quantized(c, c.add("Softmax", {numbers(c, 0, 1)}, {{"axis", c.integer("axis", -1)}}), 3);
}

// onnxruntime QLinearConcat: Y's scale and zero point, then each tensor with its scale and zero point.
void expand_concat(ExpandContext& c) {
  c.check(c.input_count() >= 5 && c.input_count() % 3 == 2, "each tensor needs a scale and a zero point, found {}",
          counted(c.input_count(), "input"));
  std::vector<Value*> parts;
  for (size_t i = 2; i < c.input_count(); i += 3) parts.push_back(numbers(c, i, i + 1));
  give_quantized(c, c.add("Concat", parts, {{"axis", c.integer("axis")}}), 0, 2);
}

// onnxruntime QLinearWhere: condition, X and Y with their scales and zero points, those of Z.
void expand_where(ExpandContext& c) {
  give_quantized(c, c.add("Where", {c.in(0), numbers(c, 1, 2), numbers(c, 4, 5)}), 7, 1);
}

Value* product_of_scales(ExpandContext& c, size_t a, size_t b) { return c.add("Mul", {c.in(a), c.in(b)}); }

Value* as_float(ExpandContext& c, Value* sum) {
  return c.add("Cast", {sum}, {{"to", static_cast<int64_t>(DType::float32)}});
}

Value* transposed_if(ExpandContext& c, size_t i, std::string_view attribute) {
  if (c.integer(attribute, 0) == 0) return c.in(i);
  return c.add("Transpose", {c.in(i)}, {{"perm", std::vector<int64_t>{1, 0}}});
}

// onnxruntime QGemm: A, its scale and zero point, B, its scale and zero point, C in 32 bits of the scale
// a_scale * b_scale, then the scale of Y and its zero point; without these Y are numbers.
void expand_gemm(ExpandContext& c) {
  constexpr size_t y_scale = 7, y_zero = 8;
  Value* a_zero = c.add("Reshape", {c.in(2), c.integers({})});
  Value* sum = c.add("MatMulInteger", {transposed_if(c, 0, "transA"), transposed_if(c, 3, "transB"), a_zero, c.in(5)});
  if (c.has_input(6)) sum = c.add("Add", {sum, c.in(6)});
  Value* factor = c.add("Mul", {c.number(DType::float32, c.real("alpha", 1)), c.in(1)});
  factor = c.add("Mul", {factor, c.in(4)});
  if (c.has_input(y_scale)) factor = c.add("Div", {factor, c.in(y_scale)});
  Value* y = c.add("Mul", {as_float(c, sum), factor});
  if (!c.has_input(y_scale)) return c.give(0, y);
  Value* zero = c.has_input(y_zero) ? c.in(y_zero) : c.number(c.dtype(0), 0);
  c.give(0, c.add("QuantizeLinear", {y, c.number(DType::float32, 1), zero}));
}

// onnxruntime MatMulIntegerToFloat: A, B, their scales, their zero points, bias.
void expand_matmul_integer_to_float(ExpandContext& c) {
  Value* sum = c.add("MatMulInteger", {c.in(0), c.in(1), c.in(4), c.in(5)});
  Value* y = c.add("Mul", {as_float(c, sum), product_of_scales(c, 2, 3)});
  c.give(0, c.has_input(6) ? c.add("Add", {y, c.in(6)}) : y);
}

// onnxruntime DynamicQuantizeMatMul: A as numbers, which DynamicQuantizeLinear quantises; B, its scale and zero point,
// bias.
void expand_dynamic_quantize_matmul(ExpandContext& c) {
  // ONNX DynamicQuantizeLinear 11, as its function body has it.
  Value *a = c.in(0), *zero = c.number(DType::float32, 0), *largest = c.number(DType::float32, 255);
  Value* low = c.add("Min", {c.add("ReduceMin", {a}, {{"keepdims", int64_t{0}}}), zero});
  Value* high = c.add("Max", {c.add("ReduceMax", {a}, {{"keepdims", int64_t{0}}}), zero});
  Value* scale = c.add("Div", {c.add("Sub", {high, low}), largest});
  Value* zero_point =
      c.add("Round", {c.add("Clip", {c.add("Sub", {zero, c.add("Div", {low, scale})}), zero, largest})});
  zero_point = c.add("Cast", {zero_point}, {{"to", static_cast<int64_t>(DType::uint8)}});
  Value* quantized = c.add("QuantizeLinear", {a, scale, zero_point});
  Value* sum = c.add("MatMulInteger", {quantized, c.in(1), zero_point, c.in(3)});
  Value* y = c.add("Mul", {as_float(c, sum), c.add("Mul", {scale, c.in(2)})});
  c.give(0, c.has_input(4) ? c.add("Add", {y, c.in(4)}) : y);
}

constexpr const char* add = "Add";
constexpr const char* multiply = "Mul";
constexpr const char* sigmoid = "Sigmoid";
constexpr const char* leaky_relu = "LeakyRelu";
constexpr const char* average_pool = "AveragePool";
constexpr const char* global_average_pool = "GlobalAveragePool";

constexpr OpRow rows[] = {
    {.domain = microsoft, .name = "QLinearAdd", .expand = expand_pair<add>},
    {.domain = microsoft, .name = "QLinearMul", .expand = expand_pair<multiply>},
    {.domain = microsoft, .name = "QLinearSigmoid", .expand = expand_one<sigmoid>},
    {.domain = microsoft, .name = "QLinearLeakyRelu", .expand = expand_one<leaky_relu>},
    {.domain = microsoft, .name = "QLinearAveragePool", .expand = expand_pool<average_pool>},
    {.domain = microsoft, .name = "QLinearGlobalAveragePool", .expand = expand_pool<global_average_pool>},
    {.domain = microsoft, .name = "QLinearSoftmax", .expand = expand_softmax},
    {.domain = microsoft, .name = "QLinearConcat", .expand = expand_concat},
    {.domain = microsoft, .name = "QLinearWhere", .expand = expand_where},
    {.domain = microsoft, .name = "QGemm", .expand = expand_gemm},
    {.domain = microsoft, .name = "MatMulIntegerToFloat", .expand = expand_matmul_integer_to_float},
    {.domain = microsoft, .name = "DynamicQuantizeMatMul", .expand = expand_dynamic_quantize_matmul},
};

}  // namespace

std::span<const OpRow> microsoft_quantized_ops() { return rows; }

}  // namespace onnxc
