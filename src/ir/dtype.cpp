#include "ir/dtype.h"

#include <array>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using enum DTypeKind;

constexpr std::array rows = {
    DTypeInfo{DType::undefined, none, 0, "undefined", "void", DType::undefined},
    DTypeInfo{DType::float32, floating, 4, "float32", "float", DType::float32},
    DTypeInfo{DType::uint8, unsigned_integer, 1, "uint8", "uint8_t", DType::uint8},
    DTypeInfo{DType::int8, signed_integer, 1, "int8", "int8_t", DType::int8},
    DTypeInfo{DType::uint16, unsigned_integer, 2, "uint16", "uint16_t", DType::uint16},
    DTypeInfo{DType::int16, signed_integer, 2, "int16", "int16_t", DType::int16},
    DTypeInfo{DType::int32, signed_integer, 4, "int32", "int32_t", DType::int32},
    DTypeInfo{DType::int64, signed_integer, 8, "int64", "int64_t", DType::int64},
    DTypeInfo{DType::string, string, 0, "string", "void", DType::string},
    DTypeInfo{DType::boolean, boolean, 1, "bool", "bool", DType::boolean},
    DTypeInfo{DType::float16, floating, 2, "float16", "float16_t", DType::float32},
    DTypeInfo{DType::float64, floating, 8, "float64", "double", DType::float64},
    DTypeInfo{DType::uint32, unsigned_integer, 4, "uint32", "uint32_t", DType::uint32},
    DTypeInfo{DType::uint64, unsigned_integer, 8, "uint64", "uint64_t", DType::uint64},
    DTypeInfo{DType::bfloat16, floating, 2, "bfloat16", "bfloat16_t", DType::float32},
};

}  // namespace

const DTypeInfo* find_dtype(int onnx_code) {
  for (const DTypeInfo& row : rows)
    if (static_cast<int>(row.dtype) == onnx_code) return &row;
  return nullptr;
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

}  // namespace onnxc
