#include "ir/dtype.h"

#include <array>

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using enum DTypeKind;

constexpr std::array rows = {
    DTypeInfo{DType::undefined, none, 0, "undefined", "void", DType::undefined},
    DTypeInfo{DType::float32, floating, 32, "float32", "float", DType::float32},
    DTypeInfo{DType::uint8, unsigned_integer, 8, "uint8", "uint8_t", DType::uint8},
    DTypeInfo{DType::int8, signed_integer, 8, "int8", "int8_t", DType::int8},
    DTypeInfo{DType::uint16, unsigned_integer, 16, "uint16", "uint16_t", DType::uint16},
    DTypeInfo{DType::int16, signed_integer, 16, "int16", "int16_t", DType::int16},
    DTypeInfo{DType::int32, signed_integer, 32, "int32", "int32_t", DType::int32},
    DTypeInfo{DType::int64, signed_integer, 64, "int64", "int64_t", DType::int64},
    DTypeInfo{DType::string, string, 64, "string", "int64_t", DType::string},
    DTypeInfo{DType::boolean, boolean, 8, "bool", "bool", DType::boolean},
    DTypeInfo{DType::float16, floating, 16, "float16", "float16_t", DType::float32},
    DTypeInfo{DType::float64, floating, 64, "float64", "double", DType::float64},
    DTypeInfo{DType::uint32, unsigned_integer, 32, "uint32", "uint32_t", DType::uint32},
    DTypeInfo{DType::uint64, unsigned_integer, 64, "uint64", "uint64_t", DType::uint64},
    DTypeInfo{DType::bfloat16, floating, 16, "bfloat16", "bfloat16_t", DType::float32},
    DTypeInfo{DType::float8e4m3fn, floating, 8, "float8e4m3fn", "float8e4m3fn_t", DType::float32},
    DTypeInfo{DType::float8e4m3fnuz, floating, 8, "float8e4m3fnuz", "float8e4m3fnuz_t", DType::float32},
    DTypeInfo{DType::float8e5m2, floating, 8, "float8e5m2", "float8e5m2_t", DType::float32},
    DTypeInfo{DType::float8e5m2fnuz, floating, 8, "float8e5m2fnuz", "float8e5m2fnuz_t", DType::float32},
    DTypeInfo{DType::uint4, unsigned_integer, 4, "uint4", "uint4_t", DType::uint8},
    DTypeInfo{DType::int4, signed_integer, 4, "int4", "int4_t", DType::int8},
    DTypeInfo{DType::float4e2m1, floating, 4, "float4e2m1", "float4e2m1_t", DType::float32},
    DTypeInfo{DType::float8e8m0, floating, 8, "float8e8m0", "float8e8m0_t", DType::float32},
    DTypeInfo{DType::uint2, unsigned_integer, 2, "uint2", "uint2_t", DType::uint8},
    DTypeInfo{DType::int2, signed_integer, 2, "int2", "int2_t", DType::int8},
};

constexpr size_t code_count = 32;

constexpr std::array<const DTypeInfo*, code_count> by_code = [] {
  std::array<const DTypeInfo*, code_count> result{};
  for (const DTypeInfo& row : rows) result.at(static_cast<size_t>(row.dtype)) = &row;
  return result;
}();

}  // namespace

const DTypeInfo* find_dtype(int onnx_code) {
  return onnx_code >= 0 && onnx_code < std::ssize(by_code) ? by_code[static_cast<size_t>(onnx_code)] : nullptr;
}

const DTypeInfo& info(DType dtype) {
  const DTypeInfo* row = find_dtype(static_cast<int>(dtype));
  internal_check(row != nullptr, "a dtype without a row");
  return *row;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& row : rows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

int64_t packed_size(DType dtype, int64_t elements) {
  if (!is_sub_byte(dtype)) return checked_multiply(elements, element_size(dtype));
  const int64_t in_a_byte = 8 / info(dtype).bits;
  return elements / in_a_byte + (elements % in_a_byte != 0 ? 1 : 0);
}

}  // namespace onnxc
