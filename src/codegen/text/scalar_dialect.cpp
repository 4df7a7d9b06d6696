#include "codegen/text/scalar_dialect.h"

#include <fmt/ranges.h>

#include <cmath>

#include "codegen/text/expr_printer.h"
#include "ir/loops/scalar_ops.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Whether every value of the type is a float.
bool is_exact_in_float(DType dtype) { return dtype == DType::float32 || info(dtype).bits < 32; }

// A float that clang sees to be a float16: it asks for the comparison or the rounding of float16 values instead, which
// CPUs without AVX512-FP16 do one by one.
bool is_widened_float16(const ScalarNode& node) {
  return node.dtype == DType::float16 || (node.op == ScalarOp::cast && node.operands[0].dtype() == DType::float16);
}

bool may_be_narrowed(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case minimum:
    case maximum:
    case equal:
    case less:
    case less_or_equal:
    case sign:
    case floor:
    case ceil:
    case round_even:
    case truncate:
    case is_nan:
    case is_infinite:
      return true;
    default:
      return false;
  }
}

std::string floating_constant(DType dtype, double number) {
  const bool is_double = dtype == DType::float64;
  const char* suffix = is_double ? "" : "f";
  if (std::isnan(number)) return fmt::format("__builtin_nan{}(\"\")", suffix);
  if (std::isinf(number)) return fmt::format("{}__builtin_inf{}()", number < 0 ? "-" : "", suffix);
  // The shortest digits that read back as the same number.
  std::string digits = is_double ? fmt::format("{}", number) : fmt::format("{}", static_cast<float>(number));
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits + suffix;
}

std::string integer_constant(DType dtype, int64_t value) {
  if (dtype == DType::uint64) return fmt::format("uint64_t{{{}u}}", static_cast<uint64_t>(value));
  return fmt::format("{}{{{}}}", info(info(dtype).compute).c_type, print_integer(value));
}

}  // namespace

std::string ScalarDialect::value_type(DType dtype) const { return std::string(info(info(dtype).compute).c_type); }

std::string ScalarDialect::storage_type(DType dtype) const {
  // A byte that is neither 0 nor 1 is not a bool of C's; as an integer it may be read.
  return dtype == DType::boolean ? "uint8_t" : std::string(info(dtype).c_type);
}

std::string ScalarDialect::constant(const ScalarNode& node) const {
  if (is_floating(node.dtype)) return floating_constant(node.dtype, node.number);
  if (node.dtype == DType::boolean) return node.integer != 0 ? "true" : "false";
  return integer_constant(node.dtype, node.integer);
}

std::string ScalarDialect::load(DType dtype, const std::string& pointer, const std::string& offset) const {
  const std::string element = fmt::format("{}[{}]", pointer, offset);
  if (dtype == DType::boolean) return element + " != 0";
  return is_computed_wider(dtype) ? fmt::format("static_cast<{}>({})", value_type(dtype), element) : element;
}

std::string ScalarDialect::stored(DType dtype, const std::string& value) const {
  const bool converts = dtype == DType::boolean || is_computed_wider(dtype);
  return converts ? fmt::format("static_cast<{}>({})", storage_type(dtype), value) : value;
}

std::string ScalarDialect::operation(const ScalarNode& node, std::span<const std::string> operands) const {
  if (!may_be_narrowed(node.op)) return plain_operation(node, operands);
  std::vector<std::string> kept(operands.begin(), operands.end());
  for (size_t i = 0; i < kept.size(); ++i)
    if (is_widened_float16(*node.operands[i])) kept[i] = fmt::format("kept_wide({})", kept[i]);
  return plain_operation(node, kept);
}

std::string ScalarDialect::plain_operation(const ScalarNode& node, std::span<const std::string> operands) const {
  const DType operand = node.operands.at(0).dtype();
  if (node.op == ScalarOp::cast) {
    if (node.dtype == DType::boolean) return fmt::format("{} != 0", operands[0]);
    if (is_floating(node.dtype) && is_computed_wider(node.dtype)) {
      const std::string number =
          fmt::format("{}({})", is_exact_in_float(operand) ? "static_cast<float>" : "round_to_odd", operands[0]);
      if (is_half(node.dtype)) return fmt::format("round_to_{}({})", info(node.dtype).name, number);
      return fmt::format("static_cast<float>({}({}))", info(node.dtype).c_type, number);
    }
    if (is_computed_wider(node.dtype))
      return fmt::format("static_cast<{}>({}(cast<int64_t>({})))", value_type(node.dtype), info(node.dtype).c_type,
                         operands[0]);
    return fmt::format("cast<{}>({})", value_type(node.dtype), operands[0]);
  }
  if (node.op == ScalarOp::reinterpret) {
    const std::string element = is_computed_wider(operand)
                                    ? fmt::format("static_cast<{}>({})", info(operand).c_type, operands[0])
                                    : operands[0];
    return fmt::format("static_cast<{}>(__builtin_bit_cast({}, {}))", value_type(node.dtype), info(node.dtype).c_type,
                       element);
  }
  if (node.op == ScalarOp::string_function)
    return fmt::format("string_{}(call.frame, {})", row(node.function).name, fmt::join(operands, ", "));
  if (node.op == ScalarOp::logical_not) return fmt::format("!{}", operands[0]);
  if (node.op == ScalarOp::bitwise_not) return fmt::format("~{}", operands[0]);
  const ScalarOpRow& known = row(node.op);
  if (!known.c_infix.empty() && (is_floating(operand) || !known.c_infix_is_floating_only))
    return fmt::format("{} {} {}", operands[0], known.c_infix, operands[1]);
  internal_check(!known.function.empty(), "a scalar operation that has a function");
  return fmt::format("{}({})", known.function, fmt::join(operands, ", "));
}

std::string ScalarDialect::select(const std::string& condition, const std::string& if_true,
                                  const std::string& if_false) const {
  return fmt::format("{} ? {} : {}", condition, if_true, if_false);
}

}  // namespace onnxc
